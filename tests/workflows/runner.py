"""Runs a GitHub workflow as a runner does: every `run:` line, with stand-ins for the actions that GitHub publishes."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from ruamel.yaml import YAML

PROJECT = Path(__file__).resolve().parents[2]
OWN = re.compile(r"snuffer-rs/snuffer@v[0-9.]+$")


def read(path):
    return YAML(typ="safe", pure=True).load(path)


class Runner:
    """What stays from one run of a workflow to the next: the caches. A repository stands for candle's."""

    def __init__(self, repository, folder):
        self.repository = repository
        self.folder = folder
        self.caches = {}
        self.executed = set()
        self.runs = 0

    def run(self, workflow, ref, overrides=None):
        """Runs the only job of a workflow on `ref`. `overrides` are further inputs of our own action."""
        self.runs += 1
        (job,) = read(workflow)["jobs"].values()
        run = Run(self, ref, overrides or {})
        run.steps(workflow.name, job["steps"], {"inputs": {}, "steps": {}})
        return run


class Run:
    """One run of a job, in a folder of its own."""

    def __init__(self, runner, ref, overrides):
        self.runner, self.ref, self.overrides = runner, ref, overrides
        self.folder = runner.folder / f"run-{runner.runs}"
        self.folder.mkdir()
        # Empty, and at the same place every time, as on GitHub.
        self.workspace = runner.folder / "workspace"
        shutil.rmtree(self.workspace, ignore_errors=True)
        self.workspace.mkdir()
        self.summary = self.folder / "summary.md"
        self.summary.touch()
        self.artifacts = {}
        self.log = ""
        self.failed = False

    def steps(self, name, steps, context):
        """Runs the steps of a job or of a composite action."""
        context["runner"] = {"os": "Linux"}
        context["github"] = {"run_id": str(self.runner.runs), "action_path": str(PROJECT)}
        for number, step in enumerate(steps):
            if not self.is_wanted(step.get("if", "success()"), context):
                continue
            code, outputs = self.step(f"{name}:{number}", step, context)
            if "id" in step:
                context["steps"][step["id"]] = {"outputs": outputs}
            self.failed |= code != 0

    def step(self, name, step, context):
        if "run" in step:
            self.runner.executed.add(name)
            return self.shell(step, context)
        given = {key: self.text(value, context) for key, value in step.get("with", {}).items()}
        uses = step["uses"]
        if OWN.match(uses):
            action = read(PROJECT / "action.yml")
            inputs = {key: spec.get("default", "") for key, spec in action["inputs"].items()}
            unknown = given.keys() - inputs.keys()
            assert not unknown, f"{name}: the action has no input {unknown}"
            self.steps("action.yml", action["runs"]["steps"], {"inputs": inputs | given | self.overrides, "steps": {}})
            return 0, {}
        return 0, STAND_INS[uses](self, given)

    def shell(self, step, context):
        """Runs a script as GitHub does: https://docs.github.com/actions/reference/workflows-and-actions/workflow-syntax#custom-shell"""
        script, outputs = self.folder / "script.sh", self.folder / "outputs"
        script.write_text(self.text(step["run"], context))
        outputs.write_text("")
        strict = ["--noprofile", "--norc", "-eo", "pipefail"] if step.get("shell") == "bash" else ["-e"]
        kept = ["PATH", "HOME", "CARGO_HOME", "CARGO_INCREMENTAL", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"]
        environment = {name: os.environ[name] for name in kept if name in os.environ}
        environment |= {"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(self.workspace)}
        environment |= {"GITHUB_OUTPUT": str(outputs), "GITHUB_STEP_SUMMARY": str(self.summary)}
        environment |= {key: self.text(value, context) for key, value in step.get("env", {}).items()}
        folder = self.workspace / self.text(step.get("working-directory", "."), context)
        done = subprocess.run(["bash", *strict, script], cwd=folder, env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.log += done.stdout
        lines = outputs.read_text().splitlines()
        return done.returncode, dict(line.split("=", 1) for line in lines)

    def is_wanted(self, condition, context):
        def holds(term):
            term = term.strip()
            if term in ("always()", "success()"):
                return term == "always()" or not self.failed
            sides = re.fullmatch(r"(\S+) (==|!=) '(.*)'", term)
            assert sides, f"the stand-in does not know the condition `{term}`"
            return (self.value(sides[1], context) == sides[3]) == (sides[2] == "==")

        terms = condition.split("&&")
        has_status = any(term.strip() in ("always()", "success()") for term in terms)
        return (has_status or not self.failed) and all(holds(term) for term in terms)

    def text(self, text, context):
        return re.sub(r"\$\{\{ *(\S+?) *\}\}", lambda found: self.value(found[1], context), str(text))

    @staticmethod
    def value(expression, context):
        found = context
        for part in expression.split("."):
            # An output that no step set is empty.
            found = found.get(part, "") if isinstance(found, dict) and expression.startswith("steps.") else found[part]
        return found

    def checkout(self, given):
        into = self.workspace / given.get("path", ".")
        depth = ["--depth", given.get("fetch-depth", "1")]
        clone = ["git", "clone", "--quiet", *depth, "--branch", self.ref, self.runner.repository.as_uri(), into]
        subprocess.run(clone, check=True)
        return {}

    def restore(self, given):
        keys = [given["key"], *given.get("restore-keys", "").split()]
        for number, wanted in enumerate(keys):
            fitting = [key for key in self.runner.caches if key == wanted or number > 0 and key.startswith(wanted)]
            if fitting:
                self.unpack(fitting[-1], given["path"])
                return {"cache-hit": "true" if fitting[-1] == given["key"] else "false"}
        return {"cache-hit": "false"}

    def unpack(self, key, path):
        saved = self.runner.caches[key]
        if saved is not None:
            shutil.copytree(saved, self.workspace / path)

    def save(self, given):
        """Keeps a folder. That of the action is the project's own, and stays where it is."""
        path = self.workspace / given["path"]
        if not path.is_relative_to(self.workspace):
            self.runner.caches[given["key"]] = None
        elif path.is_dir():
            copy = self.folder / "cache"
            shutil.copytree(path, copy)
            self.runner.caches[given["key"]] = copy
        return {}

    def upload(self, given):
        files = [self.workspace / line for line in given["path"].split()]
        assert all(file.exists() for file in files), f"nothing to upload at {files}"
        self.artifacts[given["name"]] = files
        return {}


STAND_INS = {
    "actions/checkout@v4": Run.checkout,
    "actions/cache/restore@v4": Run.restore,
    "actions/cache/save@v4": Run.save,
    "actions/upload-artifact@v4": Run.upload,
}
