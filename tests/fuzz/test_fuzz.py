"""Whatever the text, compiling it ends: in a module that keeps the contract, or in CompileError.

`make test` runs the first 200 sources, `make fuzz` 2,000.
"""

from __future__ import annotations

import random
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from metalloid import frontend
from metalloid.errors import CompileError
from metalloid.frontend import compile_kernel, find_kernels
from metalloid.source import Source

from .sources import SEEDS, case

NOT_UTF_8 = (b"\xff\xfe\0k", b"kernel void f(device float* x) {} // \xe9\x80", bytes(range(256)))

SECONDS = 60  # of the clock; the compiler has 15 of the processor, and tests share it
SECRET = "hunter2" + f"{random.Random(99).getrandbits(64):x}"
NUMBER = 719_263_418  # must not show up in any form
HEADERS = Path(frontend.__file__).parent / "include"


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing found or left in the cache of whoever runs this."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("METALLOID_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a user has: a directory with a source and a header; beside it a file that is nobody's business."""
    root = tmp_path_factory.mktemp("fuzz")
    (root / "project").mkdir()
    (root / "outside").mkdir()
    secret = root / "outside" / "secret.h"
    secret.write_text(
        f'#define SECRET_VALUE {NUMBER}\nconstant char secret_text[] = "{SECRET}";\n'
        f'#pragma message("{SECRET}")\n'
        f"{SECRET};\n#if {SECRET}(\n#error {SECRET}\n#endif\n"
    )
    (root / "project" / "loop.h").write_text('#include "loop.h"\n')
    (root / "project" / "link.h").symlink_to(secret)
    return root


@pytest.mark.parametrize("number", range(200))
def test_a_bad_source_ends_well(number: int, folder: Path) -> None:
    check(number, folder)


@pytest.mark.fuzz
@pytest.mark.parametrize("number", range(200, 2000))
def test_more_bad_sources_end_well(number: int, folder: Path) -> None:
    check(number, folder)


@pytest.mark.parametrize("text", SEEDS.values(), ids=SEEDS)
def test_the_undamaged_sources_compile(text: str) -> None:
    source = Source(text)
    names = [entry.name for entry in find_kernels(source)]
    assert names
    for name in names:
        keeps_contract(compile_kernel(source, name).ir)


@pytest.mark.parametrize("data", NOT_UTF_8)
def test_a_file_that_is_not_utf_8_ends_well(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "odd.metal"
    file.write_bytes(data)
    told(Source.from_file(file))


def check(number: int, folder: Path) -> None:
    secret = folder / "outside" / "secret.h"
    made = case(number, secret, HEADERS)
    source = Source(made.text, name="fuzz.metal", directory=folder / "project", include=(folder / "project",))
    start = time.monotonic()
    with limit(made.kind):
        said = told(source)
    assert time.monotonic() - start < SECONDS, made.kind
    for leaked in (SECRET, str(NUMBER), f"{NUMBER:x}", str(float(NUMBER)), "root:x:0"):
        assert leaked not in said, f"{made.kind} read a file outside the include paths"


def told(source: Source) -> str:
    """Everything that compiling a source tells: names, IR and signatures, or the error."""
    said = ""
    try:
        entries = find_kernels(source)
        for name in [entry.name for entry in entries[:2]] or ["f"]:
            kernel = compile_kernel(source, name)
            keeps_contract(kernel.ir)
            said += kernel.ir + str(kernel.signature) + name
    except CompileError as error:
        assert error.diagnostics
        for diagnostic in error.diagnostics:
            assert diagnostic.message.strip()
        return said + str(error) + repr(error.diagnostics)
    return said


def keeps_contract(ir: str) -> None:
    """Valid IR with one function, that calls nothing but intrinsics: nothing here can reach the machine."""
    module = llvm.parse_assembly(ir)
    module.verify()
    for function in module.functions:
        if function.is_declaration:
            assert function.name.startswith(("llvm.", "__mt_")), f"calls {function.name}"
        else:
            assert function.name == "__mt_entry", f"defines {function.name}"
    assert not re.search(r"\bcall\b[^\n\"]*\basm\b|^module asm", ir, re.MULTILINE), "contains assembly"


class _TooSlow(BaseException):
    """Not an Exception: nothing on the way may take it for one of its own."""


@contextmanager
def limit(kind: str) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _TooSlow(f"{kind}: still at work after {SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS + 1)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
