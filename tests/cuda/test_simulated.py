"""What test_gpu.py asks of a GPU, asked of the imitated one: code, records and the host's part of launches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.cuda import test_gpu
from tests.cuda.simulator.gpu import installed

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="contexts of threads are made by glibc")


@pytest.fixture(autouse=True)
def gpu() -> Iterator[None]:
    with installed():
        yield


CASES: list[tuple[Callable[..., None], tuple[Any, ...]]] = [
    (test_gpu.test_numpy_goes_in_and_out, ()),
    (test_gpu.test_a_ragged_grid_has_threads_of_its_own_only, ()),
    (test_gpu.test_a_fault_names_line_thread_and_buffer_and_the_next_launch_runs, ()),
    (test_gpu.test_a_kernel_without_end_is_stopped, ()),
    (test_gpu.test_buffers_stay_on_the_gpu_and_views_of_them_stay_true, ()),
    (test_gpu.test_barriers_that_some_lanes_pass_by, ()),
    (test_gpu.test_atomics, ("uint",)),
    (test_gpu.test_atomics, ("float",)),
    (test_gpu.test_a_matrix_product, ()),
    (test_gpu.test_recordings, ()),
    (test_gpu.test_counters_that_are_bound_twice_are_read_as_they_are, ()),
    (test_gpu.test_small_arrays_of_a_recording_keep_what_nobody_writes, ()),
    (test_gpu.test_a_negated_nan_keeps_its_bits, ("float", 0x7FC12345)),
    (test_gpu.test_a_negated_nan_keeps_its_bits, ("half", 0x7E12)),
    (test_gpu.test_a_negated_nan_keeps_its_bits, ("bfloat", 0x7FC1)),
    (test_gpu.test_code_keeps_no_memory, ()),
]


@pytest.mark.parametrize(
    ("test", "given"),
    CASES,
    ids=[" ".join([t.__name__.removeprefix("test_"), *map(str, a)]) for t, a in CASES],
)
def test_on_the_imitated_gpu(test: Callable[..., None], given: tuple[Any, ...]) -> None:
    test(*given)
