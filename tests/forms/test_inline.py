"""Inline kernels are found in Python files by reading them."""

from __future__ import annotations

import textwrap

import pytest

from metalloid.forms.inline import InlineKernel, find
from metalloid.forms.mlx_source import Dtype, Generated, KernelText
from metalloid.forms.reading.traced import Traced, concat, format_text, join, replace, strip
from metalloid.source import Source


def kernels(python: str) -> tuple[InlineKernel, ...]:
    found = find("import mlx.core as mx\n" + textwrap.dedent(python), "model.py")
    assert not found.unresolved, found.unresolved
    return found.kernels


def body(kernel: InlineKernel) -> str:
    assert isinstance(kernel.text, KernelText)
    return str(kernel.text.source)


def best(kernel: InlineKernel) -> Generated:
    first = kernel.attempts()[0]
    assert isinstance(first, Generated)
    return first


# Each way of writing the text gives `out[0] = 7;` and nothing else.
TEXTS = {
    "a literal": 'source="out[0] = 7;"',
    "concatenated literals": 'source="out[0] " "= 7;"',
    "a sum": 'source="out[0] " + "= 7;"',
    "an f-string": 'source=f"out[0] = {3 + 4};"',
    "format": 'source="out[{i}] = {v};".format(i=0, v=7)',
    "percent": 'source="out[%d] = %s;" % (0, 7)',
    "replace": 'source="out[0] = VALUE;".replace("VALUE", str(7))',
    "dedent": 'source=textwrap.dedent("  out[0] = 7;")',
    "a module constant": "source=SOURCE",
    "a function's result": "source=text(7)",
    "joined lines": 'source="".join(["out[0]", " = ", "7;"])',
}


@pytest.mark.parametrize("way", TEXTS)
def test_ways_to_write_the_text(way: str) -> None:
    (kernel,) = kernels(
        f"""
        import textwrap
        SOURCE = "out[0] = 7;"
        def text(value):
            return f"out[0] = {{value}};"
        k = mx.fast.metal_kernel("seven", ["x"], ["out"], {TEXTS[way]})
        """
    )
    assert body(kernel) == "out[0] = 7;"
    assert (kernel.name, kernel.form) == ("seven", "mlx")


def test_a_flag_gives_every_text_it_selects() -> None:
    found = kernels(
        """
        def make(masked=False):
            inputs = ["x"]
            source = "out[0] = x[0]"
            if masked:
                inputs.append("mask")
                source += " * mask[0]"
            source += ";"
            return mx.fast.metal_kernel(name="k", input_names=inputs, output_names=["out"], source=source)
        """
    )
    assert {body(k) for k in found} == {"out[0] = x[0];", "out[0] = x[0] * mask[0];"}
    assert {k.text.input_names for k in found if isinstance(k.text, KernelText)} == {("x",), ("x", "mask")}


def test_call_sites_with_constants_select_only_what_they_ask_for() -> None:
    found = kernels(
        """
        def make(bits):
            source = f"out[0] = x[0] >> {bits};"
            return mx.fast.metal_kernel(f"k{bits}", input_names=["x"], output_names=["out"], source=source)
        four, eight = make(4), make(8)
        def use(x):
            return four(inputs=[x], output_dtypes=[mx.uint32]) + eight(inputs=[x], output_dtypes=[mx.uint32])
        """
    )
    assert [k.name for k in found] == ["k4", "k8"]


def test_a_comparison_fixes_the_value_it_compares_with() -> None:
    found = kernels(
        """
        def make(mode):
            value = "1" if mode == "one" else "2"
            return mx.fast.metal_kernel(f"k_{mode}", input_names=["x"], output_names=["out"], source=value)
        """
    )
    assert {(k.name, body(k)) for k in found} >= {("k_one", "1")}


def test_the_call_tells_dtypes_template_arguments_and_scalars() -> None:
    (kernel,) = kernels(
        """
        kernel = mx.fast.metal_kernel(
            name="scale", input_names=["x", "idx", "eps", "n"], output_names=["out"],
            source="out[0] = T(x[idx[0]] * eps) + n;",
        )
        def scale(x, idx, eps: float):
            if x.ndim != 2:
                return x
            D = x.shape[-1]
            return kernel(
                inputs=[x, idx.astype(mx.uint32), eps, 3],
                template=[("T", x.dtype), ("D", D), ("flag", True), ("U", mx.bfloat16)],
                output_dtypes=[mx.float16], output_shapes=[x.shape], grid=(1, 1, 1), threadgroup=(1, 1, 1),
            )
        """
    )
    text = best(kernel).source.text
    assert "const device float* x" in text
    assert "const device uint32_t* idx" in text
    assert "const constant float& eps" in text
    assert "const constant int32_t& n" in text
    assert "device float16_t* out" in text
    assert "template <typename T, int D, bool flag, typename U>" in text
    assert "custom_kernel_scale<float, 128, true, bfloat16_t>" in text
    assert any(
        "custom_kernel_scale<float16_t" in a.source.text
        for a in kernel.attempts()
        if isinstance(a, Generated)
    )


def test_without_a_call_the_template_is_read_from_the_text() -> None:
    (kernel,) = kernels(
        """
        k = mx.fast.metal_kernel("k", ["x"], ["out"], "constexpr int H = D / 2; T v = x[H]; out[0] = T(v);")
        """
    )
    assert kernel.call is None
    assert "template <int D, typename T>" in best(kernel).source.text


def test_kernels_kept_in_classes_are_found_with_their_calls() -> None:
    (kernel,) = kernels(
        """
        class Layer:
            def __init__(self, dims: int):
                self.kernel = mx.fast.metal_kernel("k", ["x"], ["out"], "out[0] = x[0] + N;")
            def __call__(self, x):
                return self.kernel(inputs=[x], template=[("N", 5)], output_dtypes=[mx.int8])
        """
    )
    assert kernel.call is not None
    assert dict(kernel.call.template) == {"N": 5}
    assert "device int8_t* out" in best(kernel).source.text


def test_torch_shaders_are_found() -> None:
    found = find('import torch\nlib = torch.mps.compile_shader("""\nkernel void k() {}\n""")\n', "ops.py")
    (kernel,) = found.kernels
    assert kernel.form == "torch"
    (source,) = kernel.attempts()
    assert isinstance(source, Source)
    assert source.text == '#line 2 "ops.py"\n\nkernel void k() {}\n'


def test_what_needs_a_run_is_said_with_the_reason() -> None:
    found = find(
        "import mlx.core as mx\n"
        "text = open('k.metal').read()\n"
        "k = mx.fast.metal_kernel('k', ['x'], ['out'], text)\n"
    )
    (entry,) = found.unresolved
    assert not found.kernels
    assert (entry.line, entry.reason) == (
        3,
        "its source is `open('k.metal').read()`, which only running the program tells",
    )


def test_nothing_of_the_file_is_run(tmp_path: object) -> None:
    found = find(
        "import mlx.core as mx, os\n"
        "os.abort()\n"
        "raise SystemExit\n"
        "k = mx.fast.metal_kernel('k', ['x'], ['out'], 'out[0] = 1;')\n"
    )
    assert [k.name for k in found.kernels] == ["k"]


@pytest.mark.parametrize(
    "python",
    [
        "while True:\n    x = 1",
        "x = 'a' * 10**9",
        "x = 10 ** 10 ** 10",
        "def f(): return f()\nf()",
        "x = [1]\nfor i in x: x.append(i)",
    ],
)
def test_a_file_that_would_not_end_is_still_read(python: str) -> None:
    found = find(
        f"import mlx.core as mx\n{python}\nk = mx.fast.metal_kernel('k', ['x'], ['out'], 'out[0] = 1;')\n"
    )
    assert [k.name for k in found.kernels] == ["k"]


# ---- places ----


def test_the_text_points_at_the_lines_of_the_python_file() -> None:
    python = textwrap.dedent(
        '''
        import mlx.core as mx

        def make(n):
            tail = """
                int b = 2;
            """
            source = f"""
                int a = {n};
                {tail}
                out[0] = a;
            """
            return mx.fast.metal_kernel(name="k", input_names=["x"], output_names=["out"], source=source)
        make(3)
        '''
    )
    (kernel,) = find(python, "model.py").kernels
    assert isinstance(kernel.text, KernelText)
    origin = kernel.text.source_origin
    assert origin is not None
    assert origin.name == "model.py"
    places = {
        line.strip(): number
        for line, number in zip(kernel.text.source.split("\n"), origin.lines, strict=True)
    }
    wanted = {"int a = 3;": "int a = {n};", "int b = 2;": "int b = 2;", "out[0] = a;": "out[0] = a;"}
    for line, written in wanted.items():
        assert python.split("\n")[places[line] - 1].strip() == written
    # The excerpt of a message shows the text as the compiler saw it, at the line where it was written.
    assert origin.text.split("\n")[places["int a = 3;"] - 1].strip() == "int a = 3;"


def test_traced_strings_keep_their_lines() -> None:
    text = Traced("a\nb {x}\nc", (10, 11, 12))
    assert format_text(text, (), {"x": 1}).lines == (10, 11, 12)
    assert replace(text, "b", Traced("p\nq", (1, 2))).lines == (10, 1, 2, 12)
    assert join("\n", [Traced("a", (5,)), Traced("b", (9,))]).lines == (5, 9)
    assert concat([Traced("  \n  ", (1, 2)), Traced("x", (7,))]).lines == (1, 7)
    assert strip(Traced("\n\nx\n", (1, 2, 3, 4))).lines == (3,)


def test_an_unknown_dtype_is_the_same_everywhere() -> None:
    (kernel,) = kernels(
        """
        k = mx.fast.metal_kernel("k", ["a", "b"], ["out"], "out[0] = T(a[0]) + b[0];")
        def f(a, b):
            if a.dtype not in (mx.float16, mx.bfloat16) or b.dtype != a.dtype:
                raise ValueError
            return k(inputs=[a, b], template=[("T", a.dtype)], output_dtypes=[a.dtype])
        """
    )
    assert kernel.call is not None
    assert dict(kernel.call.template) == {"T": Dtype("float16")}
    assert "const device float16_t* b" in best(kernel).source.text
