"""What a source includes is precompiled: the next kernel has only its own text parsed, and means the same."""

from __future__ import annotations

import os
import re

import pytest

from metalloid import cache
from metalloid.compile import examined, scalar
from metalloid.errors import CompileError
from metalloid.frontend import build, clang, front, included, parse
from metalloid.frontend.tokens import tokenize
from metalloid.source import Source

ONE = """template<int N> inline float poly{n}(float x) {{
    float s = 0; for (int k = 0; k < N; k++) s = s * x + {n}; return s; }}"""
HEADER = "#pragma once\n#include <metal_stdlib>\nusing namespace metal;\n" + "\n".join(
    ONE.format(n=n) for n in range(200)
)
USE = '#include "long.h"\nkernel void k(device float* o) {{ o[0] = poly{n}<3>(o[0]); }}\n'


@pytest.fixture
def runs(monkeypatch):
    """The lengths of what clang is given to make code of."""
    found, real = [], clang.run

    def run(arguments, text):
        if "-emit-llvm" in arguments or "-fsyntax-only" in arguments:
            found.append(len(text))
        return real(arguments, text)

    monkeypatch.setattr(build.clang, "run", run)
    return found


def _source(folder, text, header=HEADER):
    (folder / "long.h").write_text(header)
    return Source(text, "k.metal", directory=folder)


def _code(ir):
    return re.sub(r"!\d+", "!N", "\n".join(line for line in ir.splitlines() if not line.startswith("!")))


def test_the_next_kernel_of_a_header_is_a_short_text(tmp_path, runs, monkeypatch):
    first, second = (_source(tmp_path, USE.format(n=n)) for n in (3, 7))
    ours = [scalar(source, "k", known=examined(source))[0] for source in (first, second)]
    assert len(runs) == 2
    assert max(runs) < 3000 < len(HEADER)
    monkeypatch.setattr(included, "LONG", 1 << 30)
    included.end.cache_clear()
    monkeypatch.setenv("METALLOID_CACHE_DIR", str(tmp_path / "other"))
    for source, ir in zip((first, second), ours, strict=True):
        plain = scalar(source, "k", known=examined(source))[0]
        assert _code(plain) == _code(ir)
    included.end.cache_clear()


def test_kernels_of_one_source_share_what_it_includes(tmp_path, runs):
    text = USE.format(n=1) + USE.format(n=2).split("\n")[1].replace("void k(", "void k2(")
    source = _source(tmp_path, text)
    known = examined(source)
    assert scalar(source, "k", known=known)[0] != scalar(source, "k2", known=known)[0]
    assert max(runs) < 3000


def test_function_constants_of_a_header_have_their_values(tmp_path):
    header = HEADER + "\nconstant int scale [[function_constant(0)]];\n"
    text = (
        USE.split("\n")[0]
        + "\nkernel void k(device int* o) { *o = scale; }\nkernel void k2(device int* o) { *o = 1; }"
    )
    source = _source(tmp_path, text, header)
    known = examined(source)
    for value in (5, 6):
        assert f"store i32 {value}," in scalar(source, "k", {"scale": value}, known=known)[0]


@pytest.mark.parametrize(
    "header, text",
    [
        (HEADER, USE.format(n=1).replace("o[0] =", "nowhere =")),
        (HEADER + "\ninline float bad(float x) { return missing; }\n", USE.format(n=1)),
    ],
)
def test_mistakes_are_told_as_ever(tmp_path, monkeypatch, header, text):
    told = []
    for limit in (16_000, 1 << 30):
        monkeypatch.setattr(included, "LONG", limit)
        included.end.cache_clear()
        with pytest.raises(CompileError) as error:
            examined(_source(tmp_path, text, header))
        told.append(str(error.value))
    included.end.cache_clear()
    assert told[0] == told[1]


def test_an_include_inside_a_namespace_is_compiled_in_one_piece(tmp_path, runs):
    header = HEADER.replace("using namespace metal;", "")
    text = (
        "#include <metal_stdlib>\nusing namespace metal;\nnamespace n {\n"
        '#include "long.h"\n}\nkernel void k(device float* o) { o[0] = n::poly3<2>(o[0]); }\n'
    )
    source = _source(tmp_path, text, header)
    assert "fmul" in scalar(source, "k", known=examined(source))[0]
    assert max(runs) > 16_000


def test_a_pragma_that_holds_for_the_rest_is_seen_by_the_rest(tmp_path, runs):
    source = _source(tmp_path, USE.format(n=1), HEADER + "\n#pragma clang fp contract(off)\n")
    examined(source)
    assert min(runs) > 16_000


def test_the_cache_may_touch_metals_header(tmp_path, runs, monkeypatch):
    monkeypatch.setenv("METALLOID_CACHE_DIR", str(tmp_path / "cache"))
    examined(_source(tmp_path, USE.format(n=1)))
    for path in cache.default().directory.rglob("*.pch"):
        os.utime(path, (1e9, 1e9))
    examined(_source(tmp_path, USE.format(n=2)))
    assert max(runs) < 3000


MIXED = """
namespace n { struct S { float a; float get() const device { return a; } float get() const { return a; } };
template <typename T, int N = (8 >> 1)> T half_of(T x) { return x / T(N >> x); } }
template <typename T> [[kernel]] void made(device T* o [[buffer(0)]], uint t [[thread_position_in_grid]]) {
    threadgroup T shared[32]; shared[t % 32] = o[t]; o[t] = shared[0] << 3; }
constant int flag [[function_constant(2)]];
inline void fill(thread int values[4], int d) { for (int k = 0; k < 4; k++) values[k] /= d; }
"""


@pytest.mark.parametrize("tail", ["", "\n#pragma unroll", "\nnamespace open {", "\nstruct half_written"])
def test_what_is_found_in_headers_does_not_depend_on_being_known(tail, monkeypatch):
    behind = (
        MIXED.replace("made", "other")
        + '\ntemplate [[host_name("x")]] kernel void made<int>(device int*, uint);\n'
    )
    text = f'# 1 "k.metal"\n# 1 "h.h" 1\n{MIXED * 40}{tail}\n# 2 "k.metal" 2\n{behind}'
    assert included.end(text) > 16_000
    units = [front.unit_of(text), front.unit_of(text)]
    operators = front.guarded_operators(units[1])
    monkeypatch.setattr(included, "LONG", 1 << 30)
    included.end.cache_clear()
    plain = front.unit_of(text)
    assert operators == front.guarded_operators(plain)
    included.end.cache_clear()
    for unit in units:
        assert (unit.front > 0) == (tail in ("", "\n#pragma unroll"))
        assert unit.tokens == plain.tokens
        assert unit.pairs == plain.pairs
        assert unit.declarations == plain.declarations


def test_headers_and_sources_that_take_turns_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    monkeypatch.setattr(front, "tokenize", lambda text: (read.append(len(text)), tokenize(text))[1])
    body = "".join(f"inline int g{n}(int x) {{ return x + {n}; }}\n" for n in range(included.LONG // 30))
    texts = [
        f'# 1 "k.metal"\n# 1 "h{n}.h" 1\n{body}int h{n};\n# 2 "k.metal" 2\nkernel void k{n}() {{}}\n'
        for n in range(20)
    ]
    for text in texts:
        assert parse._unit(text).front > 1000
    long = [length for length in read if length > len(body)]
    assert len(long) == len(texts)
    for text in texts:  # another kernel behind the same headers
        assert parse._unit(text.replace("() {}", "(device int* p) {}")).front > 1000
    assert len([length for length in read if length > len(body)]) == len(texts)
    read.clear()
    for text in texts[:6] * 2:
        parse._unit(text)
    assert len(read) == 6
