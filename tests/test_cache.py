"""The cache gives back what was put or nothing, whatever happens to processes and disks around it."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from metalloid import cache as cache_module
from metalloid import config
from metalloid.cache import _PIECE, Cache
from metalloid.errors import DeviceError

KEY = "0123456789abcdef" * 4
MANY = 1 << 30


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache", MANY)


def entry(cache: Cache, kind: str) -> Path:
    """The one file that holds an entry of this kind."""
    (found,) = cache.directory.glob(f"??/*.{kind}")
    return found


def stored(cache: Cache) -> int:
    return sum(f.stat().st_size for f in cache.directory.glob("??/*.*"))


def writes(data: bytes) -> Callable[[Path], None]:
    """A tool that writes `data`."""

    def build(place: Path) -> None:
        place.write_bytes(data)

    return build


def python(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "import sys\nfrom pathlib import Path\n" + code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_an_entry_comes_back_in_another_process(cache: Cache) -> None:
    cache.put(KEY, "ll", b"define void @f()\n\0\xff")
    assert cache.get(KEY, "ll") == b"define void @f()\n\0\xff"
    assert Cache(cache.directory, MANY).get(KEY, "ll") == b"define void @f()\n\0\xff"
    assert cache.get(KEY, "json") is None
    assert cache.get("f" * 64, "ll") is None


def test_any_text_is_a_key_and_none_leaves_the_directory(cache: Cache, tmp_path: Path) -> None:
    for key in ("../../escape", "/etc/passwd", "", "é\0"):
        cache.put(key, "ll", key.encode())
        assert cache.get(key, "ll") == key.encode()
    assert [p.name for p in tmp_path.iterdir()] == ["cache"]
    with pytest.raises(ValueError, match=r"kind is '\.\./x'"):
        cache.get(KEY, "../x")


@pytest.mark.parametrize(
    "damage", [b"", b"metalloid cache 1\n", b"garbage" * 100], ids=["empty", "header", "junk"]
)
def test_a_damaged_entry_is_dropped(cache: Cache, damage: bytes) -> None:
    cache.put(KEY, "ll", b"good")
    entry(cache, "ll").write_bytes(damage)
    assert cache.get(KEY, "ll") is None
    assert not list(cache.directory.glob("??/*.ll"))
    cache.put(KEY, "ll", b"good again")
    assert cache.get(KEY, "ll") == b"good again"


def test_every_truncation_and_every_flipped_byte_is_noticed(cache: Cache) -> None:
    cache.put(KEY, "ll", b"some text")
    whole = entry(cache, "ll").read_bytes()
    place = entry(cache, "ll")
    broken = [whole[:n] for n in range(len(whole))]
    broken += [whole[:n] + bytes([whole[n] ^ 1]) + whole[n + 1 :] for n in range(len(whole))]
    for data in broken:
        place.write_bytes(data)
        assert cache.get(KEY, "ll") is None


def test_an_entry_under_the_name_of_another_is_not_believed(cache: Cache) -> None:
    cache.put(KEY, "ll", b"one")
    place = entry(cache, "ll")
    shutil.copy(place, place.with_name(KEY[:-1] + "0.ll"))
    assert cache.get(KEY[:-1] + "0", "ll") is None
    assert cache.get(KEY, "ll") == b"one"


def test_a_path_is_built_once(cache: Cache) -> None:
    built: list[Path] = []

    def build(place: Path) -> None:
        built.append(place)
        place.write_bytes(b"header")

    first = cache.path(KEY, "pch", build)
    assert first.read_bytes() == b"header"
    assert cache.path(KEY, "pch", build) == first
    assert Cache(cache.directory, MANY).path(KEY, "pch", build) == first
    assert len(built) == 1
    assert not list((cache.directory / "drafts").iterdir())


@pytest.mark.parametrize("same_process", [True, False])
@pytest.mark.parametrize("damage", [b"", b"head", b"hEader"], ids=["empty", "truncated", "changed"])
def test_a_damaged_path_is_built_again(cache: Cache, damage: bytes, same_process: bool) -> None:
    place = cache.path(KEY, "pch", writes(b"header"))
    place.write_bytes(damage)
    again = cache if same_process else Cache(cache.directory, MANY)
    assert again.path(KEY, "pch", writes(b"header")) == place
    assert place.read_bytes() == b"header"


@pytest.mark.parametrize("at", [0, _PIECE - 1, _PIECE, 2 * _PIECE])
def test_a_long_path_is_read_in_pieces_to_its_end(cache: Cache, at: int) -> None:
    header = bytearray(n % 251 for n in range(2 * _PIECE + 1))
    place = cache.path(KEY, "pch", writes(bytes(header)))
    assert cache_module._checksum(KEY, place) == b"%x %08x" % (len(header), zlib.crc32(KEY.encode() + header))
    place.write_bytes(header[:at] + b"\xff" + header[at + 1 :])
    assert Cache(cache.directory, MANY).path(KEY, "pch", writes(bytes(header))) == place
    assert place.read_bytes() == header


def test_a_failed_build_is_the_callers_and_leaves_nothing(cache: Cache) -> None:
    def fail(place: Path) -> None:
        place.write_bytes(b"half")
        raise RuntimeError("the tool said no")

    with pytest.raises(RuntimeError, match="the tool said no"):
        cache.path(KEY, "pch", fail)
    with pytest.raises(DeviceError, match="wrote no file"):
        cache.path(KEY, "pch", lambda place: None)
    assert cache.path(KEY, "pch", writes(b"header")).read_bytes() == b"header"


BUILDER = """
import os, time
from metalloid.cache import _PIECE, Cache
def build(place):
    with open(sys.argv[2], "a") as log: log.write("x")
    time.sleep(0.3)
    place.write_bytes(b"header" * 1000)
print(Cache(Path(sys.argv[1]), 1 << 30).path("k", "pch", build).read_bytes() == b"header" * 1000)
"""


def test_processes_at_once_build_a_path_once(cache: Cache, tmp_path: Path) -> None:
    log = tmp_path / "log"
    processes = [python(BUILDER, cache.directory, log) for _ in range(4)]
    assert [p.communicate(timeout=60)[0].strip() for p in processes] == ["True"] * 4
    assert log.read_text() == "x"


WRITER = """
from metalloid.cache import _PIECE, Cache
cache = Cache(Path(sys.argv[1]), 1 << 30)
print("ready", flush=True)
for n in range(1_000_000):
    key = f"{n % 7}"
    text = (key * 65536).encode()
    cache.put(key, "ll", text)
    found = cache.get(key, "ll")
    assert found is None or found == text, (key, len(found))
    cache.path(key, "pch", lambda place: None if place.write_bytes(text) else None)
"""


def test_writers_killed_at_any_moment_leave_whole_entries_only(cache: Cache) -> None:
    for delay in (0.0, 0.005, 0.02, 0.05, 0.1):
        processes = [python(WRITER, cache.directory) for _ in range(2)]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        time.sleep(delay)
        for process in processes:
            assert process.poll() is None, "the writer failed by itself"
            process.send_signal(signal.SIGKILL)
            process.communicate()
        for n in range(7):
            text = (str(n) * 65536).encode()
            assert Cache(cache.directory, MANY).get(str(n), "ll") in (None, text)
            place = cache.path(str(n), "pch", writes(text))
            assert place.read_bytes() == text


HANGER = """
import time
import zlib
from metalloid.cache import _PIECE, Cache
def build(place):
    place.write_bytes(b"half")
    print("building", flush=True)
    time.sleep(600)
Cache(Path(sys.argv[1]), 1 << 30).path("k", "pch", build)
"""


def test_a_builder_killed_under_the_lock_blocks_nobody(cache: Cache) -> None:
    process = python(HANGER, cache.directory)
    assert process.stdout is not None
    assert process.stdout.readline() == "building\n"
    process.kill()
    process.communicate()
    start = time.monotonic()
    assert cache.path("k", "pch", writes(b"whole")).read_bytes() == b"whole"
    assert time.monotonic() - start < 5


def test_a_builder_that_hangs_is_not_waited_for_for_ever(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "_LOCK_WAIT", 0.2)
    process = python(HANGER, cache.directory)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "building\n"
        place = cache.path("k", "pch", writes(b"whole"))
        assert place.read_bytes() == b"whole"
    finally:
        process.kill()
        process.communicate()


def test_what_a_killed_process_left_behind_is_cleared(cache: Cache) -> None:
    cache.put(KEY, "ll", b"x")
    stale = cache.directory / "drafts" / "left"
    stale.mkdir()
    (stale / "half").write_bytes(b"half an entry")
    half = cache.directory / "drafts" / "half"
    half.write_bytes(b"half an entry")
    for left in (stale, half):
        os.utime(left, (time.time() - 7200,) * 2)
    fresh = cache.directory / "drafts" / "busy"
    fresh.mkdir()
    small = Cache(cache.directory, 8192)
    for n in range(4):
        small.put(str(n), "ll", b"y")
    assert not stale.exists() and not half.exists()
    assert fresh.exists()


def refuse(error: int) -> object:
    def call(*_: object, **__: object) -> None:
        raise OSError(error, os.strerror(error))

    return call


def unusable_parent(path: Path) -> Path:
    path.write_text("a file, not a directory")
    return path / "cache"


def test_without_a_usable_directory_everything_still_works(tmp_path: Path) -> None:
    cache = Cache(unusable_parent(tmp_path / "file"), MANY)
    cache.put(KEY, "ll", b"text")
    assert cache.get(KEY, "ll") is None
    built: list[Path] = []

    def build(place: Path) -> None:
        built.append(place)
        place.write_bytes(b"header")

    place = cache.path(KEY, "pch", build)
    assert place.read_bytes() == b"header"
    assert cache.path(KEY, "pch", build) == place
    assert len(built) == 1
    del cache
    assert not place.exists(), "the temporary directory goes with the cache"


@pytest.mark.parametrize("error", [errno.EROFS, errno.EACCES, errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("call", ["write_bytes", "replace", "mkdir"])
def test_a_disk_that_refuses_costs_the_entry_only(
    cache: Cache, monkeypatch: pytest.MonkeyPatch, call: str, error: int
) -> None:
    cache.put(KEY, "ll", b"kept")
    kept = cache.path(KEY, "pch", writes(b"kept"))
    with monkeypatch.context() as patch:
        patch.setattr(Path, call, refuse(error))
        cache.put("other", "ll", b"lost")
        assert cache.get(KEY, "ll") == b"kept"
        assert cache.path(KEY, "pch", lambda p: None) == kept
    assert cache.get("other", "ll") is None
    cache.put("other", "ll", b"kept now")
    assert cache.get("other", "ll") == b"kept now"


def test_a_disk_that_fills_up_during_a_build_moves_the_build_elsewhere(cache: Cache) -> None:
    tried: list[Path] = []

    def build(place: Path) -> None:
        tried.append(place)
        place.write_bytes(b"head")
        if cache.directory in place.parents:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        place.write_bytes(b"header")

    place = cache.path(KEY, "pch", build)
    assert place.read_bytes() == b"header"
    assert cache.directory not in place.parents
    assert len(tried) == 2


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if mount is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("this machine does not let tests mount a file system")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_disk_of_256_kilobytes(tiny_disk: Path) -> None:
    cache = Cache(tiny_disk / "cache", MANY)
    for n in range(100):
        text = f"{n}".encode() * 8192
        cache.put(str(n), "ll", text)
        assert cache.get(str(n), "ll") in (text, None)
    big = cache.path("big", "pch", writes(b"x" * 500_000))
    assert big.stat().st_size == 500_000
    subprocess.run(["mount", "-o", "remount,ro", str(tiny_disk)], check=True)
    cache.put("late", "ll", b"text")
    assert cache.get("late", "ll") is None
    assert cache.path("late", "pch", writes(b"x")).read_bytes() == b"x"


def test_the_size_stays_bounded_and_the_last_used_stay(tmp_path: Path) -> None:
    limit = 100 * 4096
    cache = Cache(tmp_path, limit)
    cache.put("favourite", "ll", b"f" * 1000)
    for n in range(1000):
        cache.put(str(n), "ll", b"x" * 3000)
        assert cache.get("favourite", "ll") == b"f" * 1000
        assert cache.get(str(n), "ll") is not None
        assert stored(cache) <= limit
    assert stored(cache) > limit / 4
    assert cache.get("1", "ll") is None


def test_most_puts_do_not_walk_the_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path, 400 * 4096)
    walks: list[object] = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: walks.append(path) or scandir(path))
    for n in range(1000):
        cache.put(str(n), "ll", b"x" * 100)
    walked = walks.count(tmp_path)
    assert 1 <= walked <= 10, f"1000 puts walked {walked} times"


def test_two_processes_share_one_limit(tmp_path: Path) -> None:
    limit = 100 * 4096
    filler = """
from metalloid.cache import _PIECE, Cache
cache = Cache(Path(sys.argv[1]), int(sys.argv[2]))
for n in range(300):
    cache.put(f"{sys.argv[3]} {n}", "ll", b"x" * 3000)
"""
    processes = [python(filler, tmp_path, limit, n) for n in range(3)]
    assert [p.wait(60) for p in processes] == [0, 0, 0]
    for process in processes:
        process.communicate()
    assert stored(Cache(tmp_path, limit)) <= limit * 1.1


def test_a_lost_ledger_is_counted_anew(tmp_path: Path) -> None:
    cache = Cache(tmp_path, 100 * 4096)
    for n in range(70):
        cache.put(str(n), "ll", b"x" * 3000)
    (tmp_path / "ledger").unlink()
    for n in range(70, 140):
        cache.put(str(n), "ll", b"x" * 3000)
    assert stored(cache) <= 100 * 4096


def test_a_path_just_handed_out_is_not_evicted(tmp_path: Path) -> None:
    cache = Cache(tmp_path, 20 * 4096)
    place = cache.path(KEY, "pch", writes(b"x" * 4096 * 10))
    for n in range(100):
        cache.put(str(n), "ll", b"x" * 3000)
    assert place.exists()
    for file in (place, place.with_name(place.name + ".sum")):
        os.utime(file, (time.time() - 7200,) * 2)
    for n in range(100):
        cache.put(str(n), "ll", b"x" * 3000)
    assert not place.exists()


def test_a_limit_of_zero_keeps_nothing(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", 0)
    cache.put(KEY, "ll", b"text")
    assert cache.get(KEY, "ll") is None
    place = cache.path(KEY, "pch", writes(b"header"))
    assert place.read_bytes() == b"header"
    assert not (tmp_path / "cache").exists()


def test_a_get_is_far_below_a_millisecond(cache: Cache) -> None:
    cache.put(KEY, "ll", b"x" * 20_000)
    times = []
    for _ in range(200):
        start = time.perf_counter()
        cache.get(KEY, "ll")
        times.append(time.perf_counter() - start)
    assert sorted(times)[len(times) // 2] < 0.001


def test_the_environment_chooses_directory_and_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METALLOID_CACHE_DIR", str(tmp_path / "here"))
    monkeypatch.setenv("METALLOID_CACHE_BYTES", "2M")
    chosen = cache_module.default()
    assert (chosen.directory, chosen.limit_bytes) == (tmp_path / "here", 2 << 20)
    assert cache_module.default() is chosen
    monkeypatch.delenv("METALLOID_CACHE_DIR")
    monkeypatch.delenv("METALLOID_CACHE_BYTES")
    assert config.cache_directory().name == "metalloid"
    assert config.cache_bytes() == 1 << 30


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("1024", 1024), ("512k", 512 << 10), ("2GiB", 2 << 30), (" 3 MB ", 3 << 20)]
)
def test_sizes_are_read(text: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METALLOID_CACHE_BYTES", text)
    assert config.cache_bytes() == size


@pytest.mark.parametrize("text", ["lots", "-1", "1.5G", "1e9", "0x10", "10 apples"])
def test_a_nonsense_size_is_refused_by_name(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METALLOID_CACHE_BYTES", text)
    with pytest.raises(DeviceError, match=f"METALLOID_CACHE_BYTES is '{text}'; expected a number of bytes"):
        config.cache_bytes()


def test_a_cache_directory_that_is_a_file_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("METALLOID_CACHE_DIR", str(file))
    with pytest.raises(DeviceError, match=r"METALLOID_CACHE_DIR is .* not a directory"):
        config.cache_directory()
