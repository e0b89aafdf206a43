"""Every line of vector code and machine code says where it comes from, and the code is the same as without."""

from __future__ import annotations

import pytest

from metalloid import backends
from metalloid.compile import scalar
from metalloid.ir.lines import Lined
from metalloid.source import Source

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
KERNELS = {
    "inlined": """static float twice(float v) {
    return v * 2.0f;
}
kernel void k(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = twice(x[i]) + 1.0f;
}
""",
    "barrier": """kernel void k(device float* x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup float tile[64];
    tile[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i % 3 == 0) {
        x[i] = tile[63 - i] * 3.0f;
    }
}
""",
    "waits inside": """kernel void k(device float* x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup float tile[64];
    for (uint n = 0; n < 3 + i / 32; n++) {
        tile[i] = x[i] * 5.0f;
        simdgroup_barrier(mem_flags::mem_threadgroup);
        x[i] = tile[i ^ 1];
    }
}
""",
}


def stage(name: str, text: str) -> tuple[str, Lined]:
    source = Source(HEAD + text, name="k.metal")
    ir, backend = scalar(source, "k")[0], backends.named("cpu")
    return backend.stages[name](ir, (64, 1, 1)), backend.lined(name, ir, (64, 1, 1))


@pytest.mark.parametrize("text", KERNELS.values(), ids=KERNELS)
def test_vector_code_is_the_same_and_knows_its_lines(text: str) -> None:
    plain, lined = stage("vec.ll", text)
    assert lined.text == plain
    assert len(lined.places) == plain.count("\n") + 1
    written = (HEAD + text).split("\n")
    for line, place in zip(lined.text.split("\n"), lined.places, strict=True):
        if " fmul " in line:  # the one line of the source that multiplies
            assert place is not None and place.file == "k.metal" and " * " in written[place.line - 1]
    linked = {place.line for place in lined.places if place}
    assert {
        n for n, line in enumerate(written, 1) if "= " in line and ("x[" in line or "tile[" in line)
    } <= linked


@pytest.mark.parametrize("text", KERNELS.values(), ids=KERNELS)
def test_machine_code_is_the_same_and_knows_its_lines(text: str) -> None:
    plain, lined = stage("asm", text)
    without = [line for line in plain.split("\n") if ".cfi_" not in line]
    assert lined.text.split("\n") == without
    written = (HEAD + text).split("\n")
    linked = {place.line for place in lined.places if place}
    assert any("] = " in written[n - 1] for n in linked)
    assert all(0 < n <= len(written) for n in linked)
    labels = [p for line, p in zip(lined.text.split("\n"), lined.places, strict=True) if line.endswith(":")]
    assert labels and not any(labels)


def test_a_text_of_llvm_is_read_by_its_debug_information() -> None:
    _, lined = stage("canon.ll", KERNELS["inlined"])
    (place,) = {p for line, p in zip(lined.text.split("\n"), lined.places, strict=True) if " fmul " in line}
    assert place is not None and (place.file, place.line) == ("k.metal", 4)
