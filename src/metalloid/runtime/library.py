"""The kernels of one source."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from metalloid.runtime.kernel import Kernel
from metalloid.runtime.places import place
from metalloid.runtime.watch import watchers
from metalloid.source import Constant, Source
from metalloid.types import Signature

if TYPE_CHECKING:
    from metalloid.frontend import Examined
    from metalloid.runtime.device import Device


class Library:
    """What a device makes of MSL text; kernels are compiled when they are asked for.

    The text is examined at once, as Metal does: a mistake anywhere in it is a CompileError here. `trusted` text is
    known to be right.
    """

    def __init__(
        self,
        device: Device,
        source: Source,
        constants: Mapping[str | int, Constant],
        *,
        trusted: bool = False,
    ) -> None:
        self.device, self.source, self.constants = device, source, dict(constants)
        self._examined: Examined | None = None
        if not trusted:
            from metalloid.compile import examined

            with device.step("library", source.name):
                self._examined = examined(source)
        self._kernels: dict[object, Kernel] = {}
        self._lock = threading.Lock()

    @cached_property
    def kernels(self) -> tuple[str, ...]:
        """Names of all kernels, host names included."""
        if self._examined is not None:
            return self._examined.names
        from metalloid.frontend import find_kernels

        return tuple(entry.name for entry in find_kernels(self.source))

    def kernel(self, name: str, constants: Mapping[str | int, Constant] | None = None) -> Kernel:
        """A kernel, with values for its function constants."""
        values = {**self.constants, **(constants or {})}
        key = (name, repr(sorted(values.items(), key=repr)))  # repr: True is not 1
        with self._lock:
            if key not in self._kernels:
                made = Kernel(self, name, values)
                with self.device.step("compile", name, source=self.source.name):
                    _ = made.signature  # now, so that mistakes show here and not at the first call
                self._kernels[key] = made
                if watchers:
                    where = place()
                    for watcher in tuple(watchers):
                        watcher.made(made, "kernel", where)
            return self._kernels[key]

    def scalar(self, name: str, constants: Mapping[str | int, Constant]) -> tuple[str, Signature]:
        """The scalar IR and the signature of a kernel."""
        from metalloid.compile import scalar

        known = self._examined
        made = scalar(self.source, name, constants, known=known)
        if (
            known is not None and known.parsed is not None
        ):  # the first kernel has it from here, the next need not wait
            self._examined = replace(known, parsed=None)
        return made

    def __getitem__(self, name: str) -> Kernel:
        return self.kernel(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.kernels)

    def __contains__(self, name: object) -> bool:
        return name in self.kernels

    def __repr__(self) -> str:
        return f"<library {self.source.name}>"
