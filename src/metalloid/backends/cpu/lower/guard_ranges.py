"""The threads of a row that pass the tests at a kernel's start, found before any of them runs.

A function of scalars: for each test the first and the last thread that has it, for all of them what is common. Numbers
are taken as they are in 64 bits; one of 32 that goes round on the way through a row is followed once round. Where
those who pass are no neighbours all the same (`x != 7`), the row is an odd one.
"""

from __future__ import annotations

from metalloid.analysis.entry_guards import Guard, needed
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.backends.cpu.lower.instructions import instruction
from metalloid.ir import Instruction
from metalloid.ir.flags import logic, truth
from metalloid.ir.types import IntType
from metalloid.ir.values import Local, Value

ODD, STOPPED = -2, -1  # in the place of a row's last thread
_MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
_NEGATIVE = frozenset({"ne", "ge", "gt"})  # the opposite of another


class Ranges:
    """Writes the function."""

    def __init__(self, e: Emitter) -> None:
        self.e = e
        self.count = e.put(f"zext i32 {e.out.lanes.row} to i64")
        self.low, self.high = "0", self.count

    def write(self, guards: tuple[Guard, ...]) -> None:
        e = self.e
        wanted = needed(e.function, guards)
        for guard in guards:
            e.block = guard.block
            for i in e.function.block[guard.block].instructions:
                if i.name in wanted:
                    instruction(e, i)
            self._narrow(guard.condition, guard.wanted)
            on = e.fresh_label("some")
            e.do(f"br i1 {e.put(f'icmp slt i64 {self.low}, {self.high}')}, label %{on}, label %nobody")
            e.label(on)
        e.do("br label %end")

    def result(self) -> list[str]:
        """The function's ends."""
        low, high = (self.e.put(f"trunc i64 {n} to i32") for n in (self.low, self.high))
        ends = {"nobody": (0, 0), "odd": (0, ODD), "stopped": (0, STOPPED)}
        lines = [
            f"  %pair = insertvalue {{ i32, i32 }} poison, i32 {low}, 0",
            f"  %both = insertvalue {{ i32, i32 }} %pair, i32 {high}, 1",
            "  ret { i32, i32 } %both",
        ]
        for label, (a, b) in ends.items():
            lines += [f"{label}:", f"  ret {{ i32, i32 }} {{ i32 {a}, i32 {b} }}"]
        return lines

    def _narrow(self, condition: Value, wanted: bool) -> None:
        e = self.e
        i = e.function.definitions[condition.name] if isinstance(condition, Local) else None
        sides = logic(i) if i is not None else None
        if i is not None and i.opcode == "xor" and truth(i.operands[1]):
            self._narrow(i.operands[0], not wanted)
        elif i is not None and i.opcode == "freeze" and e.u.varies(condition):
            self._narrow(i.operands[0], wanted)
        elif sides is not None and sides[0] is wanted:
            for side in sides[1]:
                self._narrow(side, wanted)
        elif i is not None and i.opcode == "icmp" and e.u.varies(condition):
            self._meet(*self._compared(i, wanted))
        else:
            flag = e.scalar(condition)
            keeps = flag if wanted else e.put(f"xor i1 {flag}, true")
            self.high = e.put(f"select i1 {keeps}, i64 {self.high}, i64 0")

    def _meet(self, low: str, high: str) -> None:
        """What is common to those so far and to these."""
        e = self.e
        self.low = e.put(f"select i1 {e.put(f'icmp sgt i64 {low}, {self.low}')}, i64 {low}, i64 {self.low}")
        self.high = e.put(
            f"select i1 {e.put(f'icmp slt i64 {high}, {self.high}')}, i64 {high}, i64 {self.high}"
        )

    def _compared(self, i: Instruction, wanted: bool) -> tuple[str, str]:
        """The threads that pass one comparison."""
        e, kind = self.e, i.operands[0].type
        assert isinstance(kind, IntType)
        word = i.predicate if i.predicate in ("eq", "ne") else i.predicate[1:]
        sides = i.operands
        if not e.u.varies(sides[0]):
            word, sides = _MIRRORED[word], (sides[1], sides[0])
        base, limit = (self._number(o, kind, i.predicate[0] == "s") for o in sides)
        if word in ("eq", "ne"):
            away = e.put(f"and i64 {e.put(f'sub i64 {limit}, {base}')}, {(1 << kind.bits) - 1}")
            low, high = away, e.put(f"add i64 {away}, 1")
        else:
            limit = e.put(f"add i64 {limit}, 1") if word in ("le", "gt") else limit
            low, high = self._below(base, limit, 1 << kind.bits)
        return (low, high) if (word in _NEGATIVE) is not wanted else self._others(low, high)

    def _number(self, value: Value, kind: IntType, signed: bool) -> str:
        """The number of the row's first thread; of signed ones, so far above the least."""
        e = self.e
        base = e.get(value).base
        assert base is not None
        if signed:
            base = e.put(f"xor {kind} {base}, {-(1 << kind.bits - 1)}")
        return e.put(f"zext {kind} {base} to i64")

    def _below(self, base: str, limit: str, all: int) -> tuple[str, str]:
        """Those below a limit: from the first on, or from where numbers start again at 0."""
        e = self.e
        round = e.put(f"icmp ugt i64 {e.put(f'add i64 {base}, {self.count}')}, {all}")
        twice = e.put(f"and i1 {round}, {e.put(f'icmp ugt i64 {limit}, {base}')}")
        self._odd(twice)
        start = e.put(f"sub i64 {all}, {base}")
        low = e.put(f"select i1 {round}, i64 {start}, i64 0")
        high = e.put(
            f"select i1 {round}, i64 {e.put(f'add i64 {start}, {limit}')}, i64 {e.put(f'sub i64 {limit}, {base}')}"
        )
        return low, high

    def _others(self, low: str, high: str) -> tuple[str, str]:
        """Those that are not from `low` to before `high`."""
        e = self.e
        none = e.put(f"icmp sle i64 {high}, {low}")
        first = e.put(f"icmp sle i64 {low}, 0")
        last = e.put(f"icmp sge i64 {high}, {self.count}")
        either = e.put(f"or i1 {none}, {e.put(f'or i1 {first}, {last}')}")
        self._odd(e.put(f"xor i1 {either}, true"))
        behind = e.put(f"select i1 {first}, i64 {high}, i64 0")
        before = e.put(f"select i1 {first}, i64 {self.count}, i64 {low}")
        return (
            e.put(f"select i1 {none}, i64 0, i64 {behind}"),
            e.put(f"select i1 {none}, i64 {self.count}, i64 {before}"),
        )

    def _odd(self, flag: str) -> None:
        on = self.e.fresh_label("even")
        self.e.do(f"br i1 {flag}, label %odd, label %{on}, !prof !2")
        self.e.label(on)
