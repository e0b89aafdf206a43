"""`compile_shader` behaves as PyTorch's does, on CPU tensors."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from metalloid.errors import KernelFault, LaunchError  # noqa: E402
from metalloid.runtime.places import LaunchWarning  # noqa: E402
from metalloid.torch import compile_shader  # noqa: E402

TEXT = """#include <metal_stdlib>
using namespace metal;
kernel void full(device float* t, constant float& value, uint i [[thread_position_in_grid]]) { t[i] = value; }
kernel void add_long(device long* t, constant long& value, uint i [[thread_position_in_grid]]) { t[i] += value; }
kernel void add_uint(device int* t, constant uint& value, uint i [[thread_position_in_grid]]) { t[i] += value; }
kernel void halves(device half* t, constant half& value, uint i [[thread_position_in_grid]]) { t[i] = value; }
kernel void bfloats(device bfloat* t, uint i [[thread_position_in_grid]]) { t[i] = bfloat(float(t[i]) * 2.0f); }
kernel void vectors(device float* t, constant float3& v, constant int2& d) {
    t[0] = v.x + v.y + v.z; t[1] = d.x * 10 + d.y; }
kernel void where_am_i(device int* t, uint3 p [[thread_position_in_grid]], uint3 n [[threads_per_grid]],
                       uint3 g [[threads_per_threadgroup]]) {
    t[(p.z * n.y + p.y) * n.x + p.x] = int(g.x * 100 + g.y * 10 + g.z); }
[[max_total_threads_per_threadgroup(64)]]
kernel void narrow(device float* t, uint i [[thread_position_in_grid]]) {
    threadgroup float s[32]; s[i % 32] = 1; t[i] = s[i % 32]; }
"""


@pytest.fixture(scope="module")
def lib():
    return compile_shader(TEXT)


def test_kernels_are_listed(lib):
    assert {"full", "add_long", "narrow"} <= set(dir(lib))


def test_the_first_tensor_says_how_many_threads(lib):
    t = torch.zeros(1000)
    pointer = t.data_ptr()
    lib.full(t, 3.14)
    assert t.data_ptr() == pointer and (t == torch.tensor(3.14)).all()
    lib.full(t, 1.0, threads=10)
    assert (t[:10] == 1).all() and t[10] == torch.tensor(3.14)


def test_parameters_may_be_called_as_the_launch_calls_its_own():
    text = "kernel void k(device float* grid, constant float& overlap, uint i [[thread_position_in_grid]]) {"
    t = torch.zeros(4)
    compile_shader(text + " grid[i] = overlap; }").k(t, 2.0)
    assert t.tolist() == [2] * 4


def test_python_numbers_go_as_int64_and_float32(lib):
    t = torch.arange(5)
    lib.add_long(t, 1 << 40)
    assert t.tolist() == [i + (1 << 40) for i in range(5)]
    u = torch.zeros(5, dtype=torch.int32)
    lib.add_uint(u, 7)
    assert u.tolist() == [7] * 5


def test_casts(lib):
    h = torch.zeros(5, dtype=torch.float16)
    for casts in ("fp16", {1: "fp16"}):
        h.zero_()
        lib.halves(h, 1.5, arg_casts=casts)
        assert h.tolist() == [1.5] * 5
    with pytest.raises(LaunchError, match=r"declared half; 1.5 goes as float32(.|\n)*arg_casts='fp16'"):
        lib.halves(h, 1.5)
    with pytest.raises(LaunchError, match=r"declared float; 3 goes as int64(.|\n)*Pass floats"):
        lib.full(torch.zeros(4), 3)
    with pytest.raises(LaunchError, match=r"arg_casts has 'fp8'"):
        lib.halves(h, 1.5, arg_casts="fp8")


# What each cast may be declared as, and numbers at its edges; torch's own casts say what must arrive.
KINDS = {
    "int32": (torch.int32, "int", [0, 7, -7, -(2**31), 2**31 - 1, 2.9, -2.9, True]),
    "int16": (torch.int16, "short", [0, 7, -7, -(2**15), 2**15 - 1, -300.5]),
    "int8": (torch.int8, "char", [0, 7, -7, -128, 127, -7.9, True]),
    "uint8": (torch.uint8, "uchar", [0, 7, 128, 255, 254.9, True]),
    "fp16": (
        torch.float16,
        "half",
        [0, 7, -7, 0.1, -0.1, 65504, -65504, 1e-7, 70000.0, -70000, float("inf")],
    ),
    "bf16": (torch.bfloat16, "bfloat", [0, 7, -7, 0.1, -0.1, 3e38, -3e38, 257, float("-inf")]),
    None: (torch.int64, "long", [0, -7, 2**63 - 1, -(2**63)]),
}


def taking(kinds):
    """One kernel for each type, whose argument comes back in a buffer, alone and as the elements of a vector."""
    text = "#include <metal_stdlib>\nusing namespace metal;\n" + "".join(
        f"kernel void one_{k}(device {k}* t, constant {k}& v) {{ t[0] = v; }}\n"
        f"kernel void first_{k}(device {k}* t, constant {k}* v) {{ t[0] = v[0]; }}\n"
        f"kernel void two_{k}(device {k}* t, constant {k}2& v) {{ t[0] = v.x; t[1] = v.y; }}\n"
        for k in kinds
    )
    return compile_shader(text)


@pytest.mark.parametrize("name", KINDS)
def test_every_cast_arrives_as_torch_casts(name):
    dtype, kind, values = KINDS[name]
    library = taking([kind])
    casts = {1: name} if name else None
    for value in values:
        right = torch.tensor(value).to(dtype).item()
        out = torch.full((2,), 99, dtype=dtype)
        for take in ("one", "first"):
            out.fill_(99)
            getattr(library, f"{take}_{kind}")(out, value, threads=1, arg_casts=casts)
            assert out[0].item() == right
        getattr(library, f"two_{kind}")(out, [value, values[1]], threads=1, arg_casts=casts)
        assert out.tolist() == [right, torch.tensor(values[1]).to(dtype).item()]


def test_what_a_cast_would_change_is_refused():
    library = taking(["int", "uint", "char", "uchar", "ushort", "bool", "long", "ulong"])

    def read(kind, value, name):
        dtype = {"bool": torch.bool, "uchar": torch.uint8}.get(kind, torch.int64)
        out = torch.full((8,), 99 if kind != "bool" else True, dtype=dtype)
        getattr(library, f"one_{kind}")(out.view(torch.uint8), value, threads=1, arg_casts=name)
        return out.view(torch.uint8)[:4].tolist()

    # Signed casts serve unsigned parameters, where the bits are what was meant.
    assert read("uint", 3_000_000_000, "int32") == list((3_000_000_000).to_bytes(4, "little"))
    assert read("uint", -1, None) == [255] * 4
    assert read("char", -7, "uint8")[0] == 249
    assert read("char", 249, "uint8")[0] == 249
    assert read("ushort", 65535, "int16")[:2] == [255, 255]
    assert read("bool", True, None)[0] == 1
    assert read("uchar", 300 - 45, None)[0] == 255
    for kind, value, name in (
        ("char", 249, "int8"),
        ("char", -129, "int8"),
        ("uchar", 256, "uint8"),
        ("uchar", 300, None),
        ("uchar", -1, "uint8"),
        ("char", 200.5, "int8"),
        ("char", float("nan"), "int8"),
        ("int", 2**31, "int32"),
        ("uint", 2**32, None),
        ("long", 2**63, None),
        ("ulong", 2**63, None),
        ("bool", 2, None),
    ):
        with pytest.raises(LaunchError, match=r"'v': .* does not fit") as caught:
            read(kind, value, name)
        assert caught.value.rule == "M307"


def test_lists_are_vectors(lib):
    t = torch.zeros(2)
    lib.vectors(t, [1.0, 2.0, 3.0], [4, 5], threads=1, arg_casts={2: "int32"})
    assert t.tolist() == [6, 45]
    with pytest.raises(LaunchError, match=r"declared int2(.|\n)*arg_casts='int32'"):
        lib.vectors(t, [1.0, 2.0, 3.0], [4, 5], threads=1)


def test_threads_in_several_axes(lib):
    t = torch.zeros(3, 4, 5, dtype=torch.int32)
    lib.where_am_i(t, threads=[5, 4, 3], group_size=[2, 2, 1])
    assert t[0, 0, 0] == 221 and (t > 0).all()
    with pytest.raises(ValueError, match=r"as many axes"):
        lib.where_am_i(t, threads=[5, 4], group_size=2)


def test_properties(lib):
    assert lib.narrow.max_threads_per_threadgroup == 64
    assert lib.full.max_threads_per_threadgroup == 1024
    assert lib.full.thread_execution_width == 32
    assert lib.narrow.static_thread_group_memory_length == 128


def test_errors_are_of_pytorchs_kinds(lib):
    with pytest.raises(SyntaxError, match=r"test_torch_form\.py:\d+:"):
        compile_shader("kernel void broken(device float* t) { t[0] = y }")
    with pytest.raises(SyntaxError, match=r"test_torch_form\.py:\d+:"):
        compile_shader("Syntax error")
    with pytest.raises(SyntaxError, match=r"'y' is not declared"):
        compile_shader(TEXT + "kernel void unwanted(device float* t) { t[0] = y; }")
    with pytest.raises(RuntimeError, match=r"no kernel 'nothing'"):
        lib.nothing  # noqa: B018
    with pytest.raises(RuntimeError, match=r"pass a tensor, or threads="):
        lib.full(1.0, 2.0)
    with pytest.raises(ValueError, match=r"128 threads; the limit is 64"):
        lib.narrow(torch.zeros(128), group_size=128)
    with pytest.raises(LaunchError, match=r"'value' (.|\n)*is missing"):
        lib.full(torch.zeros(4))
    with pytest.raises(LaunchError, match=r"takes 2 arguments; got 3"):
        lib.full(torch.zeros(4), 1.0, 2.0)
    with pytest.raises(KernelFault, match=r"'t' \(16 bytes\)"):
        lib.full(torch.zeros(4), 1.0, threads=8)


def test_views_offsets_and_bfloat16(lib):
    base = torch.zeros(10)
    lib.full(base[4:8], 2.0)
    assert base.tolist() == [0] * 4 + [2] * 4 + [0] * 2
    b = torch.full((6,), 1.5, dtype=torch.bfloat16)
    lib.bfloats(b)
    assert b.tolist() == [3] * 6
    with_grad = torch.zeros(3, requires_grad=True)
    lib.full(with_grad.detach(), 1.0)
    assert with_grad.tolist() == [1] * 3


def test_elements_of_another_size_are_warned_about(lib):
    with pytest.warns(LaunchWarning, match=r"M306 .*torch.float64"):
        lib.full(torch.zeros(4, dtype=torch.float64), 1.0)


def test_a_conjugate_that_is_not_worked_out_is_warned_about():
    text = "#include <metal_stdlib>\nkernel void y(device const metal::float2* a, device float* o) { o[0] = a[0].y; }"
    library, out = compile_shader(text), torch.zeros(1)
    with pytest.warns(LaunchWarning, match="'a' is a conjugate or a negation"):
        library.y(torch.tensor([1 + 2j]).conj(), out, threads=1)
    library.y(torch.tensor([1 + 2j]).conj().resolve_conj(), out, threads=1)
    assert out[0] == -2


def test_headers_of_pytorch_are_at_hand():
    special = compile_shader("""
#include <c10/metal/special_math.h>
#include <c10/metal/reduction_utils.h>
kernel void bessel(device float* out, constant float* x, uint i [[thread_position_in_grid]]) {
    out[i] = c10::metal::i0(x[i]) + c10::metal::log_gamma(x[i]);
}
kernel void total(device float* out, constant float* x, uint i [[thread_position_in_threadgroup]]) {
    threadgroup float parts[32];
    out[i] = c10::metal::threadgroup_sum(parts, x[i], i, 256u);
}
""")
    x = torch.rand(1000, generator=torch.manual_seed(0)) * 5 + 0.1
    out = torch.full_like(x, torch.nan)
    special.bessel(out, x)
    right = torch.special.i0(x.double()) + torch.lgamma(x.double())
    assert ((out - right).abs() / right.abs().clamp(min=1)).max() < 1e-5
    out = torch.full((256,), torch.nan)
    special.total(out, x[:256], threads=256, group_size=256)
    assert torch.allclose(out, x[:256].double().sum().float().expand(256), rtol=1e-6)


@pytest.mark.parametrize(("asked", "mode"), [(None, "safe"), ("0", "safe"), ("1", "fast")])
def test_math_is_safe_unless_the_environment_asks(monkeypatch, asked, mode):
    monkeypatch.delenv("PYTORCH_MPS_FAST_MATH", raising=False)
    if asked is not None:
        monkeypatch.setenv("PYTORCH_MPS_FAST_MATH", asked)
    assert compile_shader(TEXT)._library.source.math == mode


def test_three_numbers_are_a_vector_of_three():
    """On a Mac there is memory behind the tensor's 12 bytes; the launch was refused."""
    library = compile_shader(
        "kernel void k(device float* x, constant uint3& n, uint i [[thread_position_in_grid]])"
        " { x[i] = n.x + 10 * n.y + 100 * n.z; }"
    )
    x = torch.zeros(4)
    for numbers in ([1, 2, 3], [4, 5, 6]):
        library.k(x, torch.tensor(numbers, dtype=torch.uint32))
        assert (x == numbers[0] + 10 * numbers[1] + 100 * numbers[2]).all()
