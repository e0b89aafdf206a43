"""Convolutions: direct, depthwise, transposed, and through columns."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Work, poisoned, tolerance
from conformance.results.ggml.tensors import DTYPES, fields, launch, padded, random_tensor, values

STRIDE, PADDING, DILATION = (2, 1), (1, 2), (1, 2)  # along x, along y


def _out(size: int, kernel: int, axis: int) -> int:
    return (size + 2 * PADDING[axis] - DILATION[axis] * (kernel - 1) - 1) // STRIDE[axis] + 1


def _windows(x: Array, kernel_h: int, kernel_w: int) -> Array:
    """(..., out_h, out_w, kernel_h, kernel_w) of images in the last two axes."""
    border = [(0, 0)] * (x.ndim - 2) + [(PADDING[1],) * 2, (PADDING[0],) * 2]
    span = (DILATION[1] * (kernel_h - 1) + 1, DILATION[0] * (kernel_w - 1) + 1)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, border), span, (-2, -1))
    return windows[..., :: STRIDE[1], :: STRIDE[0], :: DILATION[1], :: DILATION[0]]


def _common(**more: Any) -> dict[str, int]:
    axes = {"s": STRIDE, "p": PADDING, "d": DILATION}
    return {f"{name}{n}": pair[n] for name, pair in axes.items() for n in (0, 1)} | more


def _im2col(rng: np.random.Generator, size: Size, type: str, extended: bool) -> Work:
    """`extended` is the form for kernels with more places than a threadgroup has threads."""
    batch, channels, height, width = {"small": (2, 3, 7, 8), "large": (2, 16, 33, 40)}[size]
    kernel_h, kernel_w = 2, 3
    x = random_tensor(rng, "f32", (batch, channels, height, width))
    out_h, out_w = _out(height, kernel_h, 1), _out(width, kernel_w, 0)
    per_place = channels * kernel_h * kernel_w
    out = poisoned((batch, out_h, out_w, per_place), DTYPES[type])
    given = _common(
        ofs0=x.strides[0] // 4, ofs1=x.strides[1] // 4, IW=width, IH=height, CHW=per_place, N=batch,
        KH=kernel_h, KW=kernel_w, KHW=kernel_h * kernel_w,
    )  # fmt: skip
    step = launch(
        "conv",
        f"kernel_im2col{'_ext' if extended else ''}_{type}",
        (given, x, out),
        (per_place if extended else channels, out_h, out_w),
        (batch, 1, 1) if extended else (batch, kernel_h, kernel_w),
    )
    windows = _windows(x, kernel_h, kernel_w)
    expected = windows.transpose(0, 2, 3, 1, 4, 5).reshape(out.shape).astype(out.dtype)
    return Work((step,), (Output("dst", out, expected),))


def _conv_2d(rng: np.random.Generator, size: Size, type: str) -> Work:
    batch, channels, height, width, out_c = {"small": (2, 3, 7, 8, 4), "large": (2, 16, 33, 40, 24)}[size]
    x = random_tensor(rng, "f32", (batch, channels, height, width))
    weight = random_tensor(rng, type, (out_c, channels, 2, 3))
    out = poisoned((batch, out_c, _out(height, 2, 1), _out(width, 3, 0)))
    given = fields(
        weight, x, out,
        **_common(
            IW=width, IH=height, KW=3, KH=2, IC=channels, OC=out_c, OW=out.shape[3], OH=out.shape[2], N=batch
        ),
    )  # fmt: skip
    threads = 256
    step = launch(
        "conv",
        f"kernel_conv_2d_{type}_f32",
        (given, weight, x, out),
        (-(-out.size // threads), 1, 1),
        (threads, 1, 1),
    )
    expected = np.einsum("nchwyx,ocyx->nohw", _windows(values(x), 2, 3), values(weight))
    return Work((step,), (Output("dst", out, expected, tolerance(out)),))


def _depthwise(rng: np.random.Generator, size: Size, type: str, tiled: bool) -> Work:
    """`tiled` is the form for images whose channels lie next to each other."""
    batch, channels, height, width = {"small": (2, 5, 7, 8), "large": (2, 40, 33, 40)}[size]
    x = random_tensor(rng, "f32", (batch, channels, height, width))
    weight = random_tensor(rng, type, (channels, 1, 2, 3))
    out_h, out_w = _out(height, 2, 1), _out(width, 3, 0)
    if tiled:
        memory = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
        out = poisoned((batch, out_h, out_w, channels))
        seen_x, seen_out = memory.transpose(0, 3, 1, 2), out.transpose(0, 3, 1, 2)
    else:
        memory = seen_x = x
        out = seen_out = poisoned((batch, channels, out_h, out_w))
    given = fields(
        weight, seen_x, seen_out,
        nb02=weight.strides[0],
        **_common(IW=width, IH=height, KW=3, KH=2, C=channels, OW=out_w, OH=out_h, N=batch),
    )  # fmt: skip
    threads = 64
    across, deep = (channels, out_w * batch) if tiled else (out_w, channels * batch)
    step = launch(
        "conv",
        f"kernel_conv_2d_dw{'_tiled' if tiled else ''}_{type}_f32",
        (given, weight, memory, out),
        (-(-across // threads), out_h, deep),
        (threads, 1, 1),
    )
    expected = np.einsum("nchwyx,cyx->nchw", _windows(values(x), 2, 3), values(weight)[:, 0])
    expected = expected.transpose(0, 2, 3, 1) if tiled else expected
    return Work((step,), (Output("dst", out, expected, tolerance(out)),))


def _conv_3d(rng: np.random.Generator, size: Size, type: str) -> Work:
    batch, channels, deep, out_c = {"small": (2, 2, 4, 3), "large": (2, 8, 10, 12)}[size]
    x = random_tensor(rng, "f32", (batch * channels, deep, deep + 1, deep + 2))
    weight = random_tensor(rng, type, (out_c * channels, 2, 2, 3))
    image = values(x).reshape(batch, channels, *x.shape[1:])
    image = np.pad(image, [(0, 0), (0, 0), (1, 1), (1, 1), (1, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(image, (2, 2, 3), (2, 3, 4))[:, :, ::2]
    kernel = values(weight).reshape(out_c, channels, 2, 2, 3)
    expected = np.einsum("ncdhwzyx,oczyx->nodhw", windows, kernel)
    out = poisoned((batch * out_c, *expected.shape[2:]))
    given = fields(
        weight, x, out, IW=x.shape[3], IH=x.shape[2], ID=x.shape[1], OW=out.shape[3], OH=out.shape[2],
        OD=out.shape[1], KW=3, KH=2, KD=2, s0=1, s1=1, s2=2, p0=1, p1=1, p2=1, d0=1, d1=1, d2=1,
        IC=channels, N=batch, OC=out_c,
    )  # fmt: skip
    volume = int(np.prod(out.shape[1:]))
    step = launch(
        "conv",
        f"kernel_conv_3d_{type}_f32",
        (given, weight, x, out),
        (-(-volume // 32), out_c, batch),
        (32, 1, 1),
    )
    return Work((step,), (Output("dst", out, expected.reshape(out.shape), tolerance(out)),))


def _transpose_1d(rng: np.random.Generator, size: Size, type: str) -> Work:
    channels, length, out_c = {"small": (3, 9, 4), "large": (24, 100, 16)}[size]
    kernel, stride = 5, 2
    x = random_tensor(rng, "f32", (channels, length))
    weight = random_tensor(rng, type, (channels, out_c, kernel))
    out = poisoned((out_c, (length - 1) * stride + kernel))
    given = fields(dst=out, IC=channels, IL=length, K=kernel, s0=stride)
    step = launch(
        "conv",
        f"kernel_conv_transpose_1d_{type}_f32",
        (given, weight, x, out),
        (out.shape[1], out_c, 1),
        (1, 1, 1),
    )
    expected = np.zeros(out.shape)
    for i in range(length):
        expected[:, i * stride : i * stride + kernel] += np.einsum(
            "c,cok->ok", values(x)[:, i], values(weight)
        )
    return Work((step,), (Output("dst", out, expected, tolerance(out)),))


def _transpose_2d(rng: np.random.Generator, size: Size, type: str) -> Work:
    batch, channels, height, out_c = {"small": (2, 3, 4, 2), "large": (2, 8, 12, 6)}[size]
    width, kernel_h, kernel_w, stride = height + 1, 3, 2, 2
    x = random_tensor(rng, "f32", (batch, channels, height, width))
    weight = random_tensor(rng, type, (channels, out_c, kernel_h, kernel_w))
    out = poisoned((batch, out_c, (height - 1) * stride + kernel_h, (width - 1) * stride + kernel_w))
    given = fields(dst=out, IC=channels, IH=height, IW=width, KH=kernel_h, KW=kernel_w, OC=out_c, s0=stride)
    step = launch(
        "conv",
        f"kernel_conv_transpose_2d_{type}_f32",
        (given, weight, x, out),
        (out.shape[3], out.shape[2], out_c * batch),
        (kernel_w, kernel_h, 1),
        memory=padded(kernel_h * kernel_w * 4),
    )
    expected = np.zeros(out.shape)
    for i in range(height):
        for j in range(width):
            patch = np.einsum("nc,coyx->noyx", values(x)[:, :, i, j], values(weight))
            rows, columns = slice(i * stride, i * stride + kernel_h), slice(j * stride, j * stride + kernel_w)
            expected[:, :, rows, columns] += patch
    return Work((step,), (Output("dst", out, expected, tolerance(out)),))


def _col2im(rng: np.random.Generator, size: Size, type: str) -> Work:
    length, out_c = {"small": (9, 4), "large": (100, 16)}[size]
    kernel, stride, crop = 5, 2, 1
    columns = random_tensor(rng, type, (length, out_c, kernel))
    whole = (length - 1) * stride + kernel
    out = poisoned((out_c, whole - 2 * crop), DTYPES[type])
    given = {
        "T_in": length, "T_out": out.shape[1], "OC": out_c, "K": kernel, "K_OC": kernel * out_c,
        "s0": stride, "p0": crop,
    }  # fmt: skip
    step = launch(
        "conv", f"kernel_col2im_1d_{type}", (given, columns, out), (-(-out.size // 256), 1, 1), (256, 1, 1)
    )
    expected = np.zeros((out_c, whole))
    for i in range(length):
        expected[:, i * stride : i * stride + kernel] += values(columns)[i]
    return Work((step,), (Output("dst", out, expected[:, crop:-crop], tolerance(out)),))


def cases() -> list[Case]:
    def case(name: str, make: Any) -> Case:
        return Case("ggml", "conv", name, make)

    made = [
        case(f"im2col{'_ext' if e else ''} {t}", partial(_im2col, type=t, extended=e))
        for t in ("f32", "f16")
        for e in (False, True)
    ]
    for name, make in (
        ("conv_2d", _conv_2d),
        ("conv_3d", _conv_3d),
        ("conv_transpose_1d", _transpose_1d),
        ("conv_transpose_2d", _transpose_2d),
        ("conv_2d_dw", partial(_depthwise, tiled=False)),
        ("conv_2d_dw_tiled", partial(_depthwise, tiled=True)),
    ):
        made += [case(f"{name} {t}", partial(make, type=t)) for t in ("f32", "f16")]
    made += [case(f"col2im_1d {t}", partial(_col2im, type=t)) for t in ("f32", "f16", "bf16")]
    return made
