"""What was found out about a kernel, kept on disk: proofs, and the machine code of its variants.

Keys are made of everything the result depends on: the scalar IR, the passes themselves, LLVM, the processor and the
variant. An entry of code names its object, which is kept under the hash of the vector IR, and holds what a launch has
to know; places and rules, which only messages need, are a part of their own that is unpacked when it is asked for.
Entries are pickles: whoever can write to the cache can put machine code there in any case.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass

from metalloid import cache as disk
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.code import Compiled, Details
from metalloid.backends.passes_key import passes_key
from metalloid.hashes import sha256

_FORMAT = 3
_FACTS = (
    "entry",
    "formats",
    "local",
    "scratch",
    "tables",
    "searches",
    "own_copies",
    "watches",
    "straight",
)  # of `Compiled`


def stable_repr(value: object) -> str:
    """A value in words that are the same in every process: sets and mappings are in order."""
    if is_dataclass(value):
        return (
            f"{type(value).__name__}({','.join(stable_repr(getattr(value, f.name)) for f in fields(value))})"
        )
    if isinstance(value, frozenset | set):
        return f"{{{','.join(sorted(map(stable_repr, value)))}}}"
    if isinstance(value, Mapping):
        return f"{{{','.join(sorted(f'{stable_repr(k)}:{stable_repr(v)}' for k, v in value.items()))}}}"
    if isinstance(value, tuple | list):
        return f"({','.join(map(stable_repr, value))})"
    return repr(value)


class KernelCache:
    """The entries of one kernel."""

    def __init__(self, ir: str) -> None:
        self.ir = ir
        self._start = sha256(passes_key("cpu", _FORMAT).encode() + b"\0" + ir.encode())

    def key(self, *parts: object) -> str:
        state = self._start.copy()
        state.update(stable_repr(parts).encode())
        return state.hexdigest()

    def get(self, key: str, kind: str) -> bytes | None:
        return disk.default().get(key, kind)

    def put(self, key: str, kind: str, data: bytes) -> None:
        disk.default().put(key, kind, data)

    def code(self, key: str, baseline: bool = False) -> Compiled | None:
        """The code under a key, unless a part of it is gone."""
        entry = self.get(key, "vec")
        if entry is None:
            return None
        object_key, details, facts = pickle.loads(entry)
        found = codegen.kept_object(object_key)
        if found is None:
            return None
        return Compiled(object_key, found, look_up=_unpacked(details), baseline=baseline, **facts)

    def keep(self, key: str, made: Compiled) -> None:
        facts = {name: getattr(made, name) for name in _FACTS}
        self.put(key, "vec", pickle.dumps((made.object_key, pickle.dumps(made.details), facts)))


def _unpacked(data: bytes) -> Callable[[], Details]:
    def look_up() -> Details:
        found = pickle.loads(data)
        assert isinstance(found, Details)
        return found

    return look_up
