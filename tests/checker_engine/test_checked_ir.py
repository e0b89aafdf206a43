"""IR for a checked run keeps the user's accesses where the user wrote them."""

from __future__ import annotations

from metalloid.compile import scalar
from metalloid.ir import read
from metalloid.ir.debug import location
from metalloid.source import Source

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"


def accesses(text: str, opcode: str, checked: bool = True) -> list[int]:
    """The lines of all loads or stores, counted from the kernel's first."""
    module = read(scalar(Source(HEADER + text), "k", checked=checked)[0])
    found = [location(module, i) for i in module.function["__mt_entry"].instructions() if i.opcode == opcode]
    return sorted(place.line - 2 if place else 0 for place in found)


BRANCHES = """kernel void k(device const float* a, device float* o, uint i [[thread_position_in_grid]]) {
    if (i & 1)
        o[i] = a[i];
    else
        o[i + 1] = 2 * a[i + 3];
}"""

CONDITIONAL = """kernel void k(device float* o, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float s[64];
    s[t] = t;
    float x = 0;
    if (t < 32)
        x = s[5];
    o[t] = x;
}"""


def test_stores_of_two_branches_keep_their_lines():
    assert accesses(BRANCHES, "store") == [3, 5]
    assert accesses(BRANCHES, "load") == [3, 5]


def test_a_plain_compile_joins_them():
    assert len(accesses(BRANCHES, "store", checked=False)) == 1


def test_a_conditional_load_stays_conditional():
    module = read(scalar(Source(HEADER + CONDITIONAL), "k", checked=True)[0])
    function = module.function["__mt_entry"]
    home = next(b.name for b in function.blocks for i in b.instructions if i.opcode == "load")
    assert home != function.entry.name


def test_nothing_of_the_sanitizer_is_left():
    ir = scalar(Source(HEADER + BRANCHES), "k", checked=True)[0]
    assert "tsan" not in ir


EARLY = """kernel void k(device const float* a, device const float4* p, device float* o,
              uint i [[thread_position_in_grid]]) {
    float x = a[i];
    float4 y = p[i];
    if (i >= 50) return;
    o[i] = x + y.x;
}"""


def test_a_read_in_front_of_a_test_stays_there():
    ir = scalar(Source(HEADER + EARLY), "k", checked=True)[0]
    entry = read(ir).function["__mt_entry"].entry
    lines = [location(read(ir), i) for i in entry.instructions if i.opcode == "load"]
    assert {3, 4} <= {place.line - 2 for place in lines if place}
    assert "asm" not in ir
