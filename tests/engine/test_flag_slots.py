"""Masks that wait in slots are bytes where a vector of flags is no register."""

from __future__ import annotations

from metalloid.backends.cpu.flag_slots import flags_as_bytes
from metalloid.ir.verify import verify

TEXT = """define <4 x i1> @f(ptr %p, <4 x i1> %m) {
start:
  %wait1 = alloca <4 x i1>
  store <4 x i1> zeroinitializer, ptr %wait1
  store <4 x i1> splat (i1 true), ptr %wait1
  store <4 x i1> %m, ptr %wait1
  store <4 x i1> %m, ptr %p
  %t2 = load <4 x i1>, ptr %wait1
  %t3 = load <4 x i1>, ptr %p
  %t4 = and <4 x i1> %t2, %t3
  ret <4 x i1> %t4
}
"""


def test_slots_hold_bytes_and_other_memory_stays():
    made = flags_as_bytes(TEXT)
    verify(made)
    assert "%wait1 = alloca <4 x i8>" in made
    assert made.count("sext <4 x i1>") == 3 and made.count("trunc <4 x i8>") == 1
    assert "store <4 x i1> %m, ptr %p" in made and "%t3 = load <4 x i1>, ptr %p" in made
