"""Writes a line of a function together with what its twins do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from metalloid.frontend.unset.flow import Flow, twin_of_move
from metalloid.frontend.unset.lines import DEBUG, NAMES, Line, bits
from metalloid.frontend.unset.pointers import Pointers
from metalloid.ir.intrinsics import full, is_ours
from metalloid.records import dataclass, field

ASK = full("ask_twin")
_CLEARED = 64  # bytes; larger variables that nobody sets are not cleared, as without a check
_VECTOR = re.compile(r'(?:\[\d+ x )*%"struct\.metal::(?:packed_)?vec[."]')
# What takes a value apart or hands it on, and is no use of it.
_NO_USE = re.compile(
    rf"  (?:{NAMES.pattern} = )?(?:insertvalue|extractelement|insertelement|shufflevector|ret)\b"
)
_CALL = re.compile(r"\bcall [^@]*@(?P<name>[\w.$]+)\(")


def twin(name: str) -> str:
    """The name of what goes with a name."""
    return f'%"mt_s.{name[2:-1]}"' if name[1] == '"' else f"%mt_s.{name[1:]}"


@dataclass
class Writer:
    known: Pointers
    flow: Flow
    annotated: str
    asked: set[str] = field(default_factory=set)  # in this block
    count: int = 0

    def around(self, text: str, line: Line | None) -> Iterator[str]:
        if line is None:
            if text[:1] not in ("", " "):  # a label
                self.asked.clear()
            yield text
            return
        if line.form in ("other", "compare"):
            yield from self._asks(text, text)
        elif (
            line.form == "move" and line.type == "select"
        ):  # what it chooses from is no use, what it goes by is
            yield from self._asks(text, line.value.partition(",")[0])
        if not (line.form == "fill" and line.bytes > _CLEARED and self.annotated in text):
            yield text
        if (more := getattr(self, f"_{line.form}", None)) is not None:
            yield from more(text, line)

    # ---- pointers ---------------------------------------------------------------------------------------------

    def _followed(self, pointer: str) -> bool:
        into = self.known.leads(pointer)
        return into in self.flow.variables or self.known.slots.get(into, "") in self.flow.variables

    def _alloca(self, text: str, line: Line) -> Iterator[str]:
        if not self._followed(line.name):
            return
        yield f"  {twin(line.name)} = alloca {line.type}, align {line.align}, addrspace(5)"
        if line.name in self.flow.variables:
            yield _fill(f"ptr addrspace(5) align {line.align} {twin(line.name)}", "-1", _size(line.type), 5)

    def _derived(self, text: str, line: Line) -> Iterator[str]:
        if self._followed(line.name) and self._followed(line.of):
            yield _renamed(text, line.name, line.of)

    _cast = _gep = _derived

    # ---- values -----------------------------------------------------------------------------------------------

    def _load(self, text: str, line: Line) -> Iterator[str]:
        if line.name in self.flow.values:
            type = self.flow.values[line.name].type
            pointer = f"{_space(text, line.of)} {twin(line.of)}"
            yield f"  {twin(line.name)} = load {type}, {pointer}, align {line.align}"
        elif line.type.startswith("ptr") and self._followed(line.name) and self._followed(line.of):
            yield _renamed(text, line.name, line.of)

    def _extract(self, text: str, line: Line) -> Iterator[str]:
        found = self.flow.values.get(line.name)
        if found is None:
            return
        inner, name = self.flow.inner(line), twin(line.name)
        out = name if found.type == inner else f"%mt_e.{self._next()}"
        yield f"  {out} = extractvalue {line.type} {twin(line.of)}{line.index}"
        if out != name:
            yield f"  {name} = bitcast {inner} {out} to {found.type}"

    def _store(self, text: str, line: Line) -> Iterator[str]:
        into = self.known.leads(line.of)
        if into in self.known.slots:
            if self._followed(line.of):
                yield _renamed(text, *([line.value] * (line.value != "null")), line.of)
            return
        if into not in self.flow.variables:
            return
        pointer = f"{_space(text, line.of)} {twin(line.of)}"
        value = self.flow.values.get(line.value)
        if value is not None:
            yield f"  store {value.type} {twin(line.value)}, {pointer}, align {line.align}"
        else:
            size = str(width // 8) if (width := bits(line.type)) else _size(line.type)
            yield _fill(pointer, "0" if self.annotated in text else "-1", size, _number(pointer))

    def _next(self) -> int:
        self.count += 1
        return self.count

    def _move(self, text: str, line: Line) -> Iterator[str]:
        if line.name in self.flow.values:
            names = {name: twin(name) for name in NAMES.findall(line.value) if name in self.flow.values}
            yield f"  {twin(line.name)} = {twin_of_move(line, self.flow, names)}"

    # ---- memory -----------------------------------------------------------------------------------------------

    def _copy(self, text: str, line: Line) -> Iterator[str]:
        to, of = self.known.leads(line.to), self.known.leads(line.of)
        if to in self.flow.variables:
            pointer = f"{_space(text, line.to)} {twin(line.to)}"
            if of in self.flow.variables:
                from_ = f"{_space(text, line.of)} {twin(line.of)}"
                a, b = _number(pointer), _number(from_)
                yield f"  call void @llvm.memcpy.p{a}.p{b}.i64({pointer}, {from_}, i64 {line.bytes}, i1 false)"
            else:
                yield _fill(pointer, "-1", str(line.bytes), _number(pointer))
        elif of in self.flow.variables and line.to not in self.known.base and self._vector(of, line):
            type, name = f"i{8 * line.bytes}", f"%mt_w.{self._next()}"
            yield f"  {name} = load {type}, {_space(text, line.of)} {twin(line.of)}, align 1"
            yield from self._ask(name, type, "-1", DEBUG.search(text))

    def _vector(self, variable: str, line: Line) -> bool:
        """Whether a copy is one of a whole vector, which has no holes."""
        return bool(_VECTOR.match(self.known.types[variable])) and line.bytes <= 16

    def _fill(self, text: str, line: Line) -> Iterator[str]:
        if self.known.leads(line.to) in self.flow.variables:
            pointer = f"{_space(text, line.to)} {twin(line.to)}"
            value = "0" if self.annotated in text else "-1"
            yield _fill(pointer, value, str(line.bytes), _number(pointer))

    # ---- questions --------------------------------------------------------------------------------------------

    def _asks(self, text: str, used: str) -> Iterator[str]:
        """Before a line that uses values: whether those in this part of it were set."""
        if _NO_USE.match(text):
            return
        called = _CALL.search(text)
        if called and not (called["name"].startswith("llvm.") or is_ours(called["name"])):
            return
        for name in dict.fromkeys(NAMES.findall(used)):
            value = self.flow.values.get(name)
            if value is not None and name not in self.asked and value.type not in self.flow.structs:
                self.asked.add(name)
                found = DEBUG.search(value.debug) or DEBUG.search(text)
                yield from self._ask(twin(name), value.type, value.index, found)

    def _ask(self, name: str, type: str, index: str, debug: re.Match[str] | None) -> Iterator[str]:
        if debug is not None:  # else nobody wrote it
            asked = f"%mt_c.{self._next()}"
            yield f"  {asked} = icmp ne {type} {name}, -1"
            yield f"  call void @{ASK}(i1 {asked}, i64 {index}){debug[0]}"


def _space(text: str, pointer: str) -> str:
    return (
        "ptr addrspace(5)"
        if re.search(rf"addrspace\(5\) [^%]*{re.escape(pointer)}(?![\w.$-])", text)
        else "ptr"
    )


def _number(pointer: str) -> int:
    return 5 if "addrspace(5)" in pointer else 0


def _renamed(text: str, *names: str) -> str:
    for name in names:
        text = re.sub(rf"{re.escape(name)}(?![\w.$-])", lambda m: twin(m[0]), text, count=1)
    return text


def _size(type: str) -> str:
    return f"ptrtoint (ptr getelementptr ({type}, ptr null, i32 1) to i64)"


def _fill(pointer: str, value: str, size: str, space: int) -> str:
    return f"  call void @llvm.memset.p{space}.i64({pointer}, i8 {value}, i64 {size}, i1 false)"
