"""Keep compiled kernels on disk, and find them again without running the compiler.

The key is everything that is known beforehand: text, settings, constants, compiler and header. An entry
names the files that were included with their hashes, and the places earlier on the include path where
a file of the same name would be found instead; it counts only while all of that still holds.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache as memoise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metalloid import cache, garbage, stopwatch, types
from metalloid.frontend import clang
from metalloid.frontend.header import begin, header_key
from metalloid.frontend.kernel import Kernel, Reading
from metalloid.hashes import sha256
from metalloid.source import Constant, Source
from metalloid.stamps import stamps
from metalloid.types import Signature

if TYPE_CHECKING:
    from metalloid.frontend.parse import Parsed

_FORMAT = 3  # of an entry; raise it when Kernel or Signature change


def compile_kernel(
    source: Source,
    name: str,
    constants: Mapping[str | int, Constant] | None = None,
    *,
    fresh: bool = False,
    checked: bool = False,
    on_miss: Callable[[], object] = lambda: None,
    parsed: Parsed | None = None,
    reading: Reading = "others declared",
) -> Kernel:
    """Scalar IR and signature of the kernel called `name` (its host name, where it has one).

    `constants` gives function constants by name or index. `fresh` neither reads nor writes the disk.
    `checked` gives IR that keeps every access of the user's, for a run that watches them. `on_miss` is called where the
    kernel has to be compiled, before that begins. `parsed` is the source, where somebody has parsed it already.
    """
    given = dict(constants or {})
    if fresh:
        return _compile(source, name, given, checked, parsed, reading)
    flags = clang.CHECKED if checked else clang.OPTIMISE
    key = source.key(_FORMAT, name, sorted(given.items(), key=repr), code_of(source, flags))
    store = cache.default()
    if (entry := store.get(key, "kernel")) is not None and (kernel := _read(entry)) is not None:
        return kernel
    begin(source.math)
    on_miss()
    with garbage.kept(), stopwatch.stage("front end"):
        kernel = _compile(source, name, given, checked, parsed, reading)
    if (made := _write(source, kernel)) is not None:
        store.put(key, "kernel", made)
    return kernel


def _compile(
    source: Source,
    name: str,
    constants: dict[str | int, Constant],
    checked: bool,
    parsed: Parsed | None,
    reading: Reading,
) -> Kernel:
    from metalloid.frontend.translate import compile_entry, compile_source

    if parsed is not None:
        return compile_entry(parsed, name, constants, checked, reading)
    return compile_source(source, name, constants, checked, reading)


def code_of(source: Source, flags: tuple[str, ...]) -> object:
    """What makes of a source what it becomes: flags, header, compiler, and the front end itself."""
    return clang.language(source.math, all_swizzles=False), flags, header_key(), code_key()


@memoise
def code_key() -> str:
    """What identifies the front end itself: a changed rewriter must not meet old results."""
    package = Path(__file__).parent
    return repr((stamps(package, (".py",)), stamps(package.parent / "ir", (".py",), deep=False)))


def _write(source: Source, kernel: Kernel) -> bytes | None:
    """An entry; None where an included file is gone already."""
    return entry_of(source, kernel.files, {"ir": kernel.ir, "signature": encode(kernel.signature)})


def entry_of(source: Source, files: tuple[Path, ...], content: dict[str, Any]) -> bytes | None:
    """`content`, and the files that it depends on; None where one of them is gone already."""
    hashes = {str(path): _hash(path) for path in files}
    if None in hashes.values():
        return None
    absent = [str(path) for path in _earlier_places(source, files)]
    return json.dumps({"files": hashes, "absent": absent, **content}).encode()


def content_of(data: bytes) -> dict[str, Any] | None:
    """An entry whose files are as they were; None where they are not."""
    entry: dict[str, Any] = json.loads(data)
    if any(_hash(Path(path)) != known for path, known in entry["files"].items()):
        return None
    return None if any(Path(path).exists() for path in entry["absent"]) else entry


def _read(data: bytes) -> Kernel | None:
    if (entry := content_of(data)) is None:
        return None
    signature = decode(entry["signature"])
    assert isinstance(signature, Signature)
    return Kernel(entry["ir"], signature, tuple(Path(path) for path in entry["files"]))


def _earlier_places(source: Source, files: tuple[Path, ...]) -> Iterator[Path]:
    """Where a file would be found before the one that was read."""
    roots = [root for root in (source.directory, *source.include) if root is not None]
    for path in files:
        for root in roots:
            if path.is_relative_to(root):
                yield from (earlier / path.relative_to(root) for earlier in roots[: roots.index(root)])
                break


def _hash(path: Path) -> str | None:
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def encode(value: Any) -> Any:
    """A signature as plain JSON values: dataclasses by name, types by their MSL spelling."""
    if isinstance(value, types.DType):
        return {"dtype": value.name}
    if dataclasses.is_dataclass(value):
        fields = {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"class": type(value).__name__, **fields}
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    return value


def decode(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(decode(item) for item in value)
    if isinstance(value, dict):
        if "dtype" in value and len(value) == 1:
            return types.DType[value["dtype"]]
        made = getattr(types, value["class"])
        return made(**{name: decode(item) for name, item in value.items() if name != "class"})
    return value
