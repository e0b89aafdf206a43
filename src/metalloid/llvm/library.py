"""The C functions of llvmlite's library, each declared when it is first called, and what they hand out."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
from llvmlite.utils import get_library_name

from metalloid import guest

# What a letter of a signature stands for. An object of LLVM's is a pointer, so is a text that it writes.
_TYPES: dict[str, Any] = {
    "p": ctypes.c_void_p,
    "s": ctypes.c_char_p,
    "i": ctypes.c_int,
    "u": ctypes.c_uint,
    "b": ctypes.c_bool,
    "n": ctypes.c_size_t,
    "a": ctypes.c_uint64,
    "t": ctypes.POINTER(ctypes.c_char_p),
    "-": None,
}
# The result's letter, then the arguments'. Functions that are not here take one object and give nothing.
_SIGNATURES = {
    "AddSymbol": "-sp",
    "ContextCreate": "p",
    "CopyStringRepOfTargetData": "-pt",
    "CreateMCJITCompiler": "pppbt",
    "CreateNewModulePassManager": "p",
    "CreateObjectFile": "psn",
    "CreatePassBuilder": "ppp",
    "CreatePipelineTuningOptions": "p",
    "CreateTargetMachine": "ppsssissiis",
    "CreateTargetMachineData": "pp",
    "DisposeString": "-s",
    "GetBufferSize": "np",
    "GetBufferStart": "pp",
    "GetDefaultTargetTriple": "-t",
    "GetFunctionAddress": "aps",
    "GetGlobalContext": "p",
    "GetGlobalValueAddress": "aps",
    "GetHostCPUFeatures": "it",
    "GetHostCPUName": "-t",
    "GetProcessTriple": "-t",
    "GetTargetFromTriple": "pst",
    "GetTargetMachineTriple": "-pt",
    "GetVersionInfo": "u",
    "InitializeAllAsmPrinters": "-",
    "InitializeAllTargetInfos": "-",
    "InitializeAllTargetMCs": "-",
    "InitializeAllTargets": "-",
    "InitializeNativeAsmPrinter": "-",
    "InitializeNativeTarget": "-",
    "MCJITAddObjectFile": "-pp",
    "PTOSetLoopInterleaving": "-pb",
    "PTOSetLoopVectorization": "-pb",
    "PTOSetSLPVectorization": "-pb",
    "ParseAssembly": "ppst",
    "PrintModuleToString": "-pt",
    "RunNewModulePassManager": "-ppp",
    "SetCommandLine": "-ss",
    "TargetMachineEmitToMemory": "pppit",
    "VerifyModule": "bpt",
    "buildPerModuleDefaultPipeline": "ppi",
}
_LOCK = threading.RLock()
_functions: dict[str, Callable[..., Any]] = {}
_ended = [False]


@cache
def _library() -> ctypes.CDLL:
    made = ctypes.CDLL(str(Path(llvmlite.__file__).parent / "binding" / get_library_name()))
    keep_at_exit()
    return made


def keep_at_exit() -> None:
    """Give nothing back to LLVM once the process ends: LLVM's own static objects may be gone by then. Where Python is a
    guest these are the ones that were made after this was called."""
    guest.at_exit(lambda: _ended.__setitem__(0, True))


def _lock() -> AbstractContextManager[object]:
    """llvmlite's own lock, once somebody has loaded llvmlite: its library is for one thread at a time."""
    theirs = sys.modules.get("llvmlite.binding.ffi")
    known: AbstractContextManager[object] = getattr(getattr(theirs, "lib", None), "_lock", _LOCK)
    return known


def call(name: str, *arguments: Any) -> Any:
    """What a function gives; a text goes there as UTF-8."""
    with _lock(), _LOCK:  # who came before llvmlite was loaded has only ours
        found = _functions.get(name)
        if found is None:
            result, *types = map(_TYPES.__getitem__, _SIGNATURES.get(name, "-p"))
            found = getattr(_library(), f"LLVMPY_{name}")
            found.restype, found.argtypes = result, types
            _functions[name] = found
        return found(*(a.encode() if isinstance(a, str) else a for a in arguments))


def told(name: str, *arguments: Any) -> tuple[Any, str]:
    """What a function gives that writes a text as well, and the text: its answer, or what is wrong."""
    text = ctypes.c_char_p()
    given = call(name, *arguments, ctypes.byref(text))
    written = (text.value or b"").decode(errors="replace")
    if text:
        call("DisposeString", text)
    return given, written


class Owned:
    """An object of LLVM's, given back with this one unless another object of LLVM's has it by then."""

    dispose = ""  # the function that takes it back

    def __init__(self, pointer: int | None) -> None:
        if not pointer:
            raise RuntimeError(f"LLVM made nothing: {type(self).__name__}")
        self._as_parameter_ = ctypes.c_void_p(pointer)
        self.owned = True

    def __del__(self, ended: list[bool] = _ended, call: Callable[..., Any] = call) -> None:
        # At the end of the process LLVM's own objects may be gone before.
        if not ended[0] and getattr(self, "owned", False):
            call(self.dispose, self)
