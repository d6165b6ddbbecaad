#!/usr/bin/env python3
"""What guides the fuzzer, and what that is worth: a target with all that guides it, without the device's counters, and
without the structured mutator, some seeds each, in turn and two at a time. Writes the table of docs/fuzzing.md.

    cargo xtask fuzz program --time 5 && python3 benches/guidance.py program --seconds 300 --seeds 3

What a run *kept* is told as FuzzBench does: its corpus and the seeds are run again by themselves. What it *passed* also counts what inputs
reached that were not kept.
"""

import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
from concurrent.futures import ThreadPoolExecutor

from libfuzzer import Fuzzer

VARIANTS = {"all of it": "", "without device counters": "counters", "without the mutator": "mutator"}


def ways(file):
    """Ways of branches that the coverage in `file` has."""
    table = subprocess.run(["target/debug/snuffer", "coverage", file], capture_output=True, text=True, check=True).stdout
    total = next(line for line in table.splitlines() if line.startswith("total"))
    return int(total.split()[-1].split("/")[0])


def largest(pattern, text):
    """The largest number that `pattern` finds in `text`."""
    return max((int(number) for number in re.findall(pattern, text, re.MULTILINE)), default=0)


def measure(arguments, variant, seed):
    """One run: ways kept, ways passed, host edges, executions per second."""
    without = VARIANTS[variant]
    work = pathlib.Path(arguments.work, f"{arguments.target}-{without or 'all'}-{seed}")
    shutil.rmtree(work, ignore_errors=True)
    fuzzer = Fuzzer(arguments.target, work, arguments.store, SNUFFER_FUZZ_WITHOUT=without)
    passed, kept = work / "passed.coverage", work / "kept.coverage"
    starts = fuzzer.run_for(arguments.seconds, seed, SNUFFER_SIM_COVERAGE=str(passed))
    executed = sum(max(largest(r"^#(\d+)", said), largest(r"number_of_executed_units:\s+(\d+)", said)) for said in starts)
    edges = max(largest(r"cov: (\d+)", said) for said in starts)
    fuzzer.run("-runs=0", "-timeout=60", SNUFFER_SIM_COVERAGE=str(kept))
    figures = [ways(kept), ways(passed), edges, round(executed / arguments.seconds)]
    print(f"{arguments.target}, {variant}, seed {seed}: {figures}, {len(starts)} starts", flush=True)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=["forward", "backward", "program"])
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--store", default="findings", help="findings to step over")
    parser.add_argument("--work", default="target/guidance", help="where corpora go")
    arguments = parser.parse_args()
    os.chdir(pathlib.Path(__file__).parent.parent)
    runs = [(variant, seed) for seed in range(1, arguments.seeds + 1) for variant in VARIANTS]
    # Variants that are compared run side by side, as a machine is not as fast at all times.
    with ThreadPoolExecutor(2) as pool:
        figures = list(pool.map(lambda run: measure(arguments, *run), runs))
    print("\n| | ways kept | ways passed | host edges | executions per second |\n|---|---|---|---|---|")
    for variant in VARIANTS:
        columns = zip(*(row for (name, _), row in zip(runs, figures) if name == variant))
        told = [f"{statistics.median_low(column):,} ({min(column):,} to {max(column):,})" for column in columns]
        print(f"| `{arguments.target}`, {variant} | {' | '.join(told)} |")


if __name__ == "__main__":
    main()
