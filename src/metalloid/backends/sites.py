"""Places of a kernel that can fault, and what is said where one did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from metalloid.backends.base import Fault, Launch, Triple
from metalloid.location import Location, plain_name
from metalloid.records import dataclass

if TYPE_CHECKING:
    from metalloid.analysis.underlying_objects import UnderlyingObject


@dataclass(frozen=True)
class Site:
    """A place that can fault."""

    location: Location | None
    root: UnderlyingObject | None
    size: int
    write: bool
    rule: str = ""  # "" for an access out of bounds


def access_fault(
    site: Site, offset: int, launch: Launch, thread: Triple, group: Triple, names: Mapping[int, str]
) -> Fault:
    root, size, write = site.root, site.size, site.write
    assert root is not None
    what = "write" if write else "read"
    index = None
    if root.kind == "buffer":
        index = root.index
        name = names.get(index, "")
        label = f"buffer {index}" + (f" '{name}'" if name else "")
        memory = launch.buffers.get(index)
        total = memoryview(memory).nbytes if memory is not None else 0
        label += f" ({total} bytes)" if memory is not None else ", which is not bound"
    elif root.kind == "threadgroup":
        label = f"threadgroup memory {root.index} ({launch.threadgroup_memory.get(root.index, 0)} bytes)"
    elif root.kind == "variable":
        label = f"threadgroup variable '{plain_name(root.name)}'"
    elif root.kind == "private":
        label = "a private variable"
    else:
        label = "its memory"
    place = f"offset {offset} of {label}"
    if root.kind == "unknown" and root.space == 1:
        place = f"address {offset:#x}, where no buffer is"
    message = f"out-of-bounds {what} of {size} bytes at {place}"
    rule = site.rule or ("M102" if write else "M101")
    if rule == "M103":
        message = f"atomic {what} of {size} bytes at {place}: its address is no multiple of {size}"
    return Fault(rule, message, launch.kernel, site.location, thread, group, index, offset, size)
