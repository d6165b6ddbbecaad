"""Writes target/reference/pytorch.md: the regressions' calls in PyTorch and in candle.

    cargo test --test it -- torch && python tests/torch/table.py

Needs PyTorch.
"""

import json
import re
import warnings
from datetime import date
from pathlib import Path

import torch

from check import judge, run

ROOT = Path(__file__).parents[2]
HEAD = """# The regressions in PyTorch

For each regression in `corpora/regressions`: what candle 0.11.1 does on the CPU and on the simulated CUDA device, and what
PyTorch {version} does with the same call on the CPU. Written on {date} by `cargo test --test it -- torch && python tests/torch/table.py`, which runs the
PyTorch scripts of these calls.

{counts}. An `Err` in PyTorch's column is an exception. The last column:

- *as promised*: PyTorch does what our contract and reference say.
- *as candle*: PyTorch does what candle does and we call wrong, so it does not support our verdict.
- *neither*: PyTorch does something else.
- *no kernel*: PyTorch does not implement the call.

| regression | candle, CPU | candle, CUDA | PyTorch | PyTorch does |
|---|---|---|---|---|
"""

# How to read each row that is not "as promised", written by hand. The table is not written if one is missing.
NOTES = {
    "tensor.gather/max-id-reads-zero": "By design in candle (PR #2940); PyTorch refuses the id.",
    "loss.nll/ignore-index-label-refused": "PyTorch ignores the label -100 by default, and the mean over no labels is NaN. "
    "candle documents no such label.",
    "op.softmax_last_dim/scalar-input-panics": "PyTorch accepts a tensor without dimensions "
    "and returns 1. A panic is still wrong, but PyTorch does not show that only an `Err` is right.",
    "tensor.matmul/mismatched-batch-dims-accepted": "PyTorch broadcasts the batches and returns a different "
    "shape. candle documents that they must be equal, but its result is neither an `Err` nor PyTorch's.",
    "attention.flash_attn/causal-empty-value-heads-segfault": "PyTorch returns an empty result. Nothing is promised of an empty "
    "input, but no call may end the process.",
}


def brief(text):
    """A cell of the table."""
    text = re.sub(r"\s+", " ", text).replace("|", "\\|").replace("<", "&lt;")
    return text if len(text) <= 110 else text[:109] + "…"


def candle(name, device):
    """The line of a device in a regression's snapshot."""
    for line in (ROOT / "corpora/regressions" / name / "replay.snap").read_text().splitlines():
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
    """A script's result, in one line."""
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
    """Whether two summaries show the same numbers, where both show some."""

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
    tally = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    counted = f"{len(rows)} regressions have a PyTorch call: {tally}"
    head = HEAD.format(version=torch.__version__, date=date.today(), counts=counted)
    folder = ROOT / "target/reference"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pytorch.md").write_text(head + "".join(rows) + "\n## Where PyTorch does not agree\n\n" + "".join(notes))
    print(tally)


if __name__ == "__main__":
    main()
