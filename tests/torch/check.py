"""Runs the PyTorch scripts that `cargo test --test it -- torch` writes, and compares their results with the reference.

    python tests/torch/check.py [SCRIPTS.json]

Fails if a script does not run or has another result. Counts calls for which PyTorch has no kernel. Without PyTorch it fails,
or ends with 77 if SNUFFER_TEST_WITHOUT names pytorch.
"""

import collections
import contextlib
import io
import json
import math
import os
import sys
from pathlib import Path

try:
    import torch
except ImportError:
    print("not run: the comparison with PyTorch; `pip install torch`, or leave it out with SNUFFER_TEST_WITHOUT=pytorch")
    sys.exit(77 if "pytorch" in os.environ.get("SNUFFER_TEST_WITHOUT", "").split(",") else 1)

# PyTorch rounds halves to even, candle rounds them away from zero; and 10^decimals overflows.
ROUNDING = {"tensor.round", "tensor.round_to"}
# NaN in PyTorch where the result is infinite.
NAN_AT_INFINITY = {"tensor.gelu_erf"}
# In PyTorch, halves overflow between the convolution and its norm.
OVERFLOWS = {"layer.conv2d_absorb_bn"}
# PyTorch says so if it lacks a kernel or a derivative, or if the tensor to write into repeats its elements, which candle may reject, too.
MISSING = "not implemented", "Unsupported dtype", "refers to a single memory location"


def run(script):
    """Returns the variables of the script, or the error that ended it."""
    names = {}
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(script, "script", "exec"), names)
    except Exception as error:  # any error of PyTorch
        return error
    return names


def differences(op, tensor, expected, slack):
    """Yields the elements of `tensor`, a result or gradient of `op`, that are wrong."""
    values = tensor.detach().to(torch.float64).flatten().tolist()
    for place, value, within in expected:
        if place >= len(values):
            yield f"{len(values)} elements"
            return
        value, got = float(value), values[place]
        if got == value or math.isnan(got) and math.isnan(value):
            continue
        if abs(got - value) <= slack * within or op in ROUNDING and not abs(got - value) > 1:
            continue
        if op in OVERFLOWS and math.isinf(got) or op in NAN_AT_INFINITY and math.isinf(value):
            continue
        yield f"{got} at {place}, not {value} ± {within}"


def judge(name, script, expected, slack):
    """Returns what is wrong with a script; `None` if PyTorch has no kernel. Errors may be `slack` times their bound."""
    made = run(script)
    if isinstance(made, Exception):
        message = str(made).splitlines()[0]
        promised = any(expected["outputs"])
        if isinstance(made, NotImplementedError) or any(text in message for text in MISSING) or not promised:
            return None
        return [f"{type(made).__name__}: {message}"]
    op = name.rsplit("_", 1)[0]
    # In a sequence an earlier step may have several outputs.
    outputs = made["outputs"] if script.rfind("\noutputs = ") > script.rfind("\noutput = ") else [made["output"]]
    wrong = []
    for output, wanted in zip(outputs, expected["outputs"]):
        wrong += differences(op, output, wanted, slack)
    # The backward pass of PyTorch's batch norm reads past the end of a weight that is expanded, and that of its layer norm has the
    # deviation of a half in the dtype of that half.
    beyond = op.startswith("layer.batch_norm") and "weight = weight_leaf.expand" in script
    coarse = "layer_norm" in op and "float16" in script
    for leaf, wanted in expected["gradients"].items() if not beyond and not coarse else ():
        if made[leaf].grad is not None:
            wrong += [f"gradient of {leaf}: {one}" for one in differences(op, made[leaf].grad, wanted, slack)]
        elif wanted:
            wrong.append(f"no gradient of {leaf}")
    return wrong


def main():
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("target/tmp/torch/scripts.json")
    counts = collections.Counter()
    for name, (script, expected) in json.loads(path.read_text()).items():
        if expected is None or name.startswith("regression--"):
            continue
        # PyTorch may add in another order and dtype than candle.
        wrong = judge(name, script, expected, slack=2)
        counts["no kernel" if wrong is None else "wrong" if wrong else "right"] += 1
        if wrong:
            print(f"-- {name}: {wrong[0]}\n{script}")
    print(f"PyTorch {torch.__version__}:", ", ".join(f"{count} {what}" for what, count in counts.items()))
    return counts["wrong"] > 0


if __name__ == "__main__":
    sys.exit(main())
