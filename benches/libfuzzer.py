"""Runs fuzz targets as `cargo xtask fuzz` does, but neither builds nor imports. Shared by the measurements of docs/fuzzing.md."""

import os
import pathlib
import shutil
import subprocess
import time

OPTIONS = [
    "-timeout=5",
    "-use_counters=0",
    "-entropic_scale_per_exec_time=1",
    "-max_len=8192",
    "-rss_limit_mb=4096",
    "-print_final_stats=1",
    "-dict=corpora/cases.dict",
]
BUILT = pathlib.Path("target/fuzz/x86_64-unknown-linux-gnu/release")
# The fuzzer is not started for fewer seconds.
SHORTEST = 5


class Fuzzer:
    """A target on both devices, with its own working folder."""

    def __init__(self, target, work, store, **environment):
        self.work = pathlib.Path(work)
        self.target = target
        self.corpus, self.artifacts, self.fatal = (self.work / name for name in ("corpus", "artifacts", "fatal"))
        for folder in (self.corpus, self.artifacts, self.fatal):
            folder.mkdir(parents=True, exist_ok=True)
        self.environment = dict(
            os.environ,
            SNUFFER_DEVICES="cpu,sim:0",
            LD_LIBRARY_PATH="target/simulator/lib",
            SNUFFER_FINDINGS=str(store),
            SNUFFER_FUZZ_ARTIFACTS=str(self.artifacts),
            SNUFFER_FUZZ_FATAL=str(self.fatal),
            **environment,
        )

    def start(self, *options, core=None, stderr=subprocess.PIPE, **environment):
        """Starts the fuzzer, on one core if given. Returns the process."""
        pinned = ["taskset", "-c", str(core)] if core is not None else []
        folders = [self.corpus, f"corpora/{self.target}", f"-artifact_prefix={self.artifacts}/"]
        return subprocess.Popen(
            [*pinned, BUILT / self.target, *folders, *OPTIONS, *options],
            env=self.environment | environment,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )

    def run(self, *options, **environment):
        """Runs the fuzzer once and returns its stderr."""
        return self.start(*options, **environment).communicate()[1].decode("utf8", "replace")

    def run_for(self, seconds, seed, **environment):
        """Runs the fuzzer until the time is over. Inputs that end it are skipped from then on. Returns the stderr of each start."""
        until, logs = time.time() + seconds, []
        while (left := int(until - time.time())) >= SHORTEST:
            logs.append(self.run(f"-max_total_time={left}", f"-seed={100 * seed + len(logs)}", **environment))
            assert "stat::" in logs[-1] or "#2" in logs[-1], logs[-1]
            self.step_over()
        return logs

    def step_over(self):
        """Makes the next starts skip the inputs that ended this one."""
        for file in self.artifacts.glob("[!.]*"):
            if file.suffix != ".toml":
                shutil.copy(file, self.fatal)
