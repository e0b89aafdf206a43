"""The kernel around a program: its parameters and their arrays, what it begins with and how it shows its state."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
import numpy as np

PARAMETERS = """
a: device const uint*; b: device const float*; out: device uint*; args: constant uint*; far: device const uint*;
hs: device const half*; bs: device const bfloat*; fs: device const float*; longs: device const ulong*;
things: device Thing*; more: device uint*; hout: device half*; bout: device bfloat*; wout: device ulong*;
vout: device uint4*; own: device atomic_uint*; shared: device atomic_uint*; total: device atomic_float*;
shape: constant int*; strides: constant long*; claims: device uint*; reals: device float*; raw: device const uchar*;
vecs: device uchar*; cols: device uint*; mine: device uint*; twin: device uint*; flag: device atomic_uint*;
message: device uint*; counts: device atomic_uint*; again: device const uint*; starts: device const int*;
columns: device const int*
"""
NAMES = re.findall(r"(\w+):", PARAMETERS)
# Buffers have 31 numbers: what only programs of messages have, and what they have not, share theirs.
NUMBERS = {n: number for number, n in enumerate(NAMES[:31])} | {"starts": 27, "columns": 28}
TYPES = dict(re.findall(r"(\w+): ([^;\n]+)", PARAMETERS))
BUILTINS = """
    uint3 pos [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
    uint3 lid [[thread_position_in_threadgroup]], uint3 group [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]],
    uint3 S [[threads_per_threadgroup]], uint3 G [[threads_per_grid]], uint3 D [[dispatch_threads_per_threadgroup]]) {
    const uint i = pos.x + G.x * (pos.y + G.y * pos.z), N = G.x * G.y * G.z, size = S.x * S.y * S.z;
    const uint few = (a[i] * 40503u >> 7) & 15u, high = a[i] * 9u >> 4;
    uint u0 = a[i] + few * 3, u1 = i * 3, u2 = 7, u3 = args[0]; float f0 = b[i], f1 = float(i) * 0.5f;
"""
BITS = "static uint bits(float f) { return isnan(f) ? 0x7fc00000u : as_type<uint>(f); }"
SHOWN = (
    "out[i * 8 + 4] = u0 ^ (u1 * 3) ^ (u2 * 5) ^ (u3 * 7);",
    "out[i * 8 + 6] = bits(f0) ^ (bits(f1) * 3) ^ bits(float(few));",
)
TAKEN = {"twin": "mine", "again": "counts"}  # bound to the memory of another
REAL = ("reals",)  # compared within a tolerance where functions of mathematics are not exact
MOST = 160  # threads of a threadgroup


def text_of(tops: list[str], begins: list[str], lines: list[str], shown: tuple[str, ...]) -> str:
    """The whole kernel, `k`; it has the parameters that it names."""
    body = "\n".join(["    " + line for line in begins] + lines + ["    " + line for line in shown])
    used = [n for n in NAMES if re.search(rf"\b{n}\b", body + "a b args")]
    head = ", ".join(f"{TYPES[n]} {n} [[buffer({NUMBERS[n]})]]" for n in used)
    return "\n".join([BITS, *tops, f"kernel void k({head},{BUILTINS}{body}", "}"]) + "\n"


def used_names(text: str) -> list[str]:
    """The parameters of a kernel, by its text."""
    return re.findall(r"(\w+) \[\[buffer\(", text)


THING = np.dtype(
    {
        "names": ["a", "b", "c", "d", "e", "v"],
        "formats": ["u1", "u2", "u4", "f2", "u8", "4f4"],
        "offsets": [0, 2, 4, 8, 16, 32],
        "itemsize": 48,
    }
)


def aligned(array: np.ndarray) -> np.ndarray:
    """A copy that begins at a multiple of 64 bytes, as buffers of Metal do: `ulong4` wants 32."""
    room = np.empty(array.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    # By way of its bytes: as a slice of `room` it would count as misaligned, wherever it lies (`start_of`).
    piece = memoryview(room)[start : start + array.nbytes]
    made = np.frombuffer(piece, array.dtype).reshape(array.shape) if array.nbytes else array.copy()
    made[...] = array
    return made


@dataclass
class Arrays:
    """Makes the arrays of a launch; each by its name, so that a smaller program has the same numbers."""

    n: int
    seed: int

    def all(self, names: list[str]) -> dict[str, np.ndarray]:
        wanted = dict.fromkeys(TAKEN.get(name, name) for name in names)
        made = {name: aligned(self.one(name)) for name in wanted}
        return {name: made[TAKEN.get(name, name)] for name in names}

    def one(self, name: str) -> np.ndarray:
        self.random = np.random.default_rng([self.seed, NAMES.index(name)])
        return ARRAYS[name](self, self.n)

    def uints(self, count: int) -> np.ndarray:
        shifts = self.random.integers(0, 31, count).astype(np.uint32)
        return self.random.integers(0, 2**32, count, np.uint32) >> shifts

    def floats(self, count: int) -> np.ndarray:
        return self.random.integers(-50, 50, count).astype(np.float32) / 4

    def longs(self, count: int) -> np.ndarray:
        return self.random.integers(0, 2**64 - 1, count, np.uint64)

    def small(self, count: int) -> np.ndarray:
        return self.random.integers(0, 10, count, dtype=np.uint32)

    def things(self, count: int) -> np.ndarray:
        made = np.zeros(count, THING)
        for name, kind in (("a", np.uint8), ("b", np.uint16), ("c", np.uint32), ("e", np.uint64)):
            made[name] = self.random.integers(0, np.iinfo(kind).max, count, kind)
        made["d"], made["v"] = self.floats(count), self.floats(4 * count).reshape(count, 4)
        return made

    def strides(self) -> np.ndarray:
        """Of four dimensions of at most six: rows, columns, none at all, backwards."""
        picks = self.random.permutation([1, 7, 43, 259, 0, -1, -9])[:4]
        return picks.astype(np.int64)

    def starts(self, n: int) -> np.ndarray:
        """Where the rows of a sparse matrix begin: each of its own length, some empty, some full registers."""
        longest = self.random.choice([0, 1, 3, 12, 12, 20, 20, 40, 90])
        lengths = self.random.integers(0, longest + 1, n + 1)
        odd = self.random.integers(0, 5, n + 1) == 0
        lengths[odd] = self.random.choice([0, 0, 1, 8, 15, 16, 17, 32, 33, 200], n + 1)[odd]
        ends = np.minimum(np.cumsum(lengths), min(64 * n, 32 * n + FAR // 2))
        return np.concatenate([[0], ends]).astype(np.int32)

    def columns(self, count: int) -> np.ndarray:
        """What lies where: some of it next to each other, some often the same, and all of it in the first 1000."""
        found = self.random.integers(0, 1000, count)
        close = self.random.integers(0, 4, count) == 0
        found[close] %= 4
        return found.astype(np.int32)


FAR = 2048
ARRAYS: dict[str, Callable[[Arrays, int], np.ndarray]] = {
    "a": lambda s, n: s.uints(n),
    "b": lambda s, n: s.floats(n),
    "out": lambda s, n: np.full(8 * n, 0x77777777, np.uint32),
    "args": lambda s, n: s.small(8),
    "far": lambda s, n: s.uints(32 * n + FAR),
    "hs": lambda s, n: s.floats(32 * n + FAR).astype(np.float16),
    "bs": lambda s, n: s.floats(32 * n + FAR).astype(ml_dtypes.bfloat16).view(np.uint16),
    "fs": lambda s, n: s.floats(32 * n + FAR),
    "longs": lambda s, n: s.longs(n),
    "things": lambda s, n: s.things(n),
    "more": lambda s, n: np.full(6 * n, 77, np.uint32),
    "hout": lambda s, n: np.full(n, 3, np.float16),
    "bout": lambda s, n: np.full(n, 3, np.uint16),
    "wout": lambda s, n: np.full(2 * n, 5, np.uint64),
    "vout": lambda s, n: np.full((2 * n, 4), 9, np.uint32),
    "own": lambda s, n: s.uints(2 * n),
    "shared": lambda s, n: s.uints(96) | 1,
    "total": lambda s, n: np.zeros(4, np.float32),
    "shape": lambda s, n: s.random.integers(1, 7, 4, dtype=np.int32),
    "strides": lambda s, n: s.strides(),
    "claims": lambda s, n: np.zeros(n, np.uint32),
    "reals": lambda s, n: np.full(4 * n, 7777.0, np.float32),
    "raw": lambda s, n: s.random.integers(0, 256, 32 * n + FAR, np.uint8),
    "vecs": lambda s, n: np.full(128 * n, 0x99, np.uint8),
    "cols": lambda s, n: np.full(16 * n, 0x55555555, np.uint32),
    "mine": lambda s, n: s.uints(8 * n),
    "flag": lambda s, n: np.zeros(64, np.uint32),
    "message": lambda s, n: np.zeros(512, np.uint32),
    "counts": lambda s, n: s.uints(64),
    "starts": lambda s, n: s.starts(n),
    "columns": lambda s, n: s.columns(32 * n + FAR),
}
