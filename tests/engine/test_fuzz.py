"""Oracle against engine on programs of `programs`, chosen by hypothesis; `tests.engine.fuzz` makes many more kinds."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from metalloid.backends import interpret
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.build import cpu_program
from metalloid.compile import scalar
from metalloid.errors import KernelFault
from metalloid.source import Source
from tests.engine.both import HEADER, LESSER, launch
from tests.engine.programs import program

# (grid, threadgroup): whole, ragged, tiny, not a multiple of anything; in one, two and three dimensions
SIZES = [
    *(((64, 1, 1), (32, 1, 1)), ((100, 1, 1), (64, 1, 1)), ((33, 1, 1), (33, 1, 1)), ((7, 1, 1), (7, 1, 1))),
    *(((96, 1, 1), (96, 1, 1)), ((150, 1, 1), (50, 1, 1)), ((40, 1, 1), (8, 1, 1)), ((5, 1, 1), (64, 1, 1))),
    *(((16, 4, 1), (16, 2, 1)), ((10, 7, 1), (4, 3, 1)), ((33, 3, 1), (16, 2, 1)), ((8, 8, 1), (8, 8, 1))),
    *(((5, 4, 3), (2, 2, 2)), ((4, 4, 4), (4, 4, 2)), ((3, 5, 4), (3, 5, 3)), ((1, 9, 4), (1, 3, 4))),
]
THING = np.dtype(
    {
        "names": ["a", "b", "c", "d", "e", "v"],
        "formats": ["u1", "u2", "u4", "f2", "u8", "4f4"],
        "offsets": [0, 2, 4, 8, 16, 32],
        "itemsize": 48,
    }
)
NAMES = "a b out args far hs bs fs longs things more hout bout wout vout own shared total".split()


@st.composite
def cases(draw):
    text = program(lambda low, high: draw(st.integers(low, high)))
    size = draw(st.sampled_from(SIZES))
    width = draw(st.sampled_from((32, 0, 64, 8, 1)))  # 0: as the engine chooses
    target = draw(st.sampled_from(("host",) * 10 + LESSER))
    level = draw(st.sampled_from((0, 0, 1)))  # without LLVM's optimiser it goes three times as fast
    guard, backwards, seed = draw(st.booleans()), draw(st.booleans()), draw(st.integers(0, 2**32 - 1))
    return text, size, width, target, level, guard, backwards, seed


def arrays(n: int, seed: int) -> list[np.ndarray]:
    random = np.random.default_rng(seed)

    def uints(count: int) -> np.ndarray:
        return random.integers(0, 2**32, count, np.uint32) >> random.integers(0, 31, count).astype(np.uint32)

    def floats(count: int) -> np.ndarray:
        return random.integers(-50, 50, count).astype(np.float32) / 4

    far = 4 * n + 2048
    things = np.zeros(n, THING)
    for name, kind in (("a", np.uint8), ("b", np.uint16), ("c", np.uint32), ("e", np.uint64)):
        things[name] = random.integers(0, np.iinfo(kind).max, n, kind)
    things["d"], things["v"] = floats(n), floats(4 * n).reshape(n, 4)
    return [
        *(uints(n), floats(n), np.zeros(8 * n, np.uint32), random.integers(0, 10, 2, dtype=np.uint32)),
        *(uints(far), floats(far).astype(np.float16), floats(far).astype(ml_dtypes.bfloat16), floats(far)),
        *(random.integers(0, 2**64 - 1, n, np.uint64), things, np.full(6 * n, 77, np.uint32)),
        *(np.full(n, 3, np.float16), np.full(n, 3, ml_dtypes.bfloat16), np.full(2 * n, 5, np.uint64)),
        *(np.full((2 * n, 4), 9, np.uint32), uints(2 * n), uints(96) | 1, np.zeros(4, np.float32)),
    ]


def bound(all: list[np.ndarray], grid, group):
    """A launch; the buffer protocol knows no bfloat."""
    return launch([x.view(np.uint16) if x.dtype == ml_dtypes.bfloat16 else x for x in all], grid, group)


def check(case) -> None:
    text, (grid, group), width, target, level, guard, backwards, seed = case
    if "simd_" in text or "quad_" in text:
        width = max(width, 32) if width else 0
    elif target == "sse":
        width = min(width or 8, 8)  # without gathers and masks code is long
    before = arrays(int(np.prod(grid)), seed)
    ir, signature = scalar(Source(HEADER + text, math="safe"), "k")
    expected = [x.copy() for x in before]
    try:
        interpret.run(ir, bound(expected, grid, group), step_limit=1_000_000)
    except KernelFault as error:
        # Only a remainder by zero may lead here: clang takes `x % y` for `x & (y - 1)` where y is a power of
        # two or zero, and drops the mask that kept an index inside, or saw the division coming altogether.
        assert "undefined behaviour" in str(error) or ("%" in text and "private" in str(error)), text
        return
    got = [x.copy() for x in before]
    chosen = codegen.limited(target) if target != "host" else None
    made = cpu_program(ir, signature, width, chosen, level)
    made.run(bound(got, grid, group), guard=guard, backwards=backwards)
    for name, one, other in zip(NAMES, expected, got, strict=True):
        wrong = differing(one, other)
        few = wrong[:4]
        assert not wrong.size, (
            f"{text}\n{grid}, {group}, {width} lanes, {target}, level {level}, guard {guard}, "
            f"backwards {backwards}, seed {seed}\n"
            f"{name} at {wrong[:8]}: {one.reshape(-1)[few]} expected, {other.reshape(-1)[few]} got"
        )


def differing(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Where two arrays are not the same; two NaNs are, whatever their bits."""
    if one.dtype.names:
        found = [differing(one[n], other[n]) for n in one.dtype.names]
        return np.unique(np.concatenate(found) % len(one))
    one, other = one.reshape(-1), other.reshape(-1)
    same = one == other
    if one.dtype.kind not in "iu":
        same |= np.isnan(one.astype(np.float32)) & np.isnan(other.astype(np.float32))
    return np.flatnonzero(~same)


@pytest.fixture(scope="module", autouse=True)
def imported(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Have all imported that is imported when it is needed, by a run that finds nothing in the cache.

    Under hypothesis, which sets another recursion limit, CPython 3.11 can fail to parse what it imports.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("METALLOID_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        check((program(lambda low, high: low), SIZES[1], 32, "host", 0, True, False, 1))


SETTINGS = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "phases": (Phase.explicit, Phase.generate, Phase.shrink),
    "print_blob": False,
    "database": None,
}


@settings(max_examples=40, derandomize=True, **SETTINGS)
@given(cases())
@pytest.mark.timeout(1800)
def test_programs(case):
    check(case)


PARTS = 20  # so that a part can be run alone


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.timeout(4000)
def test_many_programs(part):
    @seed(part)
    @settings(max_examples=5000 // PARTS, **SETTINGS)
    @given(cases())
    def programs(case):
        check(case)

    programs()
