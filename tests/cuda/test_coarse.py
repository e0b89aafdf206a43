"""Several threadgroups as one: numbers are the same, what they share is loaded once, and who must stay alone does."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

import metalloid as mt
from metalloid.analysis.intervals.prove import Prover
from metalloid.backends.base import Launch
from metalloid.backends.cuda.banks import best
from metalloid.backends.cuda.coarse import Coarsened, coarsened, straight
from metalloid.backends.cuda.intrinsics import Lowering
from metalloid.backends.cuda.lanes import Lanes
from metalloid.backends.cuda.proofs import LaunchProof, Proofs
from metalloid.backends.cuda.ptx import compile_ptx
from metalloid.backends.cuda.tile_size import tile_sizes
from metalloid.backends.cuda.variant import Variant, inlinable, layout
from metalloid.compile import scalar
from metalloid.ir import Module, read
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.values import Int
from metalloid.runtime.recording import Recording
from metalloid.source import Source
from metalloid.transforms.canonicalize import canonical

linux = pytest.mark.skipif(sys.platform != "linux", reason="contexts of threads are made by glibc")
# c = a @ b.T; a threadgroup has 16 rows of a and 32 of b, 32 deep. Tiles of 8 x 8: a's are stored column by column.
PRODUCT = """
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;
kernel void product(device const half* a, device const half* b, device float* c, constant uint& n, constant uint& depth,
                    MEMORY uint2 group [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]],
                    uint simd [[simdgroup_index_in_threadgroup]]) {
    ARRAYS
    simdgroup_float8x8 sums[2][2];
    for (uint i = 0; i < 4; i++) sums[i / 2][i % 2] = make_filled_simdgroup_matrix<float, 8, 8>(0.25f);
    for (uint k = 0; k < depth; k += 32) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        device const half* x = a + (group.y * 16 + t / 4) * depth + k + t % 4 * 8;
        _Pragma("unroll") for (uint j = 0; j < 8; j++) tiles[(t % 4 * 2 + t / 32) * 64 + j * 8 + t / 4 % 8] = x[j];
        device const half* y = b + (group.x * 32 + t / 2) * depth + k + t % 2 * 16;
        uint at = (t % 2 * 8 + t / 16) * 64 + t / 2 % 8 * 8;
        _Pragma("unroll") for (uint j = 0; j < 16; j++) more[at + j / 8 * 256 + j % 8] = y[j];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        _Pragma("unroll") for (uint kk = 0; kk < 4; kk++) {
            simdgroup_half8x8 left[2], right[2];
            for (uint i = 0; i < 2; i++) {
                simdgroup_load(left[i], tiles + (kk * 2 + i) * 64, 8, ulong2(0), true);
                simdgroup_load(right[i], more + (kk * 4 + simd * 2 + i) * 64, 8, ulong2(0), true);
            }
            for (uint i = 0; i < 4; i++)
                simdgroup_multiply_accumulate(sums[i / 2][i % 2], left[i / 2], right[i % 2], sums[i / 2][i % 2]);
        }
    }
    for (uint i = 0; i < 4; i++)
        simdgroup_store(sums[i / 2][i % 2],
                        c + (group.y * 16 + i / 2 * 8) * n + group.x * 32 + simd * 16 + i % 2 * 8, n);
}"""
MEMORY = {
    "the host's": PRODUCT.replace("MEMORY", "threadgroup half* tiles [[threadgroup(0)]],").replace(
        "ARRAYS", "threadgroup half* more = tiles + 512;"
    ),
    "its own": PRODUCT.replace("MEMORY", "").replace("ARRAYS", "threadgroup half tiles[512], more[1024];"),
}


@linux
@pytest.mark.parametrize("rows, columns", [(64, 128), (80, 160)])
@pytest.mark.parametrize("memory", MEMORY)
def test_products_are_the_same(memory: str, rows: int, columns: int, made: list[Variant]) -> None:
    rng = np.random.default_rng(rows)
    a, b = (rng.standard_normal((n, 96)).astype(np.float16) for n in (rows, columns))
    c = np.full((rows, columns), np.nan, np.float32)
    local = {0: 3072} if memory == "the host's" else {}
    run = Recording()
    kernel = mt.device("cuda").library(MEMORY[memory])["product"]
    run.add(kernel, a, b, c, columns, 96, threadgroups=(columns // 32, rows // 16), threadgroup=64,
            threadgroup_memory=local)  # fmt: skip
    run.run()
    assert not kernel.interpreted
    right = a.astype(float) @ b.astype(float).T + 0.25
    assert np.abs(c - right).max() < 1e-4 * np.abs(right).max()
    # Neighbours are worked on together, as many as registers allow; of five, some are worked on twice.
    assert made[-1].coarse == (4, 4, 1) if rows == 64 else any(5 % n for n in made[-1].coarse)


@linux
def test_products_that_need_guards_are_worked_on_one_by_one(made: list[Variant]) -> None:
    """A guard is for one threadgroup. What it says is told as ever, by code for a GPU."""
    a, b, c = np.ones((32, 96), np.float16), np.ones((64, 96), np.float16), np.zeros(32 * 64 - 1, np.float32)
    kernel = mt.device("cuda").library(MEMORY["its own"])["product"]
    with pytest.raises(mt.KernelFault, match="M102"):
        kernel(a, b, c, 64, 96, threadgroups=(2, 2), threadgroup=64)
    assert not kernel.interpreted and [v.members > 1 for v in made] == [True, False]


def proved(
    text: str, name: str, rows: int = 2048, columns: int = 4096
) -> tuple[Module, Variant, LaunchProof, int]:
    """The kernel, and what is known of a large launch."""
    ir, signature = scalar(Source(text, name="k.metal", math="fast"), name)
    module = canonical(ir)
    prover = Prover(module)
    numbers = (columns.to_bytes(4, "little"), (512).to_bytes(4, "little"))
    lengths = [rows * 1024, columns * 1024, rows * columns * 4, 4, 4]
    inlined = layout(inlinable(module.function[ENTRY], signature, prover.parameters), lengths)
    local = {0: 3072} if "[[threadgroup(0)]]" in text else {}
    launch = Launch((columns * 2, rows // 16, 1), (64, 1, 1), {}, local)
    proof = Proofs(prover, inlined).prove(
        launch, True, dict(enumerate(lengths)), {3: numbers[0], 4: numbers[1]}, ()
    )
    variant = Variant((64, 1, 1), False, True, True, inlined, proof.bounds, proof.aligned, True)
    return module, variant, proof, sum(local.values())


def sizes(text: str, name: str = "product") -> list[tuple[int, int, int]]:
    module, variant, proof, local = proved(text, name)
    alone = straight(proof.bounds.mark(module), proof.bounds.dead)
    return list(tile_sizes(alone, variant.size, (128, 128, 1), local, 132, dict(proof.known)))


def test_what_members_share_is_loaded_and_stored_once() -> None:
    module, variant, proof, local = proved(MEMORY["the host's"], "product")
    one, four = (
        compile_ptx(module, variant=replace(variant, coarse=many, known=proof.known, local=local))
        for many in ((1, 1, 1), (2, 2, 1))
    )
    assert not one.sites and not four.sites
    for what, times in (("mma.sync", 4), ("ld.global.nc.v4", 2), ("ldmatrix", 2)):
        assert four.text.count(what) == times * one.text.count(what), what
    # A thread stores rows of tiles, 16 bytes at once, and loads of the next round come before the products.
    assert "st.shared.b16" not in four.text
    loop = four.text[four.text.index("ldmatrix") - 1500 :]
    order = [
        loop.index(what) for what in ("bar.sync", "st.shared.v4", "ld.global.nc.v4", "ldmatrix", "mma.sync")
    ]
    assert order == sorted(order)


def test_lines_of_tiles_meet_in_no_bank() -> None:
    four = tuple(
        4096 + lane % 4 * 512 + lane // 4 * 16 for lane in range(32)
    )  # of tiles that are four tiles apart
    found = best([four])
    assert found is not None
    for start in range(0, 32, 8):
        assert len({at // 16 % 8 ^ found.of(at) for at in four[start : start + 8]}) == 8
    assert best([tuple(16 * lane for lane in range(32))]) is None  # nothing to mend


def test_tiles_that_others_read_too_keep_their_order() -> None:
    """A sum over elements of a matrix that was loaded knows nothing of other orders."""
    text = MEMORY["the host's"].replace(
        "sums[i / 2][i % 2]);", "sums[i / 2][i % 2]); c[t] = right[0].thread_elements()[0];"
    )
    orders = []
    for source in (MEMORY["the host's"], text):
        module, variant, *_ = proved(source, "product")
        orders.append(len(Lowering(module, variant).orders))
    assert orders == [16, 8]  # those of the left side


def test_the_best_number_of_threadgroups_comes_first() -> None:
    found = sizes(MEMORY["its own"])
    assert found[0] == (4, 4, 1) and (2, 2, 1) in found and (1, 1, 1) not in found


def test_members_that_part_stay_alone() -> None:
    parting = ("for (uint k = 0; k < depth", "for (uint k = (group.x & group.y & 1) * 32; k < depth")
    assert sizes(MEMORY["its own"].replace(*parting)) == []


def test_a_kernel_that_reads_what_it_writes_stays_alone() -> None:
    text = MEMORY["its own"].replace("make_filled_simdgroup_matrix<float, 8, 8>(0.25f)",
                                     "make_filled_simdgroup_matrix<float, 8, 8>(c[t])")  # fmt: skip
    assert sizes(text) == []


def test_copies_of_arrays_of_any_size_are_aligned_as_the_first() -> None:
    """Stores of 16 bytes at once go to all of them, and a GPU ends for good where one is not aligned."""
    text = MEMORY["its own"].replace("tiles[512], more[1024]", "tiles[516], more[1028]")
    module, variant, proof, _ = proved(text, "product")
    made = Lowering(module, replace(variant, coarse=(2, 2, 1), known=proof.known))
    copies = [i for i in made.function.instructions() if ".at." in i.name]
    apart = {i.operands[1].value for i in copies if isinstance(i.operands[1], Int)}
    assert len(apart) == 2 and not any(n % 16 for n in apart)


def test_a_threadgroup_whose_last_lanes_are_missing_has_all_its_threads() -> None:
    ir, _ = scalar(Source(MEMORY["its own"], name="k.metal"), "product")
    function = canonical(ir).function[ENTRY]
    index = next(i for i in function.instructions() if i.called == "__mt_thread_index_in_threadgroup")
    found = Lanes(function, (48, 1, 1)).of(index.value)
    assert found is not None and found.most >= 47


PHIS = """
define void @__mt_entry() {
entry:
  %group = call i32 @__mt_threadgroup_position_in_grid(i32 0)
  %none = call i32 @__mt_threadgroup_position_in_grid(i32 2)
  %out = call ptr addrspace(1) @__mt_buffer(i32 0)
  br label %loop
loop:
  %own = phi i32 [ %group, %entry ], [ %more, %loop ]
  %known = phi i32 [ %none, %entry ], [ 0, %loop ]
  %round = add i32 %known, 1
  %more = add i32 %own, %round
  %on = icmp ult i32 %round, 1
  br i1 %on, label %loop, label %end
end:
  store i32 %own, ptr addrspace(1) %out
  ret void
}
declare i32 @__mt_threadgroup_position_in_grid(i32)
declare ptr addrspace(1) @__mt_buffer(i32)
"""


def test_phis_stay_first_where_the_last_of_them_is_a_number() -> None:
    module = read(PHIS)
    made = coarsened(Coarsened(module, {}), (32, 1, 1), (2, 1, 1), 0, {"none": 0, "known": 0})
    opcodes = [i.opcode for i in made.module.function[ENTRY].block["loop"].instructions]
    assert opcodes[:3] == ["phi", "phi", "add"] and "phi" not in opcodes[2:]
