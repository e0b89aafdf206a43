"""Every kernel of a library, lowered and vectorised; none is launched.

Kernels that are the same IR once they are lowered (of `int` and of `uint`, say) are vectorised once.
"""

from __future__ import annotations

import hashlib
import re
import time
from functools import cache
from pathlib import Path

from conformance.binaries.lines import Found
from conformance.packages import MLX_LIBRARY, MLX_LIBRARY_26, TORCH, fetch
from metalloid.air.build import compile_entry
from metalloid.air.container import Container, find_containers, open_data
from metalloid.air.stored import choose
from metalloid.backends.cpu.pipeline import vector_stage
from metalloid.errors import CompileError, NotVectorised

# A library by name: the file that holds it, and which of those in it.
LIBRARIES = {"mlx": (MLX_LIBRARY, "mlx.metallib", 0), "torch": (TORCH, "libtorch_cpu.dylib", 0)}
LIBRARIES |= {
    "mlx-26": (MLX_LIBRARY_26, "mlx.metallib", 0),
    "torch-26": (TORCH, "libtorch_cpu.dylib", 1),
}
_THREADS = (32, 1, 1)
_TENSORS = b"__tensorops_impl_"  # names lie in bitcode as they are
_KERNEL = re.compile(r"^.*?kernel '[^']*': ")


@cache
def container(which: str) -> Container:
    package, file, number = LIBRARIES[which]
    path = next(p for p in sorted(Path(fetch(package)).rglob(file)))
    return list(find_containers(open_data(path), file))[number]


def kernels(which: str, tensors: bool = False) -> list[tuple[str, str]]:
    """Names, and what stands for the code of each; the shortest first. With `tensors` those with tensor operations."""
    held = container(which)
    found = sorted((entry for entry in held.entries if entry.is_kernel), key=lambda entry: entry.size)
    return [
        (entry.name, entry.hash.hex())
        for entry in found
        if not tensors or held.data.find(_TENSORS, entry.offset, entry.offset + entry.size) >= 0
    ]


_vectorised: dict[bytes, str] = {}  # why no vector code was made of an IR, by its hash; "" where it was


def judge(which: str, name: str, vectors: bool) -> Found:
    """Never raises: whatever goes wrong is what was found."""
    start = time.perf_counter()
    reason, detail = "", ""
    held = container(which)
    try:
        kernel = compile_entry(held, choose(held, name), {})
        reason = _vectors(kernel.ir) if vectors else ""
    except CompileError as error:
        reason = _KERNEL.sub("", error.diagnostics[0].message)
    except Exception as error:  # a crash is a finding of this run, not its end
        reason, detail = f"crash: {type(error).__name__}", str(error)[:200]
    reason = " ".join(reason.split())[:160]
    return Found(name, (name,), reason, detail, time.perf_counter() - start)


def _vectors(ir: str) -> str:
    key = hashlib.sha256(ir.encode()).digest()
    if key not in _vectorised:
        try:
            vector_stage(ir, _THREADS)
            _vectorised[key] = ""
        except NotVectorised as error:
            _vectorised[key] = f"no vector code: {error}"
    return _vectorised[key]
