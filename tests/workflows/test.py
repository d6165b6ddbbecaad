"""Runs the workflows for candle's repository, and the action that they use, against a small repository that stands for candle's.

Each run begins in an empty folder. The repository holds the crates of the release under test, as cargo has them. Only one input is
not what a user has: `arguments` bounds the cases, so that a run takes seconds. A worker is built for each candle, which takes minutes.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from runner import PROJECT, Runner, read

WORKFLOWS = PROJECT / "docs/workflows"
FEW = "--ops tensor.relu,loss.mse --cases 200 --seed 1"


def git(repository, *args):
    author = ["-c", "user.name=A contributor", "-c", "user.email=contributor@example.org"]
    subprocess.run(["git", *author, *args], cwd=repository, check=True, stdout=subprocess.DEVNULL)


def crates():
    """The folders of candle's crates, as cargo has them."""
    cargo = ["cargo", "metadata", "--format-version", "1", "--locked", "--features", "cuda"]
    packages = json.loads(subprocess.run(cargo, cwd=PROJECT, check=True, stdout=subprocess.PIPE).stdout)["packages"]
    wanted = ["candle-core", "candle-nn", "candle-kernels"]
    return {it["name"]: Path(it["manifest_path"]).parent for it in packages if it["name"] in wanted}


def change(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1, f"{path} has {text.count(old)} times `{old}`"
    path.write_text(text.replace(old, new))


def candle(folder):
    """A repository of candle: `main`, and pull requests as they would be merged into it."""
    repository = folder / "candle"
    repository.mkdir(parents=True)
    git(repository, "init", "--quiet", "--initial-branch", "main")
    for name, source in crates().items():
        shutil.copytree(source, repository / name, ignore=shutil.ignore_patterns(".cargo*"))
    with (repository / "candle-core/src/lib.rs").open("a") as file:
        file.write("// A comment that no release has.\n")
    (repository / "README.md").write_text("# candle\n")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message", "what main is")
    for name, edit in PULL_REQUESTS.items():
        git(repository, "switch", "--quiet", "--create", name, "main")
        edit(repository)
        git(repository, "commit", "--quiet", "--all", "--message", name)
        git(repository, "switch", "--quiet", "--create", f"{name}-merged", "main")
        git(repository, "merge", "--quiet", "--no-ff", "--no-edit", name)
    return repository


PULL_REQUESTS = {
    "relu": lambda repository: change(repository / "candle-core/src/op.rs", "v.max(0f32)", "v.max(1f32)"),
    "readme": lambda repository: change(repository / "README.md", "# candle", "# Candle"),
}


def shown(title, run):
    """Prints what a reader of the job sees."""
    print(f"--- {title}: {'failed' if run.failed else 'passed'}\n{run.log}--- its summary\n{run.summary.read_text()}", flush=True)


def a_pull_request_that_breaks_relu_fails_with_the_reason_in_the_summary(runner):
    run = runner.run(WORKFLOWS / "pull-request.yml", "relu-merged", {"arguments": FEW})
    shown("a pull request that breaks relu", run)
    summary = run.summary.read_text()
    assert run.failed and "| newly failing | tensor.relu returns a wrong value | cpu |" in summary
    assert "loss.mse" not in summary, "nothing else changed"
    (report,) = run.artifacts["snuffer"]
    results = json.loads((report / "report.sarif").read_text())["runs"][0]["results"]
    assert results and "tensor.relu" in results[0]["message"]["text"]


def a_pull_request_that_changes_no_code_passes_and_runs_nothing(runner):
    run = runner.run(WORKFLOWS / "pull-request.yml", "readme-merged", {"arguments": FEW})
    shown("a pull request that changes no code", run)
    assert not run.failed and "no difference" in run.summary.read_text()
    assert "digest=" in run.log and "Finished" not in run.log, "the cache has what was built"


def the_first_night_reports_what_the_second_does_not_report_again(runner):
    both = {"arguments": FEW, "device": "cpu,sim:0"}
    first = runner.run(WORKFLOWS / "nightly.yml", "relu-merged", both)
    shown("the first night", first)
    assert first.failed and "tensor.relu returns a wrong value" in first.summary.read_text()
    second = runner.run(WORKFLOWS / "nightly.yml", "relu-merged", both)
    shown("the second night", second)
    assert not second.failed and "0 findings." in second.summary.read_text()


def every_script_was_executed(runner):
    steps = {"action.yml": read(PROJECT / "action.yml")["runs"]["steps"]}
    for path in WORKFLOWS.glob("*.yml"):
        (job,) = read(path)["jobs"].values()
        steps[path.name] = job["steps"]
    scripts = {f"{name}:{at}" for name, own in steps.items() for at, step in enumerate(own) if "run" in step}
    assert scripts and scripts == runner.executed, f"never executed: {scripts - runner.executed}"


def main():
    folder = Path(sys.argv[1])
    runner = Runner(candle(folder), folder)
    tests = [
        a_pull_request_that_breaks_relu_fails_with_the_reason_in_the_summary,
        a_pull_request_that_changes_no_code_passes_and_runs_nothing,
        the_first_night_reports_what_the_second_does_not_report_again,
        every_script_was_executed,
    ]
    for test in tests:
        test(runner)
        print(f"ok {test.__name__.replace('_', ' ')}", flush=True)


main()
