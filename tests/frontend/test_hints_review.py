"""Mistakes whose messages once misled: placeholders as types, macros, values without a name."""

from __future__ import annotations

import pytest

from metalloid.errors import CompileError, Diagnostic
from metalloid.forms.mlx_source import ArrayLike, KernelText, generate
from metalloid.frontend import compile_kernel, find_kernels
from metalloid.frontend.hints import Context, Known, improve
from metalloid.source import Source

TOP = "#include <metal_stdlib>\nusing namespace metal;\n"
HEAD = "kernel void f(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"


def errors(text: str) -> tuple[Diagnostic, ...]:
    source = Source(TOP + text, name="k.metal")
    with pytest.raises(CompileError) as caught:
        for entry in find_kernels(source) or pytest.fail("no kernel was found"):
            compile_kernel(source, entry.name)
    return caught.value.diagnostics


def only(text: str) -> Diagnostic:
    (error,) = errors(text)
    return error


def body(statements: str, macros: str = "") -> Diagnostic:
    return only(f"{macros}{HEAD}{statements}\n}}\n")


def underlined(error: Diagnostic) -> str:
    return error.excerpt[error.column - 1 :][: error.length]


@pytest.mark.parametrize(
    "text",
    [
        "kernel void f(device {T}* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n x[i] = 1;\n}\n",
        "kernel void f(const device {T}* x, device float* y) {\n y[0] = x[0];\n}\n",
        "kernel void f(constant {T}& x, device float* y) {\n y[0] = x;\n}\n",
        "kernel void f(device {T}* x,\n constant uint& n,\n uint i [[thread_position_in_grid]]) {\n x[i] = n;\n}\n",
        HEAD + "{T} a = x[i];\nx[i] = a;\n}\n",
        HEAD + "x[i] = ({T})x[i];\n}\n",
        HEAD + "x[i] = static_cast<{T}>(x[i]);\n}\n",
        HEAD + "const {T} a = 1;\nconst {T} b = 2;\nx[i] = a + b;\n}\n",
    ],
)
def test_a_placeholder_for_a_type_is_the_one_mistake(text: str) -> None:
    error = only(text)
    assert error.rule == "M606"
    assert "'{T}' reached the compiler" in error.message
    assert underlined(error) == "{T}"


def test_what_has_nothing_to_do_with_the_placeholder_is_still_told() -> None:
    found = errors(HEAD + "{T} a = x[i];\nx[i] = a + width;\n}\n")
    assert [error.message.split()[0] for error in found] == ["'{T}'", "'width'"]


@pytest.mark.parametrize("line", ["float2 v = {y, 1}; // ({y} z", "float2 v(float2({y, 1}) * x[i]);"])
def test_braces_of_metal_itself_are_no_placeholders(line: str) -> None:
    assert body(line).message == "'y' is not declared"


def test_a_component_of_a_value_without_a_name() -> None:
    element = body("x[i] = x[i].x;")
    assert (element.rule, element.message) == ("M604", "this value is a single float: it has no .x")
    assert element.hint == "drop `.x`, or declare 'x' with vectors as elements, such as `float4`"
    assert underlined(element) == ".x"
    assert body("x[i] = sqrt(x[i]).y;").hint == "drop `.y`"


def test_a_component_inside_a_macro() -> None:
    error = body("x[GY] = 1;", "#define GY i.y\n")
    assert (error.rule, error.message) == ("M604", "this value is a single uint: it has no .y")
    assert error.hint == "it comes from the macro 'GY': drop `.y` there"
    assert underlined(error) == "GY"


def test_a_component_in_the_argument_of_a_macro() -> None:
    error = body("x[i] = LOAD(x[i].z);", "#define LOAD(v) (1 + (v))\n")
    assert "macro" not in error.hint
    assert underlined(error) == ".z"


def test_the_caret_is_as_long_as_the_macro_in_the_users_line() -> None:
    missing = body("x[i] = ADD(x[i]);", "#define ADD(v) (v + something_missing)\n")
    assert missing.message == "'something_missing' is not declared"
    assert underlined(missing) == "ADD"
    assert "define the function" not in missing.hint
    foreign = body("x[i] = XOR(x[i]);", "#define XOR(v) __shfl_xor_sync(~0, v, 1)\n")
    assert (foreign.rule, underlined(foreign)) == ("M603", "XOR")


def test_a_function_missing_inside_a_macro_is_called_one() -> None:
    hint = body("x[i] = CALL(x[i]);", "#define CALL(v) not_there(v)\n").hint
    assert hint.startswith("define the function 'not_there'")


@pytest.mark.parametrize(
    ("macro", "use"),
    [
        ("#define TWO(v) x[0] = v \\\n x[1] = v;\n", "TWO(1)"),
        ("#define TRI(v) x[0] = 1; x[1] = (v) x[2] = v;\n", "TRI(2)"),
        ("#define END x[0] = 1; x[1] = 2\n", "END"),
    ],
)
def test_a_semicolon_missing_inside_a_macro(macro: str, use: str) -> None:
    error, name = body(f"{use}\nx[2] = 1;", macro), use.split("(")[0]
    assert (error.rule, error.message) == ("M601", f"missing ';' inside the macro '{name}'")
    assert "caret" not in error.hint
    assert underlined(error) == name


@pytest.mark.parametrize(("use", "macro"), [("x[0] = ONE", "ONE 1"), ("SET(max(0, (1)))", "SET(n) x[n] = 1")])
def test_a_semicolon_missing_after_a_macro(use: str, macro: str) -> None:
    error = body(f"{use} // why\nx[2] = 1;", f"#define {macro}\n")
    assert error.message == f"missing ';' after '{macro[:3]}'"
    assert (error.column, error.hint) == (len(use) + 1, "add ';' where the caret points")


MLX_WORDS = (
    "input_names",
    "output_names",
    "template",
    "`header`",
    "`source`",
    "metal_kernel",
    "MLX",
    "atomic_outputs",
)
SAID = [
    "use of undeclared identifier 'x_shape'",
    "use of undeclared identifier 'width'",
    "use of undeclared identifier 'thread_position_in_grid'",
    "use of undeclared identifier 'threadIdx'",
    "use of undeclared identifier 'atomicAdd'",
    "use of undeclared identifier 'helper'",
    "use of undeclared identifier 'exp'",
    "unknown type name 'T'",
    "cannot assign to variable 'x' with const-qualified type 'const float'",
    "member reference base type 'float' is not a structure or union",
    "expected ';' after expression",
]  # fmt: skip
LINES = ["x[i].x = helper(width);", "{T} a = 1;", "width = 1;"]


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("message", SAID)
def test_hints_for_plain_metal_do_not_speak_of_mlx(message: str, line: str) -> None:
    context = Context({"k": line}, parameters=(Known("x", "const device float*"),))
    hint = improve(Diagnostic(message, "k", 1, 5), context).hint
    assert not [word for word in MLX_WORDS if word in hint]


def test_a_text_for_metal_is_told_in_its_own_words_and_one_for_mlx_in_its() -> None:
    quoted = Source(f'{TOP}{HEAD}#line 1 "py"\nx[i] = width;\n}}\n', quoted={"py": "x[i] = width;"})
    with pytest.raises(CompileError) as caught:
        compile_kernel(quoted, "f")
    assert "kernel parameter" in str(caught.value)
    assert "input_names" not in str(caught.value)
    made = generate(
        KernelText("f", ("a",), ("out",), "out[0] = width;", ""), [ArrayLike("float32", (4,))], ["float32"]
    )
    with pytest.raises(CompileError, match="input_names"):
        compile_kernel(made.source, made.kernel)
