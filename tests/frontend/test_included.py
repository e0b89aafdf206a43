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

    def run(arguments, text, *more):
        if "-emit-llvm" in arguments or "-fsyntax-only" in arguments:
            found.append(len(text))
        return real(arguments, text, *more)

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
    included.forget()
    monkeypatch.setenv("METALLOID_CACHE_DIR", str(tmp_path / "other"))
    for source, ir in zip((first, second), ours, strict=True):
        plain = scalar(source, "k", known=examined(source))[0]
        assert _code(plain) == _code(ir)
    included.forget()


CHAIN = '#include "first.h"\n#include "second.h"\n#include "third.h"\n'


def _chain(folder, name, body, third=""):
    for n, file in enumerate(("first.h", "second.h", "third.h")):
        text = HEADER.replace("poly", "abc"[n])  # one above the other
        if n:
            text += f"\ninline float on{n}(float x) {{\n    return {'abc'[n - 1]}3<4>(x)\n        * x;\n}}\n"
        (folder / file).write_text(text + (third if n == 2 else ""))
    text = f"{CHAIN}kernel void k(device float* o) {{\n    o[0] = {body};\n}}\n"
    return Source(text, name, directory=folder)


def _lines(ir):
    """Where its instructions come from, with the names of files and functions."""
    named = dict(re.findall(r"^(!\d+) = (.*)$", ir, re.MULTILINE))

    def spelled(text, depth):
        return re.sub(r"!\d+", lambda m: f"<{spelled(named[m[0]], depth - 1)}>" if depth else "", text)

    return sorted(spelled(text, 3) for text in named.values() if text.startswith("!DILocation("))


def test_sources_that_begin_alike_share_the_beginning(tmp_path, monkeypatch):
    made, real = [], clang.run

    def run(arguments, text, *more):
        if "-emit-pch" in arguments:
            made.append(arguments[-1])
        return real(arguments, text, *more)

    monkeypatch.setattr(clang, "run", run)
    monkeypatch.setenv("METALLOID_CACHE_DIR", str(tmp_path / "cache"))
    kernels = ("k.metal", "on1(o[0]) + c5<3>(o[1])"), ("another_name.metal", "on2(o[2]) / a1<2>(o[1])")
    sources = [_chain(tmp_path, *kernel) for kernel in kernels]
    ours = [scalar(source, "k", known=examined(source))[0] for source in sources]
    assert len(made) == 1 + 3  # Metal's, and the three: the second source has none of its own
    third = _chain(tmp_path, "k3.metal", "on2(o[0])", "inline int later(int x) { return x; }")
    examined(third)
    assert len(made) == 1 + 3 + 1
    _chain(tmp_path, *kernels[0])  # the files as they were
    monkeypatch.setattr(included, "LONG", 1 << 30)
    included.forget()
    monkeypatch.setenv("METALLOID_CACHE_DIR", str(tmp_path / "other"))
    for source, ir in zip(sources, ours, strict=True):
        plain = scalar(source, "k", known=examined(source))[0]
        assert _code(plain) == _code(ir)
        assert _lines(plain) == _lines(ir)
        assert any("second.h" in line for line in _lines(ir))
    included.forget()


def test_a_namespace_over_two_includes_is_one_piece(tmp_path, runs):
    source = _chain(tmp_path, "k.metal", "n::c5<3>(o[0])")
    text = source.text.replace('#include "second.h"', 'namespace n {\n#include "second.h"', 1)
    text = text.replace('#include "third.h"', '#include "third.h"\n}\n#include "fourth.h"')
    (tmp_path / "fourth.h").write_text("inline int fourth(int x) { return x; }\n")
    source = Source(text, "k.metal", directory=tmp_path)
    assert "fmul" in scalar(source, "k", known=examined(source))[0]
    assert max(runs) < 3000


def test_kernels_of_one_source_share_what_it_includes(tmp_path, runs):
    text = USE.format(n=1) + USE.format(n=2).split("\n")[1].replace("void k(", "void k2(")
    source = _source(tmp_path, text)
    known = examined(source)
    assert scalar(source, "k", known=known)[0] != scalar(source, "k2", known=known)[0]
    assert max(runs) < 3000


@pytest.mark.parametrize(
    ("declared", "used", "short"),
    [
        ("constant int scale [[function_constant(0)]];", "scale * o[1]", True),
        (
            "constant int scale [[function_constant(0)]];",
            "o[1] * (is_function_constant_defined(scale) ? scale : 1)",
            True,
        ),
        (
            "constant int scale [[function_constant(0)]];\nconstant int twice = scale + scale;",
            "twice * o[1]",
            None,
        ),
        (
            "constant int scale [[function_constant(0)]];\nconstant bool is = is_function_constant_defined(scale);",
            "is ? scale * o[1] : 1",
            False,
        ),
        ("namespace a { constant int scale [[function_constant(0)]]; }", "a::scale * o[1]", False),
        ("namespace { constant int scale [[function_constant(0)]]; }", "scale * o[1]", False),
        ("static constant int scale [[function_constant(0)]];", "scale * o[1]", False),
        (
            "constant int scale [[function_constant(0)]];\nconstant float3 v [[function_constant(1)]];",
            "scale * v.y * o[1]",
            True,
        ),
    ],
)
def test_function_constants_of_a_header_have_their_values(tmp_path, runs, monkeypatch, declared, used, short):
    """With a value and without, in code that is as it would be without a precompiled header."""
    source = _source(
        tmp_path,
        f'#include "long.h"\nkernel void k(device float* o) {{ o[0] = {used}; }}\n',
        f"{HEADER}\n{declared}\n",
    )
    given = ({"scale": 3}, {"scale": 5}, {}) if "v " not in declared else ({"scale": 3, "v": (1, 2, 4)},)
    ours = [scalar(source, "k", values, known=examined(source))[0] for values in given]
    if short is not None:
        assert (max(runs) < 3000) == short
    monkeypatch.setattr(included, "LONG", 1 << 30)
    included.forget()
    monkeypatch.setenv("METALLOID_CACHE_DIR", str(tmp_path / "other"))
    for values, ir in zip(given, ours, strict=True):
        plain = scalar(source, "k", values, known=examined(source))[0]
        assert _code(plain) == _code(ir)
    included.forget()


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
        included.forget()
        with pytest.raises(CompileError) as error:
            examined(_source(tmp_path, text, header))
        told.append(str(error.value))
    included.forget()
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


@pytest.mark.parametrize("name", ["k.metal", "a much longer name than the one that stands for it.metal"])
def test_where_things_stand_in_a_source_of_any_name(name, monkeypatch):
    more = MIXED.replace("made", "again").replace("half_of", "third_of")
    pieces = (f'# 1 "h{n}.h" 1\n{text * 40}\n# {n + 2} "{name}" 2\n' for n, text in enumerate((MIXED, more)))
    first, second = pieces
    behind = MIXED.replace("made", "other")
    text = f'# 1 "{name}"\nusing namespace metal;\n{first}{second}{behind}'
    front.unit_of(f'# 1 "x"\nusing namespace metal;\n{first.replace(name, "x")}int y;')
    unit = front.unit_of(text)
    parts = included.parted(text)
    assert len(parts.pieces) == 2
    assert included.parted(text.replace(name, "z")).pieces == parts.pieces
    operators = front.guarded_operators(unit)
    monkeypatch.setattr(included, "LONG", 1 << 30)
    included.forget()
    plain = front.unit_of(text)
    assert unit.front > 1000
    assert operators == front.guarded_operators(plain)
    assert unit.tokens == plain.tokens
    assert unit.pairs == plain.pairs
    assert unit.declarations == plain.declarations
    included.forget()


def test_code_between_includes_keeps_its_name():
    long = "inline int f(int x) { return x; }\n" * 600
    text = f'# 1 "k.metal"\nint here;\n# 1 "h.h" 1\n{long}# 2 "k.metal" 2\nkernel void k() {{}}\n'
    assert '"k.metal"' in included.parted(text).pieces[0]
    assert '"k.metal"' not in included.parted(text.replace("int here;", "")).pieces[0]


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
    included.forget()
    plain = front.unit_of(text)
    assert operators == front.guarded_operators(plain)
    included.forget()
    for unit in units:
        assert (unit.front > 0) == (tail in ("", "\n#pragma unroll"))
        assert unit.tokens == plain.tokens
        assert unit.pairs == plain.pairs
        assert unit.declarations == plain.declarations


def test_a_text_without_a_file_shares_the_tokens_of_what_it_includes():
    text = f'# 1 "{Source("").name}"\n# 1 "h.h" 1\n{MIXED * 40}\n# 2 "{Source("").name}" 2\nint x;\n'
    unit, nameless = front.unit_of(text), front._front(included.parted(text).pieces)
    shared = [a is b for a, b in zip(unit.tokens, nameless.tokens, strict=False)]
    assert len(shared) > 1000
    assert shared.count(False) <= 2  # the line markers with its name


def test_headers_and_sources_that_take_turns_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    monkeypatch.setattr(front, "tokenize", lambda text, at: (read.append(len(text)), tokenize(text, at))[1])
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
