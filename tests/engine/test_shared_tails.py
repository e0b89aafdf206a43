"""Code that several regions share is a region of its own: the results are the same."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings

from metalloid.transforms.barriers import shared_tails, split
from metalloid.transforms.canonicalize import ENTRY, canonical
from tests.engine.both import same, scalar_ir
from tests.engine.test_fuzz import SETTINGS, cases, check

ARGUMENTS = """device int* a, device int* b, constant int& n, threadgroup int* t [[threadgroup(0)]],
    uint l [[thread_position_in_threadgroup]], uint s [[threads_per_threadgroup]],
    uint g [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]"""
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);"


@pytest.fixture(scope="module", autouse=True)
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Any repeated code counts as much; which blocks were chosen is noted."""
    noted: list[str] = []

    def watched(*arguments: object) -> list[str]:
        noted.extend(made := shared_tails.shared_tails(*arguments))  # type: ignore[arg-type]
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared_tails, "MUCH", 1)
        patch.setattr(split, "shared_tails", watched)
        patch.setenv("METALLOID_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield noted


def run(body: str, rounds: int, size: int = 96) -> None:
    a = (np.arange(size) * 7919 % 1009).astype(np.int32)
    b = np.full(size, -7, np.int32)
    text = f"kernel void k({ARGUMENTS}) {{ {body} }}"
    arrays = [a, b, np.array([rounds], np.int32)]
    same(text, arrays, size, size, local={0: 4 * size}, widths=(32, 8))
    same(text, arrays, size, size, local={0: 4 * size}, guard=False)  # no proof, which may leave branches out


BODIES = {
    "the head of a loop": f"""
        int sum = 0;
        for (int k = 0; k < n; k++) {{
            sum += a[(l * 3 + k) % s] ^ k;
            t[l] = sum; {BARRIER}
            sum += t[(l + 33) % s]; {BARRIER}
        }}
        b[l] = sum;""",
    "behind a branch with a barrier": f"""
        int sum = a[l];
        if (n & 1) {{ t[l] = sum; {BARRIER} sum -= t[s - 1 - l]; }}
        for (int k = 0; k < 5; k++) sum = sum * 31 + a[(l + k) % s];
        b[l] = sum;""",
    "loops in loops": f"""
        int sum = 1;
        for (int k = 0; k < n; k++) {{
            sum += a[(l + k) % s];
            for (int m = 0; m <= k; m++) {{
                t[l] = sum + m; {BARRIER}
                sum ^= t[(l + 40) % s]; {BARRIER}
            }}
            sum -= k;
        }}
        b[l] = sum;""",
    "a pointer into one of two buffers": f"""
        device int* from = a;
        device int* to = b;
        for (int k = 0; k < n; k++) {{
            if (k > 0) for (uint m = 0; m < 4; m++) if (lane == m) to[l] ^= 5;
            to[l] = from[(l + 1) % s] + k; {BARRIER}
            device int* other = from; from = to; to = other;
        }}""",
    "SIMD-groups that skip rounds": f"""
        int sum = 0;
        for (int k = 0; k < n + int(g); k++) {{
            sum += a[(l + k) % s];
            if (k < n) {{ t[l] = sum; {BARRIER} sum += t[(l + 33) % s]; {BARRIER} }}
        }}
        b[l] = sum;""",
    "lanes that leave early": f"""
        int sum = 0;
        for (int k = 0; k < n; k++) {{
            t[l] = sum + k; {BARRIER}
            sum += t[(l + 33) % s]; {BARRIER}
            for (int m = 0; m < 9; m++) {{ if (m > int(lane % 5)) break; sum = sum * 3 + a[(l + m) % s]; }}
        }}
        b[l] = sum;""",
}


@pytest.mark.parametrize("rounds", [5, 2, 1, 0])
@pytest.mark.parametrize("name", BODIES)
def test_what_is_shared_runs_the_same(name: str, rounds: int, found: list[str]) -> None:
    before = len(found)
    run(BODIES[name], rounds)
    # Other rounds find the code made.
    assert len(found) > before or rounds != 5, "nothing is shared"


def test_lanes_that_part_do_not_meet() -> None:
    """Where a branch leads some lanes past a place, it is no place to stop at for all."""
    ir, _ = scalar_ir(f"kernel void k({ARGUMENTS}) {{ {BODIES['the head of a loop']} }}", "k")
    function = canonical(ir).function[ENTRY]
    together = split.split(function, varies=lambda value: False)
    apart = split.split(function, varies=lambda value: True)
    assert len(apart.functions) == 1 + len(apart.barriers) < len(together.functions)


@settings(max_examples=60, derandomize=True, **SETTINGS)
@given(cases())
@pytest.mark.timeout(1800)
def test_programs(case: object) -> None:
    check(case)


@pytest.mark.fuzz
@settings(max_examples=500, **SETTINGS)
@given(cases())
@pytest.mark.timeout(4000)
def test_many_programs(case: object) -> None:
    check(case)
