"""Metal's headers by every usual name; the user's own files beside the source and on given paths."""
# ruff: noqa: E501  a row of a table is one line

from pathlib import Path

import numpy as np
import pytest

from metalloid.errors import CompileError
from metalloid.frontend import compile_kernel
from metalloid.source import Source
from tests.language.launch import poisoned, run, write_files

NAMES = """metal_stdlib metal_math metal_atomic metal_simdgroup metal_simdgroup_matrix metal_geometric metal_integer
metal_relational metal_common metal_pack metal_matrix metal_array metal_compute metal_types metal_quadgroup metal_limits
metal_type_traits metal_uniform metal_packed metal_numeric metal_utility metal_functional metal_logging metal_os_log
metal_texture metal_config metal_assert metal_iterator metal_graphics metal_tuple metal_raytracing
metal_extended_vector metal_interpolate metal_command_buffer metal_visible_function_table metal_tessellation
simd/simd.h simd/vector_types.h simd/base.h simd/matrix_types.h TargetConditionals.h limits.h float.h math.h
stdint.h stddef.h cstdint cstddef cmath type_traits""".split()


def test_every_usual_name() -> None:
    includes = "".join(f"#include <{name}>\n" for name in NAMES)
    out = poisoned(3, np.float32)
    body = "using namespace metal;\nkernel void k(device float* o, uint i [[thread_position_in_grid]]) { o[i] = max(float(i), 1.0f); }"
    run(includes + body, out, grid=3, threadgroup=3, head="")
    np.testing.assert_array_equal(out, [1, 1, 2])


@pytest.mark.parametrize("name", NAMES)
def test_each_name_is_enough(name: str) -> None:
    from metalloid.frontend import find_kernels

    text = f"#include <{name}>\n# include  <metal_stdlib>\nkernel void k(device float* o) {{ o[0] = metal::sqrt(4.0f); }}"
    assert [k.name for k in find_kernels(Source(text))] == ["k"]


def test_without_using_the_namespace() -> None:
    out = poisoned(2, np.float32)
    body = """#include <metal_stdlib>
kernel void k(device float* o, uint i [[thread_position_in_grid]]) {
  threadgroup metal::atomic_uint n;
  metal::float2 v = metal::clamp(metal::float2(i, 5), 0.5f, 3.0f);
  metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);
  o[i] = v.x + v.y + metal::simd_sum(1.0f) + metal::numeric_limits<uchar>::max() + as_type<float>(0x3f800000u);
}"""
    run(body, out, grid=2, threadgroup=2, head="")
    np.testing.assert_array_equal(out, [0.5 + 3 + 2 + 255 + 1, 1 + 3 + 2 + 255 + 1])


def test_own_files(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        {
            "beside.h": "#pragma once\n#include <metal_stdlib>\nusing namespace metal;\n#define BESIDE 100\n",
            "sub/deep.h": '#ifndef DEEP\n#define DEEP\n#include "../beside.h"\nconstant float deep = BESIDE + 1;\n#endif\n',
            "lib/common/params.h": "struct Params { int n; float scale; };\n",
            "lib/op.metal": "template <typename T> T op(T x) { return x * T(3); }\n",
            "k.metal": '#include "beside.h"\n#include "sub/deep.h"\n#include "beside.h"\n#include <common/params.h>\n'
            '#include "op.metal"\n'
            "kernel void k(device float* o, constant Params& p) { o[0] = op(p.scale) + p.n + deep; }\n",
        },
    )
    source = Source.from_file(tmp_path / "k.metal", include=(tmp_path / "lib",), math="safe")
    built = compile_kernel(source, "k")
    assert {p.name for p in built.files} == {"beside.h", "deep.h", "params.h", "op.metal"}
    assert built.signature.line == 6 and built.signature.file.endswith("k.metal")
    out = poisoned(1, np.float32)
    params = np.array([(4, 2.5)], [("n", "i4"), ("scale", "f4")])
    run(
        (tmp_path / "k.metal").read_text(),
        out,
        params,
        head="",
        directory=tmp_path,
        include=(tmp_path / "lib",),
    )
    assert out[0] == 7.5 + 4 + 101


def test_the_first_path_wins_and_a_changed_file_counts(tmp_path: Path) -> None:
    write_files(tmp_path, {"a/value.h": "#define V 1\n", "b/value.h": "#define V 2\n"})
    body = '#include "value.h"\nkernel void k(device int* o) { o[0] = V; }'

    def value(*names: str) -> int:
        out = poisoned(1)
        run(body, out, include=tuple(tmp_path / n for n in names))
        return int(out[0])

    assert (value("a", "b"), value("b", "a")) == (1, 2)
    (tmp_path / "a/value.h").write_text("#define V 33\n")
    assert value("a", "b") == 33


def test_kernels_in_an_included_file_and_errors_there(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        {
            "inner.h": "template <typename T> kernel void fill(device T* o, uint i [[thread_position_in_grid]]) {\n  o[i] = T(i) + T(0.5);\n}\n",
            "bad.h": "float f(float x) {\n  return y;\n}\n",
        },
    )
    body = '#include "inner.h"\ntemplate [[host_name("k")]] kernel void fill<float>(device float*, uint);\n'
    out = poisoned(3, np.float32)
    built = run(body, out, grid=3, threadgroup=2, include=(tmp_path,))
    np.testing.assert_array_equal(out, [0.5, 1.5, 2.5])
    assert built.signature.parameters[0].line == 1
    with pytest.raises(CompileError) as caught:
        run('#include "bad.h"\nkernel void k(device float* o) { o[0] = f(1); }', out, include=(tmp_path,))
    found = caught.value.diagnostics[0]
    assert (Path(found.file).name, found.line) == ("bad.h", 2) and "return y;" in found.excerpt


def test_a_missing_file_is_named() -> None:
    with pytest.raises(CompileError) as caught:
        run('\n#include "nowhere.h"\nkernel void k(device float* o) { o[0] = 1; }')
    assert "nowhere.h" in str(caught.value) and caught.value.diagnostics[0].line == 4
