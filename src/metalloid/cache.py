"""A directory of immutable entries, found by the hash of what they were made from.

An entry is written beside its place and renamed into it, so a reader sees all of it or nothing, however many
processes write and whenever one is killed. Every entry carries a checksum: one that does not match is dropped
and made again. No error of the disk reaches the caller: without a usable directory nothing is found, nothing
is kept, and files that a tool must write go to a temporary directory.

Locks only save work (two processes need not build the same file); nothing depends on them.
The size is kept as the length of one file, `ledger`: a byte for each started 4 KiB that was stored. Appending
is atomic and reading it is one `stat`; only when it says that the limit is passed is the directory walked.
"""

from __future__ import annotations

import contextlib
import os
import time
import weakref
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

from metalloid import config
from metalloid.errors import DeviceError
from metalloid.hashes import sha256
from metalloid.patterns import pattern
from metalloid.records import dataclass

try:
    import fcntl
except ImportError:  # Windows: two processes may build the same file; the last rename wins
    fcntl = None  # type: ignore[assignment]

_MAGIC = b"metalloid cache 1\n"
_DIGEST = 16
_BLOCK = 4096  # what a byte of the ledger stands for
_KEEP = 0.75  # of the limit, after an eviction: room for many puts before the next walk
_IN_USE = 600.0  # seconds for which a path that was handed out is not evicted
_STALE = 3600.0  # seconds after which a file nobody renamed was left by a killed process
_TOUCH = 60.0  # seconds between two notes that a path was used
_LOCK_WAIT = 60.0  # seconds to wait for another builder before building as well
_PIECE = 128 << 10  # bytes of a file that are read at once
_TIGHT = 64 << 20  # free bytes under which a failed build is blamed on the disk

_HEX = pattern(r"[0-9a-f]{16,128}")
_KIND = pattern(r"[a-z0-9][a-z0-9._-]{0,31}")


class Cache:
    """Entries under `directory`, together at most about `limit_bytes`; 0 keeps nothing on disk."""

    def __init__(self, directory: Path, limit_bytes: int) -> None:
        self.directory = Path(directory)
        self.limit_bytes = limit_bytes
        self._verified: dict[Path, tuple[int, int, int]] = {}
        self._temporary: Path | None = None

    def get(self, key: str, kind: str) -> bytes | None:
        """What was put under this key, or None."""
        place = self._place(key, kind)
        if self.limit_bytes <= 0:
            return None
        try:
            entry = place.read_bytes()
        except OSError:
            return None
        start = len(_MAGIC) + _DIGEST
        data = entry[start:]
        if entry[:start] != _MAGIC + _digest(place.name, data):
            _remove(place)
            return None
        _touch(place)
        return data

    def put(self, key: str, kind: str, data: bytes) -> None:
        """Keep `data`; where it cannot be kept, do nothing."""
        place = self._place(key, kind)
        if self.limit_bytes <= 0 or len(data) > self.limit_bytes * _KEEP:
            return
        with contextlib.suppress(OSError):
            draft = self._drafts() / os.urandom(_DIGEST).hex()  # a name that no other process takes
            try:
                self._account(len(data))
                draft.write_bytes(_MAGIC + _digest(place.name, data) + data)
                _publish(draft, place)
            except BaseException:
                _remove(draft)
                raise
        self._evict_if_full()

    def path(self, key: str, kind: str, build: Callable[[Path], None]) -> Path:
        """A file that `build` writes itself at the path it is given, once per key."""
        place = self._place(key, kind)
        if self.limit_bytes > 0:
            if self._sound(key, kind, place):
                return place
            try:
                with self._lock(place.name):
                    if not self._sound(key, kind, place):
                        self._build(key, kind, place, build)
                self._evict_if_full()
                return place
            except OSError:
                pass
        return self._build_outside(place.name, build)

    def _build(self, key: str, kind: str, place: Path, build: Callable[[Path], None]) -> None:
        import shutil  # with what it imports itself 5 ms, which a start that only reads need not pay

        with self._workshop() as workshop:
            draft = workshop / place.name
            try:
                build(draft)
            except OSError:
                raise
            except Exception as error:
                if shutil.disk_usage(workshop).free < _TIGHT:
                    raise OSError("the tool failed on a full disk") from error
                raise
            if not draft.is_file():
                raise DeviceError(f"[cache] the build of a {kind} entry wrote no file at {draft}")
            self._account(draft.stat().st_size)
            checksum = _checksum(place.name, draft)
            _publish(draft, place)
            self.put(key, kind + ".sum", checksum)
        if not self._sound(key, kind, place):
            raise OSError(f"{place} could not be kept")

    def _sound(self, key: str, kind: str, place: Path) -> bool:
        """Whether the file at `place` is what its builder left there. Read in full once per process."""
        try:
            status = place.stat()
            identity = (status.st_ino, status.st_size, status.st_mtime_ns)
            if self._verified.get(place) != identity:
                if self.get(key, kind + ".sum") != _checksum(place.name, place):
                    _remove(place)
                    return False
                self._verified[place] = identity
            if time.time() - status.st_mtime > _TOUCH:
                _touch(place)
                self.get(key, kind + ".sum")
                self._verified[place] = (*identity[:2], place.stat().st_mtime_ns)
            return True
        except OSError:
            return False

    def _build_outside(self, name: str, build: Callable[[Path], None]) -> Path:
        """Build in a directory of this process, removed when the process or the cache ends."""
        import tempfile

        try:
            if self._temporary is None or not self._temporary.is_dir():
                self._temporary = Path(tempfile.mkdtemp(prefix="metalloid-"))
                weakref.finalize(self, _discard, self._temporary, os.getpid())
            workshop = Path(tempfile.mkdtemp(dir=self._temporary))
        except OSError as error:
            raise DeviceError(
                f"[cache] neither {self.directory} nor the temporary directory can be written: {error}.\n"
                "Free some space, or set METALLOID_CACHE_DIR to a directory that can be written."
            ) from error
        place = self._temporary / name
        if not place.is_file():
            build(workshop / name)
            (workshop / name).replace(place)
        return place

    def _place(self, key: str, kind: str) -> Path:
        if not _KIND.fullmatch(kind):
            raise ValueError(f"[cache] kind is {kind!r}; expected a file extension such as 'll'")
        name = key if _HEX.fullmatch(key) else sha256(key.encode()).hexdigest()
        return self.directory / name[:2] / f"{name}.{kind}"

    def _drafts(self) -> Path:
        """Where files are written, on the same disk, before they are renamed."""
        made = self.directory / "drafts"
        made.mkdir(mode=0o700, parents=True, exist_ok=True)
        return made

    @contextlib.contextmanager
    def _workshop(self) -> Iterator[Path]:
        """A fresh directory for a tool that may write more than its file."""
        import shutil
        import tempfile

        workshop = Path(tempfile.mkdtemp(dir=self._drafts()))
        try:
            yield workshop
        finally:
            shutil.rmtree(workshop, ignore_errors=True)

    @contextlib.contextmanager
    def _lock(self, name: str) -> Iterator[None]:
        """Wait for others who build the same thing, but not for ever; a lock dies with its process."""
        locks = self.directory / "locks"
        locks.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (locks / name[:2]).open("ab") as file:  # never removed: a waiter's lock stays the builder's
            give_up = time.monotonic() + _LOCK_WAIT
            while fcntl is not None and time.monotonic() < give_up:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    time.sleep(0.01)
                except OSError:  # a file system without locks
                    break
            yield

    def _account(self, size: int) -> None:
        with (self.directory / "ledger").open("ab", buffering=0) as ledger:
            if ledger.tell() == 0:  # new, or removed by somebody: count what is there
                size += sum(entry.size for entry in self._entries())
            ledger.write(b"." * _blocks(size))

    def _evict_if_full(self) -> None:
        """Drop the entries that were not used for longest, down to a share of the limit."""
        ledger = self.directory / "ledger"
        with contextlib.suppress(OSError):
            if ledger.stat().st_size * _BLOCK <= self.limit_bytes:
                return
            kept = used = 0
            now = time.time()
            for entry in sorted(self._entries(), key=lambda e: e.used, reverse=True):
                used += entry.size
                in_use = entry.handed_out and now - entry.used < _IN_USE
                if used <= self.limit_bytes * _KEEP or in_use:
                    kept += entry.size
                else:
                    _remove(entry.path)
            os.truncate(ledger, max(1, kept // _BLOCK))

    def _entries(self) -> Iterator[_Entry]:
        """Every entry; what killed processes left behind is removed on the way."""
        for directory in list(os.scandir(self.directory)):
            if directory.name == "drafts":
                for draft in list(os.scandir(directory)):
                    with contextlib.suppress(FileNotFoundError):
                        if time.time() - draft.stat().st_mtime > _STALE:
                            _discard_draft(draft)
            elif len(directory.name) == 2 and directory.is_dir():
                files = {file.name: file for file in os.scandir(directory)}
                for name, file in files.items():
                    with contextlib.suppress(FileNotFoundError):  # another process evicts as well
                        status = file.stat()
                        handed_out = name.endswith(".sum") or name + ".sum" in files
                        size = _blocks(status.st_size) * _BLOCK
                        yield _Entry(Path(file.path), size, status.st_mtime, handed_out)


@dataclass(frozen=True)
class _Entry:
    path: Path
    size: int
    used: float
    handed_out: bool  # a path that somebody may be about to open


@lru_cache(maxsize=8)
def _open(directory: Path, limit_bytes: int) -> Cache:
    return Cache(directory, limit_bytes)


def default() -> Cache:
    """The cache that the environment asks for; the same object for the same settings."""
    return _open(config.cache_directory(), config.cache_bytes())


def _digest(name: str, data: bytes) -> bytes:
    """A checksum of the content and of the name, so that an entry under another's name is not believed."""
    state = sha256(name.encode() + b"\0", more=len(data))
    state.update(data)
    return state.digest()[:_DIGEST]


def _checksum(name: str, path: Path) -> bytes:
    """The same for files that are handed out: a header of 4 MB is read by every start that compiles, 2 ms here and 17
    with the other. Both tell what a disk has spoilt; neither is for what somebody forges.

    It is read in pieces: fresh memory for all of it took as long again."""
    length, state = 0, zlib.crc32(name.encode())
    piece = memoryview(bytearray(_PIECE))
    with path.open("rb", buffering=0) as file:
        while size := file.readinto(piece):
            length, state = length + size, zlib.crc32(piece[:size], state)
    return f"{length:x} {state:08x}".encode()


def _blocks(size: int) -> int:
    return 1 + size // _BLOCK


def _publish(draft: Path, place: Path) -> None:
    place.parent.mkdir(mode=0o700, exist_ok=True)
    draft.replace(place)


def _touch(place: Path) -> None:
    now = time.time_ns()
    with contextlib.suppress(OSError):
        os.utime(place, ns=(now, now))


def _remove(place: Path) -> None:
    with contextlib.suppress(OSError):
        place.unlink()


def _discard_draft(draft: os.DirEntry[str]) -> None:
    if draft.is_dir(follow_symlinks=False):
        import shutil

        shutil.rmtree(draft.path, ignore_errors=True)
    else:
        _remove(Path(draft.path))


def _discard(directory: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked child must not remove what its parent uses
        import shutil

        shutil.rmtree(directory, ignore_errors=True)
