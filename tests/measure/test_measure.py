"""Times are positive, work is counted exactly, shares are what they say."""

from __future__ import annotations

import json
import re
from itertools import combinations
from math import hypot
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import metalloid as mt
from metalloid.cli import group
from metalloid.measure import CHIPS, Machine, Measurement, Timing, this_machine, timed, tune
from metalloid.measure.chart import Box, Chart
from metalloid.measure.chips import chip
from metalloid.measure.kernel import Work, count
from metalloid.measure.library import operations
from metalloid.measure.roofline import NARROW, WIDE, page
from metalloid.measure.timing import shown
from metalloid.measure.tune import shapes
from tests.checker.test_page import laid_out, needs_browser

FILE = Path(__file__).with_name("kernels.metal")


@pytest.fixture(scope="module")
def library() -> mt.Library:
    return mt.device().library(FILE)


def arrays(*sizes: int) -> list[np.ndarray]:
    return [np.random.default_rng(n).standard_normal(size).astype("float32") for n, size in enumerate(sizes)]


def test_an_addition_counts_one_operation_and_twelve_bytes_per_thread(library: mt.Library) -> None:
    a, b, out = arrays(1000, 1000, 1000)
    before = out.copy()
    work = count(library["add"], library["add"].launch(a, b, out, grid=1000, threadgroup=96))
    assert work == Work(operations=1000, read=8000, written=4000, moved=12000)
    assert np.array_equal(out, before), "counting runs on copies"


def test_only_threads_that_compute_are_counted(library: mt.Library) -> None:
    (out,) = arrays(333)
    work = count(library["every_second"], library["every_second"].launch(out, 7, grid=333, threadgroup=50))
    assert work.operations == 167 * 2 * 7
    assert work.written == 167 * 4


def test_a_matrix_product_counts_all_its_operations(library: mt.Library) -> None:
    a, b, out = arrays(64, 64, 64)
    work = count(library["product"], library["product"].launch(a, b, out, grid=32, threadgroup=32))
    assert work == Work(operations=2 * 8**3, read=512, written=256, moved=768)


def test_timing_orders_low_median_high_and_counts_runs() -> None:
    calls = []
    (timing,) = timed(lambda: calls.append(1), seconds=0.01, warm_up=2)
    assert timing.best <= timing.low <= timing.median <= timing.high
    assert len(calls) == timing.runs + 2


def test_times_are_shown_with_three_digits() -> None:
    assert [shown(s) for s in (2.0, 0.00123, 4.56e-5, 7e-9)] == ["2 s", "1.23 ms", "45.6 µs", "7 ns"]


def test_this_machine_moves_and_computes() -> None:
    machine = this_machine()
    assert 1e8 < machine.bandwidth < 1e13 and 1e8 < machine.peak < 1e14


def test_a_share_is_of_the_nearer_limit() -> None:
    machine = Machine("m", bandwidth=100.0, peak=1000.0)  # the ridge is at 10 operations per byte
    second = Timing(1.0, 1.0, 1.0, 1.0, 1)
    memory = Measurement("k", second, Work(operations=50, read=0, written=0, moved=50))
    arithmetic = Measurement("k", second, Work(operations=250, read=0, written=0, moved=10))
    assert (memory.bound(machine), memory.share(machine)) == ("memory", 0.5)
    assert (arithmetic.bound(machine), arithmetic.share(machine)) == ("arithmetic", 0.25)


def test_tuning_finds_sizes_with_the_same_results(library: mt.Library) -> None:
    a, b, out = arrays(2048, 2048, 2048)
    trials = tune(library["add"], a, b, out, grid=2048, threadgroup=256, seconds=0.001)
    assert {t.threadgroup for t in trials} == set(shapes((2048, 1, 1), 1024))
    assert all(t.timing for t in trials)
    medians = [t.timing.median for t in trials if t.timing]
    assert medians == sorted(medians)


def test_tuning_refuses_sizes_that_change_the_results_or_fault(library: mt.Library) -> None:
    source, out = arrays(2048, 128)
    trials = {
        t.threadgroup[0]: t
        for t in tune(library["sums"], source, out, grid=2048, threadgroup=256, seconds=0.001)
    }
    assert trials[256].timing is not None
    assert trials[128].problem == "gives other results"
    assert "M102" in trials[512].problem


def test_shapes_cover_the_axes_of_the_grid() -> None:
    assert list(shapes((5, 1, 1), 1024)) == [(8, 1, 1)]
    flat = set(shapes((64, 64, 1), 1024))
    assert {(16, 16, 1), (32, 8, 1), (1, 64, 1)} <= flat and all(z == 1 for _, _, z in flat)


def test_chips_are_found_however_they_are_written() -> None:
    assert chip("m2-max") is chip("Apple M2 Max")
    with pytest.raises(mt.MetalloidError, match="M4 Max"):
        chip("M9")
    assert len({c.name for c in CHIPS}) == len(CHIPS)


def measurements() -> tuple[Machine, list[Measurement]]:
    machine = Machine("a <machine>", 2e10, 3e11)
    timing = Timing(1e-3, 9e-4, 2e-3, 8e-4, 100)
    return machine, [
        Measurement("a<b>", timing, Work(1_000_000, 1, 1, 12_000_000)),
        Measurement("product", timing, Work(200_000_000, 1, 1, 3_000_000)),
        Measurement("no_arithmetic", timing, Work(0, 1, 1, 3_000_000)),
    ]


def test_the_page_is_whole_and_escaped() -> None:
    text = page(*measurements())
    assert text.count("<circle") == 2 * 2, (
        "two drawings; a kernel without arithmetic has no place in the plot"
    )
    assert text.count("<tr>") == 4
    assert "a&lt;b&gt;" in text and "a &lt;machine&gt;" in text and "a<b>" not in text
    assert "http" not in text, "it needs nothing from outside"


def test_labels_do_not_lie_on_each_other() -> None:
    machine, (first, *_) = measurements()
    same = [Measurement(f"kernel {n}", first.timing, first.work) for n in range(6)]
    for width, height in (WIDE, NARROW):
        chart = Chart(machine, same, width, height)
        text = chart.svg("broad")
        found = re.findall(r'<text class="label" x="([\d.]+)" y="([\d.]+)">kernel', text)
        boxes = [Box(float(x), float(y) - 11, float(x) + 105, float(y) + 4) for x, y in found]
        assert len(boxes) == 6 and not any(a.meets(b) for a, b in combinations(boxes, 2))
        assert all(b.left >= 0 and b.right <= width and b.top >= 0 and b.bottom <= height for b in boxes)
        dot = chart.x(first.work.intensity), chart.y(first.rate)
        far = [abs(b.top + 7 - dot[1]) + max(0, b.left - dot[0], dot[0] - b.right) for b in boxes]
        assert min(far) < 30 and sum(f < 90 for f in far) >= 5  # at their dot, or a line leads there
        assert text.count('class="leader"') == sum(_away(b, dot) > 14 for b in boxes)


def _away(box: Box, dot: tuple[float, float]) -> float:
    x, y = min(max(dot[0], box.left), box.right), min(max(dot[1], box.top), box.bottom)
    return hypot(x - dot[0], y - dot[1])


def test_the_page_has_what_others_take() -> None:
    machine, found = measurements()
    text = page(machine, found, others={"numpy": ["2x", "3x", "<4x"]})
    assert "<th>numpy</th>" in text and "<td>3x</td>" in text and "&lt;4x" in text
    assert "numpy: how many times as long" in text


@needs_browser
@pytest.mark.parametrize(("width", "drawn"), [(960, "broad"), (420, "narrow")])
def test_a_browser_draws_the_page(tmp_path: Path, width: int, drawn: str) -> None:
    parts = f"header, table, .roofline.{drawn}, .roofline.{drawn} .label"
    sizes, wider = laid_out(tmp_path, page(*measurements()), parts, width)
    assert wider <= 0 and len(sizes) == 3 + 2
    assert all(wide > 40 and high > 10 for wide, high in sizes), sizes


ADD = [str(FILE), "--kernel", "add", "--grid", "4096", "--threadgroup", "128", "--out", "out:4096:float32"]
ADD += ["--arg", "a=random:4096", "--arg", "b=random:4096:float32:1"]


def test_bench_prints_and_writes(tmp_path: Path) -> None:
    options = ["--seconds", "0.01", "--json", "--html", str(tmp_path / "r.html")]
    result = CliRunner().invoke(group, ["bench", *ADD, *options])
    assert result.exit_code == 0, result.output
    (found,) = json.loads(result.stdout)["kernels"]
    assert found["operations"] == 4096 and found["bytes"] == 3 * 4 * 4096
    assert found["bandwidth"] == pytest.approx(found["bytes"] / found["median"])
    assert "roofline" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert result.stderr == f"wrote {tmp_path / 'r.html'}\n"


def test_bench_reads_a_time_from_a_mac() -> None:
    result = CliRunner().invoke(group, ["bench", *ADD, "--chip", "m1", "--took", "1e-6", "--json"])
    (found,) = json.loads(result.stdout)["kernels"]
    assert found["share"] == pytest.approx(3 * 4 * 4096 / 1e-6 / 68e9)


def test_tune_recommends_a_size() -> None:
    result = CliRunner().invoke(group, ["tune", *ADD, "--seconds", "0.001"])
    assert result.exit_code == 0, result.output
    assert "best: --threadgroup" in result.stdout


def test_the_library_computes_what_it_is_compared_with() -> None:
    for operation in operations():
        got, expected = operation.ours(*operation.inputs), operation.numpy(*operation.inputs)
        error = np.abs(np.asarray(got, "float64") - expected).max() / np.abs(expected).max()
        assert error < 1e-5, operation.name
        assert np.asarray(got).nbytes == operation.written, operation.name


def test_bench_of_the_library_stands_beside_numpy() -> None:
    result = CliRunner().invoke(group, ["bench", "--only", "swiglu", "--seconds", "0.01", "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert [k["kernel"] for k in found["kernels"]] == ["swiglu 1024x4096"]
    assert found["others"]["swiglu 1024x4096"]["numpy"] > 0


def test_an_unknown_operation_names_the_known_ones() -> None:
    with pytest.raises(mt.MetalloidError, match="rms_norm"):
        CliRunner().invoke(group, ["bench", "--only", "nothing"], catch_exceptions=False)
