#!/usr/bin/env python3
"""Measures what guides the fuzzer: a target with all guidance, without the device's counters, and without the structured
mutator, with several seeds each. Prints the table of docs/fuzzing.md.

    cargo xtask fuzz program --time 5 && python3 benches/guidance.py program --seconds 300 --seeds 3

*Kept* is measured as in FuzzBench: the corpus and the seeds run again by themselves. *Passed* also counts the coverage of
inputs that were not kept.
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


def edges_of(file):
    """The number of branch edges in the coverage file."""
    table = subprocess.run(["target/debug/snuffer", "coverage", file], capture_output=True, text=True, check=True).stdout
    total = next(line for line in table.splitlines() if line.startswith("total"))
    return int(total.split()[-1].split("/")[0])


def largest(pattern, text):
    """The largest number that matches `pattern` in `text`."""
    return max((int(number) for number in re.findall(pattern, text, re.MULTILINE)), default=0)


def measure(arguments, variant, seed):
    """One run: edges kept, edges passed, host edges, executions per second."""
    without = VARIANTS[variant]
    work = pathlib.Path(arguments.work, f"{arguments.target}-{without or 'all'}-{seed}")
    shutil.rmtree(work, ignore_errors=True)
    fuzzer = Fuzzer(arguments.target, work, arguments.store, SNUFFER_FUZZ_WITHOUT=without)
    passed, kept = work / "passed.coverage", work / "kept.coverage"
    starts = fuzzer.run_for(arguments.seconds, seed, SNUFFER_SIM_COVERAGE=str(passed))
    executed = sum(max(largest(r"^#(\d+)", log), largest(r"number_of_executed_units:\s+(\d+)", log)) for log in starts)
    edges = max(largest(r"cov: (\d+)", log) for log in starts)
    fuzzer.run("-runs=0", "-timeout=60", SNUFFER_SIM_COVERAGE=str(kept))
    figures = [edges_of(kept), edges_of(passed), edges, round(executed / arguments.seconds)]
    print(f"{arguments.target}, {variant}, seed {seed}: {figures}, {len(starts)} starts", flush=True)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=["forward", "backward", "program"])
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--store", default="findings", help="findings to skip")
    parser.add_argument("--work", default="target/guidance", help="where corpora go")
    arguments = parser.parse_args()
    os.chdir(pathlib.Path(__file__).parent.parent)
    runs = [(variant, seed) for seed in range(1, arguments.seeds + 1) for variant in VARIANTS]
    # Variants run side by side, because the machine's speed varies over time.
    with ThreadPoolExecutor(2) as pool:
        figures = list(pool.map(lambda run: measure(arguments, *run), runs))
    print("\n| | branch edges kept | branch edges passed | host edges | executions per second |\n|---|---|---|---|---|")
    for variant in VARIANTS:
        columns = zip(*(row for (name, _), row in zip(runs, figures) if name == variant))
        cells = [f"{statistics.median_low(column):,} ({min(column):,} to {max(column):,})" for column in columns]
        print(f"| `{arguments.target}`, {variant} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
