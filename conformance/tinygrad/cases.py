"""The operations: every method of tinygrad's Tensor that computes, in the forms that differ."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.nn import functional as F

from conformance.tinygrad.case import Case

A, B, V = (5, 7), (7, 3), (6,)
IMAGE = (2, 4, 9, 8)

# One tensor in, one out; the words are the same in both where no second function is given. Then the range of inputs.
UNARY = {
    "neg": (lambda x: -x,),
    "relu": (lambda x: x.relu(),),
    "sigmoid": (lambda x: x.sigmoid(),),
    "tanh": (lambda x: x.tanh(),),
    "exp": (lambda x: x.exp(),),
    "exp2": (lambda x: x.exp2(),),
    "log": (lambda x: x.log(), None, 0.1, 4),
    "log2": (lambda x: x.log2(), None, 0.1, 4),
    "sqrt": (lambda x: x.sqrt(), None, 0.1, 4),
    "rsqrt": (lambda x: x.rsqrt(), None, 0.1, 4),
    "sin": (lambda x: x.sin(),),
    "cos": (lambda x: x.cos(),),
    "tan": (lambda x: x.tan(), None, -1.2, 1.2),
    "sinh": (lambda x: x.sinh(),),
    "cosh": (lambda x: x.cosh(),),
    "asinh": (lambda x: x.asinh(),),
    "acosh": (lambda x: x.acosh(), None, 1.2, 4),
    "atanh": (lambda x: x.atanh(), None, -0.9, 0.9),
    "square": (lambda x: x.square(),),
    "abs": (lambda x: x.abs(),),
    "sign": (lambda x: x.sign(),),
    "reciprocal": (lambda x: x.reciprocal(), None, 0.3, 3),
    "elu": (lambda x: F.elu(x), lambda x: x.elu()),
    "elu alpha": (lambda x: F.elu(x, alpha=0.3), lambda x: x.elu(alpha=0.3)),
    "celu": (lambda x: F.celu(x), lambda x: x.celu()),
    "celu alpha": (lambda x: F.celu(x, alpha=0.5), lambda x: x.celu(0.5)),
    "silu": (lambda x: F.silu(x), lambda x: x.silu()),
    "swish": (lambda x: F.silu(x), lambda x: x.swish()),
    "relu6": (lambda x: F.relu6(x), lambda x: x.relu6(), -3, 9),
    "hardswish": (lambda x: F.hardswish(x), lambda x: x.hardswish(), -5, 5),
    "hardtanh": (lambda x: F.hardtanh(x), lambda x: x.hardtanh()),
    "hardtanh range": (lambda x: F.hardtanh(x, -0.5, 0.7), lambda x: x.hardtanh(-0.5, 0.7)),
    "gelu": (lambda x: F.gelu(x, approximate="tanh"), lambda x: x.gelu()),
    "quick_gelu": (lambda x: x * torch.sigmoid(1.702 * x), lambda x: x.quick_gelu()),
    "leakyrelu": (lambda x: F.leaky_relu(x, 0.01), lambda x: x.leakyrelu()),
    "leakyrelu slope": (lambda x: F.leaky_relu(x, 0.2), lambda x: x.leakyrelu(0.2)),
    "mish": (lambda x: F.mish(x), lambda x: x.mish()),
    "softplus": (lambda x: F.softplus(x), lambda x: x.softplus()),
    "softplus beta": (lambda x: F.softplus(x, beta=3), lambda x: x.softplus(beta=3)),
    "softsign": (lambda x: F.softsign(x), lambda x: x.softsign()),
    "clip": (lambda x: x.clip(-0.5, 0.8),),
    "pow 3": (lambda x: x**3,),
    "pow -2": (lambda x: x**-2, None, 0.4, 2),
    "pow 0.5": (lambda x: x**0.5, None, 0.2, 3),
    "pow 0": (lambda x: x**0,),
    "rpow": (lambda x: 2.5**x,),
    "add scalar": (lambda x: x + 2,),
    "radd": (lambda x: 2 + x,),
    "sub scalar": (lambda x: x - 2,),
    "rsub": (lambda x: 2 - x,),
    "mul scalar": (lambda x: x * 3,),
    "rmul": (lambda x: 3 * x,),
    "div scalar": (lambda x: x / 3,),
    "rtruediv": (lambda x: 3 / x, None, 0.4, 2),
    "maximum scalar": (lambda x: torch.maximum(x, torch.tensor(0.3).double()), lambda x: x.maximum(0.3)),
    "minimum scalar": (lambda x: torch.minimum(x, torch.tensor(0.3).double()), lambda x: x.minimum(0.3)),
    "where": (lambda x: torch.where(x > 0.2, x * 2, x * 3), lambda x: (x.detach() > 0.2).where(x * 2, x * 3)),
    "masked_fill": (lambda x: x.masked_fill(x.detach() > 0.4, -1.0),),
    "contiguous": (lambda x: x.contiguous() * 2,),
    "contiguous_backward": (lambda x: x * 2, lambda x: x.contiguous_backward() * 2),
    "half": (lambda x: x.float().half().double(), lambda x: x.half().float()),
    "cast": (lambda x: x.half().double(), lambda x: x.cast(_type("half")).cast(_type("float"))),
    "lerp scalar": (lambda x: torch.lerp(x, x * 3, 0.25), lambda x: x.lerp(x * 3, 0.25)),
    "relu sigmoid chain": (lambda x: (x.relu() + x.sigmoid() * 2).tanh(),),
}
# Without a gradient worth the name.
STEPS = {
    "trunc": (lambda x: x.trunc(), None, -4, 4),
    "ceil": (lambda x: x.ceil(), None, -4, 4),
    "floor": (lambda x: x.floor(), None, -4, 4),
    "round": (lambda x: x.round(), None, -4, 4),
    "lt": (lambda x: x < 0.3,),
    "gt": (lambda x: x > 0.3,),
    "le": (lambda x: x <= 0.3,),
    "ge": (lambda x: x >= 0.3,),
    "eq": (lambda x: x.round() == 1,),
    "ne": (lambda x: x.round() != 1,),
    "logical_not": (lambda x: (x > 0).logical_not(),),
    "argmax": (lambda x: x.argmax(),),
    "argmax axis": (lambda x: x.argmax(1), lambda x: x.argmax(axis=1)),
    "argmin": (lambda x: x.argmin(),),
    "argmin axis": (lambda x: x.argmin(0), lambda x: x.argmin(axis=0)),
    "full_like": (lambda x: torch.full_like(x, 4), lambda x: x.full_like(4)),
    "zeros_like": (lambda x: torch.zeros_like(x), lambda x: x.zeros_like()),
    "ones_like": (lambda x: torch.ones_like(x), lambda x: x.ones_like()),
    "cast int": (lambda x: (x * 5).int(), lambda x: (x * 5).cast(_type("int"))),
}
REDUCE = {
    "sum": (lambda x: x.sum(),),
    "sum axis 0": (lambda x: x.sum(0),),
    "sum axis -1": (lambda x: x.sum(-1),),
    "sum axes": (lambda x: x.sum((0, 2)),),
    "sum keepdim": (lambda x: x.sum(1, keepdim=True),),
    "max": (lambda x: x.max(),),
    "max axis": (lambda x: x.max(1).values, lambda x: x.max(1)),
    "min": (lambda x: x.min(),),
    "min axis": (lambda x: x.min(0).values, lambda x: x.min(0)),
    "mean": (lambda x: x.mean(),),
    "mean axis": (lambda x: x.mean(2),),
    "var": (lambda x: x.var(),),
    "var axis": (lambda x: x.var(1),),
    "var correction": (lambda x: x.var(1, correction=0),),
    "std": (lambda x: x.std(),),
    "std axis": (lambda x: x.std(0),),
    "softmax": (lambda x: x.softmax(-1),),
    "softmax axis": (lambda x: x.softmax(1),),
    "log_softmax": (lambda x: x.log_softmax(-1),),
    "log_softmax axis": (lambda x: x.log_softmax(0),),
    "logsumexp": (lambda x: x.logsumexp(2),),
    "cumsum": (lambda x: x.cumsum(0),),
    "cumsum axis": (lambda x: x.cumsum(2),),
    "layernorm": (lambda x: F.layer_norm(x, (x.shape[-1],)), lambda x: x.layernorm()),
}
MOVE = {
    "reshape": (lambda x: x.reshape(6, 20),),
    "view": (lambda x: x.reshape(20, 6), lambda x: x.view(20, 6)),
    "flatten": (lambda x: x.flatten(),),
    "flatten from": (lambda x: x.flatten(1),),
    "unflatten": (lambda x: x.unflatten(1, (2, 2)),),
    "permute": (lambda x: x.permute(2, 0, 1) * 2,),
    "transpose": (lambda x: x.transpose(0, 2) * 2,),
    "T": (lambda x: x.sum(0).T * 2,),
    "flip": (lambda x: x.flip(0, 2) * 2, lambda x: x.flip((0, 2)) * 2),
    "expand": (lambda x: x.unsqueeze(0).expand(3, 6, 4, 5) * 2,),
    "squeeze": (lambda x: x.sum(1, keepdim=True).squeeze(1) * 2,),
    "squeeze all": (lambda x: x.sum((0, 2), keepdim=True).squeeze() * 2,),
    "unsqueeze": (lambda x: x.unsqueeze(1) * 2,),
    "pad": (lambda x: F.pad(x, (1, 2, 0, 1, 2, 0)), lambda x: x.pad(((2, 0), (0, 1), (1, 2)))),
    "pad value": (lambda x: F.pad(x, (1, 1), value=3.0), lambda x: x.pad((None, None, (1, 1)), 3.0)),
    "pad2d": (lambda x: F.pad(x, (1, 2, 3, 0)), lambda x: x.pad2d((1, 2, 3, 0))),
    "shrink": (lambda x: x[1:4, :, 2:5] * 2, lambda x: x.shrink(((1, 4), (0, 4), (2, 5))) * 2),
    "repeat": (lambda x: x.repeat(2, 1, 3) * 2, lambda x: x.repeat((2, 1, 3)) * 2),
    "getitem slice": (lambda x: x[1:5:2, :, -2:] * 2,),
    "getitem int": (lambda x: x[2] * 2,),
    "getitem negative": (lambda x: x[..., -1] * 2,),
    "getitem none": (lambda x: x[:, None, 1] * 2,),
    "getitem reversed": (lambda x: x.flip(0)[:3] * 2, lambda x: x[::-1][:3] * 2),
    "split": (lambda x: x.split(2, dim=0)[1] * 2,),
    "split sizes": (lambda x: x.split([1, 3, 2], dim=0)[1] * 2,),
    "chunk": (lambda x: x.chunk(3, dim=0)[2] * 2,),
    "cat": (lambda x: torch.cat([x, x * 2], 1), lambda x: x.cat(x * 2, dim=1)),
    "stack": (lambda x: torch.stack([x, x * 2, x * 3], 1), lambda x: x.stack(x * 2, x * 3, dim=1)),
    "triu": (lambda x: x.triu(),),
    "triu diagonal": (lambda x: x.triu(1), lambda x: x.triu(k=1)),
    "tril": (lambda x: x.tril(),),
    "tril diagonal": (lambda x: x.tril(-1), lambda x: x.tril(k=-1)),
}
BINARY = {
    "add": (lambda x, y: x + y,),
    "sub": (lambda x, y: x - y,),
    "mul": (lambda x, y: x * y,),
    "div": (lambda x, y: x / (y + 3),),
    "pow tensor": (lambda x, y: (x + 2) ** y,),
    "maximum": (lambda x, y: torch.maximum(x, y), lambda x, y: x.maximum(y)),
    "minimum": (lambda x, y: torch.minimum(x, y), lambda x, y: x.minimum(y)),
    "lerp": (lambda x, y: torch.lerp(x, y, 0.3), lambda x, y: x.lerp(y, 0.3)),
    "where tensor": (
        lambda x, y: torch.where(x > y, x, y * 2),
        lambda x, y: (x.detach() > y.detach()).where(x, y * 2),
    ),
    "binary_crossentropy": (
        lambda x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid()),
        lambda x, y: x.sigmoid().binary_crossentropy(y.sigmoid()),
    ),
    "binary_crossentropy_logits": (
        lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid()),
        lambda x, y: x.binary_crossentropy_logits(y.sigmoid()),
    ),
}
COMPARE = {
    "lt tensor": (lambda x, y: x < y,),
    "gt tensor": (lambda x, y: x > y,),
    "eq tensor": (lambda x, y: x.round() == y.round(),),
    "ne tensor": (lambda x, y: x.round() != y.round(),),
}
INTEGER = {
    "add int": (lambda x, y: x + y,),
    "sub int": (lambda x, y: x - y,),
    "mul int": (lambda x, y: x * y,),
    "xor": (lambda x, y: x ^ y,),
    "maximum int": (lambda x, y: torch.maximum(x, y), lambda x, y: x.maximum(y)),
    "sum int": (lambda x, y: (x + y).sum(0).int(), lambda x, y: (x + y).sum(0)),
    "max int": (lambda x, y: (x * y).max(1).values, lambda x, y: (x * y).max(1)),
    "eq int": (lambda x, y: x == y,),
    "lshift": (lambda x, y: x * 4, lambda x, y: x.cast(_type("uint")).lshift(2).cast(_type("int"))),
    "rshift": (lambda x, y: x // 4, lambda x, y: x.cast(_type("uint")).rshift(2).cast(_type("int"))),
    "cast float": (lambda x, y: (x + y).float(), lambda x, y: (x + y).float()),
    "bitcast": (lambda x, y: x.view(torch.float32), lambda x, y: x.bitcast(_type("float"))),
}


def _entries(
    table: dict[str, tuple[object, ...]], *shapes: tuple[int, ...], **more: object
) -> Iterator[Case]:
    for name, entry in table.items():
        torch_way, tiny_way, low, high = (
            (*entry, None, None, None)[:4] if len(entry) > 1 else (entry[0], None, None, None)
        )
        span = {} if low is None else {"low": low, "high": high}
        yield Case(name, shapes, torch_way, tiny_way, **{**span, **more})  # type: ignore[arg-type]


def _linear() -> Iterator[Case]:
    yield Case("matmul", (A, B), lambda x, y: x @ y)
    yield Case("matmul vector", ((7,), B), lambda x, y: x @ y)
    yield Case("matmul batched", ((2, 3, 5), (2, 5, 4)), lambda x, y: x @ y)
    yield Case("matmul broadcast", ((2, 3, 4, 5), (5, 6)), lambda x, y: x @ y)
    yield Case("matmul large", ((65, 66), (66, 67)), lambda x, y: x @ y)
    yield Case("dot", (A, B), lambda x, y: x.matmul(y), lambda x, y: x.dot(y))
    yield Case("linear", (A, B, (3,)), lambda x, w, b: x @ w + b, lambda x, w, b: x.linear(w, b))
    yield Case(
        "einsum ij,jk",
        (A, B),
        lambda x, y: torch.einsum("ij,jk->ik", x, y),
        lambda x, y: type(x).einsum("ij,jk->ik", x, y),
    )
    yield Case(
        "einsum diagonal sum",
        ((4, 5), (4, 5)),
        lambda x, y: torch.einsum("ij,ij->i", x, y),
        lambda x, y: type(x).einsum("ij,ij->i", x, y),
    )
    yield Case(
        "einsum outer",
        ((4,), (5,)),
        lambda x, y: torch.einsum("i,j->ij", x, y),
        lambda x, y: type(x).einsum("i,j->ij", x, y),
    )
    yield Case("gather", ((6, 5),), lambda x: x.gather(1, _index()), lambda x: x.gather(1, _tiny_index()))
    yield Case(
        "scaled_dot_product_attention",
        ((2, 4, 8), (2, 6, 8), (2, 6, 8)),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
        lambda q, k, v: q.scaled_dot_product_attention(k, v),
    )
    yield Case(
        "scaled_dot_product_attention causal",
        ((2, 6, 8), (2, 6, 8), (2, 6, 8)),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        lambda q, k, v: q.scaled_dot_product_attention(k, v, is_causal=True),
    )
    yield Case(
        "sparse_categorical_crossentropy",
        ((6, 5),),
        lambda x: F.cross_entropy(x, _index()[:, 0]),
        lambda x: x.sparse_categorical_crossentropy(_tiny_index()[:, 0]),
    )
    yield Case(
        "one_hot",
        ((1,),),
        lambda x: F.one_hot(_index()[:, 0], 5),
        lambda x: _tiny_index()[:, 0].one_hot(5),
        grad=False,
    )


def _type(name: str) -> object:
    from tinygrad import dtypes

    return getattr(dtypes, name)


def _index() -> torch.Tensor:
    return torch.tensor([[0, 3], [1, 1], [4, 0], [2, 2], [3, 4], [0, 0]])


def _tiny_index() -> object:
    from tinygrad import Tensor

    return Tensor(_index().numpy().astype("int32"))


def _images() -> Iterator[Case]:
    weights, deep = (6, 4, 3, 3), (4, 1, 3, 3)
    conv = F.conv2d
    yield Case("conv2d", (IMAGE, weights), lambda x, w: conv(x, w), lambda x, w: x.conv2d(w))
    yield Case(
        "conv2d bias", (IMAGE, weights, (6,)), lambda x, w, b: conv(x, w, b), lambda x, w, b: x.conv2d(w, b)
    )
    for name, shape, options in (
        ("padding", weights, {"padding": 1}),
        ("stride", weights, {"stride": 2}),
        ("dilation", weights, {"dilation": 2}),
        ("groups", (8, 2, 3, 3), {"groups": 2}),
        ("depthwise", deep, {"groups": 4}),
    ):
        yield Case(
            f"conv2d {name}",
            (IMAGE, shape),
            lambda x, w, o=options: conv(x, w, **o),
            lambda x, w, o=options: x.conv2d(w, **o),
        )
    yield Case("conv2d 1x1", (IMAGE, (6, 4, 1, 1)), lambda x, w: conv(x, w), lambda x, w: x.conv2d(w))
    yield Case("conv1d", ((2, 4, 9), (3, 4, 3)), lambda x, w: F.conv1d(x, w), lambda x, w: x.conv2d(w))
    yield Case(
        "conv3d", ((1, 2, 4, 5, 5), (3, 2, 2, 2, 2)), lambda x, w: F.conv3d(x, w), lambda x, w: x.conv2d(w)
    )
    turned = F.conv_transpose2d
    yield Case(
        "conv_transpose2d",
        (IMAGE, (4, 3, 3, 3)),
        lambda x, w: turned(x, w),
        lambda x, w: x.conv_transpose2d(w),
    )
    yield Case(
        "conv_transpose2d stride",
        (IMAGE, (4, 3, 3, 3)),
        lambda x, w: turned(x, w, stride=2, padding=1),
        lambda x, w: x.conv_transpose2d(w, stride=2, padding=1),
    )
    yield Case("avg_pool2d", (IMAGE,), lambda x: F.avg_pool2d(x, 2), lambda x: x.avg_pool2d())
    yield Case(
        "avg_pool2d stride", (IMAGE,), lambda x: F.avg_pool2d(x, 3, 2), lambda x: x.avg_pool2d((3, 3), 2)
    )
    yield Case("max_pool2d", (IMAGE,), lambda x: F.max_pool2d(x, 2), lambda x: x.max_pool2d())
    yield Case(
        "max_pool2d stride", (IMAGE,), lambda x: F.max_pool2d(x, 3, 1), lambda x: x.max_pool2d((3, 3), 1)
    )
    yield Case(
        "batchnorm",
        (IMAGE, (4,), (4,)),
        lambda x, w, b: F.batch_norm(
            x, x.mean((0, 2, 3)).detach(), x.var((0, 2, 3), correction=0).detach(), w, b
        ),
        lambda x, w, b: x.batchnorm(
            w, b, x.mean((0, 2, 3)).detach(), x.var((0, 2, 3), correction=0).detach().add(1e-5).rsqrt()
        ),
    )


def _made() -> Iterator[Case]:
    """What comes from nothing."""
    from tinygrad import Tensor

    one = ((1,),)
    yield Case("arange", one, lambda x: torch.arange(10), lambda x: Tensor.arange(10), grad=False)
    yield Case(
        "arange step", one, lambda x: torch.arange(2, 20, 3), lambda x: Tensor.arange(2, 20, 3), grad=False
    )
    yield Case("eye", one, lambda x: torch.eye(5), lambda x: Tensor.eye(5), grad=False)
    yield Case("full", one, lambda x: torch.full((3, 2), 2.5), lambda x: Tensor.full((3, 2), 2.5), grad=False)
    yield Case("zeros", one, lambda x: torch.zeros(3, 2), lambda x: Tensor.zeros(3, 2), grad=False)
    yield Case("ones", one, lambda x: torch.ones(3, 2), lambda x: Tensor.ones(3, 2), grad=False)
    yield Case(
        "assign",
        ((4, 5),),
        lambda x: x + 1,
        lambda x: Tensor.zeros(4, 5).contiguous().realize().assign(x + 1),
        grad=False,
    )


def cases() -> list[Case]:
    return [
        *_entries(UNARY, A),
        *_entries(STEPS, A, grad=False),
        *_entries(REDUCE, (6, 4, 5)),
        *_entries(MOVE, (6, 4, 5)),
        *_entries(BINARY, A, A),
        *_entries({f"{name} broadcast": entry for name, entry in BINARY.items() if len(name) < 5}, A, (7,)),
        *_entries(COMPARE, A, A, grad=False),
        *_entries(INTEGER, A, A, grad=False, integer=True, low=0, high=100),
        *_linear(),
        *_images(),
        *_made(),
    ]
