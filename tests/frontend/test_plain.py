"""A text without macros is preprocessed without clang, to the same bytes; anything else is clang's."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from bench.textbook import HEAD, KERNELS

from metalloid.errors import CompileError
from metalloid.frontend import clang, preprocess
from metalloid.frontend.plain import plain_text
from metalloid.source import Source


def plainly(text: str, given: tuple[str, ...] = (), name: str = "kernel.metal") -> str | None:
    return plain_text(text, name, preprocess.MACROS, given, preprocess.STUBS)


def by_clang(text: str, monkeypatch: pytest.MonkeyPatch) -> str:
    with monkeypatch.context() as patch:
        patch.setattr(preprocess, "plain_text", lambda *_: None)
        return preprocess.preprocess(Source(text, name="kernel.metal")).text


@pytest.fixture
def no_clang(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("clang was started")

    monkeypatch.setattr(clang, "run", refused)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_textbook_kernels_need_no_preprocessor(kernel, no_clang: None) -> None:
    made = preprocess.preprocess(Source(HEAD + kernel.text, name="kernel.metal"))
    assert made.text.endswith(f"using namespace metal;\n{kernel.text}\n")
    assert made.files == ()


PIECES = (
    *("a", "b1", "0x1p-3f", "/", "//", "(a)", "*", "<", ">", ";", "x?y:z", " ", "  ", "\t", " \n", "\n"),
    *("// don't #if\n", "/* INT */", "/**/", "/* of\n\n two */", "\n" * 9, "\n" * 8, "[[id(0)]]", "\n\n"),
    *(
        "\n#include <metal_stdlib>\n",
        "\n  # include <metal_math>  // why\n",
        "\n/* */ #include <metal_atomic>\n",
    ),
)


@pytest.mark.parametrize("seed", range(40))
def test_it_is_what_clang_writes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pick = random.Random(seed)
    for _ in range(100):
        text = "".join(pick.choices(PIECES, k=pick.randrange(40)))
        if (made := plainly(text)) is not None:
            break
    assert made == by_clang(text, monkeypatch)


@pytest.mark.parametrize(
    "text",
    [
        "#define N 4\nint a[N];",
        "#ifdef X\n#endif",
        "#pragma unroll\n",
        "#include <metal_tensor>",
        "#include <nowhere>",
        '#include "mine.h"',
        "#include <metal_stdlib> /* and\n more */",
        "int a = INT_MAX;",
        "assert(a);",
        "int a = __LINE__;",
        '_Pragma("unroll")',
        "int a = 1; \\\nint b;",
        'constant char t[] = "text";',
        "int a = 1'000;",
        "int a<:2:>;",
        "%:define N 4",
        "a ??!??! b",
        "int \u00e9;",
        "int a;\r\nint b;",
        "int a;\fint b;",
        "int a; /* no end",
        "int a; /* two\n lines */ int b;",
        "int a; #include <metal_stdlib>",
        "int a = N;",
    ],
)
def test_what_may_mean_more_is_left_to_clang(text: str) -> None:
    assert plainly(text, given=("N",)) is None


def test_names_that_need_escapes_are_left_to_clang() -> None:
    assert plainly("int a;", name="my kernel-2.metal") is not None
    assert plainly("int a;", name='my "kernel".metal') is None
    assert plainly("int a;", name="c:\\kernel.metal") is None


def test_a_folder_that_is_given_may_have_headers_of_these_names(tmp_path: Path) -> None:
    (tmp_path / "metal_stdlib").write_text("kernel void mine() {}\n")
    made = preprocess.preprocess(Source("#include <metal_stdlib>\n", include=(tmp_path,)))
    assert "mine" in made.text
    assert made.files == (tmp_path / "metal_stdlib",)


def test_a_mistake_of_the_preprocessors_is_told() -> None:
    with pytest.raises(CompileError, match="nowhere"):
        preprocess.preprocess(Source("#include <nowhere>\nkernel void k() {}"))
