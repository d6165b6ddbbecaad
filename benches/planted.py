#!/usr/bin/env python3
"""Measures how soon a bug planted into a kernel of candle is found: by fuzzing from the corpus of an earlier run, as nightly
jobs do, and by a hunt, which has no coverage. Prints the table of docs/fuzzing.md.

    cargo xtask build && cargo xtask fuzz forward --time 5 && python3 benches/planted.py --store STORE

A bug is a change of one instruction (`SNUFFER_SIM_MUTATE`). Bugs are drawn at random, at most one per kernel, and taken if
neither the seeds nor a hunt of ten seconds notices them, but the corpus of one run does. The measured runs start from the
corpus of another run. A bug is found when a kept case passes without it. Both sides run at the same time, on one core each.
"""

import argparse
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from libfuzzer import Fuzzer

DEVICES = ["--device", "cpu", "--device", "sim:0"]
SIMULATED = dict(os.environ, LD_LIBRARY_PATH="target/simulator/lib")
SNUFFER = "target/debug/snuffer"


def passes(case):
    """Whether the case passes on candle's unchanged kernels."""
    return subprocess.run([SNUFFER, "replay", case, *DEVICES], capture_output=True, env=SIMULATED).returncode == 0


def kernels(coverage):
    """The launched kernels in a coverage file. The table has one line per kernel, below the line of its module."""
    table = subprocess.run([SNUFFER, "coverage", "--kernels", coverage], capture_output=True, text=True, check=True)
    rows = (line.split() for line in table.stdout.splitlines() if re.match(r"  \S", line))
    return sorted(name for name, launched, *_ in rows if launched == "1/1")


class Hunt:
    """A hunt with a changed kernel: drawn cases, without coverage."""

    def __init__(self, work, mutant, seed, seconds, core):
        self.store = work / "store"
        command = [SNUFFER, "hunt", *DEVICES, "--seed", str(seed), "--time", f"{seconds}s"]
        command += ["--jobs", "1", "--minimize", "1s", "--store", self.store]
        quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        environment = SIMULATED | {"SNUFFER_SIM_MUTATE": mutant}
        self.begun = time.time()
        self.process = subprocess.Popen(["taskset", "-c", str(core), *command], env=environment, **quiet)

    def kept(self):
        """The findings that it has kept so far, by slug."""
        return {file.parent.name: file for file in self.store.glob("*/finding.toml")}

    def go_on(self):
        """Whether it still runs."""
        return self.process.poll() is None

    def end(self):
        """Ends it."""
        self.process.terminate()
        self.process.wait()


class Night:
    """A fuzzer that starts from a corpus, with a changed kernel."""

    def __init__(self, work, mutant, seed, corpus, store, core):
        self.fuzzer = Fuzzer("forward", work, store, SNUFFER_SIM_MUTATE=mutant)
        for name in ("corpus", "fatal"):
            shutil.copytree(corpus / name, work / name, dirs_exist_ok=True)
        self.seed, self.core, self.starts = seed, core, 0
        self.begun = time.time()
        self.start()

    def start(self):
        """Starts it with a new seed."""
        seed = f"-seed={100 * self.seed + self.starts}"
        self.process = self.fuzzer.start(seed, core=self.core, stderr=subprocess.DEVNULL)
        self.starts += 1

    def kept(self):
        """The inputs that it has kept so far or that ended it, by slug or by libFuzzer's name."""
        return {file.stem: file for file in self.fuzzer.artifacts.glob("[!.]*")}

    def go_on(self):
        """Restarts it if an input ended it."""
        if self.process.poll() is not None:
            self.fuzzer.step_over()
            self.start()
        return True

    def end(self):
        """Ends it."""
        self.process.kill()
        self.process.wait()


def first(run, known, seconds):
    """The seconds until `run` kept a case that only the change fails; `None` if it took longer than `seconds`."""
    seen = set()
    try:
        while time.time() < run.begun + seconds and run.go_on():
            for name, file in run.kept().items():
                if name in seen or name in known:
                    continue
                seen.add(name)
                at = file.stat().st_mtime - run.begun
                if passes(file):
                    return at
            time.sleep(0.1)
    finally:
        run.end()
    return None


def notices(folder, mutant, known, work, store):
    """Whether the inputs in `folder` and the seeds notice the change."""
    fuzzer = Fuzzer("forward", work, store, SNUFFER_SIM_MUTATE=mutant)
    if folder:
        for name in ("corpus", "fatal"):
            shutil.copytree(folder / name, work / name, dirs_exist_ok=True)
    fuzzer.run("-runs=0")
    return any(file.stem not in known and passes(file) for file in fuzzer.artifacts.glob("[!.]*"))


def is_fit(mutant, number, arguments, known, selecting):
    """Whether to plant a change."""
    work = arguments.work / f"fit-{number}"
    try:
        if notices(None, mutant, known, work / "seeds", arguments.store):
            return False
        if not notices(selecting, mutant, known, work / "corpus", arguments.store):
            return False
        return first(Hunt(work, mutant, 1, 10, number % 2), known, 10) is None
    finally:
        shutil.rmtree(work, ignore_errors=True)


def selected(arguments, known, selecting):
    """The first changes of a random list that fit."""
    dice = random.Random(1)
    names = kernels(selecting / "passed.coverage")
    dice.shuffle(names)
    mutants = [f"{name}:{dice.randrange(1000)}" for name in names]
    chosen, tried = [], 0
    with ThreadPoolExecutor(2) as pool:
        # Two at a time, in order.
        while len(chosen) < arguments.mutants and tried < len(mutants):
            pair = list(enumerate(mutants))[tried : tried + 2]
            fit = pool.map(lambda one: is_fit(one[1], one[0], arguments, known, selecting), pair)
            chosen += [mutant for (_, mutant), fits in zip(pair, fit) if fits]
            tried += len(pair)
    print(f"{len(chosen)} of {tried} changes are fit", flush=True)
    return chosen[: arguments.mutants]


def corpora(arguments):
    """The folders of two runs of the same length, which run side by side."""
    folders = [arguments.work / f"corpus-{seed}" for seed in (1, 2)]

    def build(folder, seed):
        fuzzer = Fuzzer("forward", folder, arguments.store)
        fuzzer.run_for(arguments.corpus, seed, SNUFFER_SIM_COVERAGE=str(folder / "passed.coverage"))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(build, [folder for folder in folders if not folder.exists()], (1, 2)))
    return folders


def cell(seconds):
    """A cell of the table: the median of the times, then all of them. None counts as infinite."""
    times = sorted(float("inf") if one is None else one for one in seconds)
    words = ["-" if one == float("inf") else f"{one:.1f}" for one in times]
    return f"{words[len(words) // 2]} ({', '.join(words)})".replace("- (", "none (", 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mutant", nargs="*", help="changes to plant, such as `usin_f64:145`; by default they are chosen")
    parser.add_argument("--store", default="findings", help="findings to skip")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("target/planted"), help="where corpora go")
    parser.add_argument("--corpus", type=int, default=300, help="seconds of fuzzing for a corpus")
    parser.add_argument("--limit", type=int, default=60, help="time limit of a run in seconds")
    parser.add_argument("--mutants", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    os.chdir(pathlib.Path(__file__).parent.parent)
    selecting, starting = corpora(arguments)
    known = {file.parent.name for file in pathlib.Path(arguments.store).glob("*/finding.toml")}
    known |= {file.stem for folder in (selecting, starting) for file in (folder / "artifacts").iterdir()}
    for mutant in arguments.mutant or selected(arguments, known, selecting):
        hunted, fuzzed = [], []
        for seed in range(1, arguments.seeds + 1):
            work = arguments.work / "run"
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(parents=True)
            # Start the fuzzer first: it has a corpus to copy.
            night = Night(work / "night", mutant, seed, starting, arguments.store, 1)
            hunt = Hunt(work / "hunt", mutant, seed, arguments.limit, 0)
            with ThreadPoolExecutor(2) as pool:
                hunt, night = pool.map(lambda run: first(run, known, arguments.limit), (hunt, night))
            hunted.append(hunt)
            fuzzed.append(night)
        print(f"| `{mutant}` | {cell(hunted)} | {cell(fuzzed)} |", flush=True)


if __name__ == "__main__":
    main()
