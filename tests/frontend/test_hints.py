"""What somebody reads who made a mistake: each rule prints its message, and a fixed kernel compiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalloid.errors import CompileError, Diagnostic
from metalloid.findings import severity_of
from metalloid.forms.mlx_source import ArrayLike, KernelText, generate
from metalloid.frontend import compile_kernel, find_kernels
from metalloid.frontend.hints import Context, Known, fold, improve, nearest
from metalloid.frontend.hints.cuda import metal_for
from metalloid.frontend.hints.nearest import edits
from metalloid.frontend.hints.words import metal_words
from metalloid.frontend.lint import lint_source
from metalloid.rules import Page, all_rules, rule
from metalloid.source import Source

HEAD = "#include <metal_stdlib>\nusing namespace metal;\nkernel void f(device float* x [[buffer(0)]], "
HEAD += "uint i [[thread_position_in_grid]]) {\n"


def messages(file: str) -> dict[str, str]:
    """Mistakes and what they print, from a text file."""
    parts = (Path(__file__).parent / file).read_text().split("=== mistake\n")[1:]
    pairs = (part.split("\n--- prints\n") for part in parts)
    return {mistake: printed.rstrip("\n") for mistake, printed in pairs}


MESSAGES = messages("messages.txt")
MLX = messages("messages_mlx.txt")


def compile_all(text: str) -> None:
    source = Source(text, name="k.metal")
    for entry in find_kernels(source) or pytest.fail("no kernel was found"):
        compile_kernel(source, entry.name)


def errors(text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(CompileError) as caught:
        compile_all(text)
    return caught.value.diagnostics


def said(body: str) -> str:
    """What compiling a kernel with this body (from line 4 on) prints."""
    return "\n".join(d.text() for d in errors(f"{HEAD}{body}\n}}\n"))


def said_by_mlx(source: str, header: str = "") -> str:
    kernel = KernelText("scale", ("inp",), ("out",), source, header)
    made = generate(kernel, [ArrayLike("float32", (64,))], ["float32"])
    with pytest.raises(CompileError) as caught:
        compile_kernel(made.source, made.kernel)
    return str(caught.value)


WARNED = ("M622", "M623", "M625")  # what compiles, and is warned about
SOURCE_RULES = [page for page in all_rules() if page.number.startswith("M6") and page.number not in WARNED]


@pytest.mark.parametrize("page", SOURCE_RULES, ids=lambda page: page.number)
def test_the_example_of_a_page_breaks_its_rule_and_the_fix_compiles(page: Page) -> None:
    found = errors(page.wrong)
    assert {d.rule for d in found} == {page.number}
    assert all(d.line and d.excerpt for d in found)
    compile_all(page.right)


@pytest.mark.parametrize("number", WARNED)
def test_what_clang_warns_about_is_linted(number: str) -> None:
    page = rule(number)
    (found,) = lint_source(Source(page.wrong, name="k.metal")).diagnostics
    assert found.rule == number and found.severity == severity_of(number) and found.line and found.hint
    assert found.excerpt in page.wrong and " [-W" not in found.message
    assert not lint_source(Source(page.right, name="k.metal")).diagnostics


def test_templates_are_linted_where_they_are_used() -> None:
    text = """template <typename T> kernel void k(device T* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  T sum;
  x[i] += sum;
}
template [[host_name("k_float")]] kernel void k<float>(device float*, uint);
"""
    (found,) = lint_source(Source(text, name="k.metal")).diagnostics
    assert (found.rule, found.line) == ("M622", 3)


def test_a_page_is_found_by_number() -> None:
    assert rule("m603") == rule("603") == rule("M603")
    assert rule("M603").title == "a CUDA spelling"
    with pytest.raises(Exception, match=r"there is no rule 'M999'; the rules are M101"):
        rule("M999")
    with pytest.raises(Exception, match="there is no rule"):
        rule("../errors")


@pytest.mark.parametrize("body", MESSAGES)
def test_a_mistake_prints_its_message(body: str) -> None:
    assert said(body) == MESSAGES[body]


def test_a_brace_that_is_not_closed_is_shown_where_it_was_opened() -> None:
    text = "float square(float x) {\n  if (x > 1) {\n    return x * x;\n  return 1;\n}\n"
    text += "kernel void f(device float* x, uint i [[thread_position_in_grid]]) {\n  x[i] = square(1);\n}\n"
    (found,) = errors(text)
    assert (found.rule, found.line, found.column) == ("M601", 2, 14)
    assert "'{'" in found.message


def test_a_struct_without_its_semicolon_is_shown_at_its_end() -> None:
    (found,) = errors(
        "struct A { int x; }\nkernel void f(device A* x, uint i [[thread_position_in_grid]]) { x[i].x = 1; }"
    )
    assert (found.rule, found.line, found.column) == ("M601", 1, 20)
    assert found.message == "missing ';' after the closing brace of this struct"


def test_a_mistake_inside_a_macro_is_shown_where_the_macro_is_used() -> None:
    (found,) = errors(f"#define TWICE(v) (2 * factor * (v))\n{HEAD}x[i] = TWICE(x[i]);\n}}\n")
    assert (found.rule, found.line, found.column) == ("M602", 5, 8)
    assert found.message == "'factor' is not declared"


def test_one_mistake_is_reported_once() -> None:
    text = said("floaty a = 1;\na += 1;\nx[i] = alpha;\nx[i] += alpha * alpha;")
    assert text.count("error:") == 2


def test_without_metal_in_scope_the_hint_is_the_include() -> None:
    (found,) = errors(
        "kernel void f(device float* x, uint i [[thread_position_in_grid]]) { x[i] = simd_sum(x[i]); }"
    )
    expected = (
        "write `metal::simd_sum`, or add `using namespace metal;` at the top, after `#include <metal_stdlib>`"
    )
    assert found.hint == expected


@pytest.mark.parametrize("source", MLX)
def test_a_mistake_in_an_inline_kernel_is_told_in_mlx_words(source: str) -> None:
    assert said_by_mlx(source) == MLX[source]


def test_a_position_in_the_header_of_an_inline_kernel() -> None:
    text = said_by_mlx("out[0] = g();", "float g() { return thread_position_in_grid.x; }")
    assert text.startswith("scale header:1:20: error: M602 'thread_position_in_grid' is not declared")
    assert "functions in `header` do not see it and must take it as an argument" in text


CUDA = {
    "threadIdx": "`thread_position_in_threadgroup`",
    "blockIdx": "`threadgroup_position_in_grid`",
    "blockDim": "`threads_per_threadgroup`",
    "gridDim": "`threadgroups_per_grid`",
    "warpSize": "`threads_per_simdgroup`",
    "__shfl_down_sync": "`simd_shuffle_down(v, delta)` (no mask)",
    "__ballot_sync": "`simd_ballot(condition)`, whose bits are `(simd_vote::vote_t)simd_ballot(...)`",
    "atomicMax": "`atomic_fetch_max_explicit(p, value, memory_order_relaxed)`",
    "__expf": "`fast::exp`",
    "expf": "`exp`",
    "rsqrtf": "`rsqrt(x)`",
    "make_float4": "`float4(...)`",
    "make_uint2": "`uint2(...)`",
    "__half2float": "`float(x)`",
    "__popc": "`popcount(x)`",
    "__brev": "`reverse_bits(x)`",
    "__nv_bfloat16": "`bfloat`",
    "M_PI": "`M_PI_F`",
}


@pytest.mark.parametrize("word", CUDA)
def test_cuda_has_a_twin_in_metal(word: str) -> None:
    assert metal_for(word) == CUDA[word]


@pytest.mark.parametrize(
    "word", ["exp", "f", "x", "half", "float4", "make_it", "hexp_table", "M_WIDTH", "if", ""]
)
def test_what_is_not_cuda_is_left_alone(word: str) -> None:
    assert metal_for(word) == ""


def test_types_are_told_in_metals_words() -> None:
    told = metal_words(
        "no viable conversion from '__global vec<float, 4>' (aka 'x<float, 4>') to 'unsigned int'"
    )
    assert told == "no viable conversion from 'device float4' to 'uint'"
    assert metal_words("'const __local _Float16 *'") == "'const threadgroup half*'"


def test_the_nearest_name_is_near() -> None:
    names = {"input", "output", "width", "n", "Scale"}
    assert nearest("inptu", names) == "input"
    assert nearest("scale", names) == "Scale"
    assert nearest("m", names) == ""
    assert nearest("something", names) == ""
    assert [edits("ab", "ba"), edits("kitten", "sitting"), edits("", "abc"), edits("same", "same")] == [
        1,
        3,
        3,
        0,
    ]


def test_fold_keeps_what_is_independent() -> None:
    first = Diagnostic("'a' is not declared", "k", 1, 1, rule="M602", excerpt="a b")
    echo = Diagnostic("expected ';'", "k", 1, 5, excerpt="a b")
    again = Diagnostic("'a' is not declared", "k", 2, 1, rule="M602", excerpt="a")
    other = Diagnostic("'b' is not declared", "k", 3, 1, rule="M602", excerpt="b")
    inside = Diagnostic("deep in a header", "vec.h", 9, 1)
    warning = Diagnostic("unused", "k", 4, severity="warning", excerpt="c")
    assert fold([first, echo, again, other, inside, warning]) == [first, other, warning]
    assert fold([inside]) == [inside]
    assert fold([]) == []


def test_improve_never_fails_on_places_outside_the_text() -> None:
    context = Context({"k": "one line"}, parameters=(Known("x", "device float*"),))
    messages = [
        "expected ';' after expression",
        "expected expression",
        "expected '}'",
        "use of undeclared identifier 'q'",
    ]
    messages += ["member reference base type 'uint' is not a structure or union", "expected unqualified-id"]
    messages += [
        "function definition is not allowed here",
        "redefinition of 'x'",
        "read-only variable is not assignable",
    ]
    for message in messages:
        for file, line, column in (("k", 1, 0), ("k", 99, 99), ("other", 3, 1), ("", 0, 0)):
            assert improve(Diagnostic(message, file, line, column), context).message
