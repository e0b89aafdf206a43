"""LLVM without llvmlite's Python: it says and does the same, and both can be used side by side."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import llvmlite.binding as llvmlite
import pytest

from metalloid import llvm
from metalloid.backends.cpu import codegen
from metalloid.llvm import library

SUM = "define i32 @sum(i32 %x, i32 %y) {\n  %z = add i32 %x, 0\n  %w = add i32 %z, %y\n  ret i32 %w\n}\n"


def test_it_knows_the_same_machine() -> None:
    assert llvm.version() == llvmlite.llvm_version_info
    assert llvm.processor() == llvmlite.get_host_cpu_name()
    assert llvm.features() == llvmlite.get_host_cpu_features().flatten()
    assert llvm.triple() == llvmlite.get_process_triple()
    assert llvm.default_triple() == llvmlite.get_default_triple()


def test_data_lie_as_llvmlite_has_them() -> None:
    llvm.start()
    theirs = llvmlite.Target.from_triple(llvm.triple()).create_target_machine()
    assert llvm.Machine(llvm.triple()).layout == str(theirs.target_data)


def test_what_cannot_be_read_is_said_with_its_place() -> None:
    with pytest.raises(RuntimeError, match=r"LLVM IR parsing error\n.*:1:15: error"):
        llvm.parse("define i32 @f(")
    with pytest.raises(RuntimeError, match="does not dominate"):
        llvm.parse("define i32 @f() {\n  %x = add i32 %y, 1\n  %y = add i32 1, 1\n  ret i32 %x\n}").verify()
    with pytest.raises(RuntimeError, match="nowhere"):
        llvm.Machine("nowhere-unknown-unknown")


def test_passes_by_their_names() -> None:
    module, host = llvm.parse(SUM), codegen.machine(codegen.host())
    llvm.Passes("InstCombine").run(module, llvm.Builder(host, 1))
    assert "%x, 0" not in str(module)


@pytest.mark.parametrize("level", [0, 2])
def test_code_runs_in_this_process(level: int) -> None:
    module, host = llvm.parse(SUM), codegen.machine(codegen.host())
    builder = llvm.Builder(host, level, vectors=False)
    builder.pipeline().run(module, builder)
    code = host.emit_object(module)
    engine = llvm.Engine(codegen.machine(codegen.host()), code)
    assert ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32, ctypes.c_int32)(engine.function("sum"))(3, 4) == 7
    assert "sum" in host.emit_assembly(module)


def test_every_object_is_given_back_once(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []
    call = library.call

    def noted(name: str, *arguments: object) -> object:
        if name.startswith("Dispose") or name == "ContextDispose":
            given.append(name)
        return call(name, *arguments)

    monkeypatch.setattr(library.Owned.__del__, "__defaults__", ([False], noted))
    module, host = llvm.parse(SUM), codegen.machine(codegen.host())
    code = host.emit_object(module)
    engine = llvm.Engine(codegen.machine(codegen.host()), code)
    del module, host, engine
    assert sorted(given) == sorted(
        [
            "DisposeModule",
            "ContextDispose",
            "DisposeTargetMachine",
            "DisposeObjectFile",
            "DisposeExecutionEngine",
        ]
    )


def test_llvmlite_and_metalloid_wait_for_each_other() -> None:
    assert library._lock() is llvmlite.ffi.lib._lock


ALONE = """
import sys
from metalloid import llvm
llvm.start()
made = llvm.parse("define void @f() { ret void }")
print("llvmlite.binding" in sys.modules, llvm.library._lock() is llvm.library._LOCK)
import llvmlite.binding
print(str(llvmlite.binding.parse_assembly(str(made))) == str(made))
"""


def test_a_program_may_import_llvmlite_afterwards() -> None:
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "True"]
