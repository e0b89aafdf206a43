"""Write small metallibs: AIR as text, assembled by LLVM, in Apple's container. And run their kernels on both."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from metalloid.air.container import read_container
from metalloid.air.stored import compile_kernel
from metalloid.backends import interpret
from metalloid.backends.base import Launch
from metalloid.backends.cpu.build import cpu_program
from metalloid.frontend.kernel import Kernel
from metalloid.source import Binary, Constant
from tests.language.launch import agree, memories_of, triple

LAYOUT = (
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32"
    "-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
)
TRIPLE = "air64-apple-macosx14.0.0"
KERNEL, VERTEX = 2, 0


@dataclass(frozen=True)
class Function:
    """One entry of a library."""

    name: str
    bitcode: bytes
    kind: int = KERNEL
    hash: bytes | None = None  # None: the right one


def assembled(text: str) -> bytes:
    """Bitcode of a module's text. For systems of Apple's, LLVM puts the wrapper around it that they have."""
    module = llvm.parse_assembly(f'target datalayout = "{LAYOUT}"\ntarget triple = "{TRIPLE}"\n{text}')
    module.verify()
    code: bytes = module.as_bitcode()
    assert code[:4] == struct.pack("<I", 0x0B17C0DE)
    return code


def container(functions: Sequence[Function]) -> bytes:
    """A whole library."""
    groups, codes = b"", b""
    for f in functions:
        tags = [
            (b"NAME", f.name.encode() + b"\0"),
            (b"TYPE", bytes([f.kind])),
            (b"HASH", hashlib.sha256(f.bitcode).digest() if f.hash is None else f.hash),
            (b"OFFT", struct.pack("<3Q", 0, 0, len(codes))),
            (b"VERS", struct.pack("<4H", 2, 6, 3, 1)),
            (b"MDSZ", struct.pack("<Q", len(f.bitcode))),
        ]
        body = b"".join(tag + struct.pack("<H", len(data)) + data for tag, data in tags) + b"ENDT"
        groups += struct.pack("<I", 4 + len(body)) + body
        codes += f.bitcode
    listed = struct.pack("<I", len(functions)) + groups
    extra = b"ENDT"  # no extension of the list
    behind = 88 + len(listed) + len(extra)
    code_at = behind + 8
    sections = (88, len(groups), behind, 4, behind + 4, 4, code_at, len(codes))
    head = b"MTLB" + struct.pack("<HHHBBHHQ", 0x8001, 2, 7, 0, 0x81, 14, 0, code_at + len(codes))
    return head + struct.pack("<8Q", *sections) + listed + extra + bytes(8) + codes


Described = tuple[str, str]  # the type in LLVM's words, and what AIR says of it behind its position


def buffer(
    index: int, type: str, size: int, space: int = 1, write: bool = False, more: str = ""
) -> Described:
    """A parameter that is a buffer, called b0, b1, ... by its index."""
    access = '!"air.read_write"' if write else '!"air.read"'
    kind = '!"air.threadgroup"' if space == 3 else '!"air.buffer"'
    words = (
        f'{more}{kind}, !"air.location_index", i32 {index}, i32 1, {access}, !"air.address_space", i32 {space}, '
        f'!"air.arg_type_size", i32 {size}, !"air.arg_type_align_size", i32 {size}, !"air.arg_type_name", !"{type}", '
        f'!"air.arg_name", !"b{index}"'
    )
    return f"ptr addrspace({space})", words


def position(builtin: str, type: str = "i32", name: str = "uint") -> Described:
    return type, f'!"air.{builtin}", !"air.arg_type_name", !"{name}", !"air.arg_name", !"{builtin}"'


THREAD = position("thread_position_in_grid")


def kernel(
    body: str,
    parameters: Sequence[Described],
    declarations: str = "",
    name: str = "k",
    nodes: Mapping[str, str] | None = None,
    options: str = "",
) -> str:
    """A module with one kernel; its parameters are %p0, %p1, ..."""
    heads = ", ".join(f"{type} %p{i}" for i, (type, _) in enumerate(parameters))
    rows = [f"!{100 + i} = !{{i32 {i}, {words}}}" for i, (_, words) in enumerate(parameters)]
    listed = ", ".join(f"!{100 + i}" for i in range(len(parameters)))
    extra = [f"{key} = {text}" for key, text in (nodes or {}).items()]
    return "\n".join(
        [
            declarations,
            f"define void @{name}({heads}) {{\n{body}\n}}",
            "!air.kernel = !{!0}",
            f"!0 = !{{ptr @{name}, !1, !2{options}}}",
            "!1 = !{}",
            f"!2 = !{{{listed}}}",
            *rows,
            *extra,
        ]
    )


def library(*texts: str, names: Sequence[str] = ("k",)) -> Binary:
    functions = [Function(name, assembled(text)) for name, text in zip(names, texts, strict=True)]
    return Binary.from_bytes(container(functions))


def compiled(
    text: str, constants: Mapping[str | int, Constant] | None = None, checked: bool = False
) -> Kernel:
    return compile_kernel(library(text), "k", constants, checked=checked, fresh=True)


def run(
    text: str,
    *buffers: Any,
    grid: int | Sequence[int] = 1,
    threadgroup: int | Sequence[int] = 1,
    constants: Mapping[str | int, Constant] | None = None,
    threadgroup_memory: Mapping[int, int] | None = None,
) -> Kernel:
    """Run kernel `k` on the oracle, in place, and on the engine, which must leave the same."""
    built = compiled(text, constants)
    bound = dict(enumerate(buffers))
    given = {index: np.array(b) for index, b in bound.items()}
    sizes = triple(grid), triple(threadgroup)
    local = threadgroup_memory or {}
    interpret.run(built.ir, Launch(*sizes, memories_of(bound), local, kernel="k"))
    cpu_program(built.ir, built.signature).run(Launch(*sizes, memories_of(given), local, kernel="k"))
    for index, got in given.items():
        assert agree(got, bound[index]), f"buffer {index}: {bound[index]} by the oracle, {got} by the engine"
    return built


def entries_of(data: bytes) -> list[str]:
    return [entry.name for entry in read_container(data, "test.metallib").entries]
