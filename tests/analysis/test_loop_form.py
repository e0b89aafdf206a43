"""Loops in the form that the vectoriser wants, and values that are made at several places, on a few blocks."""

from __future__ import annotations

from metalloid.ir import Function, read
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.loops import loops
from metalloid.ir.reducible import reducible
from metalloid.ir.ssa import Rewriter
from metalloid.ir.types import I32
from metalloid.ir.unreachable import drop_unreachable
from metalloid.ir.values import Int, Value
from metalloid.transforms.canonicalize import canonical
from metalloid.transforms.drop_dead import drop_dead
from metalloid.transforms.loop_form import loop_form
from tests.analysis.small import verified


def function(body: str) -> Function:
    return read(f"declare i32 @f()\ndefine void @k(i1 %c, i1 %d, i32 %n) {{\n{body}}}\n").function["k"]


def made(given: Function) -> Function:
    """In loop form; LLVM finds it well formed, and every loop has one way in, one back, and exits of its own."""
    found = loop_form(given)
    verified(found)
    forest = loops(found)
    sources = {b.name: [s.name for s in found.blocks if b.name in s.successors] for b in found.blocks}
    for loop in forest.loops.values():
        before = [s for s in sources[loop.header] if s not in loop.blocks]
        assert len(before) == 1 and found.block[before[0]].successors == (loop.header,)
        assert len(loop.latches) == 1
        for target in loop.exit_blocks:
            assert all(s in loop.blocks for s in sources[target])
        for name in loop.blocks:
            for value in (i.name for i in found.block[name].instructions if i.name):
                for block in found.blocks:
                    for i in block.instructions:
                        reads = (
                            [s for v, s in i.cases if v == found.definitions[value].value]
                            if i.opcode == "phi"
                            else [block.name for use in i.uses if use == value]
                        )
                        assert all(r in loop.blocks for r in reads), f"%{value} is read outside its loop"
    return found


TWO_WAYS_IN_AND_BACK = """
a:
  br i1 %c, label %h, label %b
b:
  br label %h
h:
  %i = phi i32 [ 0, %a ], [ 1, %b ], [ %j, %l ], [ %x, %m ]
  %j = add i32 %i, 1
  br i1 %c, label %l, label %m
l:
  br i1 %d, label %h, label %end
m:
  %x = add i32 %j, %n
  br i1 %d, label %h, label %end
end:
  %r = phi i32 [ %j, %l ], [ %x, %m ]
  %s = add i32 %r, %j
  ret void
"""


def test_edges_of_a_loop_are_led_together() -> None:
    found = made(function(TWO_WAYS_IN_AND_BACK))
    assert {"h.preheader", "h.backedge"} <= set(found.block)
    assert [i.opcode for i in found.block["h.preheader"].instructions] == ["phi", "br"]
    assert found.block["end"].phis[0].labels == ("l", "m")  # %j leaves through a phi of its own
    assert len(found.block["end"].phis) == 2


NEST = """
a:
  br label %o
o:
  %i = phi i32 [ 0, %a ], [ %p, %p.end ]
  br label %h
h:
  %k = phi i32 [ %i, %o ], [ %q, %h2 ]
  %q = add i32 %k, 1
  br i1 %c, label %h2, label %end
h2:
  br i1 %d, label %h, label %p.end
p.end:
  %p = add i32 %q, 1
  br i1 %c, label %o, label %end
end:
  %r = add i32 %q, %i
  ret void
"""


def test_values_leave_each_loop_of_a_nest_through_a_phi() -> None:
    found = made(function(NEST))
    names = {i.name for i in found.instructions() if i.opcode == "phi"}
    assert {"q.lcssa", "i.lcssa"} <= names


INNER_AND_OUTER = """
a:
  br label %h
h:
  %i = phi i32 [ 0, %a ], [ %i, %x ], [ %j, %y ]
  br i1 %c, label %x, label %y
x:
  br label %h
y:
  %j = add i32 %i, 1
  br i1 %d, label %h, label %end
end:
  ret void
"""


def test_a_phi_that_stays_as_it_is_parts_two_loops() -> None:
    assert set(loops(made(function(INNER_AND_OUTER))).loops) == {"h", "h.outer"}
    together = made(function(INNER_AND_OUTER.replace("x:\n", "x:\n  %v = call i32 @f()\n")))
    assert set(loops(together).loops) == {"h"}  # lanes that call it together must meet as before


def test_a_value_that_is_made_again_reaches_its_uses() -> None:
    """As in a region that begins behind a barrier of a loop: %v comes from before, and the loop makes it again."""
    given = function("""
s:
  br label %h
h:
  %u = add i32 %v, 1
  %v = add i32 %n, 2
  br i1 %c, label %h, label %end
end:
  %w = add i32 %v, 3
  ret void
""")
    rewriter = Rewriter(given, ["v"])
    values: dict[str, Value] = {"s": Int(I32, 7), "h": given.definitions["v"].value}
    rewriter.join("v.in", I32, values, list(rewriter.uses["v"]), {"h": 1})
    found = rewriter.function()
    verified(found)
    (phi,) = found.block["h"].phis
    assert dict(zip(phi.labels, phi.operands, strict=True)) == values
    assert found.definitions["u"].operands[0] == phi.value  # before it is made again
    assert found.definitions["w"].operands[0] == values["h"]


def test_no_phi_where_nobody_reads_on() -> None:
    given = function(
        "a:\n  br i1 %c, label %b, label %end\nb:\n  %v = add i32 %n, 1\n  br label %end\nend:\n  ret void\n"
    )
    rewriter = Rewriter(given, ["v"])
    assert not rewriter.join("v.in", I32, {"a": Int(I32, 1), "b": given.definitions["v"].value}, [])


def test_what_nobody_reads_or_reaches_goes() -> None:
    found = drop_unreachable(
        function("""
a:
  br i1 false, label %b, label %end
b:
  br label %end
end:
  %r = phi i32 [ 1, %a ], [ 2, %b ]
  %s = add i32 %r, 1
  %t = call i32 @f()
  ret void
""")
    )
    assert [b.name for b in found.blocks] == ["a", "end"] and found.block["end"].phis[0].labels == ("a",)
    assert [i.name for i in drop_dead(found).block["end"].instructions] == ["t", ""]  # @f may do anything


# A switch with two edges to one block, into the middle of a loop; and a branch both of whose ways go to one block.
MANY_EDGES = """
a:
  switch i32 %n, label %h [
    i32 1, label %m
    i32 2, label %m
    i32 3, label %e
  ]
h:
  %i = phi i32 [ 0, %a ], [ %k, %m ]
  br label %m
m:
  %j = phi i32 [ 5, %a ], [ 5, %a ], [ %i, %h ]
  %k = add i32 %j, 1
  br i1 %c, label %h, label %e
e:
  %r = phi i32 [ %k, %m ], [ 9, %a ]
  br i1 %d, label %end, label %end
end:
  %s = phi i32 [ %r, %e ], [ %r, %e ]
  ret void
"""


def test_a_phi_has_a_case_for_each_edge() -> None:
    given = function(MANY_EDGES)
    verified(given)
    verified(drop_unreachable(given))
    found = reducible(given)
    assert found is not given
    verified(found)
    assert drop_unreachable(given).block["m"].phis[0].labels == ("a", "a", "h")
    assert drop_unreachable(given).block["end"].phis[0].labels == ("e",)


def test_such_a_kernel_gets_its_canonical_form() -> None:
    values = "  %n = call i32 @f()\n  %c = icmp eq i32 %n, 7\n  %d = icmp eq i32 %n, 8\n  br label %a\n"
    text = f"declare i32 @f()\ndefine void @{ENTRY}() {{\n{values}{MANY_EDGES}}}\n"
    found = canonical(text).function[ENTRY]
    assert all(b.terminator.opcode != "switch" for b in found.blocks)
    verified(found)


def test_what_gets_no_phi_stays_the_same_instruction() -> None:
    """Only uses behind a loop change: whatever was found out of the other instructions is not lost."""
    before = function(
        "entry:\n  br label %head\n"
        "head:\n  %i = phi i32 [ 0, %entry ], [ %m, %head ]\n  %m = add i32 %i, 1\n  %s = icmp slt i32 %m, %n\n"
        "  br i1 %s, label %head, label %end\n"
        "end:\n  %r = add i32 %m, 1\n  ret void\n"
    )
    found = made(before)
    assert any("lcssa" in i.name for i in found.instructions())
    assert found.definitions["r"] != before.definitions["r"]
    assert found.definitions["m"] is before.definitions["m"]
    assert found.definitions["s"] is before.definitions["s"]
