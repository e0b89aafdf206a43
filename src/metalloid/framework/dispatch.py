"""Dispatches of one pipeline, as the shared library records them: words in memory (native/metal/compute.m).

The first dispatch of a size goes the long way of every launch; later ones the short one (`Quick`): memory is not
looked at, since a program's memory is bytes that Metal does not compare with anything either.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np

from metalloid import config
from metalloid.backends.backend import Quick
from metalloid.backends.base import Launch, LogMessage
from metalloid.runtime.kernel import Kernel
from metalloid.runtime.watch import watchers

_HEAD = struct.Struct("10Q")
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


class Dispatcher:
    """One pipeline."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        kernel.on_log = _log
        self._used = frozenset(p.index for p in kernel.signature.buffers)
        self._local = [p.index for p in kernel.parameters if p.kind == "threadgroup"]
        self._sizes: dict[bytes, tuple[Quick, list[Any]] | None] = {}

    def run(self, at: int) -> None:
        head = _HEAD.unpack(_string_at(at, 80))
        locals_, buffers, resources = head[7:]
        rest = struct.unpack(
            f"{locals_ + 3 * buffers + 2 * resources}Q",
            _string_at(at + 80, 8 * (locals_ + 3 * buffers + 2 * resources)),
        )
        bound = rest[locals_ : locals_ + 3 * buffers]
        addresses, lengths, below = list(bound[::3]), bound[1::3], bound[2::3]
        key = _string_at(at + 8, 48 + 24 + 8 * locals_)
        known = self._sizes.get(key) if not watchers else None
        if known is not None:
            self._quickly(known, addresses, lengths, below, head, rest[:locals_])
            return
        launch = self._launch(head, rest[:locals_], addresses, lengths, below, rest[locals_ + 3 * buffers :])
        self.kernel.run(launch, config.guard())
        if key not in self._sizes:
            self._keep(key, launch)

    def _quickly(
        self,
        known: tuple[Quick, list[Any]],
        addresses: list[int],
        lengths: Any,
        below: Any,
        head: Any,
        local: Any,
    ) -> None:
        quick, spare = known
        try:
            room = spare.pop()
        except IndexError:
            room = quick.room()
        kept = tuple(addresses)  # parameters are led to copies
        code, _ = quick.find(room, addresses, lengths)
        quick.start(
            room,
            code,
            addresses,
            lengths,
            _log,
            lambda: self._launch(head, local, list(kept), lengths, below, ()),
            below,
        )
        spare.append(room)

    def _keep(self, key: bytes, launch: Launch) -> None:
        if self.kernel.interpreted or launch.resources:
            return
        quick = self.kernel.program.quick(launch, config.guard(), config.threads())
        if len(self._sizes) >= _MOST_SIZES:
            self._sizes.clear()
        self._sizes[key] = None if quick is None else (quick, [])

    def _launch(
        self, head: Any, local: Any, addresses: list[int], lengths: Any, below: Any, resources: Any
    ) -> Launch:
        bound = [i for i, address in enumerate(addresses) if address and lengths[i] and i in self._used]
        return Launch(
            head[1:4],
            head[4:7],
            {i: memory(addresses[i], lengths[i]) for i in bound},
            {i: local[i] if i < len(local) else 0 for i in self._local},
            below={i: below[i] for i in bound if below[i]},
            resources=[(a, memory(a, n)) for a, n in zip(resources[::2], resources[1::2], strict=True)],
            kernel=self.kernel.name,
        )


def _log(message: LogMessage) -> None:
    print(message.text, flush=True)
