"""The text generated for `mx.fast.metal_kernel`, and the order in which a call is bound."""

from __future__ import annotations

import pytest

from metalloid.forms.mlx_source import ArrayLike, Dtype, KernelText, Origin, generate, math_mode

VECTOR = ArrayLike("float32", (64,))


def exp_kernel(**changes: object) -> KernelText:
    settings: dict[str, object] = {
        "name": "myexp",
        "input_names": ("inp",),
        "output_names": ("out",),
        "source": "uint i = thread_position_in_grid.x;\nout[i] = exp(inp[i]);",
    }
    return KernelText(**(settings | changes))  # type: ignore[arg-type]


def parameters(text: str) -> list[str]:
    inside = text.split("[[kernel]] void ")[1].split("(", 1)[1].split(") {")[0]
    return [line.strip() for line in inside.strip().split(",\n")]


def test_inputs_outputs_and_attributes_become_parameters() -> None:
    made = generate(exp_kernel(), [VECTOR], ["float16"])
    assert made.kernel == "custom_kernel_myexp"
    assert parameters(made.source.text) == [
        "const device float* inp [[buffer(0)]]",
        "device float16_t* out [[buffer(1)]]",
        "uint3 thread_position_in_grid [[thread_position_in_grid]]",
    ]


@pytest.mark.parametrize(
    ("shape", "declaration"),
    [
        ((), "const constant float& inp"),
        ((7,), "const constant float* inp"),
        ((2, 4), "const device float* inp"),
    ],
)
def test_small_inputs_are_constant_and_scalars_are_references(
    shape: tuple[int, ...], declaration: str
) -> None:
    made = generate(exp_kernel(), [ArrayLike("float32", shape)], ["float32"])
    assert parameters(made.source.text)[0] == f"{declaration} [[buffer(0)]]"


def test_shape_strides_and_ndim_follow_the_input_that_mentions_them() -> None:
    kernel = exp_kernel(
        input_names=("a", "b"),
        source="out[0] = a[elem_to_loc(0, a_shape, a_strides, a_ndim)] + b[0];",
    )
    made = generate(kernel, [VECTOR, VECTOR], ["float32"])
    assert [(b.kind, b.position, b.name, b.index) for b in made.bindings] == [
        ("input", 0, "a", 0),
        ("shape", 0, "a_shape", 1),
        ("strides", 0, "a_strides", 2),
        ("ndim", 0, "a_ndim", 3),
        ("input", 1, "b", 4),
        ("output", 0, "out", 5),
    ]


def test_a_scalar_has_no_shape() -> None:
    made = generate(exp_kernel(source="out[0] = inp; // inp_shape"), [ArrayLike("int32")], ["float32"])
    assert [b.kind for b in made.bindings] == ["input", "output"]


def test_attributes_are_found_in_the_source_and_not_in_the_header() -> None:
    kernel = exp_kernel(source="out[0] = f(inp);", header="// thread_position_in_grid\nint f(int);")
    made = generate(kernel, [VECTOR], ["float32"])
    assert not any("[[thread_position_in_grid]]" in p for p in parameters(made.source.text))


def test_atomic_outputs() -> None:
    made = generate(exp_kernel(atomic_outputs=True), [VECTOR], ["float32"])
    assert "device atomic<float>* out [[buffer(1)]]" in made.source.text


def test_template_arguments_are_instantiated_under_a_name_of_their_own() -> None:
    template = [("T", Dtype("bfloat16")), ("N", -3), ("flag", True)]
    made = generate(exp_kernel(), [VECTOR], ["bfloat16"], template)
    assert "template <typename T, int N, bool flag>" in made.source.text
    assert made.kernel == "custom_kernel_myexp_bfloat16_t_m3_true"
    assert made.source.text.endswith(
        f'template [[host_name("{made.kernel}")]] [[kernel]] '
        "decltype(custom_kernel_myexp<bfloat16_t, -3, true>) custom_kernel_myexp<bfloat16_t, -3, true>;\n"
    )


def user_lines(text: str) -> dict[str, list[str]]:
    """Follow the `#line` markers as a compiler does: every file's lines by their number."""
    files: dict[str, list[str]] = {}
    name, number = "myexp.metal", 1
    for line in text.splitlines():
        if line.startswith("#line"):
            _, number_text, quoted = line.split(" ", 2)
            name, number = quoted.strip('"'), int(number_text)
            continue
        files.setdefault(name, [])
        files[name] += [""] * (number - len(files[name]) - 1) + [line]
        number += 1
    return files


def test_lines_of_source_and_header_are_the_users_and_the_rest_counts_on() -> None:
    kernel = exp_kernel(header="struct A {};\nstruct B {};")
    made = generate(kernel, [VECTOR], ["float32"])
    files = user_lines(made.source.text)
    assert files["myexp source"] == kernel.source.split("\n")
    assert files["myexp header"] == kernel.header.split("\n")
    assert dict(made.source.quoted) == {"myexp source": kernel.source, "myexp header": kernel.header}
    generated = made.source.text.splitlines()
    assert files["myexp.metal"][-1] == "}" == generated[len(files["myexp.metal"]) - 1]


def test_lines_can_point_into_another_file_but_never_cut_a_macro() -> None:
    source = "#define A \\\n  1\nout[0] = A;"
    origin = Origin("model.py", "...", lines=(10, 20, 30))
    text = generate(exp_kernel(source=source, source_origin=origin), [VECTOR], ["float32"]).source.text
    assert '#line 10 "model.py"\n#define A \\\n  1\n#line 30 "model.py"\nout[0] = A;' in text


def test_mistakes_are_value_errors() -> None:
    with pytest.raises(ValueError, match="output_names is empty"):
        exp_kernel(output_names=())
    with pytest.raises(ValueError, match="'quick'; pass one of 'fast', 'relaxed', 'safe'"):
        math_mode({"math_mode": "quick"})
    with pytest.raises(ValueError, match="no 'optimize'"):
        math_mode({"optimize": 3})
    with pytest.raises(ValueError, match=r"adam_0\.9\] the name .* only letters, digits and _"):
        generate(exp_kernel(name="adam_0.9"), [VECTOR], ["float32"])
    with pytest.raises(ValueError, match="inputs has 2 entries, expected 1"):
        generate(exp_kernel(), [VECTOR, VECTOR], ["float32"])
    with pytest.raises(ValueError, match="'float64' is not a type MLX knows"):
        generate(exp_kernel(), [VECTOR], ["float64"])


def test_math_is_safe_unless_asked() -> None:
    assert math_mode(None) == "safe" == generate(exp_kernel(), [VECTOR], ["float32"]).source.math
    assert math_mode({"math_mode": "fast"}) == "fast"
