"""Machine code of an NVIDIA GPU as text. The driver has no disassembler: NVIDIA's tools make it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from metalloid.backends.cuda import driver
from metalloid.errors import DeviceError

_FOLDERS = ("/usr/local/cuda/bin", "/opt/cuda/bin")
# What takes machine code apart, and how it is asked.
_READERS = {"nvdisasm": (), "cuobjdump": ("--dump-sass",)}


def _found(tool: str) -> str | None:
    folders = [os.environ.get("PATH", ""), *_FOLDERS]
    if home := os.environ.get("CUDA_HOME"):
        folders.append(str(Path(home) / "bin"))
    return shutil.which(tool, path=os.pathsep.join(folders))


def disassembled(ptx: str, processor: str) -> str:
    """SASS of PTX: by the driver's compiler where there is a GPU, else by ptxas."""
    reader = next((tool for tool in _READERS if _found(tool)), None)
    if reader is None:
        raise DeviceError(
            "[cuda] machine code is shown by NVIDIA's nvdisasm or cuobjdump, and neither is on the PATH"
            " (pip install nvidia-cuda-nvdisasm, or the CUDA toolkit)."
        )
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "kernel.cubin"
        made.write_bytes(_machine_code(ptx, processor, Path(folder)))
        return _said([_found(reader) or reader, *_READERS[reader], str(made)])


def _machine_code(ptx: str, processor: str, folder: Path) -> bytes:
    if not driver.missing():
        from metalloid.backends.cuda.program import memory

        gpu = memory().gpu
        gpu.enter()
        return gpu.assemble(ptx)
    assembler = _found("ptxas")
    if assembler is None:
        raise DeviceError(
            "[cuda] machine code is made by an NVIDIA driver or by ptxas, and there is neither here"
            " (pip install nvidia-cuda-nvcc, or the CUDA toolkit)."
        )
    text, made = folder / "kernel.ptx", folder / "made.cubin"
    text.write_text(ptx)
    _said([assembler, f"-arch={processor}", "-o", str(made), str(text)])
    return made.read_bytes()


def _said(command: list[str]) -> str:
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if result.returncode:
        raise DeviceError(f"[cuda] {Path(command[0]).name} failed: {result.stderr.strip()[:500]}")
    return result.stdout
