"""Vectors of flags that live from block to block, as bytes.

Masks wait in slots on the stack, which LLVM turns into values that pass from block to block. A vector of 32 flags is no
register of aarch64's: LLVM takes it apart there, a scalar register for each lane, and puts it together again behind
every jump. As bytes it is two registers.
"""

from __future__ import annotations

import re

from metalloid.patterns import pattern

_FUNCTION = pattern(r"^define [^\n]*\n.*?^}\n", re.M | re.S)
_SLOT = pattern(r"^  (%[\w.]+) = alloca <(\d+) x i1>", re.M)
_ACCESS = pattern(
    r"^  (?:(?P<name>%[\w.]+) = load <(?P<read>\d+) x i1>|store <(?P<written>\d+) x i1> (?P<value>[^\n]*?))"
    r", ptr (?P<at>%[\w.]+)(?P<mark> ;[^\n]*)?$",  # a mark says which line of the source it comes from
    re.M,
)


def flags_as_bytes(text: str) -> str:
    """The same code, where slots of flags hold bytes, all ones or all zeros."""
    return _FUNCTION.sub(lambda found: _in_function(found[0]), text) if " x i1>" in text else text


def _in_function(text: str) -> str:
    slots = {at for at, _ in _SLOT.findall(text)}
    if not slots:
        return text
    numbers = iter(range(len(text)))

    def access(found: re.Match[str]) -> str:
        at = found["at"]
        if at not in slots:
            return found[0]
        new, mark = f"%flags.{next(numbers)}", found["mark"] or ""
        if found["name"]:
            n = found["read"]
            read = f"  {new} = load <{n} x i8>, ptr {at}{mark}\n"
            return f"{read}  {found['name']} = trunc <{n} x i8> {new} to <{n} x i1>{mark}"
        n = found["written"]
        wide = f"  {new} = sext <{n} x i1> {found['value']} to <{n} x i8>{mark}\n"
        return f"{wide}  store <{n} x i8> {new}, ptr {at}{mark}"

    return _SLOT.sub(r"  \1 = alloca <\2 x i8>", _ACCESS.sub(access, text))
