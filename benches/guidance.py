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
import time
from concurrent.futures import ThreadPoolExecutor

VARIANTS = {"all of it": "", "without device counters": "counters", "without the mutator": "mutator"}
OPTIONS = ["-use_counters=0", "-max_len=8192", "-rss_limit_mb=4096", "-print_final_stats=1", "-dict=corpora/cases.dict"]
BUILT = pathlib.Path("target/fuzz/x86_64-unknown-linux-gnu/release")


def fuzz(arguments, options, work, fatal, without, coverage):
    """Runs the fuzzer once, on both devices: what it wrote to stderr."""
    environment = dict(
        os.environ,
        SNUFFER_DEVICES="cpu,sim:0",
        LD_LIBRARY_PATH="target/simulator/lib",
        SNUFFER_FINDINGS=arguments.store,
        SNUFFER_FUZZ_ARTIFACTS=str(work / "artifacts"),
        SNUFFER_FUZZ_FATAL=str(fatal),
        SNUFFER_FUZZ_WITHOUT=without,
        SNUFFER_SIM_COVERAGE=str(work / coverage),
    )
    command = [BUILT / arguments.target, work / "corpus", f"corpora/{arguments.target}", *OPTIONS, *options]
    done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return done.stderr.decode("utf8", "replace")


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
    fatal = pathlib.Path(arguments.work, f"{arguments.target}-fatal")
    shutil.rmtree(work, ignore_errors=True)
    for folder in (work / "corpus", work / "artifacts", fatal):
        folder.mkdir(parents=True, exist_ok=True)
    until, executed, edges, start = time.time() + arguments.seconds, 0, 0, 0
    while (left := int(until - time.time())) >= 5:
        limits = ["-timeout=5", "-entropic_scale_per_exec_time=1", f"-seed={100 * seed + start}"]
        limits += [f"-max_total_time={left}", f"-artifact_prefix={work / 'artifacts'}/"]
        said = fuzz(arguments, limits, work, fatal, without, "passed.coverage")
        executed += max(largest(r"^#(\d+)", said), largest(r"number_of_executed_units:\s+(\d+)", said))
        edges, start = max(edges, largest(r"cov: (\d+)", said)), start + 1
        assert executed, said
        # What ended a run is stepped over by all that come after.
        for file in (work / "artifacts").iterdir():
            if file.suffix != ".toml":
                shutil.copy(file, fatal)
    fuzz(arguments, ["-runs=0", "-timeout=60"], work, fatal, without, "kept.coverage")
    figures = [ways(work / "kept.coverage"), ways(work / "passed.coverage"), edges, round(executed / arguments.seconds)]
    print(f"{arguments.target}, {variant}, seed {seed}: {figures}, {start} starts", flush=True)
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
