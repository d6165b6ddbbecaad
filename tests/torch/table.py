"""Writes docs/pytorch.md: what PyTorch does with the calls of the regressions, beside what candle does.

    cargo test --test it -- torch && python tests/torch/table.py

Needs PyTorch.
"""

import json
import re
import warnings
from pathlib import Path

import torch

from check import judge, run

ROOT = Path(__file__).parents[2]
HEAD = """# The regressions in PyTorch

What PyTorch {version} does on the CPU with the same call, beside what candle 0.11.1 does on the CPU and on the simulated CUDA device.
Written by `tests/torch/table.py`, which runs the scripts that reports hold. {counts}.

The last column: *as promised*, what our contract and reference say of the case; *as candle*, what candle does and we call wrong, so
that PyTorch is no ground for it; *neither*. An `Err` is an exception in PyTorch.

| regression | candle, CPU | candle, CUDA | PyTorch | PyTorch does |
|---|---|---|---|---|
"""

# What to make of each row that is not "as promised", by whoever read it. Without one the table is not written.
NOTES = {
    "tensor.gather/max-id-reads-zero": "Candle's own design (PR #2940); PyTorch refuses the id.",
    "loss.nll/ignore-index-label-refused": "PyTorch ignores the label -100 unless told otherwise, and the mean of no label is NaN; "
    "candle documents no such label.",
    "op.softmax_last_dim/scalar-input-panics": "PyTorch takes a tensor without dimensions "
    "and returns 1. That a panic is wrong remains; that only an `Err` is right is not PyTorch's word.",
    "tensor.matmul/mismatched-batch-dims-accepted": "PyTorch broadcasts the batches and returns another "
    "shape than candle, which documents that they must be equal: candle's result is neither an `Err` nor PyTorch's.",
    "tensor.sum/low-precision-partial-sums-rounded": "PyTorch has no such kernel on the CPU.",
}


def brief(text):
    """A cell of the table."""
    text = re.sub(r"\s+", " ", text).replace("|", "\\|").replace("<", "&lt;")
    return text if len(text) <= 110 else text[:109] + "…"


def candle(name, device):
    """What the snapshot of a regression says of a device."""
    suffix = "" if device == "cpu" else "@sim"
    for line in (ROOT / f"snapshots/{name}{suffix}.snap").read_text().splitlines():
        if line.startswith(device + " "):
            return line.split(maxsplit=1)[1]
    return ""


def shown(tensor):
    """A tensor in one line."""
    values = tensor.detach().flatten()
    more = ", …" if values.numel() > 4 else ""
    numbers = ", ".join(f"{value:.8g}" for value in values[:4].to(torch.float64).tolist())
    return f"{list(tensor.shape)} [{numbers}{more}]"


def summary(made):
    """What a script made, in one line."""
    if isinstance(made, Exception):
        return f"Err: {str(made).splitlines()[0]}"
    outputs = made["outputs"] if "outputs" in made else [made["output"]]
    gradients = [
        f"; gradient of {name}: {shown(leaf.grad)}"
        for name, leaf in made.items()
        if isinstance(leaf, torch.Tensor) and leaf.is_leaf and leaf.requires_grad and leaf.grad is not None
    ]
    return "Ok: " + ", ".join(map(shown, outputs)) + "".join(gradients)


def alike(one, other):
    """Whether two summaries show the same numbers, as far as both show any."""

    def numbers(text):
        lists = re.findall(r"\[[\d, ]*\] \[([^\]]*)\]", text)
        return [[f"{float(number):.6g}" for number in found.replace(", …", "").split(", ") if number][:4] for found in lists]

    pairs = list(zip(numbers(one), numbers(other)))
    return bool(pairs) and all(one == other for one, other in pairs)


def main():
    warnings.simplefilter("ignore")
    rows, notes, counts = [], [], {}
    scripts = json.loads((ROOT / "target/tmp/torch/scripts.json").read_text())
    for key, (script, expected) in scripts.items():
        if not key.startswith("regression--"):
            continue
        name = key.removeprefix("regression--")
        made = run(script)
        text, on_cpu = summary(made), candle(name, "cpu")
        if expected is None:
            does = "as promised" if isinstance(made, Exception) else "neither"
        else:
            wrong = judge(key, script, expected, slack=1)
            does = "no kernel" if wrong is None else "as promised" if not wrong else "neither"
            if isinstance(made, Exception) and wrong is None and "not implemented" not in text:
                does = "as promised"
        if does == "neither" and alike(text, on_cpu):
            does = "as candle"
        counts[does] = counts.get(does, 0) + 1
        if does != "as promised":
            notes.append(f"- `{name}`: {NOTES[name]}\n")
        cells = [f"`{name}`", brief(on_cpu), brief(candle(name, "sim:0")), brief(text), does]
        rows.append("| " + " | ".join(cells) + " |\n")
    told = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    head = HEAD.format(version=torch.__version__, counts=f"{len(rows)} of the regressions have such a call: {told}")
    (ROOT / "docs/pytorch.md").write_text(head + "".join(rows) + "\n## Where PyTorch is no ground\n\n" + "".join(notes))
    print(told)


if __name__ == "__main__":
    main()
