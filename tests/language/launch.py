"""Run small kernels on the oracle and on the engine; check the type and the value of MSL expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from metalloid.backends import interpret
from metalloid.backends.base import Launch, Triple
from metalloid.frontend import Kernel, compile_kernel
from metalloid.runtime.device import device
from metalloid.source import Constant, Source

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
SLOT = 128  # bytes for each result of `check`
POISON = 0xA5
DTYPES: dict[str, Any] = {
    "bool": np.bool_,
    "char": np.int8,
    "uchar": np.uint8,
    "short": np.int16,
    "ushort": np.uint16,
    "int": np.int32,
    "uint": np.uint32,
    "long": np.int64,
    "ulong": np.uint64,
    "half": np.float16,
    "bfloat": ml_dtypes.bfloat16,
    "float": np.float32,
}
INTEGERS = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong")
REALS = ("half", "bfloat", "float")
NUMBERS = (*INTEGERS, *REALS)

Case = tuple[str, str, Any]  # the exact type of an expression, the expression, its value


def triple(size: int | Sequence[int]) -> Triple:
    x, y, z = (*((size,) if isinstance(size, int) else size), 1, 1, 1)[:3]
    return x, y, z


def poisoned(shape: int | tuple[int, ...], dtype: Any = np.int32) -> Any:
    """An array whose bytes no kernel of these tests writes by chance."""
    bytes_ = np.full(np.prod(shape) * np.dtype(dtype).itemsize, POISON, np.uint8)
    return bytes_.view(dtype).reshape(shape)


def build(
    body: str,
    kernel: str = "k",
    constants: Mapping[str | int, Constant] | None = None,
    head: str = HEAD,
    **settings: Any,
) -> Kernel:
    settings.setdefault("math", "safe")
    return compile_kernel(Source(head + body, **settings), kernel, constants)


def run(
    body: str,
    *buffers: Any,
    grid: int | Sequence[int] = 1,
    threadgroup: int | Sequence[int] = 1,
    kernel: str = "k",
    on_log: Any = None,
    schedule: interpret.Schedule = interpret.FORWARD,
    threadgroup_memory: Mapping[int, int] | None = None,
    resources: Sequence[tuple[int, Any]] = (),
    addresses: Mapping[int, int] | None = None,
    agrees: Callable[[Any, Any], bool] | None = None,
    **settings: Any,
) -> Kernel:
    """Compile and run kernel `k`; buffers are bound by position, or by index in one mapping.

    Arrays are as the oracle leaves them, and the engine must leave the same, as `agrees` says; not asked where a test
    is about the oracle's own order or addresses, or arrays overlap.
    """
    built = build(body, kernel, **settings)
    bound = buffers[0] if buffers and isinstance(buffers[0], dict) else dict(enumerate(buffers))
    given = {index: np.array(buffer) for index, buffer in bound.items() if isinstance(buffer, np.ndarray)}
    sizes = triple(grid), triple(threadgroup)
    launch = Launch(
        *(*sizes, memories_of(bound), threadgroup_memory or {}, addresses or {}),
        resources=resources,
        kernel=kernel,
    )
    interpret.run(built.ir, launch, schedule, on_log)
    apart = not any(np.may_share_memory(bound[a], bound[b]) for a, b in combinations(given, 2))
    if apart and not (resources or addresses or on_log) and schedule is interpret.FORWARD:
        launch = Launch(*sizes, memories_of({**bound, **given}), threadgroup_memory or {}, kernel=kernel)
        device().backend.program(built.ir, built.signature).run(launch)
        for index, got in given.items():
            assert (agrees or agree)(got, bound[index]), (
                f"buffer {index}: {bound[index]} by the oracle, {got} by the engine"
            )
    return built


def memories_of(buffers: Mapping[int, Any]) -> dict[int, Any]:
    return {index: memory_of(buffer) for index, buffer in buffers.items()}


def memory_of(buffer: Any) -> Any:
    """bfloat16 arrays do not offer their memory themselves."""
    return buffer.view(np.uint16) if getattr(buffer, "dtype", None) == ml_dtypes.bfloat16 else buffer


def shape_of(kind: str) -> tuple[str, int]:
    """`float3` -> ("float", 3)"""
    return (kind[:-1], int(kind[-1])) if kind[-1] in "234" else (kind, 1)


def check(
    cases: Sequence[Case],
    *given: tuple[str, Any],
    setup: str = "",
    prelude: str = "",
    **settings: Any,
) -> None:
    """Every expression has exactly its type and value.

    `given` are declarations of kernel parameters with their memory, so that values are known only
    when the kernel runs.
    """
    out = np.full(max(len(cases), 1) * SLOT, POISON, np.uint8)
    parameters = ", ".join(["device uchar* out_", *(declaration for declaration, _ in given)])
    stores = "\n".join(
        f"  {{ auto v_ = ({text}); static_assert(is_same_v<decltype(v_), {kind}>,"
        f' "{number}"); *(device {kind}*)(out_ + {number * SLOT}) = v_; }}'
        for number, (kind, text, _) in enumerate(cases)
    )
    body = f"{prelude}\nkernel void k({parameters}) {{\n{setup}\n{stores}\n}}\n"

    def agrees(one: Any, other: Any) -> bool:
        """The slots of numbers as numbers, all else byte by byte."""
        if len(one) != len(out) or one.dtype != out.dtype:
            return agree(one, other)
        left = np.ones(len(out), bool)
        for number, (kind, _, _) in enumerate(cases):
            element, count = shape_of(kind)
            size = count * np.dtype(DTYPES[element]).itemsize
            here = slice(number * SLOT, number * SLOT + size)
            left[here] = False
            if not agree(one[here].view(DTYPES[element]), other[here].view(DTYPES[element])):
                return False
        return bool((one == other)[left].all())

    run(body, out, *(memory for _, memory in given), agrees=agrees, **settings)
    wrong = []
    for number, (kind, text, expected) in enumerate(cases):
        element, count = shape_of(kind)
        slot = out[number * SLOT : (number + 1) * SLOT]
        got = slot.view(DTYPES[element])[:count]
        if not same(got, np.array(expected, DTYPES[element]).reshape(-1)):
            wrong.append(f"{kind} {text}: got {got}, expected {expected}")
        size = got.itemsize * (4 if count == 3 else count)
        if (slot[size:] != POISON).any():
            wrong.append(f"{kind} {text}: wrote past its {size} bytes")
    assert not wrong, "\n".join(wrong)


def agree(one: Any, other: Any) -> bool:
    """Equal, where any NaN is as good as another, and a sum of zeros may have either sign."""
    if one.dtype.names:
        return all(agree(one[field], other[field]) for field in one.dtype.names)
    return bool(((one == other) | ((one != one) & (other != other))).all())


def same(got: Any, expected: Any) -> bool:
    """Equal bit by bit, where any NaN is as good as another."""
    if got.shape != expected.shape:
        return False
    nan = (got != got) & (expected != expected)
    return bool((nan | ((got == expected) & (np.signbit(got) == np.signbit(expected)))).all())


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
