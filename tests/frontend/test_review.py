"""What a reviewer found: indices clang works out, odd names of files, long lines, whole-file checks."""

import pytest

from metalloid.errors import CompileError, Diagnostic
from metalloid.frontend import compile_kernel, lint_source
from metalloid.source import Source

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"


def error(text, name="k", file="kernel.metal"):
    with pytest.raises(CompileError) as caught:
        compile_kernel(Source(HEAD + text, name=file), name)
    return caught.value.diagnostics[0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "kernel void k(device float* o [[buffer(-1)]]) { o[0] = 1; }",
            "[[buffer(-1)]] of 'o' is out of range",
        ),
        (
            "enum { A = 3 };\nkernel void k(device int* o [[buffer(A)]], device int* p [[buffer(1 + 2)]]) "
            "{ o[0] = p[0]; }",
            "[[buffer(3)]] is taken twice, by 'o' and by 'p'",
        ),
        (
            "constant constexpr int FAR = 40;\nkernel void k(device int* o [[buffer(FAR)]]) { o[0] = 1; }",
            "[[buffer(40)]] of 'o' is out of range",
        ),
    ],
)
def test_every_index_is_checked_however_it_is_written(text, says):
    found = error(text)
    assert says in found.message
    assert (found.rule, found.column > 0) == ("M608", True)


def test_a_limit_points_at_the_kernel():
    found = error("kernel void k(device float* o) { threadgroup float t[9000]; t[0] = o[0]; o[1] = t[0]; }")
    assert (found.rule, found.column, found.length) == ("M303", 13, 1)


def test_a_file_name_with_spaces_and_quotes_keeps_its_columns():
    found = error("kernel void k(device float* o) { o[0] = oops; }", file='a b\'s "q"/k\\x.metal')
    assert (found.file, found.line, found.column) == ('a b\'s "q"/k\\x.metal', 3, 41)


def test_a_byte_order_mark_is_no_mistake():
    source = Source("\ufeff" + HEAD + "kernel void k(device float* o) { o[0] = 1; }")
    assert compile_kernel(source, "k").signature.name == "k"


def test_a_long_line_is_shown_around_the_caret():
    text = Diagnostic("wrong", "f", 1, 5000, 3, excerpt="x" * 4999 + "bad" + "y" * 5000).text()
    line, caret = text.splitlines()[1:3]
    assert len(line) < 200
    assert line[caret.index("^") : caret.rindex("^") + 1] == "bad"


def test_what_is_not_supported_is_said_once():
    text = (
        HEAD + "kernel void k(device float* o, texture2d<float> t [[texture(0)]]) { o[0] = t.get_width(); }\n"
    )
    linted = lint_source(Source(text + "kernel void fine(device float* o) { o[0] = 1; }"))
    assert [d.rule for d in linted.diagnostics] == ["M616"]
