"""Attacks with a mask: each thread has the end of a password, and tries all beginnings of four bytes with it."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from conformance.hashcat import folder, source
from conformance.results.case import Array, Case, Output, Size, Step, Work
from conformance.results.hashcat.memory import FOUND, PASSWORD, WORDS, buffers, in_words

Digest = Callable[[bytes, bytes], bytes]  # of a password and a salt


@dataclass(frozen=True)
class Hash:
    """A hash function as kernels have it: how its text and its digest are read as words, and which are compared."""

    name: str
    text: str
    digest: str
    compared: tuple[int, int, int, int]


MD5 = Hash("md5", "<", "<u4", (0, 3, 2, 1))
SHA1 = Hash("sha1", ">", ">u4", (3, 4, 2, 1))
SHA224 = Hash("sha224", ">", ">u4", (3, 6, 2, 5))
SHA256 = Hash("sha256", ">", ">u4", (3, 7, 2, 6))
SHA384 = Hash("sha384", ">", ">u8", (6, 7, 4, 5))
SHA512 = Hash("sha512", ">", ">u8", (14, 15, 6, 7))
BLAKE2B = Hash("blake2b", "<", "<u8", (1, 0, 3, 2))
RIPEMD160 = Hash("ripemd160", "<", "<u4", (0, 1, 2, 3))


def _digest(name: str, salted: str = "") -> Digest:
    """Of the password; or with a salt, before it, behind it, or as what it signs."""
    if salted == "signs":
        return lambda password, salt: hmac.new(password, salt, name).digest()
    whole: Digest = {
        "": lambda password, salt: password,
        "wide": lambda password, salt: password.decode("latin-1").encode("utf-16-le"),
        "before": lambda password, salt: password + salt,
        "behind": lambda password, salt: salt + password,
    }[salted]
    return lambda password, salt: hashlib.new(name, whole(password, salt)).digest()


def _twice(inner: str, outer: str, digits: bool = True) -> Digest:
    def digest(password: bytes, salt: bytes) -> bytes:
        first = hashlib.new(inner, password)
        return hashlib.new(outer, first.hexdigest().encode() if digits else first.digest()).digest()

    return digest


@dataclass(frozen=True)
class Mode:
    """What hashcat knows by a number: `outer` makes the digest, of what `inner` has made of the password."""

    number: int
    what: str
    outer: Hash
    inner: Hash
    digest: Digest

    @property
    def file(self) -> str:
        return f"m{self.number:05}_a3-pure.cl"


def _modes() -> Iterator[tuple[Mode, int]]:
    """Each with how many passwords a thread tries side by side. A text that begins anywhere in a block is moved by a
    switch of 64 cases, 64 words each: with a salt one at a time is enough."""
    plain = (
        (0, MD5),
        (100, SHA1),
        (600, BLAKE2B),
        (1300, SHA224),
        (1400, SHA256),
        (1700, SHA512),
        (6000, RIPEMD160),
    )
    for n, (number, one) in enumerate((*plain, (10800, SHA384))):
        yield Mode(number, one.name, one, one, _digest(one.name)), (1, 4, 2)[n % 3]
    for n, (number, one) in enumerate(((70, MD5), (170, SHA1), (1470, SHA256), (1770, SHA512))):
        yield Mode(number, f"{one.name} in UTF-16", one, one, _digest(one.name, "wide")), (4, 2, 1)[n % 3]
    for number, one, salted in ((10, MD5, "before"), (120, SHA1, "behind"), (1450, SHA256, "signs")):
        yield Mode(number, f"{one.name}, {salted} a salt", one, one, _digest(one.name, salted)), 1
    chains = (
        (2600, MD5, MD5),
        (4400, SHA1, MD5),
        (4500, SHA1, SHA1),
        (4700, MD5, SHA1),
        (20800, MD5, SHA256),
    )
    for n, (number, inner, outer) in enumerate(chains):
        what = f"{outer.name} of {inner.name} in digits"
        yield Mode(number, what, outer, inner, _twice(inner.name, outer.name)), (2, 1, 4)[n % 3]
    yield Mode(21400, "sha256 of sha256", SHA256, SHA256, _twice("sha256", "sha256", digits=False)), 2


def _is_there(one: Hash) -> bool:
    """Whether Python has it: OpenSSL leaves some out."""
    try:
        hashlib.new(one.name)
    except ValueError:
        return False
    return True


def cases() -> Iterator[Case]:
    place = folder()
    if place is None:
        return
    there = ((m, v) for m, v in _modes() if (place / m.file).exists() and _is_there(m.outer))
    for n, (mode, vector) in enumerate(there):
        kind = ("sxx", "mxx")[n % 2]
        label = f"{mode.number} {mode.what}, {'one' if kind == 'sxx' else 'three'} x{vector}"
        yield Case("hashcat", "mask", label, partial(_work, mode, kind, vector))


THREADS, TRIED = 11, 5
GROUP = 8


def _work(mode: Mode, kind: str, vector: int, rng: np.random.Generator, size: Size) -> Work:
    """Digests of passwords that some thread tries, or that none does; the kernel says who tried which."""
    lengths = rng.integers(4, 100, THREADS)
    lengths[:4] = 4, 55, 56, 64  # where a block of a hash is full
    ends = [rng.integers(32, 127, length - 4, np.uint8).tobytes() for length in lengths]
    starts = [rng.integers(32, 127, 4, np.uint8).tobytes() for _ in range(TRIED)]
    salt = rng.integers(32, 127, 9, np.uint8).tobytes()
    tried = [(THREADS - 1, TRIED - 1), (2, 1)]
    texts = [starts[il] + ends[gid] for gid, il in tried] + [b"none of them"]
    wanted = 1 if kind == "sxx" else len(texts)
    digests = [mode.digest(text, salt) for text in texts[:wanted]]
    passwords = np.zeros(THREADS, PASSWORD)
    passwords["i"] = [in_words(b"\0\0\0\0" + end, WORDS, mode.inner.text) for end in ends]
    passwords["pw_len"] = lengths
    words = in_words(b"".join(starts), -(-TRIED // vector) * vector, mode.inner.text)
    held, order = _sorted(digests, mode.outer)
    # A place for each digest; what is not found stays as it is.
    found = np.full(wanted, 0xA5A5A5A5, FOUND)
    expected = found.copy()
    for at, digest in enumerate(order):
        if digest < len(tried):
            gid, il = tried[digest]
            expected[at] = (gid, il, 0, at, at, 0, 0)
    arguments, shown, count = buffers(passwords, words, held, mode.outer.compared, salt, TRIED, found)
    text = source(mode.file, vector, mode.outer.compared, held.shape[1])
    step = Step(
        text, f"m{mode.number:05}_{kind}", arguments, (GROUP, 1, 1), threadgroups=(-(-THREADS // GROUP), 1, 1)
    )
    met = np.array([digest < len(tried) for digest in order], np.uint32)
    return Work(
        (step,),
        (
            Output("plains_buf", found, _by_digest(expected), look=_by_digest),
            Output("hashes_shown", shown, met),
            Output("d_return_buf", count, np.array([met.sum(), 0], np.uint32)),
        ),
    )


def _sorted(digests: list[bytes], made: Hash) -> tuple[Array, list[int]]:
    """Digests as rows of words, in the order of the words that are compared, the last first; and which is where."""
    rows = np.array([np.frombuffer(d, made.digest).astype(made.digest[1:]).view(np.uint32) for d in digests])
    order = sorted(range(len(rows)), key=lambda n: tuple(rows[n][w] for w in reversed(made.compared)))
    return rows[order], order


def _by_digest(found: Array) -> Array:
    """Who comes first is first; sorted, they are the same in any order."""
    return np.sort(found, order="hash_pos").view(np.uint32)
