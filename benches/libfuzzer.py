"""Runs fuzz targets as `cargo xtask fuzz` does, without building and importing: what the measurements of docs/fuzzing.md share."""

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
# Fewer seconds are not worth a start.
WORTH = 5


class Fuzzer:
    """A target on both devices, with a working folder of its own."""

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
        """The process of one start of the fuzzer; on one core, where that is given."""
        pinned = ["taskset", "-c", str(core)] if core is not None else []
        folders = [self.corpus, f"corpora/{self.target}", f"-artifact_prefix={self.artifacts}/"]
        return subprocess.Popen(
            [*pinned, BUILT / self.target, *folders, *OPTIONS, *options],
            env=self.environment | environment,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )

    def run(self, *options, **environment):
        """Runs the fuzzer once: what it wrote to stderr."""
        return self.start(*options, **environment).communicate()[1].decode("utf8", "replace")

    def run_for(self, seconds, seed, **environment):
        """Runs it until the time is over, again where an input ended it, which it then steps over: what each wrote to stderr."""
        until, said = time.time() + seconds, []
        while (left := int(until - time.time())) >= WORTH:
            said.append(self.run(f"-max_total_time={left}", f"-seed={100 * seed + len(said)}", **environment))
            assert "stat::" in said[-1] or "#2" in said[-1], said[-1]
            self.step_over()
        return said

    def step_over(self):
        """What ended a run is not run by the next ones."""
        for file in self.artifacts.glob("[!.]*"):
            if file.suffix != ".toml":
                shutil.copy(file, self.fatal)
