"""What the modules hold that programs import: `Metal`, `Foundation`, `objc`, `libdispatch`, `metalcompute`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from metalloid.metal import foundation, objc_module
from metalloid.metal.names import names


def dispatch_names() -> dict[str, Any]:
    """Of `libdispatch`: data, and queues that run what they are given at once."""

    def dispatch_data_create(data: Any, size: int, queue: Any, destructor: Any) -> bytes:
        return memoryview(data).tobytes()[:size]

    def at_once(queue: Any, block: Any) -> None:
        block()

    return {
        "dispatch_data_create": dispatch_data_create,
        "dispatch_queue_create": lambda label, attributes: label,
        "dispatch_get_main_queue": lambda: None,
        "dispatch_get_global_queue": lambda identifier, flags: None,
        "dispatch_async": at_once,
        "dispatch_sync": at_once,
        "DISPATCH_QUEUE_SERIAL": None,
    }


def contents(name: str) -> dict[str, Any]:
    """What a module of this name holds."""
    if name == "metalcompute":
        from metalloid.metal import metalcompute

        return metalcompute.NAMES
    made: dict[str, Callable[[], dict[str, Any]]] = {
        "Metal": names,
        "Foundation": lambda: foundation.NAMES,
        "objc": lambda: objc_module.NAMES,
        "libdispatch": dispatch_names,
    }
    return made[name]()
