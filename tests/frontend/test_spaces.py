"""Generic pointers of every form that LLVM writes: what comes out is sound, has none, and computes the same."""

# ruff: noqa: E501  IR is quoted as it is

from __future__ import annotations

import numpy as np
import pytest

from metalloid import ir
from metalloid.backends import interpret
from metalloid.backends.base import Launch
from metalloid.frontend.spaces import is_generic, mixed, resolve_spaces
from metalloid.frontend.spaces.casts import without_casts

HEAD = """target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-i64:64-v16:16-A5-G1"
target triple = "amdgcn-amd-amdhsa"
@t = internal addrspace(3) global [8 x i32] undef, align 16
@u = internal addrspace(3) global [8 x i32] undef, align 16
@tab = internal addrspace(4) constant [2 x i32] [i32 70, i32 71], align 4
@ptrs = internal addrspace(1) constant [3 x ptr] [ptr addrspacecast (ptr addrspace(3) @t to ptr), ptr null, ptr getelementptr (i8, ptr addrspacecast (ptr addrspace(3) @u to ptr), i64 4)], align 8
declare ptr addrspace(1) @__mt_buffer(i32)
declare i32 @__mt_thread_position_in_grid(i32)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.assume(i1)
declare void @llvm.lifetime.start.p0(ptr)
define void @__mt_entry() {
entry:
  %q = alloca [4 x i32], align 16, addrspace(5)
  %box = alloca [2 x { ptr, i32 }], align 16, addrspace(5)
  %a = call ptr addrspace(1) @__mt_buffer(i32 0)
  %out = call ptr addrspace(1) @__mt_buffer(i32 1)
  %i = call i32 @__mt_thread_position_in_grid(i32 0)
  %odd = trunc i32 %i to i1
  %big = icmp ugt i32 %i, 1
  %t1 = getelementptr i32, ptr addrspace(3) @t, i32 1
  store i32 50, ptr addrspace(3) @t, align 4
  store i32 51, ptr addrspace(3) %t1, align 4
  %u1 = getelementptr i32, ptr addrspace(3) @u, i32 1
  store i32 60, ptr addrspace(3) @u, align 4
  store i32 61, ptr addrspace(3) %u1, align 4
  %q1 = getelementptr i32, ptr addrspace(5) %q, i32 1
  store i32 30, ptr addrspace(5) %q, align 4
  store i32 31, ptr addrspace(5) %q1, align 4
  %ga = addrspacecast ptr addrspace(1) %a to ptr
  %gq = addrspacecast ptr addrspace(5) %q to ptr
  %gt = addrspacecast ptr addrspace(3) @t to ptr
"""
TAIL = """
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %i
  store i32 %r, ptr addrspace(1) %at, align 4
  ret void
}
"""
T = "addrspacecast (ptr addrspace(3) @t to ptr)"
FORMS = {  # the code, and what the threads 0 to 3 find; a[0] is 10, a[1] is 11
    "select": ("%p = select i1 %odd, ptr %ga, ptr %gt\n %r = load i32, ptr %p", [50, 10, 50, 10]),
    "three": (
        "%p0 = select i1 %odd, ptr %ga, ptr %gq\n %p = select i1 %big, ptr %gt, ptr %p0\n %e = getelementptr i32, ptr %p, i64 1\n %r = load i32, ptr %e",
        [31, 11, 51, 51],
    ),
    "one after all": (f"%e = getelementptr i32, ptr {T}, i32 1\n %r = load volatile i32, ptr %e", [51] * 4),
    "freeze": (
        "%p0 = select i1 %odd, ptr %ga, ptr %gq\n %p = freeze ptr %p0\n %r = load i32, ptr %p",
        [30, 10, 30, 10],
    ),
    "undefined": (
        "%p = select i1 %odd, ptr undef, ptr %gq\n %p2 = select i1 %odd, ptr %gt, ptr %p\n %r = load i32, ptr %p2",
        [30, 50, 30, 50],
    ),
    "a constant table": (
        "%gc = addrspacecast ptr addrspace(4) @tab to ptr\n %p = select i1 %odd, ptr %gc, ptr %ga\n %r = load i32, ptr %p",
        [10, 70, 10, 70],
    ),
    "a table in memory": (
        "%gc = addrspacecast ptr addrspace(4) @tab to ptr\n store ptr %gc, ptr addrspace(5) %box\n %p = load ptr, ptr addrspace(5) %box\n %r = load i32, ptr %p",
        [70] * 4,
    ),
    "phi": (
        "br i1 %odd, label %x, label %y\nx:\n %xa = getelementptr i32, ptr %ga, i32 1\n br label %z\ny:\n br label %z\nz:\n %p = phi ptr [ %xa, %x ], [ %gt, %y ]\n %r = load i32, ptr %p",
        [50, 11, 50, 11],
    ),
    "a loop": (
        "%p0 = select i1 %odd, ptr %ga, ptr %gt\n br label %x\nx:\n %p = phi ptr [ %p0, %entry ], [ %n, %x ]\n %s = phi i32 [ 0, %entry ], [ %s2, %x ]\n %k = phi i32 [ 0, %entry ], [ %k2, %x ]\n %v = load i32, ptr %p\n %s2 = add i32 %s, %v\n %n = getelementptr i32, ptr %p, i32 1\n %k2 = add i32 %k, 1\n %on = icmp ult i32 %k2, 2\n br i1 %on, label %x, label %y\ny:\n %r = add i32 %s2, 0",
        [101, 21, 101, 21],
    ),
    "one that follows another": (
        "br label %x\nx:\n %p = phi ptr [ %gq, %entry ], [ %c, %x ]\n %c = phi ptr [ %ga, %entry ], [ %n, %x ]\n %s = phi i32 [ 0, %entry ], [ %s2, %x ]\n %k = phi i32 [ 0, %entry ], [ %k2, %x ]\n %v = load i32, ptr %p\n %s2 = add i32 %s, %v\n %n = getelementptr i32, ptr %c, i32 1\n %k2 = add i32 %k, 1\n %on = icmp ult i32 %k2, %i\n br i1 %on, label %x, label %y\ny:\n %r = add i32 %s2, 0",
        [30, 30, 40, 51],
    ),
    "written and read back": (
        "%b1 = getelementptr { ptr, i32 }, ptr addrspace(5) %box, i32 1\n store ptr %gt, ptr addrspace(5) %box\n store ptr %ga, ptr addrspace(5) %b1\n %o = and i32 %i, 1\n %b = getelementptr { ptr, i32 }, ptr addrspace(5) %box, i32 %o\n %p = load ptr, ptr addrspace(5) %b\n %r = load i32, ptr %p",
        [50, 10, 50, 10],
    ),
    "a pair": (
        "%p0 = select i1 %odd, ptr %ga, ptr %gq\n %s = insertvalue { ptr, i32 } undef, ptr %p0, 0\n store { ptr, i32 } %s, ptr addrspace(5) %box\n %l = load { ptr, i32 }, ptr addrspace(5) %box\n %p = extractvalue { ptr, i32 } %l, 0\n %r = load i32, ptr %p",
        [30, 10, 30, 10],
    ),
    "numbers": (
        "%p0 = select i1 %odd, ptr %ga, ptr %gq\n %n = ptrtoint ptr %p0 to i64\n %m = add i64 %n, 4\n %p = inttoptr i64 %m to ptr\n %r = load i32, ptr %p",
        [31, 11, 31, 11],
    ),
    "there and back": (
        f"%n = ptrtoint ptr {T} to i64\n %h = trunc i64 %n to i32\n %p = inttoptr i32 %h to ptr addrspace(3)\n %r = load i32, ptr addrspace(3) %p",
        [50] * 4,
    ),
    "a constant there and back": (
        f"%r = load i32, ptr addrspace(3) inttoptr (i32 ptrtoint (ptr getelementptr (i8, ptr {T}, i64 4) to i32) to ptr addrspace(3))",
        [51] * 4,
    ),
    "comparisons": (
        f"%p = select i1 %odd, ptr %ga, ptr %gt\n %x = icmp eq ptr %p, {T}\n %y = icmp eq ptr %p, null\n %z = icmp ne ptr %gt, null\n %xx = zext i1 %x to i32\n %yy = select i1 %y, i32 2, i32 0\n %zz = select i1 %z, i32 4, i32 0\n %s = or i32 %xx, %yy\n %r = or i32 %s, %zz",
        [5, 4, 5, 4],
    ),
    "nothing of threadgroup memory": (
        "%n = select i1 %odd, ptr addrspace(3) addrspacecast (ptr null to ptr addrspace(3)), ptr addrspace(3) @t\n %g = addrspacecast ptr addrspace(3) %n to ptr\n %x = icmp eq ptr %g, null\n %y = icmp eq ptr addrspace(3) %n, addrspacecast (ptr null to ptr addrspace(3))\n %xx = zext i1 %x to i32\n %r = select i1 %y, i32 %xx, i32 7",
        [7, 1, 7, 1],
    ),
    "a copy between two": (
        "%p = select i1 %odd, ptr %ga, ptr %gq\n %d0 = select i1 %big, ptr %gt, ptr %gq\n %d = getelementptr i32, ptr %d0, i32 2\n call void @llvm.memcpy.p0.p0.i64(ptr align 4 %d, ptr align 4 %p, i64 8, i1 false)\n %e = getelementptr i32, ptr %d, i32 1\n %r = load i32, ptr %e",
        [31, 11, 31, 11],
    ),
    "atomics": (
        "%p = select i1 %odd, ptr %ga, ptr %gt\n %e = getelementptr i32, ptr %p, i32 1\n %o = atomicrmw add ptr %e, i32 0 monotonic\n %c = cmpxchg ptr %e, i32 51, i32 51 monotonic monotonic\n %v = extractvalue { i32, i1 } %c, 0\n %l = load atomic i32, ptr %e monotonic, align 4\n %s = add i32 %o, %v\n %r = add i32 %s, %l",
        [153, 33, 153, 33],
    ),
    "a table of pointers": (
        "%o = and i32 %i, 2\n %b = getelementptr ptr, ptr addrspace(1) @ptrs, i32 %o\n %p = load ptr, ptr addrspace(1) %b\n %r = load i32, ptr %p",
        [50, 50, 61, 61],
    ),
    "hints": (
        '%p = select i1 %odd, ptr %ga, ptr %gt\n call void @llvm.assume(i1 true) [ "align"(ptr %p, i64 4) ]\n call void @llvm.lifetime.start.p0(ptr %gq)\n %r = load i32, ptr %p',
        [50, 10, 50, 10],
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_form(form):
    code, wanted = FORMS[form]
    made = resolve_spaces(ir.read(HEAD + "  " + code + TAIL))
    assert not any(
        is_generic(i) or i.opcode == "addrspacecast" for i in made.function["__mt_entry"].instructions()
    )
    text = ir.write(made)
    ir.verify(text)
    a, out = np.arange(10, 14, dtype=np.int32), np.full(4, -1, np.int32)
    interpret.run(text, Launch((4, 1, 1), (1, 1, 1), {0: a, 1: out}))
    assert list(out) == wanted


CASTS = "%p = addrspacecast ptr addrspace(5) %q1 to ptr\n store volatile i32 7, ptr %p\n %r = load volatile i32, ptr %p"


def test_addresses_that_are_casts_are_what_was_cast():
    """Nothing else of the code is touched: most kernels with generic pointers have a few of these."""
    module = ir.read(HEAD + "  " + CASTS + TAIL)
    before, made = module.function["__mt_entry"], resolve_spaces(module).function["__mt_entry"]
    kept = [i for i in before.instructions() if i.opcode != "addrspacecast" and "volatile" not in i.flags]
    found = [i for i in made.instructions() if "volatile" not in i.flags]
    assert len(kept) == len(found)
    assert all(a is b for a, b in zip(kept, found, strict=True))
    assert "load volatile i32, ptr addrspace(5) %q1" in ir.write(resolve_spaces(module))


@pytest.mark.parametrize(
    "more",
    [
        "%s = select i1 %odd, ptr %p, ptr %gt\n %v = load i32, ptr %s",
        "store ptr %p, ptr addrspace(5) %box",
        "%n = ptrtoint ptr %p to i64",
        "%e = getelementptr i32, ptr %p, i32 1\n %v = load i32, ptr %e",
        "%n = ptrtoint ptr addrspace(3) @t to i32\n %e = inttoptr i32 %n to ptr addrspace(3)",
    ],
)
def test_more_than_casts_and_addresses_goes_the_long_way(more):
    module = ir.read(HEAD + "  " + CASTS + "\n " + more + TAIL)
    assert without_casts(module.function["__mt_entry"]) is None
    assert not any(is_generic(i) for i in resolve_spaces(module).function["__mt_entry"].instructions())


def test_a_side_that_is_known_keeps_its_pointer():
    """No phi stands between an access and its buffer, and neighbours share a branch."""
    code = "%p = select i1 %odd, ptr %ga, ptr %gt\n %e = getelementptr i32, ptr %p, i32 1\n %v = load i32, ptr %p\n %w = load i32, ptr %e\n %r = add i32 %v, %w"
    module = ir.read(HEAD + "  " + code + TAIL)
    assert mixed(module) is not None
    function = resolve_spaces(module).function["__mt_entry"]
    assert not any(i.opcode in ("phi", "select") and "ptr" in str(i.type) for i in function.instructions())
    assert len(function.blocks) == 4


def test_what_nobody_knows_is_left_alone():
    code = "%p = call ptr @elsewhere()\n %r = load i32, ptr %p"
    text = HEAD.replace("define void", "declare ptr @elsewhere()\ndefine void") + "  " + code + TAIL
    module = ir.read(text)
    assert any(is_generic(i) for i in resolve_spaces(module).function["__mt_entry"].instructions())
