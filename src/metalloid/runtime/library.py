"""The kernels of one source, or of one library that is compiled already."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from metalloid.errors import CompileError
from metalloid.runtime.kernel import Kernel
from metalloid.runtime.places import place
from metalloid.runtime.processor import Processor
from metalloid.runtime.steps import step
from metalloid.runtime.unit import TranslationUnit
from metalloid.runtime.watch import watchers
from metalloid.source import Constant, Source

_LISTED = 4  # kernels that its repr names


class Library:
    """What a device makes of MSL text; kernels are compiled when they are asked for.

    The text is examined at once, as Metal does: a mistake anywhere in it is a CompileError here. `trusted` text is
    known to be right.
    """

    def __init__(
        self,
        device: Processor,
        source: Source,
        constants: Mapping[str | int, Constant],
        *,
        trusted: bool = False,
    ) -> None:
        self.device, self.source, self.constants = device, source, dict(constants)
        self._unit = TranslationUnit(source)
        if not trusted:
            with step("library", source.name), _told_at_home(source):
                self._unit.examine(device.backend.warm_up)
        self._kernels: dict[object, Kernel] = {}
        self._lock = threading.Lock()

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of all kernels, host names included."""
        return self._unit.kernels

    def kernel(self, name: str, constants: Mapping[str | int, Constant] | None = None) -> Kernel:
        """A kernel, with values for its function constants."""
        values = {**self.constants, **(constants or {})}
        key = (name, repr(sorted(values.items(), key=repr)))  # repr: True is not 1
        with self._lock:
            if key not in self._kernels:
                made = Kernel(self.device, self._unit, name, values)
                with step("compile", name, f"source {self.source.name}"), _told_at_home(self.source):
                    _ = made.signature  # now, so that mistakes show here and not at the first call
                self._kernels[key] = made
                if watchers:
                    where = place()
                    for watcher in tuple(watchers):
                        watcher.made(made, "kernel", where)
            return self._kernels[key]

    def __getitem__(self, name: str) -> Kernel:
        return self.kernel(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.kernels)

    def __contains__(self, name: object) -> bool:
        return name in self.kernels

    def __repr__(self) -> str:
        names = self.kernels
        more = f", ... {len(names)} in all" if len(names) > _LISTED else ""
        return f"<library {self.source.name}: {', '.join(names[:_LISTED]) or 'no kernels'}{more}>"


@contextmanager
def _told_at_home(source: Source) -> Iterator[None]:
    """A mistake is told in the Python lines that the text is written in."""
    try:
        yield
    except CompileError as error:
        from metalloid.findings.homes import told_at_home

        told = told_at_home(error, source)
        if told is error:
            raise
        raise told from None
