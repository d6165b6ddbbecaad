"""Runs the PyTorch expressions of `src/ops/reasons.toml`, and compares what they do with what the file says.

    python tests/torch/promises.py [--write]

`--write` corrects the file instead. Without PyTorch it fails, or ends with 77 if SNUFFER_TEST_WITHOUT names pytorch.
"""

import math
import os
import re
import sys
import warnings
from pathlib import Path

try:
    import torch
except ImportError:
    print("not run: what PyTorch does where candle promises little; `pip install torch`")
    sys.exit(77 if "pytorch" in os.environ.get("SNUFFER_TEST_WITHOUT", "").split(",") else 1)

FILE = Path(__file__).parents[2] / "src" / "ops" / "reasons.toml"
NAMES = {
    "F": torch.nn.functional,
    "math": math,
    "torch": torch,
    "z": lambda *shape: torch.zeros(shape),
    "o": lambda *shape: torch.ones(shape),
    "i": lambda *shape: torch.ones(shape, dtype=torch.int64),
}


def does(expression):
    """What the expression returns, or that it is refused, in a line."""
    try:
        value = eval(expression, NAMES)
    except (IndexError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        return "refuses: " + re.sub(r"\s+", " ", str(error)).split(". ")[0][:90]
    if isinstance(value, torch.Tensor):
        return f"{value.dtype} {value.tolist()}".replace("torch.", "")
    return str(value).replace("torch.Size", "")


def main():
    warnings.simplefilter("ignore")
    text, wrong = FILE.read_text(), 0
    for whole, expression, said in re.findall(r'(torch = "([^"]*)"\nsays = "([^"]*)"\n)', text):
        now = does(expression).replace('"', "'").replace("\\", "/")
        if now != said:
            wrong += 1
            print(f"{expression}\n  says {said}\n  does {now}")
            text = text.replace(whole, f'torch = "{expression}"\nsays = "{now}"\n')
    if "--write" in sys.argv:
        FILE.write_text(text)
    else:
        sys.exit(min(wrong, 1))


main()
