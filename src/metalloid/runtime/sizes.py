"""How many threads, in what groups: the arithmetic of a launch, and what it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any

from metalloid.backends.base import Triple
from metalloid.errors import LaunchError
from metalloid.types import Signature

if TYPE_CHECKING:
    from metalloid.backends.backend import Limits

Size = int | tuple[int, ...]
DEFAULT_THREADS = 256


def thread_limit(signature: Signature, limits: Limits) -> int:
    """Threads that one threadgroup of this kernel may have on a device with these limits."""
    return min(limits.threads_per_threadgroup, signature.max_total_threads)


def sizes(
    signature: Signature, limits: Limits, grid: object, threadgroup: object, threadgroups: object
) -> tuple[Triple, Triple]:
    """The grid and the threadgroup in threads, from whichever way they were given."""
    try:
        return _sizes(signature, limits, grid, threadgroup, threadgroups)
    except LaunchError as error:
        raise LaunchError(f"{error}\n{signature}") from None


def _sizes(
    signature: Signature, limits: Limits, grid: object, threadgroup: object, threadgroups: object
) -> tuple[Triple, Triple]:
    where = f"[launch {signature.name}]"
    if (grid is None) == (threadgroups is None):
        raise LaunchError(
            f"{where} M306 needs either grid= (threads in all) or threadgroups= (how many threadgroups);"
            f" {'none' if grid is None else 'both'} came.\nPass one of the two."
        )
    if threadgroups is not None and threadgroup is None:
        raise LaunchError(
            f"{where} M306 threadgroups= needs threadgroup= as well.\nPass threadgroup=: threads in each."
        )
    limit = thread_limit(signature, limits)
    what = "grid" if threadgroups is None else "threadgroups"
    wanted = triple(where, what, grid if threadgroups is None else threadgroups)
    if threadgroup is None:
        size: Triple = (min(wanted[0], DEFAULT_THREADS, limit), 1, 1)
    else:
        size = triple(where, "threadgroup", threadgroup)
    count = prod(size)
    if count > limit:
        said = "this device allows" if limit == limits.threads_per_threadgroup else "this kernel's limit is"
        raise LaunchError(
            f"{where} M302 threadgroup is {shown(size)}, {count} threads; {said} {limit}.\n"
            f"Pass a threadgroup of {limit} threads or fewer."
        )
    if threadgroups is not None:
        x, y, z = (a * b for a, b in zip(wanted, size, strict=True))
        wanted = triple(where, "threadgroups times threadgroup", (x, y, z))
    return wanted, size


def triple(where: str, what: str, size: object) -> Triple:
    """One to three whole numbers, each from 1 to 2^32 - 1."""
    given = tuple(size) if hasattr(size, "__iter__") else (size,)
    whole = all(hasattr(part, "__index__") and not isinstance(part, bool) for part in given)
    if not 1 <= len(given) <= 3 or not whole:
        raise LaunchError(
            f"{where} M306 {what} is {size!r}; pass 1 to 3 whole numbers.\nFor example grid=1024, or grid=(64, 64)."
        )
    x, y, z = (*(part.__index__() for part in given), 1, 1)[:3]
    if min(x, y, z) < 0:
        raise LaunchError(
            f"{where} M301 {what} is {size!r}; no axis can be negative.\nEvery axis needs 1 or more."
        )
    if 0 in (x, y, z):
        raise LaunchError(
            f"{where} M301 {what} is {size!r}: no thread would run, and outputs would keep what they hold.\n"
            "Every axis needs 1 or more; skip the launch where there is nothing to do."
        )
    if max(x, y, z) >= 1 << 32:
        raise LaunchError(
            f"{where} M306 {what} is {size!r}; an axis holds fewer than 2^32 threads.\n"
            "Spread the threads over two axes, or over several launches."
        )
    if x * y * z >= 1 << 63:
        raise LaunchError(
            f"{where} M306 {what} is {size!r}; a launch holds fewer than 2^63 threads.\n"
            "Spread the work over several launches."
        )
    return x, y, z


def local_memory(signature: Signature, limits: Limits, given: Mapping[Any, int] | None) -> dict[int, int]:
    """Bytes of threadgroup memory by index: all that the kernel asks for, none that it does not know."""
    where = f"[launch {signature.name}]"
    wanted = {p.index: p for p in signature.parameters if p.kind == "threadgroup" and p.present}
    by_name = {p.name: p.index for p in wanted.values()}
    lengths: dict[int, int] = {}
    for key, length in (given or {}).items():
        index = by_name.get(key, -1) if isinstance(key, str) else key
        if index not in wanted:
            known = ", ".join(f"{p.index} ('{p.name}')" for p in wanted.values()) or "none"
            raise LaunchError(
                f"{where} threadgroup_memory has an entry for {key!r}; the kernel takes {known}.\n{signature}"
            )
        if isinstance(length, bool) or not hasattr(length, "__index__") or length < 1:
            raise LaunchError(
                f"{where} threadgroup memory {key!r} is {length!r}; pass a number of bytes from 1 on.\n{signature}"
            )
        lengths[index] = length.__index__()
    for index, parameter in wanted.items():
        if index not in lengths and parameter.access != "none":  # ggml declares some that it never uses
            raise LaunchError(
                f"{where} M108 '{parameter.name}' is threadgroup memory that the caller sizes, and no size came.\n"
                f"Pass threadgroup_memory={{{index}: bytes}}; an element takes {parameter.type.size}.\n{signature}"
            )
    total = signature.threadgroup_memory + sum(-(-length // 16) * 16 for length in lengths.values())
    most = limits.threadgroup_memory
    if total > most:
        raise LaunchError(
            f"{where} M303 threadgroup memory is {total} bytes ({signature.threadgroup_memory} declared in the"
            f" kernel, {total - signature.threadgroup_memory} passed); this device allows {most}.\n"
            f"Pass {(most - signature.threadgroup_memory) // 16 * 16} bytes or less in all.\n{signature}"
        )
    return lengths


def shown(size: Triple) -> str:
    return f"({', '.join(map(str, size))})"
