"""What the cases of hashcat hand to its kernels, as the host lays it out."""

from __future__ import annotations

import hashlib

import numpy as np
from conformance.results.hashcat import masks, memory


def test_records_are_as_long_as_the_structs_of_the_kernels() -> None:
    sizes = [d.itemsize for d in (memory.PASSWORD, memory.SALT, memory.FOUND, memory.PARAMETERS)]
    assert sizes == [260, 568, 32, 64]


def test_a_digest_has_its_bit_in_every_bitmap_and_another_does_not() -> None:
    digests, _ = masks._sorted([hashlib.sha1(text).digest() for text in (b"a", b"b")], masks.SHA1)
    other, _ = masks._sorted([hashlib.sha1(b"c").digest()], masks.SHA1)
    maps = memory.bitmaps(digests, masks.SHA1.compared)

    def met(digest: np.ndarray) -> list[bool]:
        words = [digest[w] for _ in memory.SHIFTS for w in masks.SHA1.compared]
        shifts = [shift for shift in memory.SHIFTS for _ in masks.SHA1.compared]
        return [bool(m[(w >> s) & 255] >> (w & 31) & 1) for m, w, s in zip(maps, words, shifts, strict=True)]

    assert all(met(digests[0])) and all(met(digests[1])) and not all(met(other[0]))


def test_digests_lie_as_the_kernels_search_them() -> None:
    texts = [hashlib.sha512(bytes([n])).digest() for n in range(5)]
    rows, order = masks._sorted(texts, masks.SHA512)
    keys = [tuple(row[w] for w in reversed(masks.SHA512.compared)) for row in rows]
    assert keys == sorted(keys) and sorted(order) == list(range(5))
    first = np.frombuffer(texts[order[0]], ">u8")
    assert rows[0][14] == first[7] & 0xFFFFFFFF and rows[0][15] == first[7] >> 32
