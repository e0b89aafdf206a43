"""Dispatches of one pipeline, as the shared library records them: words in memory (native/metal/compute.m).

The first dispatch of a size goes the long way of every launch; later ones the short one (`Quick`): memory is not
looked at, since a program's memory is bytes that Metal does not compare with anything either. What is settled is
offered to the library, which runs the next such dispatch without Python.
"""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from metalloid import config
from metalloid.backends.backend import NativeLaunch, Quick
from metalloid.backends.base import Launch, LogMessage
from metalloid.runtime.kernel import Kernel
from metalloid.runtime.watch import watchers

_HEAD = struct.Struct("11Q")
_MOST_SIZES = 256
_string_at = ctypes.string_at


class Memory:
    """Memory of the program, for numpy."""

    __slots__ = ("__array_interface__",)

    def __init__(self, address: int, length: int) -> None:
        self.__array_interface__ = {
            "shape": (length,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


def memory(address: int, length: int) -> np.ndarray[Any, Any]:
    return np.asarray(Memory(address, length))


class Dispatch:
    """One dispatch, read from its words."""

    __slots__ = ("addresses", "below", "head", "key", "lengths", "local", "resources")

    def __init__(self, at: int) -> None:
        self.head = _HEAD.unpack(_string_at(at, _HEAD.size))
        local, buffers, resources = self.head[7:10]
        count = local + 3 * (buffers + resources)
        rest = struct.unpack(f"{count}Q", _string_at(at + _HEAD.size, 8 * count))
        bound = rest[local : local + 3 * buffers]
        self.local, self.resources = rest[:local], rest[local + 3 * buffers :]
        self.addresses, self.lengths, self.below = bound[::3], bound[1::3], bound[2::3]
        self.key = (self.head[1:7], self.local)


@dataclass(frozen=True)
class NativePlan:
    """What the library runs by itself, and who hears when it has something to say."""

    dispatcher: Dispatcher
    quick: Quick
    code: Any
    native: NativeLaunch

    def finish(self, record: int, at: int, status: int) -> None:
        self.quick.finish(self.code, record, self.dispatcher.launch(Dispatch(at)), status, _log)


class Dispatcher:
    """One pipeline."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        kernel.on_log = _log
        self._used = frozenset(p.index for p in kernel.signature.buffers)
        self._local = [p.index for p in kernel.parameters if p.kind == "threadgroup"]
        self._sizes: dict[object, tuple[Quick, list[Any]] | None] = {}

    def run(self, at: int) -> NativePlan | None:
        """Run the dispatch at this address; how the library can run the next like it, where that is settled."""
        dispatch = Dispatch(at)
        known = self._sizes.get(dispatch.key) if not (watchers or dispatch.resources) else None
        if known is not None and known[0].fits(dispatch.addresses, dispatch.lengths, dispatch.below):
            return self._quickly(known, dispatch)
        launch = self.launch(dispatch)
        self.kernel.run(launch, config.guard())
        if dispatch.key not in self._sizes:
            self._keep(dispatch, launch)
        return None

    def _quickly(self, known: tuple[Quick, list[Any]], dispatch: Dispatch) -> NativePlan | None:
        quick, spare = known
        try:
            room = spare.pop()
        except IndexError:
            room = quick.room()
        addresses = list(dispatch.addresses)  # parameters are led to copies
        code, settled = quick.find(room, addresses, dispatch.lengths)
        quick.start(
            room, code, addresses, dispatch.lengths, _log, lambda: self.launch(dispatch), dispatch.below
        )
        spare.append(room)
        native = quick.native(code) if settled else None
        return None if native is None else NativePlan(self, quick, code, native)

    def _keep(self, dispatch: Dispatch, launch: Launch) -> None:
        if self.kernel.interpreted or dispatch.resources or watchers or 0 in launch.grid:
            return
        quick = self.kernel.program.quick(launch, config.guard(), config.threads())
        if len(self._sizes) >= _MOST_SIZES:
            self._sizes.clear()
        self._sizes[dispatch.key] = None if quick is None else (quick, [])

    def launch(self, dispatch: Dispatch) -> Launch:
        """As every other launch is; also what messages speak of."""
        addresses, lengths, below = dispatch.addresses, dispatch.lengths, dispatch.below
        bound = [i for i, address in enumerate(addresses) if address and lengths[i] and i in self._used]
        used = dispatch.resources[::3], dispatch.resources[1::3], dispatch.resources[2::3]
        return Launch(
            dispatch.head[1:4],
            dispatch.head[4:7],
            {i: memory(addresses[i], lengths[i]) for i in bound},
            {i: dispatch.local[i] if i < len(dispatch.local) else 0 for i in self._local},
            below={i: below[i] for i in bound if below[i]},
            resources=[(address, memory(address, length)) for address, length, _ in zip(*used, strict=True)],
            resource_names={at: text(name) for at, _, name in zip(*used, strict=True) if name},
            during=text(dispatch.head[10]),
            kernel=self.kernel.name,
        )


def text(address: int) -> str:
    """Words of C's; none at 0."""
    return _string_at(address).decode("utf-8", "replace") if address else ""


def _log(message: LogMessage) -> None:
    print(message.text, flush=True)
