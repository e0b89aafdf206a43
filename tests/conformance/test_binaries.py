"""What an instance of a template is called in MLX's library, and what a run of binaries keeps."""

from __future__ import annotations

from pathlib import Path

import pytest
from conformance.binaries import lines, record
from conformance.binaries.lines import Found
from conformance.binaries.names import host_names, instance_of


def names(instance: str) -> list[str]:
    return host_names(f'template [[host_name("x")]] [[kernel]] decltype({instance}) {instance};')


@pytest.mark.parametrize(
    ("instance", "name"),
    [
        ("unary_v<float, float, Exp, 1>", "v_Expfloat32float32"),
        ("unary_v<half, half, Exp>", "vn_Expfloat16float16"),
        ("unary_g<bfloat16_t, bfloat16_t, Abs, 4, int64_t>", "gn4large_Absbfloat16bfloat16"),
        ("binary_g_nd2<bfloat16_t, bool, Less, int>", "g2_Lessbfloat16"),
        ("ternary_v<float, Select, false, true>", "vsn_Selectfloat32"),
        ("all_reduce<float, float, Sum<float>>", "all_reduce_sumfloat32"),
        (
            "col_reduce_looped<float, float, Sum<float>, int, 1, 32, 32>",
            "col_reduce_looped_1_32_32_reduce_sumfloat32",
        ),
        (
            "gemm<float16_t, 64, 32, 32, 2, 2, false, true>",
            "steel_gemm_fused_nt_float16_float16_bm64_bn32_bk32_wm2_wn2",
        ),
        ("fp_qmm_t<float, 16, 4, false, true, true>", "nvfp4_qmm_t_float_gs_16_b_4_alN_false_batch_1_hgs"),
    ],
)
def test_names_are_those_that_mlx_makes(instance: str, name: str) -> None:
    assert names(instance)[0] == name


def test_a_sum_of_small_integers_has_no_kernel_with_a_small_result() -> None:
    assert names("all_reduce<int16_t, int16_t, Sum<int16_t>>") == []
    assert names("all_reduce<int16_t, int32_t, Sum<int32_t>>") == ["all_reduce_sumint16"]


def test_a_template_that_is_not_known_has_no_name() -> None:
    assert names("something<float>") == []
    assert instance_of("kernel void f() {}") == ("", ())


def test_a_run_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "FOLDER", tmp_path)
    one = Found("k", ("k",), "because", seconds=0.5)
    lines.keep("t", "key", one)
    with (tmp_path / "t.jsonl").open("a") as file:
        file.write('{"half": ')
    assert lines.known("t") == {"key": one}


def test_the_record_tells_what_was_found_by_which_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "RECORD", tmp_path / "found.json")
    names, library = ["a", "b", "c", "d"], ["x", "y"]
    found = {
        "a": Found("a", ("x",), same_bits=True, commit="1", processor="P"),
        "b": Found("b", ("y", "x"), commit="1", processor="P"),
        "c": Found("c", (), "because", "of it", commit="2", processor="P"),
    }
    record.store("t", names, found, library)
    record.store("other", names, {}, library)
    again = record.load("t", names, library)
    assert again == {**found, "b": Found("b", ("x", "y"), commit="1", processor="P")}
    assert record.load("t", [*names, "e"], library) == {}  # places of another list
