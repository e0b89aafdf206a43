"""Every kernel of a library, lowered and vectorised; none is launched."""

from __future__ import annotations

import re
import time
from functools import cache
from pathlib import Path

from conformance.binaries.lines import Found
from conformance.packages import MLX_LIBRARY, TORCH, fetch
from metalloid.air.build import compile_entry
from metalloid.air.container import Container, find_containers, open_data
from metalloid.air.stored import choose
from metalloid.backends.cpu.pipeline import vector_stage
from metalloid.errors import CompileError, NotVectorised

# A library by name: the file that holds it, and which of those in it.
LIBRARIES = {"mlx": (MLX_LIBRARY, "mlx.metallib", 0), "torch": (TORCH, "libtorch_cpu.dylib", 0)}
LIBRARIES |= {"torch-26": (TORCH, "libtorch_cpu.dylib", 1)}
_THREADS = (32, 1, 1)
_KERNEL = re.compile(r"^.*?kernel '[^']*': ")


@cache
def container(which: str) -> Container:
    package, file, number = LIBRARIES[which]
    path = next(p for p in sorted(Path(fetch(package)).rglob(file)))
    return list(find_containers(open_data(path), file))[number]


def kernels(which: str) -> list[tuple[str, str]]:
    """Names, and what stands for the code of each."""
    return [(entry.name, entry.hash.hex()) for entry in container(which).entries if entry.is_kernel]


def judge(which: str, name: str, vectors: bool) -> Found:
    """Never raises: whatever goes wrong is what was found."""
    start = time.perf_counter()
    reason, detail = "", ""
    held = container(which)
    try:
        kernel = compile_entry(held, choose(held, name), {})
        if vectors:
            vector_stage(kernel.ir, _THREADS)
    except CompileError as error:
        reason = _KERNEL.sub("", error.diagnostics[0].message)
    except NotVectorised as error:
        reason = f"no vector code: {error}"
    except Exception as error:  # a crash is a finding of this run, not its end
        reason, detail = f"crash: {type(error).__name__}", str(error)[:200]
    reason = " ".join(reason.split())[:160]
    return Found(name, (name,), reason, detail, time.perf_counter() - start)
