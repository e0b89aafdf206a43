"""Values that a block makes twice are made once."""

from __future__ import annotations

from metalloid.backends.cpu.pipeline import vector_stage
from metalloid.compile import scalar
from metalloid.ir import read, write
from metalloid.ir.verify import verify
from metalloid.source import Source
from metalloid.transforms.merge_equal import merge_equal
from tests.engine.both import WIDE

TWICE = """define float @f(ptr %p, i32 %n, i1 %c) {
entry:
  %a = zext nneg i32 %n to i64
  %x = getelementptr inbounds float, ptr %p, i64 %a
  %b = zext i32 %n to i64
  %y = getelementptr inbounds nuw float, ptr %p, i64 %b
  %other = getelementptr inbounds i8, ptr %p, i64 %b
  %v = load float, ptr %x, align 4
  %w = load float, ptr %y, align 4
  %u = load float, ptr %other, align 4
  br i1 %c, label %then, label %end
then:
  %d = zext i32 %n to i64
  %z = getelementptr inbounds float, ptr %p, i64 %d
  store float %v, ptr %z, align 4
  br label %end
end:
  %s = phi float [ %w, %entry ], [ %u, %then ]
  ret float %s
}
"""


def test_equal_values_of_a_block_are_one_and_promise_what_both_do() -> None:
    module = read(TWICE)
    made = merge_equal(module.function["f"])
    verify(write(module.with_function(made)))
    entry = {i.name: i for i in made.block["entry"].instructions if i.name}
    assert list(entry) == ["a", "x", "other", "v", "w", "u"]
    assert entry["a"].flags == () and entry["x"].flags == ("inbounds",)
    assert entry["w"].operands[0].name == "x"
    assert [i.name for i in made.block["then"].instructions if i.name] == ["d", "z"]  # of another block


def test_a_function_without_them_is_the_same() -> None:
    function = merge_equal(read(TWICE).function["f"])
    assert merge_equal(function) is function


def test_rows_that_lie_at_a_part_of_the_index_are_read_as_rows() -> None:
    """Clang writes the address of each element for itself: they were sixteen gathers."""
    text = """#include <metal_stdlib>
        using namespace metal;
        kernel void k(device const float* x, device float* o, uint i [[thread_position_in_grid]]) {
            float s = 0; for (uint j = 0; j < 16; j++) s += x[i % 64 * 16 + j]; o[i] = simd_sum(s); }"""
    ir = scalar(Source(text, math="fast"), "k")[0]
    assert "masked.gather" not in vector_stage(ir, (64, 1, 1), WIDE)
