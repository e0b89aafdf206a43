"""Four products of bytes and their sum in one instruction: which sums are taken, and that nothing else comes out."""

from __future__ import annotations

import numpy as np
import pytest

from metalloid.analysis.bit_fields import field
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.pipeline import vector_code, vector_stage
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.layout import data_layout
from metalloid.transforms.byte_dots import DOT, byte_dots
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import WIDE, same, scalar_ir

RNG = np.random.default_rng(19)
VNNI = codegen.Target("x86-64-v4", "+avx512f,+avx512bw,+avx512vnni", WIDE.triple)
PLAIN = codegen.Target("generic", "+neon", "aarch64-unknown-linux-gnu")
NEON = codegen.Target("neoverse-n1", "+neon,+dotprod", "aarch64-unknown-linux-gnu")
ALL = ("ss", "us", "uu")
TEXT = """
int dot(char4 a, char4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
uint dot(uchar4 a, uchar4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
int dot(uchar4 a, char4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
char4 s(uint w) { return as_type<char4>(w); }
uchar4 u(uint w) { return as_type<uchar4>(w); }
kernel void k(device const uint* a, device const uint* b, device const char4* c, device uint* out, constant uint& n,
              uint i [[thread_position_in_grid]]) {
    device const char* d = (device const char*)c;
    uint sum = a[i];
    for (uint j = 0; j < n; j++) {
        BODY
    }
    out[i] = sum;
}"""
BY_ONE = "for (uint n = 1; n < 9; n++) sum += (d + j * 8 + i)[n] * (d + j)[n];"  # bytes that are guarded one by one
# What is added, and the dots that are in it by their signs.
CASES = {
    "sum += dot(s(p), s(q));": ["ss"],
    "sum += dot(u(p), u(q));": ["uu"],
    "sum += dot(u(p), s(q));": ["us"],
    "sum += dot(u(q), s(p));": ["us"],
    "sum += dot(s(p), s(p));": ["ss"],
    "sum += dot(s(p & 0x0f0f0f0f), s(q)) + dot(s(p >> 4 & 0x0f0f0f0f), s(b[j + 1]));": ["ss", "ss"],
    "sum += dot(u(p >> 2 & 0x03030303), u(q));": ["us"],
    "sum += dot(s(p), s(q)); sum += j;": ["ss"],
    "int t = -8 * j; t += dot(s(p), s(q)); t += dot(s(a[i + 9]), s(b[j + 1])); sum += t;": ["ss", "ss"],
    "sum -= dot(s(p), s(q)) - i;": [],
    "sum += dot(s(p), s(q)); sum = sum + dot(u(p), u(q));": ["ss", "uu"],
    "sum += s(p).x * s(q).x + s(p).y * s(q).y + s(p).z * s(q).z;": [],
    "sum += s(p).x * s(q).y + s(p).y * s(q).x + s(p).z * s(q).z + s(p).w * s(q).w;": [],
    "sum += s(p).x * s(q).x + s(p).y * u(q).y + s(p).z * s(q).z + s(p).w * s(q).w;": [],
    "sum += dot(s(q), s(q + 1));": ["ss"],  # the same for all
    "if (i % 3) sum += dot(s(p), s(q));": ["ss"],
    "sum += dot(c[j * 8 + i], c[j]);": ["ss"],
    "sum += dot((device const uchar4&)c[j * 8 + i], c[j]);": ["us"],
    "sum += dot(c[j * 8 + i], s(q));": ["ss"],
    BY_ONE: ["ss", "ss"],
    "sum += d[i] * d[j] + d[i + 1] * d[j + 1]; out[i] = sum; sum += d[i + 2] * d[j + 2] + d[i + 3] * d[j + 3];": [],
}


def text(body: str) -> str:
    return TEXT.replace("BODY", body if body[0] == "{" else f"uint p = a[j * 8 + i], q = b[j]; {body}")


def dots(body: str, known: tuple[str, ...] = ALL, guard: bool = False) -> list[str]:
    module = canonical(scalar_ir(text(body), "k")[0])
    function = byte_dots(module.function[ENTRY], known, data_layout(module.datalayout), guard)
    return [i.called.split(".")[-1] for i in function.instructions() if i.called.startswith(DOT)]


@pytest.mark.parametrize("body", CASES)
def test_sums_of_four_products_are_found(body: str) -> None:
    found, wanted = dots(body), CASES[body]  # a loop may have been unrolled
    assert (not found) if not wanted else len(found) % len(wanted) == 0 and {*found} == {*wanted}, found


def test_only_what_the_processor_has_and_what_is_proved() -> None:
    assert not dots(BY_ONE, guard=True)
    assert not dots("sum += dot(u(p), s(q));", ("ss", "uu"))
    assert {*dots("sum += dot(s(p & 0x0f0f0f0f), s(q));", ("ss",))} == {"ss"}
    assert not dots("sum += dot(s(p), s(q));", ("us",))
    assert VNNI.info.dot_signs == ("us", "ss", "uu") and NEON.info.dot_signs == ("ss", "uu")
    assert {*dots("sum += dot(s(p & 0x0f0f0f0f), s(q));", VNNI.info.dot_signs)} == {
        "us"
    }  # one instruction, not two


@pytest.mark.parametrize("kind", ["s", "u"])
def test_two_factors_of_one_kind_on_x86(kind: str) -> None:
    """Which has an instruction for one of each: once more for what is too much, and that once for all registers."""
    ir = scalar_ir(text(f"sum += dot({kind}(p), {kind}(q));"), "k")[0]
    code = vector_code(canonical(ir), ((64, 1, 1), False, False, False, False, None), 0, VNNI)
    made = codegen.to_assembly(code.text, VNNI)
    count = made.count("\tvpdpbusd\t")  # of a loop that may be unrolled
    assert count and count % (code.lanes.width // 16 + 1) == 0


@pytest.mark.parametrize("guard", [True, False])
def test_same_as_the_oracle(guard: bool) -> None:
    """Whatever is added, in any number of lanes, with bytes at both ends of their range."""
    count, threads, body = 7, 38, ""
    for n, case in enumerate(CASES):  # one kernel for all: each adds to a sum of its own
        own = case.replace("sum", f"sum{n}").replace("out[i]", f"out[i * {len(CASES)} + {n}]")
        body += f"{{ uint p = a[j * 8 + i + {n}], q = b[j + {n}]; {own} }}\n"
    source = text(body)
    sums = ", ".join(f"sum{n} = a[i + {n}]" for n in range(len(CASES)))
    source = source.replace("uint sum = a[i]", f"uint {sums}").replace(
        "out[i] = sum;", "".join(f"out[i * {len(CASES)} + {n}] = sum{n};" for n in range(len(CASES)))
    )
    a = RNG.integers(0, 1 << 32, 8 * count + threads + 20, np.uint32)
    ends = np.array([0x80808080, 0x7F7F7F7F, 0xFFFFFFFF, 0x80FF7F01], np.uint32)
    a[::3] = RNG.choice(ends, len(a[::3]))
    b = RNG.integers(0, 1 << 32, count + 20, np.uint32)
    b[::2] = 0x80808080
    out = np.full(threads * len(CASES), 0xCDCDCDCD, np.uint32)
    arrays = [a, b, a[::-1].copy().view(np.int8), out, np.array([count], np.uint32)]
    same(source, arrays, threads, 32, widths=(0, 1, 8, 32) if guard else (0, 8), guard=guard)


@pytest.mark.skipif(not codegen.host().info.byte_dots, reason="no such instruction here")
def test_the_engine_uses_the_instruction() -> None:
    ir = scalar_ir(text("sum += dot(s(p & 0x0f0f0f0f), s(q));"), "k")[0]
    name = codegen.host().info.byte_dots[0][1]
    assert f"call <{codegen.host().info.lanes32} x i32> @{name}" in vector_stage(ir, (32, 1, 1))


@pytest.mark.parametrize(
    ("target", "instruction"), [(NEON, "\tsdot\t"), (VNNI, "\tvpdpbusd\t"), (PLAIN, "\tmla\t")]
)
def test_machine_code(target: codegen.Target, instruction: str) -> None:
    ir = scalar_ir(text("sum += dot(s(p >> 4 & 0x0f0f0f0f), s(q));"), "k")[0]
    code = vector_code(canonical(ir), ((32, 1, 1), False, False, True, False, None), 0, target)
    made = codegen.to_assembly(code.text, target)
    assert instruction in made
    assert ("\tushr\tv" in made and ".16b, #4" in made) == (target is not VNNI)


BITS = (
    *("w & 15", "w >> 4 & 15", "w >> 28", "int(w) >> 24", "int(w << 8) >> 24", "int(w << 8) >> 20"),
    *("uint(uchar(w >> 8))", "int(char(w >> 16))", "int(char(w)) >> 3", "uint(uchar(w)) >> 3", "w"),
    *("int(short(w >> 8)) >> 8", "uint(ushort(w)) >> 12", "int(char(w)) & 255", "int(char(w)) & 4095"),
    *("int(char(w >> 28))", "uint(uchar(w >> 28)) << 24 >> 26", "(w & 15) << 28 >> 28", "w << 4 >> 4"),
    *("int((w & 255) << 20) >> 22", "uint(int(char(w)) >> 4)", "uint(char(w)) >> 4", "w & 6"),
)


def test_fields_are_the_bits_they_are_said_to_be() -> None:
    stores = "".join(f"out[i * {len(BITS)} + {n}] = uint({bits});\n" for n, bits in enumerate(BITS))
    source = f"""kernel void k(device const uint* a, device uint* out, uint i [[thread_position_in_grid]]) {{
        uint w = a[i];
        {stores}
    }}"""
    words = RNG.integers(0, 1 << 32, 64, np.uint32)
    words[:4] = 0, 0xFFFFFFFF, 0x80808080, 0x7F7F7F7F
    out = same(source, [words, np.full(64 * len(BITS), 7, np.uint32)], 64, 32)[1].reshape(64, -1)
    function = canonical(scalar_ir(source, "k")[0]).function[ENTRY]
    load = next(i for i in function.instructions() if i.opcode == "load")
    stored = [i.operands[0] for i in function.instructions() if i.opcode == "store"]
    assert len(stored) == len(BITS)
    known = 0
    for value, wanted, expression in zip(stored, out.T, BITS, strict=True):
        found = field(function, value)
        assert found is not None
        if found.word != load.value:
            assert found.word == value and found.above == "none"  # made otherwise: all of its own bits
            continue
        known += 1
        bits = words.astype(np.int64) >> found.at & (1 << found.bits) - 1
        sign = bits >> found.bits - 1 << found.bits if found.above == "sign" else np.zeros_like(bits)
        np.testing.assert_array_equal((bits - sign).astype(np.uint32), wanted, err_msg=expression)
    assert known > len(BITS) * 3 // 4


def test_shifts_of_bytes() -> None:
    masks = (0x0F0F0F0F, 0x01010101, 0x00010001, 0x03070F1F, 0xFFFFFFFF, 0x80)
    cases = [(by, mask) for by in (1, 4, 7, 8, 12) for mask in ((0xFF >> by % 8) * 0x01010101, *masks)]
    sums = "".join(
        f"out[i * {len(cases)} + {n}] = (a[i] >> {by} & {mask}u) + (a[i] >> {by});\n"
        for n, (by, mask) in enumerate(cases)
    )
    source = f"""kernel void k(device const uint* a, device uint* out, uint i [[thread_position_in_grid]]) {{
        {sums}
    }}"""
    words = RNG.integers(0, 1 << 32, 50, np.uint32)
    arrays = [words, np.full(50 * len(cases), 7, np.uint32)]
    out = same(source, arrays, 50, 32, widths=(0, 1, 16))[1].reshape(50, -1)
    for (by, mask), found in zip(cases, out.T, strict=True):
        np.testing.assert_array_equal(found, (words >> by & np.uint32(mask)) + (words >> by))


def test_a_shift_in_a_block_and_its_mask_in_another() -> None:
    """What was shifted is not there any more."""
    source = """kernel void k(device const uint* a, device uint* out, uint i [[thread_position_in_grid]]) {
        uint d = a[i] >> 4, s = 0;
        if (d % 7 > 2) { for (uint j = 0; j < d % 7; j++) s += a[j]; out[i] = s + (d & 0x0f0f0f0fu); }
    }"""
    module = canonical(scalar_ir(source, "k")[0])
    text = vector_code(module, ((32, 1, 1), False, False, True, False, None), 16, NEON).text
    assert "and <16 x i32>" in text and "lshr <64 x i8>" not in text
    same(source, [RNG.integers(0, 1 << 32, 64, np.uint32), np.zeros(64, np.uint32)], 64, 32, widths=(0, 16))
