"""Words that threads put together of answers, a bit for each, are comparisons of registers."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import re

import numpy as np
import pytest

from metalloid.analysis.flag_words import flag_words
from metalloid.backends import interpret
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.build import cpu_program
from metalloid.backends.cpu.pipeline import sized, vector_code
from metalloid.ir.intrinsics import ENTRY
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import LESSER, WIDE, launch, program, same, scalar_ir

RNG = np.random.default_rng(12)
AVX2 = codegen.Target("x86-64-v3", "+avx2", "x86_64-unknown-linux-gnu")
ARM = codegen.Target("neoverse-n1", "", "aarch64-unknown-linux-gnu")
HEAD = "kernel void k(device const {T}* a, device const {T}* b, device {U}* out, constant uint& n, uint i [[thread_position_in_grid]])"
DTYPES = {
    "uchar": np.uint8, "char": np.int8, "short": np.int16, "int": np.int32, "uint": np.uint32, "float": np.float32,
    "half": np.float16, "ushort": np.uint16, "ulong": np.uint64,
}  # fmt: skip
LOOP = "if (i >= n) return; {U} r = 0; for (uint k = 0; k < {B}; k++) {{ {T} x = a[i * {B} + k], y = b[i]; {body} }} out[i] = r;"
# Types of what is read and of the word, its bits, and what is done for each of them.
BODIES = {
    "bytes": ("uchar", "uint", 32, "r |= uint(x != 0) << k;"),
    "from the top": ("uchar", "uint", 32, "r |= uint(x > 9) << (31 - k);"),
    "shifted": ("char", "uint", 32, "r = r << 1 | uint(x > 0);"),
    "doubled": ("char", "ushort", 16, "r = r * 2 + (x >= 3);"),
    "added": ("uchar", "uint", 32, "r += x < 100 ? 1u << k : 0u;"),
    "under a branch": ("short", "uint", 32, "if (x == 5) r |= 1u << k;"),
    "toggled": ("int", "ushort", 16, "r ^= ushort(x <= 7) << k;"),
    "signs": ("char", "uint", 32, "r |= uint(uchar(x) >> 7) << k;"),
    "signs of ints": ("int", "uint", 32, "r |= uint(x < 0) << k;"),
    "not negative": ("int", "uint", 32, "r |= uint(x >= 0) << k;"),
    "signs of floats": ("float", "uint", 32, "r |= (as_type<uint>(x) >> 31) << k;"),
    "low bits": ("uchar", "uint", 32, "r |= uint(x & 1) << k;"),
    "third bits": ("uint", "uint", 32, "r |= ((x >> 2) & 1) << k;"),
    "no fourth bits": ("uchar", "uint", 32, "r |= uint((x & 8) == 0) << k;"),
    "floats": ("float", "uint", 32, "r |= uint(x > 0.25f) << k;"),
    "not greater": ("float", "uint", 32, "r |= uint(!(x > 0)) << k;"),
    "halves": ("half", "uint", 32, "r |= uint(x < half(0)) << k;"),
    "of each thread": ("float", "uint", 32, "r |= uint(x > y) << k;"),
    "of all": ("float", "uint", 32, "r |= uint(x > b[k]) << k;"),
    "two rows": ("uchar", "uint", 32, "r |= uint(x > b[i * 32 + k]) << k;"),
    "computed": ("uchar", "uint", 32, "r |= uint(uint(x) * x + 3 < 500) << k;"),
    "both": ("short", "ushort", 16, "r |= ushort(x > 3 && x < 90) << k;"),
    "a byte": ("uchar", "uchar", 8, "r |= uchar(x > 127) << (7 - k);"),
    "three bytes": ("uchar", "uint", 24, "r |= uint(x > 77) << k;"),
    "turned bytes": ("uchar", "uint", 32, "r |= uint(x != 0) << (k ^ 7);"),
    "turned in fours": ("uchar", "uint", 32, "r |= uint(x != 0) << (k ^ 3);"),
    "from the third bit": ("int", "ushort", 8, "r |= ushort(x > 0) << (k + 3);"),
    "a row with gaps": ("uchar", "uint", 16, "r |= uint(a[i * 40 + k] > 3) << k;"),
    "every second": ("uchar", "uint", 16, "r |= uint(a[i * 32 + 2 * k] > 3) << k;"),
    "a tile": ("uchar", "uint", 32, "r |= uint(a[(k / 8) * 8 * n + i * 8 + k % 8] > 3) << k;"),
    "looked up": ("uchar", "uint", 32, "r |= uint(a[(b[i] & 7) * 32 + k] > 3) << k;"),
    "some of them": ("uchar", "uint", 32, "if (k % 4 != 1) r |= uint(x != 0) << k;"),
    "nibbles": ("uchar", "uint", 8, "r |= uint(x & 15) << 4 * k;"),
    "counts": ("uchar", "uint", 32, "r += x != 0;"),
}  # fmt: skip
OTHERS = {
    "counted": ("uchar", "uint", "if (i >= n) return; uint r = 0; for (uint k = 0; k < 32; k++) r |= uint(a[i * 32 + k] > 9) << k; out[i] = popcount(r) + i;"),
    "of some threads": ("uchar", "uint", "if (i >= n || b[i] % 3 == 0) return; uint r = 0; for (uint k = 0; k < 32; k++) r |= uint(a[i * 32 + k] > 9) << k; out[i] = r;"),
    "in a loop": ("uchar", "uint", "if (i >= n) return; uint t = 0; for (uint j = 0; j < n / 9; j++) { uint r = 0; for (uint k = 0; k < 32; k++) r |= uint(a[(j * n + i) * 32 % 4096 + k] > 9) << k; t += popcount(r) * (j + 1); } out[i] = t;"),
    "words of a row": ("uchar", "uint", "if (i >= n / 4) return; for (uint j = 0; j < 4; j++) { uint r = 0; for (uint k = 0; k < 32; k++) r |= uint(a[i * 128 + j * 32 + k] > 9) << k; out[i * 4 + j] = r; }"),
    "two words": ("uchar", "uint", "if (i >= n / 2) return; uint r = 0, s = 0; for (uint k = 0; k < 32; k++) { r |= uint(a[i * 64 + k] > 9) << k; s |= uint(a[i * 64 + 32 + k] > 9) << k; } out[2 * i] = r; out[2 * i + 1] = s;"),
    "written between": ("uint", "uint", "if (i >= n) return; uint r = 0; for (uint k = 0; k < 8; k++) { r |= uint(out[8 * i + k] > 9) << k; if (k == 3) out[8 * i + 5] = 7; } out[8 * i] = r;"),
    "wanted elsewhere": ("int", "uint", "if (i >= n) return; uint r = 0; int s = 0; for (uint k = 0; k < 16; k++) { r |= uint(a[i * 16 + k] > 9) << k; s += a[i * 16 + k]; } out[i] = r + uint(s) * 65536;"),
    "with a number": ("uchar", "uint", "if (i >= n) return; uint r = b[i]; for (uint k = 8; k < 32; k++) r |= uint(a[i * 32 + k] > 9) << k; out[i] = r;"),
}  # fmt: skip


def text(name: str) -> str:
    if name in OTHERS:
        kind, word, body = OTHERS[name]
        return f"{HEAD.format(T=kind, U=word)} {{ {body} }}"
    kind, word, bits, body = BODIES[name]
    return f"{HEAD.format(T=kind, U=word)} {{ {LOOP.format(T=kind, U=word, B=bits, body=body)} }}"


def arrays(name: str, n: int) -> list[np.ndarray]:
    kind, word = (BODIES if name in BODIES else OTHERS)[name][:2]
    dtype = np.dtype(DTYPES[kind])

    def made(count: int) -> np.ndarray:
        if dtype.kind == "f":
            found = RNG.choice([-1, -0.0, 0, 0.25, 0.5, np.nan, np.inf], count).astype(dtype)
            return np.where(RNG.integers(0, 2, count) > 0, RNG.uniform(-1, 1, count), found).astype(dtype)
        low = max(np.iinfo(dtype).min, -300)
        found = RNG.integers(low, min(np.iinfo(dtype).max, 300), count)
        return (found * RNG.integers(0, 2, count) + 5 * RNG.integers(0, 2, count)).astype(dtype)

    out = np.full(8 * n + 8, 0x5A, DTYPES[word])
    return [made(max(64 * n, 4096 + 32)), made(32 * n), out, np.uint32([n])]


@pytest.mark.parametrize("name", [*BODIES, *OTHERS])
def test_as_the_oracle(name: str) -> None:
    """Guarded, and as a launch that is proved runs; with idle lanes."""
    n, group = 77, 40
    given = arrays(name, n)
    expected = same(text(name), given, n + 3, group)
    for _ in range(3):
        again = [a.copy() for a in given]
        program(text(name), "k").run(launch(again, n, group))
        np.testing.assert_array_equal(again[2], expected[2])


@pytest.mark.parametrize(
    "name", ["bytes", "turned bytes", "of each thread", "a row with gaps", "of some threads", "in a loop"]
)
def test_any_number_of_lanes(name: str) -> None:
    same(text(name), arrays(name, 130), 133, 64, widths=(1, 8, 32), guard=False, baseline=True)


@pytest.mark.parametrize("level", LESSER)
@pytest.mark.parametrize(
    "name", ["bytes", "from the top", "floats", "two rows", "three bytes", "a row with gaps", "a tile"]
)
def test_on_lesser_processors(name: str, level: str) -> None:
    given = arrays(name, 130)
    ir, signature = scalar_ir(text(name), "k")
    made, expected = cpu_program(ir, signature, target=codegen.limited(level)), [a.copy() for a in given]
    interpret.run(ir, launch(expected, 133, 64))
    for guard in (True, False):
        again = [a.copy() for a in given]
        made.run(launch(again, 133, 64), guard=guard)
        np.testing.assert_array_equal(again[2], expected[2])


@pytest.mark.parametrize("name", BODIES)
def test_which_bits_are_found(name: str) -> None:
    """All but numbers of several bits, and sums of answers."""
    function = canonical(scalar_ir(text(name), "k")[0]).function[ENTRY]
    found = [word for block in function.blocks for word in flag_words(function, block)]
    if name in ("nibbles", "counts"):
        assert not found
    elif name == "some of them":
        assert [len(word.answers) for word in found] == [24]
    else:
        low = 3 if name == "from the third bit" else 0
        assert [sorted(word.answers) for word in found] == [list(range(low, low + BODIES[name][2]))]


def code(name: str, target: codegen.Target) -> str:
    """Of a launch in which all threads run."""
    size, kernel = (64, 1, 1), text(name).replace("if (i >= n) return;", "")
    return vector_code(
        sized(scalar_ir(kernel, "k")[0], size), (size, False, False, False, False, None), 0, target
    ).text


@pytest.mark.parametrize(
    ("target", "bits"), [(WIDE, 64), (AVX2, 32), (ARM, 16)], ids=["AVX-512", "AVX2", "NEON"]
)
@pytest.mark.parametrize("name", ["bytes", "signs", "added", "low bits", "no fourth bits", "computed"])
def test_a_gang_is_registers_of_answers(name: str, target: codegen.Target, bits: int) -> None:
    """As many as memory has, and no columns."""
    made = code(name, target)
    answers = len(re.findall(rf"bitcast <{bits} x i1> \S+ to i{bits}\n", made))
    assert answers == made.count(f"load <{bits} x i8>") > 0 and answers * bits % (8 * 32) == 0
    assert not re.search(r"shufflevector <\d+ x i8>", made)


def test_lanes_take_turns_where_rows_lie_apart() -> None:
    apart = "every second"
    assert "%turns" in code(apart, WIDE) and "bitcast <16 x i1>" in code(apart, WIDE)
    assert "%turns" not in code("a row with gaps", WIDE)  # 16 bytes are turned round for less


def test_a_hash_is_given_up_soon() -> None:
    """Each step doubles the ways to the same bit."""
    steps = "".join(f"x ^= x << {n % 5 + 8}; " for n in range(60))
    kernel = f"{HEAD.format(T='uint', U='uint')} {{ uint x = a[i] & 1; {steps} out[i] = x; }}"
    function = canonical(scalar_ir(kernel, "k")[0]).function[ENTRY]
    assert not [word for block in function.blocks for word in flag_words(function, block)]
    same(kernel, [np.arange(64, dtype=np.uint32), *[np.zeros(64, np.uint32)] * 2, np.uint32([64])], 64, 64)
