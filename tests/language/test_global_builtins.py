"""Built-in variables at namespace level, as renderers declare them for every function at once."""

import numpy as np
import pytest

from metalloid.errors import CompileError
from tests.language.launch import poisoned, run


def test_functions_methods_and_templates_see_them() -> None:
    out = poisoned((12, 6), np.uint32)
    run(
        """
const uint position [[thread_position_in_grid]];
const ushort place [[thread_position_in_threadgroup]];
const uint3 both [[thread_position_in_grid]];
static const uint2 size [[threads_per_threadgroup]];
constant uint group [[threadgroup_position_in_grid]];
namespace inner { const uint lane [[thread_index_in_simdgroup]]; uint twice() { return lane*2; } }
uint helper(uint a) { return a<<2u|position&3; }
template <typename T> T larger(T value) { return max(T(position), value); }
struct Row {
  uint start;
  uint at(uint n) const { return start + n + place; }
};
kernel void k(device uint* o) {
  const Row row = {position * 6};
  o[row.start] = position * 10 + place;
  o[row.start + 1] = helper(both.x);
  o[row.start + 2] = row.at(1) - inner::twice() + inner::lane;
  o[row.start + 3] = size.x*100 + size.y*10 + group;
  o[row.start + 4] = larger(5u) + (::position ? 1000 : 2000);
  o[row.start + 5] = 100 / max(position, 1u) + both.y + both.zx.y;
}
""",
        out,
        grid=12,
        threadgroup=4,
    )
    i = np.arange(12, dtype=np.uint32)
    place = i % 4
    assert np.array_equal(out[:, 0], i * 10 + place)
    assert np.array_equal(out[:, 1], i * 4 | (i & 3))
    assert np.array_equal(out[:, 2], i * 6 + 1 + place - 2 * place + place)
    assert np.array_equal(out[:, 3], 410 + i // 4)
    assert np.array_equal(out[:, 4], np.maximum(i, 5) + np.where(i > 0, 1000, 2000))
    assert np.array_equal(out[:, 5], 100 // np.maximum(i, 1) + i)


def test_other_variables_of_the_name_hide_them() -> None:
    out = poisoned((5, 5), np.uint32)
    run(
        """
const uint i [[thread_position_in_grid]];
struct Pair { uint i; uint j; };
uint squared(uint i) { return i * i; }
uint before() { uint first = i; { uint i = 50; first += i; } return first + i; }
kernel void k(device uint* o) {
  device uint* row = o + i * 5;
  Pair pair = {7, 8};
  pair.i += 1;
  row[0] = squared(9);
  row[1] = before();
  row[2] = pair.i;
  uint sum = 0;
  for (uint i = 0; i < 4; i++) { sum += i; }
  row[3] = sum;
  row[4] = i;
}
""",
        out,
        grid=5,
    )
    i = np.arange(5)
    assert np.array_equal(out, np.stack([i * 0 + 81, 2 * i + 50, i * 0 + 8, i * 0 + 6, i], 1))


def test_a_mistake_is_told_at_its_place() -> None:
    with pytest.raises(CompileError) as caught:
        run(
            """
const uint i [[thread_position_in_grid]];
kernel void k(device uint* o) { o[i] = i + missing; }
""",
            poisoned(4, np.uint32),
            grid=4,
        )
    assert "missing" in caught.value.diagnostics[0].message
    assert caught.value.diagnostics[0].column == 44
