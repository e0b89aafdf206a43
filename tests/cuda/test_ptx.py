"""PTX for NVIDIA GPUs, made and looked at where there is none."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import metalloid as mt
from metalloid import backends
from metalloid.analysis.intervals.prove import Prover
from metalloid.backends.base import Launch
from metalloid.backends.cuda import driver, ptx
from metalloid.backends.cuda.code import KernelCode
from metalloid.backends.cuda.proofs import Proofs
from metalloid.backends.cuda.record import FaultRecord, LaunchRecord
from metalloid.backends.cuda.variant import Variant, inlinable, layout
from metalloid.cli import group
from metalloid.compile import scalar
from metalloid.errors import DeviceError, NotVectorised
from metalloid.source import Source
from metalloid.transforms.canonicalize import canonical

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"
POSITION = "uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]]"


def made(body: str, arguments: str = "device float* y, device const float* x", guard: bool = True) -> ptx.Ptx:
    text = f"{HEADER}kernel void k({arguments}, {POSITION}) {{ {body} }}"
    return ptx.compile_ptx(scalar(Source(text), "k")[0], variant=Variant((256, 1, 1), guard=guard))


def test_a_kernel_is_one_entry_with_one_parameter() -> None:
    code = made("y[i] = x[i] + 1;")
    assert re.search(
        rf"\.entry {ptx.KERNEL}\(\s*\.param \.align 16 \.b8 \w+\[{ctypes.sizeof(LaunchRecord)}\]", code.text
    )
    assert ".extern .func" not in code.text and code.text.count("{") == code.text.count("}")


def test_guards_name_their_places() -> None:
    guarded, bare = made("y[i] = x[i] + 1;"), made("y[i] = x[i] + 1;", guard=False)
    assert [(s.root.index, s.write) for s in guarded.sites if s.root] == [(1, False), (0, True)]
    assert all(s.location is not None for s in guarded.sites)
    assert "exit;" in guarded.text and not bare.sites
    assert len(bare.text) < len(guarded.text)


WAIT = "threadgroup_barrier(mem_flags::mem_threadgroup);"
RELAXED = "memory_order_relaxed"


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (f"threadgroup float t[9]; t[l] = 1; {WAIT} y[i] = t[8 - l];", "bar.sync"),
        ("y[i] = simd_sum(x[i]);", "shfl.sync"),
        ("y[i] = simd_all(x[i] > 0) ? 1 : 0;", "vote.sync.ballot"),
        ("atomic_fetch_add_explicit((device atomic_uint*)y, 1u, memory_order_relaxed);", "atom.global.add"),
        (f"threadgroup atomic_uint t; atomic_fetch_max_explicit(&t, i, {RELAXED}); y[i] = 0;", "atom.shared.max"),
        ("y[i] = fma(x[i], 2.0f, 1.0f);", "fma.rn.f32"),
        ("float p[8]; for (uint n = 0; n < 8; n++) p[n] = x[n]; y[i] = p[uint(x[i]) & 7];", ".local"),
        ("y[i] = exp(x[i]) + sin(x[i]) + pow(x[i], 3.5f);", "fma.rn.f32"),
    ],
)  # fmt: skip
def test_what_a_kernel_can_do(body: str, wanted: str) -> None:
    assert wanted in made(body).text


def test_division_by_zero_is_defined() -> None:
    code = made("y[i] = y[i] / x[i];", "device int* y, device const int* x").text
    assert "div.s32" in code and code.count("selp") >= 2


def test_what_is_not_supported_is_a_sentence() -> None:
    kept = "threadgroup float t[9]; threadgroup float* p[2] = {t, t + 3}; t[l & 7] = 1; y[i] = *p[uint(x[i]) & 1];"
    with pytest.raises(NotVectorised, match="that lie in memory are not supported on this device"):
        made(kept)


def test_messages_and_what_goes_on_are_ptx() -> None:
    log = 'os_log_default.log("%u %f", i, 1.5f);'
    text = f"{HEADER}#include <metal_logging>\nkernel void k({POSITION}) {{ {log} }}"
    code = ptx.compile_ptx(scalar(Source(text), "k")[0])
    assert code.formats == ("%u %f",) and code.text.count("atom.global.add") == 4
    text = f"{HEADER}kernel void k(device float* y, device const float* x, {POSITION}) {{ y[i] = x[i + 1]; }}"
    robust = ptx.compile_ptx(scalar(Source(text), "k")[0], variant=Variant((64, 1, 1), robust=True))
    main = robust.text.split(".entry")[1]
    assert "exit;" not in main.split("bra")[-1] and main.count("selp.b64") >= 2


@pytest.mark.parametrize("file", ["norm", "reduce", "matmul", "attention", "quantized"])
def test_the_library_becomes_ptx(file: str) -> None:
    """The first kernels of each family: nothing is left that a GPU has no code for."""
    path = Path(mt.__file__).parent / "kernels" / f"{file}.metal"
    source = Source.from_file(path, math="safe")
    from metalloid.frontend import find_kernels

    for entry in find_kernels(source)[:2]:
        assert ".entry" in ptx.compile_ptx(scalar(source, entry.name)[0]).text


def test_records_are_those_of_the_runtime() -> None:
    source = (Path(ptx.__file__).parent / "runtime" / "device.cpp").read_text()
    for name, record in (("Launch", LaunchRecord), ("Fault", FaultRecord)):
        body = re.search(rf"struct {name} \{{(.*?)\n\}};", source, re.S)
        assert body is not None
        lines = re.sub(r"//.*", "", body[1]).replace("\n", " ").split(";")
        names = [
            re.sub(r"\[.*?\]", "", n).strip().split()[-1]
            for line in lines
            for n in line.split(",")
            if n.strip()
        ]
        assert names == [field[0] for field in record._fields_]


def test_without_a_driver_there_is_one_sentence() -> None:
    assert "cuda" in backends.names()
    why = driver.missing()
    if not why:
        pytest.skip("there is a GPU")
    with pytest.raises(
        mt.DeviceError, match=r"the device 'cuda' cannot be used here: .*(cuda-bindings|driver|GPU)"
    ):
        mt.device("cuda")
    assert "cuda" not in [d.name for d in mt.devices()]


def test_show_needs_no_gpu(tmp_path: Path) -> None:
    file = tmp_path / "f.metal"
    file.write_text(f"{HEADER}kernel void f(device float* x, {POSITION}) {{ x[i] = l; }}")
    shown = CliRunner().invoke(group, ["show", str(file), "--stage", "ptx"])
    assert shown.exit_code == 0 and f".entry {ptx.KERNEL}" in shown.output


def test_where_all_lanes_come_nobody_asks_who_is_there() -> None:
    source = f"{HEADER}kernel void k(device float* y, device const float* x, {POSITION}) {{ y[i] = simd_sum(x[i]); }}"
    ir = scalar(Source(source), "k")[0]
    full = ptx.compile_ptx(ir, variant=Variant((64, 1, 1), flat=False)).text
    assert "activemask" not in full and full.count("shfl.sync.bfly") == 5
    parted = "if (x[i] > 0) y[i] = simd_sum(x[i]);"
    ir = scalar(Source(source.replace("y[i] = simd_sum(x[i]);", parted)), "k")[0]
    assert "vote.sync.ballot" in ptx.compile_ptx(ir, variant=Variant((64, 1, 1), flat=False)).text


def test_arguments_travel_in_the_launch() -> None:
    source = f"{HEADER}kernel void k(device float* y, constant uint& n, {POSITION}) {{ y[i] = n; }}"
    ir, signature = scalar(Source(source), "k")
    module = canonical(ir)
    places = layout(inlinable(module.function["__mt_entry"], signature, ()), [400, 4])
    assert places == {1: (0, 4)}
    text = ptx.compile_ptx(module, variant=Variant((64, 1, 1), flat=False, inlined=places)).text
    assert f"+{ctypes.sizeof(LaunchRecord)}]" in text and "ld.global" not in text


def test_what_is_proved_costs_nothing() -> None:
    source = f"{HEADER}kernel void k(device float4* y, device const float4* x, {POSITION}) {{ y[i] = x[i]; }}"
    module = canonical(scalar(Source(source), "k")[0])
    prover, launch = Prover(module), Launch((256, 1, 1), (64, 1, 1))
    for room, left in ((4096, 0), (4080, 8)):
        found = Proofs(prover, ()).prove(launch, True, {0: room, 1: room}, {}, ())
        variant = Variant(launch.threadgroup, False, True, True, {}, found.bounds, found.aligned, True)
        code = ptx.compile_ptx(module, variant=variant)
        assert len(code.sites) == left
        assert ("ld.global.nc.v4" in code.text) == (left == 0)


def test_fast_math_uses_the_instructions_of_the_gpu() -> None:
    text = f"{HEADER}kernel void k(device float* y, device const float* x, {POSITION}) {{ y[i] = exp(x[i]) + rsqrt(x[i]) + x[i] / y[i]; }}"  # noqa: E501
    fast, safe = (ptx.compile_ptx(scalar(Source(text, math=mode), "k")[0]).text for mode in ("fast", "safe"))
    assert all(word in fast for word in ("ex2.approx.f32", "rsqrt.approx.f32", "div.full.f32"))
    assert "approx" not in safe and "div.rn.f32" in safe


@pytest.mark.parametrize(
    ("body", "room", "left"),
    [
        ("if (i + 1 < n) y[i] = x[i + 1];", 100, 0),
        ("if (i + 1 < n) y[i] = x[i + 1];", 99, 1),
        ("if (i - 1 < n) y[i] = 1;", 100, 1),  # 0 - 1 is no less than n, n - 1 is: y[n] is outside
        ("if (i >= 1 && i - 1 < n) y[i] = 1;", 100, 1),
        ("if (i >= 1 && i - 1 < n) y[i - 1] = 1;", 100, 0),
        ("uint k = i + 4294967200u; if (k + 90 < n) y[k] = 1;", 100, 1),  # k + 90 goes round
    ],
)
def test_a_comparison_of_a_sum_bounds_its_summand(body: str, room: int, left: int) -> None:
    arguments = "device float* y, device const float* x, constant uint& n"
    ir, signature = scalar(Source(f"{HEADER}kernel void k({arguments}, {POSITION}) {{ {body} }}"), "k")
    module, launch = canonical(ir), Launch((128, 1, 1), (64, 1, 1))
    prover = Prover(module)
    places = layout(inlinable(module.function["__mt_entry"], signature, prover.parameters), [400, 400, 4])
    lengths = {0: 4 * room, 1: 4 * room, 2: 4}
    found = Proofs(prover, places).prove(launch, True, lengths, {2: (100).to_bytes(4, "little")}, ())
    variant = Variant(launch.threadgroup, False, True, True, places, found.bounds, found.aligned, True)
    assert len(ptx.compile_ptx(module, variant=variant).sites) == left


def test_a_multiprocessor_has_room_for_many_threads_unless_registers_spill() -> None:
    text = f"{HEADER}kernel void k(device float* y, {POSITION}) {{ y[i] = l; }}"
    ir, signature = scalar(Source(text), "k")

    class Compiler:
        def __init__(self, registers: int, crowded: int, plain: int) -> None:
            self._needs = {b"": (registers, plain), b"2": (120, min(crowded, plain)), b"4": (64, crowded)}

        def assemble(self, ptx: str) -> bytes:
            if crowded < 0 and ".minnctapersm 4" in ptx:
                raise DeviceError("a function needs more registers")
            return ptx.encode()

        def needs(self, code: bytes, kernel: str) -> tuple[int, int]:
            return self._needs[code.partition(b".minnctapersm ")[2].partition(b"\n")[0]]

    for size, registers, crowded, plain, groups in (
        (1024, 42, 0, 0, 2),
        (1024, 32, 0, 0, 0),
        (256, 64, 0, 0, 0),
        (256, 239, 0, 0, 4),
        (256, 239, 64, 64, 4),
        (256, 239, 72, 64, 2),
        (256, 239, -1, 64, 2),
        (256, 100, 72, 64, 0),  # two have room as it is
    ):
        made = ptx.compile_ptx(ir, variant=Variant((size, 1, 1), flat=False)).text
        code = KernelCode(ir, signature, Compiler(registers, crowded, plain))  # type: ignore[arg-type]
        kept, _ = code._assembled(made, Variant((size, 1, 1)))
        held = b".reqntid %d, 1, 1\n.minnctapersm %d\n" % (size, groups)
        assert (held in kept) if groups else (b".minnctapersm" not in kept)


def test_a_quotient_of_bfloats_takes_no_short_cut() -> None:
    """In fast math LLVM would divide by an instruction that gives 0 for divisors from 2^126 on."""
    text = "kernel void k(device bfloat* y, device const bfloat* x, uint i [[thread_position_in_grid]])"
    text += " { y[i] /= x[i]; }"
    ir = scalar(Source("#include <metal_stdlib>\nusing namespace metal;\n" + text, math="fast"), "k")[0]
    made = ptx.compile_ptx(ir).text
    assert "div.rn.f32" in made and "div.approx" not in made
