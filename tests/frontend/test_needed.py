"""Clang reads of a source what a kernel needs: the same IR, in one run where there is one kernel to ask for."""

from __future__ import annotations

import pytest

from metalloid.errors import CompileError
from metalloid.frontend import clang, compile_kernel, examine_source, translate
from metalloid.frontend.known_mends import mended
from metalloid.frontend.parse import parse
from metalloid.frontend.rewrite import rewrite
from metalloid.frontend.rewritten import Rewritten
from metalloid.source import Source

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
BALLAST = """
struct unused_pair { float a; int b; float sum() const { return a + b; } };
constant float unused_table[4] = {1, 2, 3, 4};
float unused_one(unused_pair p) { return p.sum() * unused_table[1]; }
template <typename T> T unused_two(T x) { return unused_one({float(x), 2}); }
"""
# What a kernel finds without its name, or under another one; each breaks or changes the kernel where it is left out.
PARTS = {
    "operator": """struct two { float a, b; };
        float helper(float x) { return x + 1; }
        two operator+(two x, two y) { return {helper(x.a) + y.a, x.b + y.b}; }
        float body(float x) { two t = {x, 1}; return (t + t).a; }""",
    "specialisation": """typedef float real;
        template <typename T> constant int rank_of = 1;
        template <> constant int rank_of<real> = 5;
        float body(float x) { return x * rank_of<float>; }""",
    "class specialisation": """typedef float real;
        template <typename T> struct traits { static constexpr constant int rank = 1; };
        template <> struct traits<real> { static constexpr constant int rank = 7; };
        template <typename T> int asked() { return traits<T>::rank; }
        float body(float x) { return x * asked<float>(); }""",
    "enumerator": """enum kinds { FIRST = 3, SECOND };
        float body(float x) { return x * SECOND; }""",
    "several names": """constant float one = 1, three = 3;
        float body(float x) { return x * three; }""",
    "variable behind a struct": """struct setting { float a; };
        constant struct pair_of { float a, b; } chosen = {2, 3};
        float body(float x) { return x * chosen.b; }""",
    "range loop": """struct three { float v[3]; };
        thread float* begin(thread three& t) { return t.v; }
        thread float* end(thread three& t) { return t.v + 3; }
        float body(float x) { three t = {{x, 2, 3}}; float s = 0; for (float v : t) s += v; return s; }""",
    "overload": """float pick(int x) { return 1; }
        float pick(float x) { return 2; }
        float body(float x) { return x * pick(x); }""",
    "in the library's namespace": """struct mine { float a; };
        namespace metal { float weigh(mine m) { return m.a * 3; } float weigh(float2 m) { return m.x; } }
        float body(float x) { return weigh(mine{x}) + weigh(float2(x)); }""",
    "linkage": """extern "C" float unmentioned(float x) { return x; }
        float body(float x) { return x + 2; }""",
}
KERNEL = "kernel void k(device float* x, uint i [[thread_position_in_grid]]) { x[i] = body(x[i]); }\n"
OTHER = (
    "kernel void other(device float* x, uint i [[thread_position_in_grid]]) { x[i] = unused_two(x[i]); }\n"
)


@pytest.mark.parametrize("what", PARTS)
def test_needed_text_gives_the_same_code(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translate, "_needed_or_more", lambda build: build("needed"))
    source = Source(HEAD + BALLAST + PARTS[what] + KERNEL + OTHER)
    whole = compile_kernel(source, "k", fresh=True)
    needed = compile_kernel(source, "k", fresh=True, reading="needed")
    assert (needed.ir, needed.signature) == (whole.ir, whole.signature)


def test_what_nothing_mentions_is_not_read() -> None:
    parsed = parse(Source(HEAD + BALLAST + "float body(float x) { return x; }" + KERNEL + OTHER))
    entry = parsed.entries[0]
    needed, more = (rewrite(parsed.unit, entry, {}, needed).text for needed in (True, False))
    assert "unused" not in needed
    assert "other" not in needed
    assert "body" in needed
    assert "unused_one" in more
    assert [len(line) for line in needed.split("\n")] == [len(line) for line in parsed.unit.text.split("\n")]


def test_text_that_needs_more_is_compiled_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metalloid.frontend.rewrite.needless", lambda unit, entry: [unit.parts[0][1]])
    source = Source(HEAD + "float body(float x) { return x; }" + KERNEL)
    assert compile_kernel(source, "k", fresh=True, reading="needed").signature.name == "k"


def test_mistakes_elsewhere_are_told_without_an_examination() -> None:
    source = Source(HEAD + "float broken(float x) { return y; }\nfloat body(float x) { return x; }" + KERNEL)
    with pytest.raises(CompileError, match="'y'"):
        compile_kernel(source, "k", fresh=True)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What clang was run for."""
    seen: list[str] = []
    run = clang.run

    def noted(arguments: list[str], text: str | bytes, *more: int) -> clang.Result:
        kinds = {"-E": "preprocess", "-fsyntax-only": "examine", "-emit-llvm": "compile"}
        seen.extend(kind for flag, kind in kinds.items() if flag in arguments)
        return run(arguments, text, *more)

    monkeypatch.setattr(clang, "run", noted)
    return seen


TEMPLATES = """template <typename T> kernel void first(device T* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }
template <typename T> kernel void second(device T* x, uint i [[thread_position_in_grid]]) { x[i] += 2; }
template [[host_name("second_float")]] kernel void second<float>(device float*, uint);
"""


def test_one_kernel_to_ask_for_is_read_once(runs: list[str]) -> None:
    source = Source(HEAD + "constant bool flag [[function_constant(0)]];\n" + TEMPLATES)
    known = examine_source(source)
    assert known.kernel is not None
    assert runs == ["preprocess", "compile"]
    assert known.kernel.signature == compile_kernel(source, "second_float", fresh=True).signature


def test_mistakes_of_a_template_beside_it_are_found() -> None:
    source = Source(HEAD + TEMPLATES.replace("x[i] += 1", "x[i] += unknown_name"))
    with pytest.raises(CompileError, match="unknown_name"):
        examine_source(source)


def test_several_kernels_are_examined_and_compiled(runs: list[str]) -> None:
    source = Source(HEAD + BALLAST + "float body(float x) { return x; }" + KERNEL + OTHER)
    known = examine_source(source)
    assert known.kernel is None
    assert runs == ["examine"]


def test_a_cast_that_was_mended_is_mended_at_once(runs: list[str]) -> None:
    cast = "struct eighth {\n  half h;\n  operator bfloat() thread { return static_cast<bfloat>(h); }\n};\n"
    body = "float body(float x) { eighth e = {half(x)}; return float(bfloat(e)) + %d; }\n"
    first, second = (compile_kernel(Source(HEAD + cast + body % n + KERNEL), "k", fresh=True) for n in (1, 2))
    assert runs == ["compile", "compile", "compile"]  # the first of them twice
    assert first.ir.count("fptrunc") == second.ir.count("fptrunc") > 0


def test_known_mends_leave_out_what_is_not_read() -> None:
    cast = (
        "struct ninth {\n  half h;\n  operator bfloat() thread { return static_cast<bfloat>(this->h); }\n};\n"
    )
    source = Source(
        HEAD + cast + "float body(float x) { ninth n = {half(x)}; return float(bfloat(n)); }" + KERNEL
    )
    compile_kernel(source, "k", fresh=True)
    alone = Source(HEAD + cast + "float body(float x) { return x; }" + KERNEL)
    assert "widened" not in mended(_needed(alone)).text
    assert "widened" in mended(rewrite(parse(alone).unit, None, {})).text


def _needed(source: Source) -> Rewritten:
    parsed = parse(source)
    return rewrite(parsed.unit, parsed.entries[0], {}, needed=True)
