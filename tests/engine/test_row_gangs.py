"""Rows of a flat index: gangs end where a row does, and are told which row they are in."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import numpy as np
import pytest

from metalloid.analysis.lane_layout import LaneLayout
from metalloid.backends import interpret, patience
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.build import cpu_program
from metalloid.backends.cpu.lower.row_gangs import row_gangs
from metalloid.backends.cpu.pipeline import vector_code
from metalloid.errors import KernelFault
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.layout import data_layout
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import LESSER, WIDE, launch, program, scalar_ir

RNG = np.random.default_rng(1919)
ARM = codegen.Target("neoverse-n1", "", "aarch64-unknown-linux-gnu")
HEAD = "kernel void k(device const {t}* a, device const int* rows, device {t}* out, constant {n}* w, uint i [[thread_position_in_grid]]{more}) {{ {body} }}"
# What each thread does; `w` has the sizes of the innermost axis first, and `a` 4,096 elements.
BODIES = {
    "gather": "out[i] = a[(uint(rows[(i / w[0]) & 63]) * w[0] + i % w[0]) & 4095];",
    "broadcast": "out[i] = a[i / w[0]] + a[i % w[0]];",
    "transpose": "uint y = i / w[0], x = i % w[0]; out[i] = a[(x * w[1] + y) & 4095];",
    "three axes": "uint x = i % w[0], y = i / w[0] % w[1], z = i / (w[0] * w[1]); out[i] = a[((z * 3 + y) * 5 + x) & 4095];",
    "a plane first": "uint z = i / (w[0] * w[1]), y = i / w[0] % w[1], x = i % w[0]; out[i] = a[((y * 3 + z) * 7 + x) & 4095];",
    "axis by axis": "uint e = i, at = e % w[0]; e /= w[0]; at += e % w[1] * 50; e /= w[1]; at += e % 2 * 31; out[i] = a[(at + e / 2) & 4095];",
    "rest first": "uint r = i % (w[0] * w[1]); out[i] = a[r / w[0]] + a[r % w[0] & 4095];",
    "rests of rests": "uint p = w[0] * w[1], z = i / (p * 2), r = i % (p * 2), y = r / w[0] % w[1], c = r / p, x = r % p % w[0]; out[i] = a[((z * 2 + x) * 3 + y * 5 + c) & 4095];",
    "a rest less another": "uint z = i / (w[0] * w[1]), y = (i - z * w[0] * w[1]) / w[0], x = i - z * w[0] * w[1] - y * w[0]; out[i] = a[((y * 3 + z) * 7 + x) & 4095];",
    "four axes": "uint p = w[0] * w[1], z = i / (2 * p), y = (i - z * 2 * p) / p, x = (i - z * 2 * p - y * p) / w[0], c = i - z * 2 * p - y * p - x * w[0]; out[i] = a[(((x * 2 + y) * 3 + z) * 40 + c) & 4095];",
    "two widths": "out[i] = a[i / w[0]] + a[i % w[1]];",
    "moved": "uint j = i + 5 * w[1]; out[i] = a[(j / w[0]) & 4095] + a[j % w[0]];",
    "behind a test": "if (i % 7 == 2 || i >= w[1] * 40) return; out[i] = a[i / w[0]] + a[i % w[0]];",
    "parted": "uint y = i / w[0], x = i % w[0]; if (x > 20) out[i] = a[y]; else if (y & 1) out[i] = a[x + 1];",
    "in a loop": "uint y = i / w[0], x = i % w[0]; float s = 0; for (uint n = 0; n <= x % 5; n++) s += a[(y * w[0] + n) & 4095]; out[i] = s;",
    "loops that all go": "float s = 0; for (uint n = 0; n < w[1]; n++) s += a[(n * w[0] + i % w[0]) & 4095]; out[i] = s + i / w[0];",
    "stored before": "out[i] = a[i]; uint n = w[0]; out[i] += a[i % n];",
    "in the text": "out[i] = a[i / 100] + a[i % 100];",
    "short, in the text": "out[i] = a[i / 6] + a[i % 6];",
    "several in a register": "out[i] = a[i / 4] + a[i % 8];",
    "other in each thread": "uint n = rows[i & 63] + 1; out[i] = a[i / n] + a[i % n];",
}
NUMBERS = [1, 2, 3, 7, 33, 100, 5000]


def text(name: str, type: str = "float", number: str = "uint", more: str = "") -> str:
    return HEAD.format(t=type, n=number, more=more, body=BODIES.get(name, name))


def code(kernel: str, size=(256, 1, 1), ragged=False, target=WIDE, **given) -> str:
    ir, _ = scalar_ir(kernel, "k")
    return vector_code(canonical(ir), (size, ragged, False, False, False, None), 0, target, **given).text


def agree(kernel: str, numbers, grid: int, group: int, type=np.float32, number=np.uint32, made=None) -> None:
    """With a guard, with a proof, and without either: what the oracle leaves."""
    a = RNG.integers(-60, 60, 4096).astype(type)
    rows = RNG.integers(0, 40, 64).astype(np.int32)
    arrays = [a, rows, np.full(grid, 7, type), np.array(numbers, number)]
    expected = [x.copy() for x in arrays]
    interpret.run(scalar_ir(kernel, "k")[0], launch(expected, grid, group))
    made = made or program(kernel, "k")
    for guard in (True, True, True, False, "robust"):
        got = [x.copy() for x in arrays]
        with patience.measuring():
            made.run(launch(got, grid, group), guard=guard)
        np.testing.assert_array_equal(
            got[2], expected[2], err_msg=f"{numbers}, {grid} in {group}, guard={guard}"
        )


@pytest.mark.parametrize("width", NUMBERS)
@pytest.mark.parametrize("name", BODIES)
def test_rows_of_any_width(name, width):
    """Whole rows and a part of one; threadgroups that start inside of a row."""
    agree(text(name), [width, 3], 1234, 200)


@pytest.mark.parametrize(
    "grid, group", [(1, 64), (63, 64), (65, 64), (1000, 1000), (2600, 256), (4000, 1024)]
)
@pytest.mark.parametrize("width", [20, 100, 130])
def test_grids_and_threadgroups_of_any_size(grid, group, width):
    for more in ("", ", uint t [[thread_position_in_threadgroup]]"):  # of ours, and of the launch
        kernel = text(BODIES["gather"] + (" out[i] += t;" if more else ""), more=more)
        agree(kernel, [width, 3], grid, group)


@pytest.mark.parametrize(
    "type, dtype", [("half", "f2"), ("uchar", "u1"), ("ushort", "u2"), ("long", "i8"), ("float", "f4")]
)
def test_elements_of_any_size(type, dtype):
    agree(text("gather", type), [100, 3], 1300, 256, np.dtype(dtype))


@pytest.mark.parametrize("width", [0, 1, 40, 100, -1, -40, -(2**31)])
def test_signed_numbers(width):
    """Numbers and divisors that are negative are no rows."""
    body = "int x = int(i) - 70, n = int(w[0]); out[i] = x / n * 100 + x % n + a[i];"
    agree(text(body, "int", "int"), [width, 3], 700, 128, np.int32, np.int32)


@pytest.mark.parametrize("height", [0, 1, 3, -1, -3, -(2**31), 2**31 - 1])
@pytest.mark.parametrize("width", [20, 35, 2**31 - 1])
def test_signed_rows_of_rows(width, height):
    body = "int x = int(i), n = int(w[0]), m = int(w[1]); out[i] = x / n % m * 100 + x % n + x / n / m * 7 + a[i];"
    agree(text(body, "int", "int"), [width, height], 700, 128, np.int32, np.int32)


@pytest.mark.parametrize("numbers", [(100, 3), (2**40, 2**40), (17, 2**63 - 1), (17, 0), (2**33, 5)])
@pytest.mark.parametrize("start", [0, 2**40 + 11, 2**63 - 2000])
def test_rows_of_rows_of_64_bits(numbers, start):
    body = f"ulong j = ulong(i) + {start}ul; out[i] = j / w[0] % w[1] * 5 + j / w[0] / w[1] * 3 + j % w[0] + a[i];"
    agree(text(body, "ulong", "ulong"), numbers, 1300, 256, np.uint64, np.uint64)


@pytest.mark.parametrize(
    "numbers", [(20, 3), (35, 0), (0, 3), (-20, 3), (20, -3), (2**31 - 1, 2), (3, 2**31 - 1)]
)
def test_signed_rests(numbers):
    body = (
        "int x = int(i), n = w[0] * w[1], r = x % n; out[i] = r / w[0] * 100 + r % w[0] + x / n * 7 + a[i];"
    )
    agree(text(body, "int", "int"), numbers, 700, 128, np.int32, np.int32)


@pytest.mark.parametrize("numbers", [(100, 3), (2**40, 2**10), (17, 2**50), (17, 0), (0, 5)])
@pytest.mark.parametrize("start", [0, 2**40 + 11, 2**63 - 2000])
def test_rests_of_64_bits(numbers, start):
    body = f"ulong j = ulong(i) + {start}ul, n = w[0] * w[1], r = j % n; out[i] = r / w[0] * 5 + j / n * 3 + r % w[0] + a[i];"
    agree(text(body, "ulong", "ulong"), numbers, 1300, 256, np.uint64, np.uint64)


@pytest.mark.parametrize("start", [0, 2**31 - 400, 2**31 - 100, 2**32 - 50])
def test_numbers_that_leave_the_positive_ones(start):
    body = "uint j = i + w[1]; out[i] = (j / w[0]) * 3 + j % w[0]; int s = int(j); out[i] += s / int(w[0]) + s % int(w[0]);"
    agree(text(body, "uint"), [100, start], 700, 128, np.uint32)


@pytest.mark.parametrize("width", [1, 33, 100, 2**31 + 5, 2**40 + 7, 2**63 + 1])
@pytest.mark.parametrize("start", [0, 2**40 + 11, 2**63 - 200, 2**64 - 100])
def test_numbers_of_64_bits(width, start):
    body = "ulong j = ulong(i) + w[1]; out[i] = (j / w[0]) * 3 + j % w[0] + a[i];"
    agree(text(body, "ulong", "ulong"), [width, start], 700, 256, np.uint64, np.uint64)


@pytest.mark.parametrize("level", LESSER)
@pytest.mark.parametrize("name", BODIES)
def test_lesser_processors(name, level):
    ir, signature = scalar_ir(text(name), "k")
    made = cpu_program(ir, signature, target=codegen.limited(level))
    for width in (5, 100):
        agree(text(name), [width, 3], 1300, 256, made=made)


def test_all_threads_of_a_batch_run():
    """Rows of each number of lanes from one gang's to the next, after and before parts of rows."""
    for width in (16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 95, 127, 129):
        agree(text("three axes"), [width, 3], 9 * width + 5, 200)


def test_atomics_see_every_thread_once():
    body = (
        "atomic_fetch_add_explicit((device atomic_uint*)out + i % w[0], i / w[0] + 1, memory_order_relaxed);"
    )
    agree(text(body, "uint"), [100, 3], 1234, 256, np.uint32)


NESTED = (
    "three axes",
    "a plane first",
    "axis by axis",
    "rest first",
    "rests of rests",
    "a rest less another",
)
ROWS = (
    "gather",
    "broadcast",
    "transpose",
    *NESTED,
    "two widths",
    "moved",
    "in a loop",
    "in the text",
    "short, in the text",
)


@pytest.mark.parametrize("name", ROWS)
def test_which_kernels_run_so(name):
    made = code(text(name))
    assert "@segment0.row.all" in made and "@segment0.row.some" in made
    assert "@segment0.row.all" in code(text(name), ragged=True)
    rows = made.split("define internal i32 @segment0.row.all")[1].split("\n}")[0]
    assert "div " not in rows.replace("fdiv", "").replace("udiv i32", "")  # no division of lanes
    assert name not in NESTED or ("udiv" not in rows and "urem" not in rows)  # nor of rows


def test_short_rows_are_narrow_gangs():
    """Of half a gang's lanes or fewer; where rounds of a loop wait for each other, and without masks, as in long ones."""
    made = code(text("gather"))
    assert all(f"@segment0.row.some{lanes}(" in made for lanes in (16, 32)) and "<16 x i1> %present" in made
    assert all("@segment0.row.some16" not in code(text(name)) for name in ("in a loop", "loops that all go"))
    assert "@segment0.row.some16" not in code(text("gather"), target=ARM)


def least(body: str, type: str = "float") -> int:
    module = canonical(scalar_ir(text(body, type), "k")[0])
    layout = data_layout(module.datalayout)
    made = row_gangs(module.function[ENTRY], LaneLayout(64, (256, 1, 1)), layout, False, WIDE.info)
    assert made is not None
    return made.least


def test_idle_lanes_must_be_worth_it():
    """A row's gang has idle lanes, which cost the more the more there is to compute."""
    some = "float x = a[i] - a[i / w[0]]; out[i] = x / (1 + exp(-x));"
    heavy = (
        "float v = a[i], x = a[i % w[0]]; for (uint n = 0; n < 16; n++) v = sin(v) * x + 0.5f; out[i] = v;"
    )
    assert 2 <= least("broadcast") <= 4
    assert 4 < least(some) < 16
    assert 64 < least(heavy) < 2000


def test_lanes_that_are_looked_up_in_a_row_as_well_save_nothing():
    """Columns of a matrix: idle lanes are looked up, too."""
    assert least("out[i] = a[(i % w[0]) * 1000 + i / w[0]];") > 64
    assert least("out[i] = a[(i % w[0]) * w[1] + i / w[0]];") > 64
    assert 2 <= least("out[i] = a[(i % w[0]) * 2 + i / w[0]];") <= 4


def test_without_masks_gangs_get_narrower():
    made = code(text("gather"), target=ARM)
    assert "@segment0.row.few" in made and "@segment0.row.one" in made and "%present" not in made


def test_other_kernels_stay_as_they_are():
    plain = ("several in a register", "other in each thread", "stored before")
    barrier = text(BODIES["gather"] + " threadgroup_barrier(mem_flags::mem_device); out[i] += 1;")
    for kernel in (*map(text, plain), barrier, text("out[i] = simd_sum(a[i % w[0]]);")):
        assert "@segment0.row" not in code(kernel)
    gather = text("gather")
    assert "@segment0.row" not in code(gather, (32, 8, 1)) and "@segment0.row" not in code(gather, brief=True)


@pytest.mark.parametrize("wrong, thread", [(0, 0), (1, 100), (13, 1300)])
def test_a_fault_names_its_thread(wrong, thread):
    """The first of its row, in a gang that starts there."""
    kernel = text("out[i] = a[uint(rows[i / w[0]]) * w[0] + i % w[0]];")
    rows = np.zeros(20, np.int32)
    rows[wrong] = 50
    arrays = [
        RNG.random((40, 100), np.float32),
        rows,
        np.zeros(2000, np.float32),
        np.array([100, 3], np.uint32),
    ]
    made = program(kernel, "k")
    for _ in range(3):
        with patience.measuring(), pytest.raises(KernelFault) as caught:
            made.run(launch(arrays, 2000, 64))
        assert f"thread ({thread}, 0, 0)" in str(caught.value)


def test_a_line_of_rows_runs_in_long_threadgroups():
    """Those of ours: the fewer, the fewer end in the middle of a row."""
    made = program(text("gather"), "k")
    arrays = [
        np.zeros(4096, np.float32),
        np.zeros(64, np.int32),
        np.zeros(1 << 17, np.float32),
        np.array([100, 3], np.uint32),
    ]
    assert tuple(made.prepared(launch(arrays, 1 << 17, 64), True, False, 1).record.threadgroup) == (
        4096,
        1,
        1,
    )
