"""Events and fences: order between encoders, queues and the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from metalloid.metal.objects import Labelled, NSObject
from metalloid.runtime.events import EventListener, SharedEvent
from metalloid.runtime.fence import Fence


class MTLEvent(Labelled):
    """A number that queues signal and wait for."""

    def __init__(self, device: NSObject, event: SharedEvent) -> None:
        super().__init__()
        self._device, self._event = device, event

    def device(self) -> NSObject:
        return self._device

    def setLabel_(self, label: str | None) -> None:
        self._values["label"] = label
        self._event.label = label or ""


class MTLSharedEventListener(NSObject):
    """The thread that blocks run on."""

    def __init__(self) -> None:
        super().__init__()
        self._listener = EventListener()

    def initWithDispatchQueue_(self, queue: Any) -> MTLSharedEventListener:
        return self

    @classmethod
    def sharedListener(cls) -> MTLSharedEventListener:
        return cls()

    def dispatchQueue(self) -> None:
        return None


class MTLSharedEvent(MTLEvent):
    """The same, for the program too."""

    def signaledValue(self) -> int:
        return self._event.value

    def setSignaledValue_(self, value: int) -> None:
        self._event.signal(int(value))

    def waitUntilSignaledValue_timeoutMS_(self, value: int, milliseconds: int) -> bool:
        return self._event.wait(int(value), milliseconds / 1e3)

    def notifyListener_atValue_block_(
        self, listener: MTLSharedEventListener, value: int, block: Callable[[Any, int], object]
    ) -> None:
        self._event.notify(int(value), lambda _, reached: _ignored(block(self, reached)), listener._listener)

    def newSharedEventHandle(self) -> NSObject:
        self._assert("shared events of other processes are not supported by metalloid")


class MTLFence(Labelled):
    """Order between encoders of one queue."""

    def __init__(self, device: NSObject, fence: Fence) -> None:
        super().__init__()
        self._device, self._fence = device, fence

    def device(self) -> NSObject:
        return self._device


class MTLResidencySet(Labelled):
    """Memory that kernels reach by address. It is always there; encoders make its names known to guards."""

    def __init__(self, device: NSObject) -> None:
        super().__init__()
        self._device = device
        self._members: list[Any] = []

    def device(self) -> NSObject:
        return self._device

    def addAllocation_(self, one: Any) -> None:
        self._members.append(one)

    def addAllocations_count_(self, many: Any, count: int) -> None:
        self._members += list(many)[:count]

    def removeAllocation_(self, one: Any) -> None:
        self._members = [member for member in self._members if member is not one]

    def removeAllAllocations(self) -> None:
        self._members.clear()

    def containsAllocation_(self, one: Any) -> bool:
        return any(member is one for member in self._members)

    def allAllocations(self) -> tuple[Any, ...]:
        return tuple(self._members)

    def allocationCount(self) -> int:
        return len(self._members)

    def allocatedSize(self) -> int:
        return sum(member.allocatedSize() for member in self._members)

    def commit(self) -> None:
        """What was added is added."""

    def requestResidency(self) -> None:
        """Memory is always resident."""

    def endResidency(self) -> None:
        """Memory is always resident."""


def _ignored(result: object) -> None:
    """What a block returns is nobody's."""
