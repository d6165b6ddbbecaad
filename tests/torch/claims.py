"""Runs what the causes in `corpora/causes` say of PyTorch (the key `pytorch` of each cause.toml) on the CPU.

    python tests/torch/claims.py

Prints each claim that does not hold, and fails if there is one, or if a cause with a claim is in neither table below. Without
PyTorch it fails, or ends with 77 if SNUFFER_TEST_WITHOUT names pytorch.
"""

import math
import os
import platform
import sys
import tomllib
import warnings
from pathlib import Path

try:
    import torch
except ImportError:
    print("not run: what the causes say of PyTorch; `pip install torch`, or leave it out with SNUFFER_TEST_WITHOUT=pytorch")
    sys.exit(77 if "pytorch" in os.environ.get("SNUFFER_TEST_WITHOUT", "").split(",") else 1)

import torch.nn.functional as F
from torch import nn, ones, tensor, zeros
from torch.nn.attention import SDPBackend, sdpa_kernel

CAUSES = Path(__file__).parents[2] / "corpora" / "causes"
HALVES = torch.float16, torch.bfloat16
INF, NAN = math.inf, math.nan
BIG = 2**62


def fails(call, error=RuntimeError):
    """Whether the call raises that error."""
    try:
        call()
    except error:
        return True
    return False


def same(got, expected, within=0.0):
    """Whether the tensor has these values; NaN equals NaN."""
    expected = torch.as_tensor(expected, dtype=torch.float64)
    return got.shape == expected.shape and torch.allclose(got.double(), expected, rtol=0, atol=within, equal_nan=True)


def shape(got, *expected):
    return tuple(got.shape) == expected


def grads(function, *inputs):
    """The gradients of the sum of the result."""
    inputs = [one.clone().requires_grad_() for one in inputs]
    function(*inputs).sum().backward()
    return [one.grad for one in inputs]


def grad(function, one):
    return grads(function, one)[0]


def attention(*inputs, **options):
    return F.scaled_dot_product_attention(*inputs, **options)


def math_attention(*inputs):
    with sdpa_kernel(SDPBackend.MATH):
        return F.scaled_dot_product_attention(*inputs)


def half(*values):
    return tensor(values, dtype=torch.float16)


def strided(*sizes):
    """A tensor of which only every other element of a buffer is used."""
    return torch.arange(2.0 * math.prod(sizes)).view(*sizes, 2)[..., 0]


def init_warns(init):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = init(zeros(3, 0))
    return shape(made, 3, 0) and len(caught) == 1


def second_derivative(function, x):
    x = x.clone().requires_grad_()
    (first,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
    return torch.autograd.grad(first.sum(), x)[0]


def deep_graph():
    x = ones(1).requires_grad_()
    y = x
    for _ in range(100_000):
        y = y * 1.0
    y.backward()
    del y
    return same(x.grad, [1.0])


def gelu_gradients_have_all_digits():
    def tanh_form(x):
        c = math.sqrt(2 / math.pi)
        t = math.tanh(c * (x + 0.044715 * x**3))
        return (1 + t) / 2 + x / 2 * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x)

    def erf_form(x):
        return (1 + math.erf(x / math.sqrt(2))) / 2 + x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)

    x = torch.linspace(-3, 3, 13, dtype=torch.float64)
    return same(grad(lambda x: F.gelu(x, approximate="tanh"), x), [tanh_form(v) for v in x.tolist()], 1e-14) and same(
        grad(F.gelu, x), [erf_form(v) for v in x.tolist()], 1e-14
    )


def no_error_in_backward():
    """Convolutions of many sizes have a gradient as large as their inputs."""
    for size in 5, 6, 7, 8:
        for stride in 1, 2, 3:
            for padding in 0, 1:
                for dilation in 1, 2:
                    x, kernel = ones(1, 1, size, size + 1), ones(1, 1, 3, 2)
                    got = grads(lambda x, k: F.conv2d(x, k, None, stride, padding, dilation), x, kernel)
                    if got[0].shape != x.shape or got[1].shape != kernel.shape:
                        return False
    return True


def row(function, count, *sizes):
    """Whether one element of a batch has the result that it has alone."""
    batch = torch.rand(count, *sizes)
    return torch.allclose(function(batch)[:1], function(batch[:1]))


def integers_are_rejected(*calls):
    return all(fails(lambda: call(tensor([4, 5]))) for call in calls)


def promoted(*calls):
    return all(call(tensor([4])).dtype == torch.float32 for call in calls)


# What to run for each cause. The claim itself is in its cause.toml.
CLAIMS = {
    "a-conversion-from-f8e4m3-to-f64-does-not-end": lambda: same(half(1.5).to(torch.float8_e4m3fn).double(), [1.5]),
    "a-graph-of-many-steps-overflows-the-stack": deep_graph,
    "a-division-of-integers-by-0-panics-on-the-cpu": lambda: fails(lambda: tensor([1]) // tensor([0]))
    and same(tensor([1, 0]) / tensor([0, 0]), [INF, NAN]),
    "a-gradient-of-0-is-left-out": lambda: all(
        same(grad(f, tensor([1.5])), [0.0]) for f in (torch.ceil, torch.floor, torch.round, torch.sign, lambda x: x * 0)
    ),
    "a-power-of-0-or-of-a-negative-number-is-nan": lambda: same(torch.pow(tensor([0.0, -2]), tensor([0.0, 3])), [1, -8]),
    "a-quantized-matmul-of-no-rows-or-of-four": lambda: shape(zeros(0, 32) @ ones(32, 2), 0, 2)
    and shape(ones(2, 1, 3, 32) @ ones(32, 2), 2, 1, 3, 2),
    "a-scalar-is-truncated-to-the-integer-dtype-of-its": lambda: same(tensor([1]) + 0.5, [1.5])
    and same(tensor([1]) / 2, [0.5])
    and (tensor([1]) - 1).dtype == torch.int64
    and fails(tensor([1, 2]).mean),
    "a-strided-kernel-of-conv1d-with-cudnn-is-misplaced": lambda: same(
        F.conv1d(torch.arange(4.0).view(1, 1, 4), tensor([[[1.0], [2.0]]]).transpose(1, 2), dilation=2), [[[4, 7]]]
    ),
    "a-tensor-that-does-not-fit-into-memory-aborts-the": lambda: fails(lambda: torch.rand(2, 2**59)),
    "an-empty-view-behind-the-end-of-its-buffer-panics": lambda: shape(zeros(0, 2)[:, 1:].contiguous(), 0, 1)
    and shape(ones(3, 2)[3:] @ ones(2, 2), 0, 2),
    "arange-step-never-ends-where-the-step-is-lost-in-a": lambda: same(
        torch.arange(-512, -513, -0.25, dtype=torch.float16), half(-512.0, -512.25, -512.5, -512.75)
    )
    and same(torch.arange(1, 1.3, 0.1, dtype=torch.float64), [1, 1.1, 1.2, 1.3], 1e-12),
    "arg-sort-last-dim-panics-for-an-empty-row": lambda: shape(torch.argsort(zeros(2, 0), dim=-1), 2, 0),
    "argmax-and-argmin-on-cuda-do-not-return-the-first": lambda: tensor([1.0, 3, 3] * 10000).argmax() == 1
    and ones(100, 1000).argmin(1).max() == 0
    and tensor([1.0, NAN, 3, NAN]).argmax() == 1
    and tensor([1.0, NAN, 0, NAN]).argmin() == 1,
    "avg-pool2d-adds-and-divides-in-the-dtype": lambda: all(
        same(F.avg_pool2d(ones(1, 1, 64, 64, dtype=dtype), 64), [[[[1]]]]) for dtype in HALVES
    )
    and same(F.avg_pool2d(tensor([[[[1, 2], [3, 5]]]]), 2), [[[[2]]]])
    and fails(lambda: F.avg_pool2d(ones(1, 1, 2, 2, dtype=torch.int32), 2)),
    "avg-pool2d-gives-a-gradient-to-elements-that-no": lambda: same(
        grad(lambda x: F.avg_pool2d(x, 2), ones(1, 1, 2, 3)), [[[[0.25, 0.25, 0]] * 2]]
    ),
    "batchnorm-in-evaluation-accepts-an-input-of-one": lambda: fails(lambda: nn.BatchNorm1d(1).eval()(ones(1)), ValueError)
    and fails(lambda: F.batch_norm(ones(1), zeros(1), ones(1))),
    "batchnorm-in-training-on-one-value-of-a-channel": lambda: fails(lambda: nn.BatchNorm1d(3)(ones(1, 3)), ValueError),
    "batchnorm-rejects-a-momentum-outside-0-to-1": lambda: all(
        same(nn.BatchNorm1d(1, momentum=momentum)(tensor([[1.0], [3]])), [[-1], [1]], 1e-4) for momentum in (-1.0, 2.0, NAN)
    ),
    "batchnorm-takes-no-f16-input-with-f32-statistics": lambda: all(
        F.batch_norm(ones(2, 3).to(dtype), zeros(3), ones(3)).dtype == dtype
        and nn.BatchNorm1d(1).to(dtype)(tensor([[0.0], [1.0]], dtype=dtype)).dtype == dtype
        for dtype in HALVES
    ),
    "bf16-on-cpus-with-avx512-bf16-loses-subnormal": lambda: same(
        torch.full((64,), 2.0**-130, dtype=torch.bfloat16) + torch.full((64,), 2.0**-130, dtype=torch.bfloat16),
        [2.0**-129] * 64,
    ),
    "binary-cross-entropy-with-logit-is-infinite-for": lambda: same(
        F.binary_cross_entropy_with_logits(tensor([100.0, -100]), tensor([0.0, 1])), 100
    ),
    "binary-cross-entropy-with-logit-rejects-the-u32": lambda: fails(
        lambda: F.binary_cross_entropy_with_logits(zeros(2), tensor([0, 1]))
    )
    and same(F.binary_cross_entropy_with_logits(zeros(2), tensor([0.0, 1])), math.log(2), 1e-6),
    "binary-operators-of-empty-tensors-leave-the-graph": lambda: all(
        shape(one, 0) for one in grads(lambda x, y: x + y, zeros(0), zeros(0))
    ),
    "casts-out-of-range-give-other-integers-on-cuda": lambda: platform.machine() != "x86_64"
    or all(
        same(tensor([NAN, 1e20, -1e20]).to(dtype), [torch.iinfo(dtype).min] * 3) for dtype in (torch.int32, torch.int64)
    ),
    "cat-pad-flatten-flip-get-and-meshgrid-do-not-check": lambda: all(
        fails(call, (IndexError, RuntimeError))
        for call in (
            lambda: torch.cat([ones(2)], 1),
            lambda: ones(2, 2).flatten(1, 0),
            lambda: tensor(1.0)[0],
            lambda: ones(2).flip([0, 0]),
            lambda: torch.meshgrid(ones(1), ones(1).long(), indexing="ij"),
        )
    ),
    "chunk-into-0-parts-divides-by-0": lambda: fails(lambda: ones(3).chunk(0)),
    "conv-transpose1d-has-no-backward-pass": lambda: same(
        grad(lambda x: F.conv_transpose1d(x, ones(1, 1, 2)), ones(1, 1, 1)), [[[2]]]
    ),
    "conv-transpose2d-with-output-padding-has-no": lambda: same(
        grad(lambda x: F.conv_transpose2d(x, ones(1, 1, 2, 2), stride=2, output_padding=1), ones(1, 1, 1, 1)), [[[[4]]]]
    ),
    "conv1d-multiplies-a-strided-kernel-as-if-it-were": lambda: all(
        torch.equal(F.conv1d(strided(1, 1, 5), kernel), F.conv1d(strided(1, 1, 5), kernel.contiguous()))
        for kernel in (strided(1, 1, 3), ones(1).expand(1, 1, 3))
    ),
    "conv2d-on-the-cpu-refuses-bf16-and-products-refuse": lambda: (
        F.conv2d(ones(1, 1, 3, 3).bfloat16(), ones(1, 1, 2, 2).bfloat16()).dtype == torch.bfloat16
    ),
    "convolution-layers-and-conv-transpose1d-panic-for": lambda: all(
        fails(lambda: f(ones(1, 1, 5), ones(1, 1, 3), groups=0)) for f in (F.conv1d, F.conv_transpose1d)
    )
    and all(fails(lambda: layer(1, 1, 3, groups=0), ValueError) for layer in (nn.Conv1d, nn.Conv2d, nn.ConvTranspose1d)),
    "convolution-layers-broadcast-a-bias-of-any-size": lambda: fails(lambda: F.conv1d(ones(1, 1, 5), ones(2, 1, 3), ones(1))),
    "convolutions-do-not-check-stride-groups-padding": lambda: all(
        fails(lambda: F.conv1d(ones(1, 1, size), ones(2, 1, kernel), **options))
        for size, kernel, options in [
            (5, 3, {"stride": 0}),
            (2, 3, {}),
            (2, 0, {}),
            (5, 3, {"dilation": 0}),
        ]
    ),
    "convolutions-drop-output-channels-that-the-groups": lambda: fails(lambda: F.conv1d(ones(1, 2, 5), ones(3, 1, 3), groups=2)),
    "copies-of-a-view-move-the-buffer-behind-it": lambda: (
        torch.arange(1000)[:2].clone().untyped_storage().nbytes() == 16
    ),
    "cpu-attention-does-not-check-shapes": lambda: fails(lambda: attention(zeros(1, 3, 2, 4), zeros(1, 2, 3, 4), zeros(1, 2, 3, 4)))
    and fails(lambda: attention(zeros(1, 1, 2, 4), zeros(1, 1, 3, 5), zeros(1, 1, 3, 4)))
    and fails(lambda: attention(zeros(1, 1, 2, 4), zeros(1, 1, 3, 4), zeros(1, 1, 3, 4), attn_mask=zeros(2, 2)))
    and shape(
        attention(zeros(1, 1, 2, 4), zeros(1, 1, 3, 4), zeros(1, 1, 3, 5)), 1, 1, 2, 5
    )
    and fails(lambda: math_attention(zeros(1, 1, 2, 4), zeros(1, 1, 3, 4), zeros(1, 1, 4, 4)))
    and shape(attention(zeros(1, 1, 2, 4), zeros(1, 1, 3, 4), zeros(1, 1, 4, 4)), 1, 1, 2, 4),
    "cpu-attention-indexes-broadcast-keys-as-if-their": lambda: torch.allclose(
        attention(strided(1, 1, 2, 4), strided(1, 1, 3, 4), strided(1, 1, 3, 4)),
        attention(*(strided(1, 1, rows, 4).contiguous() for rows in (2, 3, 3))),
    ),
    "cpu-attention-returns-f32-for-f16-and-bf16": lambda: all(
        attention(*[zeros(1, 1, 2, 4, dtype=dtype)] * 3).dtype == dtype for dtype in HALVES
    ),
    "cumsum-multiplies-by-a-matrix-of-ones": lambda: same(tensor([1, 2, NAN, 1]).cumsum(0), [1, 3, NAN, NAN]),
    "documentation-leaves-out-what-the-code-intends": lambda: same(tensor([0.5, 1.5]).round(), [0, 2]),
    "dropout-rejects-a-probability-of-1": lambda: same(F.dropout(ones(3), 1.0), [0, 0, 0]),
    "embedding-takes-a-table-of-any-shape": lambda: all(
        fails(lambda: F.embedding(tensor([0]), table)) for table in (ones(3), ones(3, 2, 2))
    ),
    "flash-attn-of-several-sequences-ignores-kv-offset": lambda: row(
        lambda x: attention(x[:, :, :3], x, x, is_causal=True), 2, 1, 5, 4
    )
    and same(
        attention(ones(1, 1, 1, 2), ones(1, 1, 3, 2), torch.arange(6.0).view(1, 1, 3, 2), is_causal=True), [[[[0, 1]]]]
    ),
    "float-functions-of-integers-panic-or-return-0": lambda: promoted(
        torch.exp, torch.log, torch.sin, torch.cos, torch.tanh, torch.sqrt, torch.erf, torch.sigmoid, torch.reciprocal
    )
    and torch.square(tensor([2])).dtype == torch.int64
    and integers_are_rejected(
        F.gelu,
        F.silu,
        F.elu,
        F.selu,
        F.mish,
        lambda x: F.softmax(x, 0),
        lambda x: F.layer_norm(x, (2,)),
        lambda x: F.mse_loss(x, x),
        lambda x: F.cross_entropy(x[None], tensor([1])),
        torch.var,
    ),
    "from-raw-buffer-writes-past-its-buffer-for": lambda: fails(
        lambda: torch.frombuffer(bytearray(5), dtype=torch.float32), ValueError
    ),
    "functions-made-of-scalar-arithmetic-take-integers": lambda: integers_are_rejected(
        F.dropout,
        F.hardsigmoid,
        F.leaky_relu,
        lambda x: torch.round(x, decimals=-1),
        lambda x: F.nll_loss(x[None], tensor([1])),
        lambda x: F.huber_loss(x, x),
    ),
    "gather-takes-ids-with-fewer-rows-for-ids-of-its": lambda: same(
        torch.arange(6).view(2, 3).gather(0, tensor([[1, 0]])), [[3, 1]]
    )
    and same(torch.arange(6).view(3, 2).gather(1, tensor([[1], [0]])), [[1], [2]]),
    "groupnorm-accepts-0-groups-and-then-divides-by-0": lambda: fails(lambda: nn.GroupNorm(0, 0), ZeroDivisionError),
    "groupnorm-rejects-an-input-of-two-dimensions": lambda: same(nn.GroupNorm(1, 2)(tensor([[0.0, 1]])), [[-1, 1]], 1e-4),
    "gru-s-states-to-tensor-joins-all-steps-in-one-row": lambda: shape(
        nn.GRU(3, 4, batch_first=True)(ones(2, 5, 3))[0], 2, 5, 4
    ),
    "huber-overflows-by-squaring-delta": lambda: same(F.huber_loss(tensor([1e25]), tensor([0.0]), delta=1e20), INF)
    and same(F.huber_loss(half(340.0), half(0.0), delta=200.0), 48000),
    "i-panics-for-more-indices-than-dimensions": lambda: fails(lambda: ones(2, 2)[0, 0, 0], IndexError),
    "index-add-on-cuda-slices-a-fresh-buffer-by-the": lambda: same(
        torch.arange(6.0)[2:].index_add(0, tensor([0]), ones(1)), [3, 3, 4, 5]
    ),
    "index-select-on-cuda-ignores-the-strides-of-its": lambda: same(
        torch.arange(4.0).index_select(0, tensor([[0, 3], [1, 2]])[:, 0]), [0, 1]
    ),
    "initializations-of-an-empty-tensor-are-refused": lambda: all(
        init_warns(init) for init in (nn.init.kaiming_normal_, nn.init.kaiming_uniform_)
    ),
    "layer-norm-loses-the-variance-where-the-mean-is": lambda: same(F.layer_norm(tensor([41.42578125]), (1,)), [0])
    and same(F.layer_norm(1e6 + torch.arange(2.0), (2,)), [-1, 1], 1e-4),
    "linear-accepts-a-bias-that-is-longer-than-its": lambda: fails(lambda: F.linear(ones(1, 1), ones(1, 1), ones(2))),
    "linear-takes-two-to-four-dimensions-and-no-empty": lambda: shape(F.linear(ones(2), ones(3, 2)), 3)
    and shape(F.linear(ones(1, 1, 1, 1, 2), ones(3, 2)), 1, 1, 1, 1, 3)
    and shape(F.linear(ones(2, 0, 2), ones(3, 2)), 2, 0, 3),
    "log-sum-exp-of-an-empty-tensor-is-refused": lambda: same(zeros(2, 0).logsumexp(1), [-INF, -INF]),
    "log-sum-exp-of-an-infinity-is-nan": lambda: same(tensor([[INF, 1], [-INF, -INF]]).logsumexp(1), [INF, -INF]),
    "matmul-and-conv2d-of-f16-on-the-cpu-round-partial": lambda: same(ones(1, 8192).half() @ ones(8192, 1).half(), [[8192]]),
    "matmul-compares-only-the-product-of-the-batch": lambda: fails(lambda: ones(2, 3, 4, 4) @ ones(3, 2, 4, 4))
    and shape(ones(2, 3, 4, 4) @ ones(1, 3, 4, 4), 2, 3, 4, 4),
    "matmul-on-cuda-refuses-matrices-with-gaps-or": lambda: torch.equal(
        strided(3, 2) @ strided(2, 2), strided(3, 2).contiguous() @ strided(2, 2).contiguous()
    ),
    "matmul-on-the-cpu-folds-a-transposed-batch-into": lambda: all(
        torch.equal(x.transpose(0, 1) @ ones(4, 2), x.transpose(0, 1).contiguous() @ ones(4, 2))
        for x in (strided(2, 3, 4), strided(1, 3, 4))
    ),
    "matmul-refuses-batches-that-are-not-evenly-spaced": lambda: shape(
        ones(2, 3, 4, 5).transpose(1, 2) @ ones(2, 4, 5, 2), 2, 4, 3, 2
    )
    and shape(ones(2, 3, 4, 5, 6).permute(2, 0, 1, 3, 4) @ ones(4, 2, 3, 6, 2), 4, 2, 3, 5, 2),
    "max-and-min-give-all-of-the-gradient-to-each-of": lambda: same(grad(lambda x: x.amax(0), tensor([1.0, 3, 3])), [0, 0.5, 0.5])
    and same(grad(torch.max, tensor([1.0, 3, 3])), [0, 0.5, 0.5])
    and grad(lambda x: x.max(0)[0], tensor([1.0, 3, 3])).sort()[0].tolist() == [0, 0, 1]
    and same(grad(lambda x: x.amax(0), tensor([1.0, NAN])), [NAN, NAN]),
    "max-and-min-on-cuda-drop-nan": lambda: all(
        one.isnan() for one in (tensor([1, NAN]).max(), tensor([1, NAN]).min(), tensor(NAN).clamp(0, 1), F.relu(tensor(NAN)))
    ),
    "max-min-and-softmax-of-no-rows-are-refused": lambda: all(
        shape(softmax(zeros(*sizes), 1), *sizes) for softmax in (F.softmax, F.log_softmax) for sizes in ((0, 3), (3, 0))
    ),
    "max-pool2d-divides-the-gradient-of-a-maximum-by": lambda: same(
        grad(lambda x: F.max_pool2d(x, 2), tensor([[[[1.0, 2], [3, 4]]]])), [[[[0, 0], [0, 1]]]]
    )
    and grad(lambda x: F.max_pool2d(x, 2), ones(1, 1, 2, 2)).max() == 1,
    "means-and-losses-of-f16-overflow-before-they": lambda: same(torch.full((100,), 1000.0).half().mean(), 1000)
    and same(F.mse_loss(torch.full((100,), 100.0).half(), zeros(100).half()), 10000)
    and same(F.huber_loss(torch.full((100,), 1000.5).half(), zeros(100).half()), 1000)
    and same(F.nll_loss(torch.full((100, 2), -1000.0).half(), torch.zeros(100, dtype=torch.int64)), INF)
    and same(F.cross_entropy(half(0, -1000).expand(100, 2), torch.ones(100, dtype=torch.int64)), INF),
    "minimum-maximum-relu-and-max-pool2d-on-the-cpu": lambda: all(
        one.isnan().all()
        for one in (
            torch.minimum(tensor(NAN), tensor(1.0)),
            torch.maximum(tensor(1.0), tensor(NAN)),
            tensor(1.0).clamp(NAN, 2.0),
            tensor(1.0).clamp(0.0, NAN),
            F.relu(tensor(NAN)),
            F.max_pool2d(tensor([[[[1, NAN], [2, 3]]]]), 2),
        )
    ),
    "neg-of-integers-panics-as-not-implemented": lambda: same(-tensor([4]), [-4]),
    "nll-and-cross-entropy-take-the-largest-label-of": lambda: fails(
        lambda: F.nll_loss(ones(1, 3), tensor([2**63 - 1])), IndexError
    )
    and same(F.nll_loss(-ones(2, 3), tensor([0, -100])), 1),
    "norm-of-f16-is-infinite-where-only-its-square": lambda: same(torch.full((4,), 300.0).half().norm(), 600)
    and same(torch.full((4,), 1e-4).half().norm(), 2e-4, 1e-6),
    "offsets-that-overflow-panic-instead-of-being": lambda: fails(lambda: ones(3).narrow(0, BIG, BIG), IndexError)
    and fails(lambda: torch.slice_scatter(ones(3), ones(2), 0, BIG))
    and fails(lambda: ones(3).sum(-BIG), IndexError),
    "ops-on-empty-tensors-launch-an-empty-grid-on-cuda": lambda: shape(zeros(0) + 1, 0)
    and shape(zeros(3).index_select(0, torch.zeros(0, dtype=torch.int64)), 0)
    and shape(zeros(2, 3) @ zeros(3, 0), 2, 0),
    "pixel-shuffle-and-pixel-unshuffle-by-0-divide-by-0": lambda: all(
        fails(lambda: f(ones(1, 4, 2, 2), 0)) and fails(lambda: f(zeros(0, 1, 1, 1), 2))
        for f in (F.pixel_shuffle, F.pixel_unshuffle)
    ),
    "pooling-has-no-backward-pass-if-the-stride-is-not": lambda: all(
        shape(grad(lambda x: f(x, 3, 2), ones(1, 1, 5, 5)), 1, 1, 5, 5) for f in (F.avg_pool2d, F.max_pool2d)
    ),
    "pooling-with-a-kernel-or-stride-of-0-panics": lambda: all(
        fails(lambda: f(ones(1, 1, 5, 5), *sizes)) for f in (F.avg_pool2d, F.max_pool2d) for sizes in ((0, 1), (2, 0))
    ),
    "prelu-accepts-integers": lambda: integers_are_rejected(lambda x: F.prelu(x, tensor([1]))),
    "prelu-does-not-check-the-dimensions-of-its-weight": lambda: fails(lambda: F.prelu(-ones(1, 1), ones(1, 1)))
    and same(F.prelu(tensor(-1.0), tensor([0.5])), -0.5),
    "qtensor-embedding-accepts-floats-as-ids-and": lambda: fails(lambda: F.embedding(tensor([0.5]), ones(1, 2)))
    and fails(lambda: F.embedding(tensor([-4294967296]), ones(3, 2)), IndexError),
    "qtensor-embedding-on-cuda-does-not-check-ids": lambda: fails(lambda: F.embedding(tensor([5]), ones(3, 2)), IndexError),
    "rand-and-randn-on-cuda-take-bounds-that-the-cpu": lambda: all(
        fails(lambda: zeros(2).uniform_(*bounds)) for bounds in ((1, 0), (0, INF), (-INF, INF), (0, NAN))
    )
    and fails(lambda: zeros(2).normal_(0, NAN))
    and zeros(2).normal_(0, INF).isinf().all(),
    "rand-on-the-cpu-rejects-bounds-that-are-equal": lambda: same(zeros(2).uniform_(1, 1), [1, 1]),
    "reductions-on-cuda-divide-by-0-for-an-empty-tensor": lambda: all(
        shape(one, 0)
        for one in (zeros(0, 3).sum(1), zeros(0, 3).amax(1), zeros(0, 3).argmax(1), zeros(0, 3).argmin(1))
    )
    and fails(lambda: zeros(3, 0).amax(1), IndexError)
    and fails(lambda: zeros(3, 0).argmax(1), IndexError),
    "reductions-on-the-cpu-drop-nan-in-max-min-argmax": lambda: tensor([1, NAN, 2]).max().isnan()
    and tensor([1, NAN, 2]).min().isnan()
    and tensor([1, NAN, 2]).argmax() == 1
    and tensor([1, NAN, 2]).argmin() == 1,
    "rms-norm-of-f16-on-the-cpu-rounds-its-root-to-f16": lambda: same(
        F.rms_norm(tensor([0.0, 6e-8]).half(), (2,), ones(2).half(), 0.0), [0, math.sqrt(2)], 1e-3
    ),
    "roll-divides-by-the-size-of-an-empty-dimension": lambda: shape(zeros(0).roll(1), 0),
    "scatter-and-scatter-add-take-no-ids-that-are": lambda: same(
        zeros(3).scatter(0, tensor([2]), ones(2)), [0, 0, 1]
    )
    and same(zeros(2, 2).scatter_add(0, tensor([[1]]), ones(1, 1)), [[0, 0], [1, 0]])
    and fails(lambda: zeros(1, 1).scatter(0, zeros(1, 2, dtype=torch.int64), ones(1, 2))),
    "sigmoid-of-large-negative-numbers-is-0-in-f16": lambda: same(torch.sigmoid(half(-13)), [2.26e-6], 6e-8),
    "silu-of-large-negative-numbers-is-0-in-f16": lambda: same(F.silu(half(-13)), [-2.938e-5], 6e-8),
    "sizes-that-overflow-are-not-refused": lambda: fails(lambda: zeros(BIG, 8))
    and fails(lambda: F.conv1d(ones(1, 1, 2), ones(2, 1, 3), padding=BIG))
    and fails(lambda: ones(4).repeat(BIG))
    and fails(lambda: ones(4).reshape(2**32, 2**32))
    and fails(lambda: torch.eye(2**40)),
    "slice-scatter-of-scalars-panics": lambda: fails(lambda: torch.slice_scatter(tensor(1.0), tensor(1.0)), IndexError),
    "softmax-last-dim-panics-for-a-scalar": lambda: same(F.softmax(tensor(3.0), -1), 1),
    "softmax-last-dim-rounds-its-exponentials-to-f16": lambda: all(
        same(F.softmax(zeros(10000, dtype=dtype), 0).double().sum(), 1, 0.002) for dtype in HALVES
    ),
    "sorting-nan-leaves-the-rest-out-of-order": lambda: same(tensor([3, NAN, 1, 2]).sort()[0], [1, 2, 3, NAN]),
    "sorting-rows-of-more-than-8192-elements-fails-on": lambda: shape(torch.rand(10000).sort()[0], 10000),
    "sums-over-any-but-the-last-dimension-lose-terms-on": lambda: same(
        torch.full((2**22, 2), 5.0).sum(0), tensor([20971520.0, 20971520.0])
    ),
    "sums-of-f16-and-bf16-on-the-cpu-stall": lambda: all(ones(4096, dtype=dtype).sum() == 4096 for dtype in HALVES),
    "swiglu-panics-for-an-empty-dimension": lambda: shape(F.glu(zeros(2, 0)), 2, 0),
    "the-backward-pass-of-a-convolution-underflows": no_error_in_backward,
    "the-backward-pass-of-nearest-upsampling-overwrites": lambda: same(
        grad(lambda x: F.interpolate(x, scale_factor=2, mode="nearest").sum() + x.sum(), ones(1, 1, 2)), [[[3, 3]]]
    ),
    "the-backward-passes-of-scatter-and-scatter-add-are": lambda: same(
        grad(lambda x: x.scatter(0, tensor([0, 0]), ones(2)), ones(3)), [0, 1, 1]
    )
    and same(grad(lambda x: x.scatter_add(0, tensor([0, 0]), ones(2)), ones(3)), [1, 1, 1]),
    "the-fused-softmax-norms-and-rope-have-no-backward": lambda: all(
        grad(lambda x: f(x) * tensor([1.0, 2, 4]), tensor([1.0, 2, 3])).any()
        for f in (lambda x: F.softmax(x, 0), lambda x: F.rms_norm(x, (3,)), lambda x: F.layer_norm(x, (3,)))
    ),
    "the-fused-softmax-norms-and-rope-panic-for-empty": lambda: all(
        shape(one, 2, 0) for one in (F.softmax(zeros(2, 0), 1), F.rms_norm(zeros(2, 0), (0,)), F.layer_norm(zeros(2, 0), (0,)))
    ),
    "the-fused-softmax-and-norms-take-fewer-dtypes-than": lambda: all(
        one.dtype == torch.float64
        for one in (F.layer_norm(ones(2).double(), (2,)), F.rms_norm(ones(2).double(), (2,)), ones(2).double().softmax(0))
    ),
    "the-gradient-of-div-squares-the-divisor": lambda: same(
        grads(torch.div, ones(1).half(), tensor([448.0]).half())[1], [-1 / 448**2], within=1e-7
    ),
    "the-gradient-of-gelu-is-nan-for-large-inputs": lambda: same(
        grad(lambda x: F.gelu(x, approximate="tanh"), half(41, -41, 65504, -65504)), [1, 0, 1, 0]
    )
    and same(grad(lambda x: F.gelu(x, approximate="tanh"), tensor([1e19, -1e19])), [1, 0]),
    "the-gradient-of-mish-is-nan-where-its-exponential": lambda: same(grad(F.mish, half(12, 65504)), [1, 1])
    and same(grad(F.mish, tensor([100, 1e30])), [1, 1]),
    "the-gradient-of-norm-is-nan-at-0": lambda: same(grad(torch.norm, zeros(3)), [0, 0, 0]),
    "the-gradient-of-powf-by-0-is-nan-at-0": lambda: same(grad(lambda x: x**0.0, zeros(2)), [0, 0]),
    "the-gradient-of-selu-is-nan-for-large-inputs": lambda: same(grad(F.selu, tensor([100, 1e30])), [1.0507, 1.0507], 1e-5),
    "factors-that-overflow-the-dtype-are-multiplied-by": lambda: same(
        F.leaky_relu(tensor([1.0], dtype=torch.float16), 1e30), [1.0]
    )
    and same(grad(lambda x: F.leaky_relu(x, 1e30), tensor([1.0], dtype=torch.float16)), [1.0])
    and same(grad(lambda x: F.elu(x, 1e30), tensor([1.0], dtype=torch.float16)), [1.0])
    and same(grad(lambda x: F.huber_loss(x, zeros(1), delta=1e300), tensor([0.0])), [0.0]),
    "the-gradient-of-silu-loses-all-digits-of-large": lambda: same(grad(F.silu, tensor([384.0]).bfloat16()), [1])
    and same(grad(F.silu, tensor([33554430.0])), [1]),
    "the-gradients-of-gelu-and-gelu-erf-use-constants": gelu_gradients_have_all_digits,
    "the-initial-biases-of-conv1d-and-conv2d-do-not": lambda: all(
        0.9 < layer.bias.abs().max() * fan**0.5 <= 1 for layer, fan in ((nn.Conv1d(2, 999, 3), 6), (nn.Conv2d(2, 999, 3), 18), (nn.Conv1d(2, 998, 3, groups=2), 3))
    ),
    "the-second-derivative-of-silu-is-nan-for-large": lambda: same(second_derivative(F.silu, tensor([-100, -1e30])), [0, 0], 1e-38),
    "the-slow-norms-broadcast-weights-of-any-shape": lambda: all(
        fails(lambda: f(ones(2, 3), (3,), weight)) for f in (F.rms_norm, F.layer_norm) for weight in (ones(1), ones(2, 3))
    ),
    "transposed-convolutions-do-not-check-their": lambda: all(
        fails(lambda: F.conv_transpose1d(ones(1, 1, 3), ones(1, 1, kernel), **options))
        for kernel, options in [
            (2, {"stride": 2, "output_padding": 2}),
            (2, {"stride": 0}),
            (2, {"dilation": 0}),
            (2, {"padding": 5}),
            (0, {}),
        ]
    ),
    "u8-ids-of-255-mean-nothing-even-where-there-are": lambda: all(
        fails(call)
        for ids in [tensor([255], dtype=torch.uint8)]
        for call in (lambda: ones(256).index_select(0, ids), lambda: F.embedding(ids, ones(256, 1)))
    ),
    "unfold-counts-its-windows-in-f32-and-takes-a-step": lambda: shape(
        torch.empty(2**24 + 3, dtype=torch.uint8).unfold(0, 1, 1), 2**24 + 3, 1
    )
    and fails(lambda: ones(4).unfold(0, 2, 0)),
    "unfold-returns-its-gradient-in-the-order-of-a": lambda: same(
        grad(lambda x: x.unfold(0, 2, 1) * tensor([1.0, 2]), ones(3)), [1, 3, 2]
    )
    and same(grad(lambda x: x.unfold(0, 2, 2) * tensor([[[1.0, 2], [3, 4]]]), ones(2, 2)), [[1, 3], [2, 4]]),
    "upsample-bilinear2d-accepts-integers-and-truncates": lambda: all(
        fails(lambda: F.interpolate(ones(1, 1, 2, 2, dtype=dtype), size=3, mode="bilinear"), NotImplementedError)
        for dtype in (torch.int16, torch.int32, torch.int64)
    )
    and same(F.interpolate(tensor([[[[0, 1], [2, 3]]]]).byte(), size=3, mode="bilinear"), [[[[0, 1, 1], [1, 2, 2], [2, 3, 3]]]]),
    "upsample-bilinear2d-to-the-same-size-ignores-the": lambda: torch.equal(
        F.interpolate(strided(1, 1, 4, 2), size=(4, 2), mode="bilinear"), strided(1, 1, 4, 2)
    ),
    "upsample-bilinear2d-with-scale-takes-scales-of-0": lambda: all(
        fails(lambda: F.interpolate(ones(1, 1, 2, 2), scale_factor=scale, mode="bilinear")) for scale in (0, -1, INF, NAN)
    ),
    "upsampling-an-empty-tensor-panics": lambda: all(
        fails(lambda: F.interpolate(zeros(1, 1, 0, 2), size=(2, 2), mode=mode)) for mode in ("nearest", "bilinear")
    ),
    "upsampling-has-no-backward-pass-down-by-unequal": lambda: all(
        shape(grad(lambda x: F.interpolate(x, size=size, mode=mode), ones(1, 1, 4, 4)), 1, 1, 4, 4)
        for size in ((2, 2), (8, 12), (6, 6))
        for mode in ("nearest", "bilinear")
    ),
    "var-of-f16-and-bf16-rounds-its-mean": lambda: all(torch.full((100,), 300.7, dtype=dtype).var() == 0 for dtype in HALVES)
    and same(tensor([257.0, 258, 256, 260]).bfloat16().var(), 3.672, 0.01),
    "var-subtracts-1-from-the-size-of-an-empty": lambda: same(zeros(2, 0).var(1), [NAN, NAN]),
    "views-of-f8e4m3-cannot-be-copied-on-cuda": lambda: same(
        tensor([[1.5, 2], [3, 4]]).to(torch.float8_e4m3fn).t().contiguous().float(), [[1.5, 3], [2, 4]]
    ),
    "writing-into-a-tensor-that-shares-its-buffer-with": lambda: all(
        fails(lambda: write(torch.arange(4)))
        for write in (
            lambda x: x.scatter_(0, x, torch.ones(4, dtype=torch.int64)),
            lambda x: x.scatter_add_(0, x, torch.ones(4, dtype=torch.int64)),
        )
    ),
}

# Claims about CUDA, about another library, or about the way to a result.
NOT_ON_THE_CPU = {
    "a-tensor-dropped-in-a-thread-without-cuda",
    "convolutions-write-out-every-window",
    "copies-between-two-gpus-are-not-ordered-with-what",
    "cuda-kernels-assert-where-an-id-is-out-of-range",
    "cuda-kernels-compute-f64-in-f32",
    "cuda-lacks-kernels-for-dtypes-that-the-cpu-has",
    "cuda-nothing-orders-the-work-of-two-threads-on-one",
    "interpolate1d-has-no-cuda-kernel",
    "moe-gemm-gguf-does-not-notice-launches-that-fail",
    "qmatmul-does-not-compare-the-devices-of-weights",
    "scatter-and-index-add-on-cuda-run-a-thread-per-row",
    "softmax-last-dim-on-cuda-runs-a-warp-per-row",
    "sums-of-f16-on-cuda-add-up-in-f16",
    "the-weight-gradient-of-a-convolution-is-one-with-a",
    "with-cudnn-convolutions-of-f16-sum-in-f16",
}


def main():
    warnings.simplefilter("ignore")
    claims = {}
    for file in sorted(CAUSES.glob("*/cause.toml")):
        if claim := tomllib.loads(file.read_text()).get("pytorch"):
            claims[file.parent.name] = claim
    wrong = 0
    for name in sorted(claims.keys() ^ (CLAIMS.keys() | NOT_ON_THE_CPU)):
        wrong += 1
        print(f"-- {name}: " + ("nothing runs this claim" if name in claims else "no cause claims anything"))
    for name, holds in CLAIMS.items():
        try:
            right, why = bool(holds()), ""
        except Exception as error:  # any error of PyTorch
            right, why = False, f"\n  {type(error).__name__}: {str(error).splitlines()[0]}"
        if not right:
            wrong += 1
            print(f"-- {name}: {claims.get(name)}{why}")
    print(f"PyTorch {torch.__version__}: {len(CLAIMS)} claims run, {len(NOT_ON_THE_CPU)} not on a CPU, {wrong} wrong")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
