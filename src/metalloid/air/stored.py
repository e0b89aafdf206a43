"""Libraries and kernels of binaries by name, kept: a library while it lies as it did, a kernel on disk."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cache as memoise
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from metalloid import cache
from metalloid.air.container import Container, Entry, damaged, find_containers, open_data, read_container
from metalloid.frontend import clang
from metalloid.frontend.kernel import Kernel
from metalloid.source import Binary, Constant
from metalloid.stamps import stamps
from metalloid.types import Signature

if TYPE_CHECKING:
    from collections.abc import Sequence

_FORMAT = 2  # of an entry; raise it when Kernel or Signature change


def kernel_names(binary: Binary) -> tuple[str, ...]:
    """The kernels of a library, in the order of the file."""
    return tuple(dict.fromkeys(entry.name for entry in container_of(binary).entries if entry.is_kernel))


def container_of(binary: Binary) -> Container:
    """The library a file holds; the first, where it holds several."""
    if binary.path is None:
        return _in_memory(binary.data, binary.name)
    try:
        status = binary.path.stat()
        return _in_file(binary.path, status.st_size, status.st_mtime_ns)
    except OSError as error:
        raise damaged(binary.name, f"this file cannot be read: {error.strerror}") from error


@lru_cache(maxsize=8)
def _in_memory(data: bytes, name: str) -> Container:
    return read_container(data, name)


@lru_cache(maxsize=8)
def _in_file(path: Path, size: int, changed: int) -> Container:
    data = open_data(path)
    if data[:4] == b"MTLB" or path.suffix == ".metallib":
        return read_container(data, str(path))
    found = next(find_containers(data, str(path)), None)
    if found is None:
        raise damaged(str(path), "there is no Metal library in this file")
    return found


def compile_kernel(
    binary: Binary,
    name: str,
    constants: Mapping[str | int, Constant] | None = None,
    *,
    checked: bool = False,
    fresh: bool = False,
    on_miss: Callable[[], object] = lambda: None,
) -> Kernel:
    """Scalar IR and signature of a kernel of a library; the arguments are those of the front end for sources."""
    container = container_of(binary)
    entry = choose(container, name)
    given = dict(constants or {})
    flags = clang.CHECKED if checked else clang.OPTIMISE
    known = entry.hash or hashlib.sha256(container.bitcode(entry)).digest()
    parts = (_FORMAT, known.hex(), name, sorted(given.items(), key=repr), flags, _code_key())
    key = hashlib.sha256(repr(parts).encode()).hexdigest()
    store = cache.default()
    if not fresh and (data := store.get(key, "kernel")) is not None:
        return _read(data)
    on_miss()
    from metalloid.air.build import compile_entry

    kernel = compile_entry(container, entry, given, checked)
    if not fresh:
        store.put(key, "kernel", _write(kernel))
    return kernel


def choose(container: Container, name: str) -> Entry:
    """The kernel of this name."""
    from metalloid.air.container import KINDS

    found = _entries(container).get(name)
    if found is not None and found.is_kernel:
        return found
    if found is not None:
        kind = KINDS.get(found.kind, f"function of kind {found.kind}")
        raise damaged(container.name, f"'{name}' is a {kind}, which is not supported; only kernels are")
    names: Sequence[str] = list(_entries(container))
    near = difflib.get_close_matches(name, names[:50000], 3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(names[:8])}"
    raise damaged(container.name, f"there is no kernel '{name}' in this library; {hint}")


@lru_cache(maxsize=8)
def _entries(container: Container) -> dict[str, Entry]:
    """By name; the first of two."""
    return {entry.name: entry for entry in reversed(container.entries)}


@memoise
def _code_key() -> str:
    """What identifies all that makes a kernel: this package, the front end it shares, the header and the compiler."""
    from metalloid.air.library import library_key
    from metalloid.frontend.stored import code_key

    return repr((stamps(Path(__file__).parent, (".py",)), code_key(), library_key()))


def _write(kernel: Kernel) -> bytes:
    from metalloid.frontend.stored import encode

    return json.dumps({"ir": kernel.ir, "signature": encode(kernel.signature)}).encode()


def _read(data: bytes) -> Kernel:
    from metalloid.frontend.stored import decode

    entry = json.loads(data)
    signature = decode(entry["signature"])
    assert isinstance(signature, Signature)
    return Kernel(entry["ir"], signature)
