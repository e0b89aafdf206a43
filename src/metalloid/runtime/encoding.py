"""What every encoder has: a label, debug groups, an end; and the fences that order encoders of one queue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, Self

from metalloid.errors import LaunchError
from metalloid.runtime.fence import Fence
from metalloid.runtime.processor import Processor
from metalloid.runtime.steps import tell
from metalloid.runtime.watch import watchers

Command = Callable[[], None]


class Groups:
    """Debug groups: names around what is encoded, which findings and traces show."""

    _kind: str
    _label = ""
    _groups: tuple[str, ...] = ()
    _named = False  # whether there is a label or an open group

    @property
    def label(self) -> str:
        return self._label

    @label.setter
    def label(self, label: str) -> None:
        self._label = label
        self._named = bool(label or self._groups)

    def push_debug_group(self, name: str) -> None:
        self._groups = (*self._groups, str(name))
        self._named = True
        tell("push group", self._kind, str(name))

    def pop_debug_group(self) -> None:
        if not self._groups:
            raise LaunchError(
                f"[{self._kind}] M308 pop_debug_group without a push_debug_group.\nCall them in pairs."
            )
        *others, last = self._groups
        self._groups = tuple(others)
        self._named = bool(others or self._label)
        tell("pop group", self._kind, last)

    @property
    def labels(self) -> tuple[str, ...]:
        """Its label and open groups, in words."""
        if not self._named:
            return ()
        own = (f"{self._kind} {self.label!r}",) if self.label else ()
        return (*own, *(f"group {name!r}" for name in self._groups))


class Commands(Protocol):
    """Where an encoder's commands go: a command buffer."""

    _named: bool

    @property
    def labels(self) -> tuple[str, ...]: ...

    def _add(self, command: Command) -> None: ...

    def _encoder_ended(self, encoder: Encoder) -> None: ...


class Encoder(Groups):
    """Takes commands until it is ended, and hands each to its command buffer."""

    kind = "encoder"
    _kind = "encoder"

    def __init__(self, device: Processor, commands: Commands, label: str = "") -> None:
        self.device, self._commands = device, commands
        self._ended = self._named = False  # each dispatch asks
        if label:
            self.label = label
        if watchers:
            tell("encoder", self.kind, label)

    @property
    def during(self) -> str:
        """All labels around what is encoded now; empty where there are none."""
        return ", ".join((*self._commands.labels, *self.labels))

    def insert_debug_signpost(self, name: str) -> None:
        """A word in the trace, at the time when what is before it has run."""
        self._open("insert_debug_signpost")
        self._commands._add(lambda: tell("signpost", self.kind, str(name)))

    def add_host_call(self, run: Command) -> None:
        """Call a function of the host in order: after what was encoded before it, and before what comes after."""
        self._open("add_host_call")
        self._commands._add(run)

    def update_fence(self, fence: Fence) -> None:
        """Encoders of this queue that wait for the fence start after this one."""
        self._open("update_fence")
        self._commands._add(fence.update)

    def wait_for_fence(self, fence: Fence) -> None:
        """Start after the encoder that updates the fence; the work of a queue runs in order anyway."""
        self._open("wait_for_fence")
        self._commands._add(fence.wait)

    def end_encoding(self) -> None:
        if self._ended:
            self._open("end_encoding")
        self._ended = True
        if watchers:
            tell("end", self.kind, self.label)
        self._commands._encoder_ended(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._ended:
            self.end_encoding()

    def _open(self, what: str) -> None:
        if self._ended:
            raise LaunchError(
                f"[encoder] M308 {what} after end_encoding: it would never run.\n"
                "Call it before end_encoding(), or ask the command buffer for another encoder."
            )
