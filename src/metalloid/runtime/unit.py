"""One text or compiled library, and what a front end has found in it: kernels are translated from here, one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from metalloid.source import Constant, Source
from metalloid.types import Signature

if TYPE_CHECKING:
    from metalloid.frontend import Examined


class TranslationUnit:
    """A text with its settings. It may be trusted; else `examine` it before anything is asked of it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._examined: Examined | None = None

    def examine(self, on_miss: Callable[[], None]) -> None:
        """Look for mistakes in all of it: a CompileError has them. `on_miss`: as in `scalar`."""
        from metalloid.compile import examined

        self._examined = examined(self.source, on_miss)

    @cached_property
    def kernels(self) -> tuple[str, ...]:
        """Names of all kernels, host names included."""
        if self._examined is not None:
            return self._examined.names
        from metalloid.compile import kernel_names

        return kernel_names(self.source)

    def scalar(
        self, name: str, constants: Mapping[str | int, Constant], on_miss: Callable[[], None]
    ) -> tuple[str, Signature]:
        """The scalar IR and the signature of a kernel. `on_miss` is called where it has to be compiled."""
        from metalloid.compile import scalar

        known = self._examined
        made = scalar(self.source, name, constants, known=known, on_miss=on_miss)
        if known is not None and known.parsed is not None:
            self._examined = replace(known, parsed=None)  # the first kernel had it, the next need not wait
        return made

    def checked(self, name: str, constants: Mapping[str | int, Constant], on_miss: Callable[[], None]) -> str:
        """The scalar IR with every access that the user wrote, for runs that watch them."""
        from metalloid.compile import scalar

        return scalar(self.source, name, constants, checked=True, known=self._examined, on_miss=on_miss)[0]
