"""What hashcat's host gives to a kernel: 25 buffers, most of which one kind of attack leaves alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from conformance.results.case import Array

WORDS = 64  # of a password or a salt
PASSWORD = np.dtype([("i", "<u4", WORDS), ("pw_len", "<u4")])
_SALT_NUMBERS = (
    *("salt_len", "salt_len_pc", "salt_iter", "salt_iter2", "salt_sign", "salt_sign_1", "salt_repeats", "orig_pos"),
    *("digests_cnt", "digests_done", "digests_offset", "scrypt_n", "scrypt_r", "scrypt_p"),
)  # fmt: skip
SALT = np.dtype(
    [("salt_buf", "<u4", WORDS), ("salt_buf_pc", "<u4", WORDS), *((n, "<u4") for n in _SALT_NUMBERS)]
)
RULE = 128  # bytes
FOUND = np.dtype(
    [
        ("gid", "<u8"),
        *((n, "<u4") for n in ("il_pos", "salt_pos", "digest_pos", "hash_pos", "extra1", "extra2")),
    ]
)
PARAMETERS = np.dtype(
    [
        *((n, "<u4") for n in ("bitmap_mask", "bitmap_shift1", "bitmap_shift2", "salt_pos_host", "loop_pos")),
        *((n, "<u4") for n in ("loop_cnt", "il_cnt", "digests_cnt", "digests_offset_host", "combs_mode")),
        *((n, "<u4") for n in ("salt_repeat", "gap")),
        *((n, "<u8") for n in ("pws_pos", "gid_max")),
    ]
)
BITS, SHIFTS = 8, (5, 13)  # of a bitmap's index; where the two rounds of bitmaps look in a word


def in_words(text: bytes, count: int, order: str) -> Array:
    """The bytes as words, filled up with zeros."""
    return np.frombuffer(text.ljust(4 * count, b"\0"), f"{order}u4").astype(np.uint32)


def bitmaps(digests: Array, compared: Sequence[int]) -> list[Array]:
    """Of each round and each word that is compared: a bit for each digest. Most passwords fail at the first look."""
    made = []
    for shift in SHIFTS:
        for word in digests[:, list(compared)].T:
            bits = np.zeros(1 << BITS, np.uint32)
            np.bitwise_or.at(bits, (word >> shift) & ((1 << BITS) - 1), np.uint32(1) << (word & 31))
            made.append(bits)
    return made


def buffers(
    passwords: Array,
    words: Array,
    digests: Array,
    compared: Sequence[int],
    salt: bytes,
    tried: int,
    found: Array,
) -> tuple[tuple[Any, ...], Array, Array]:
    """A kernel's arguments, and of those its counters: how often each digest was met, how many were found."""
    none, rules = np.zeros(1, PASSWORD), np.zeros(RULE, np.uint8)
    shown, count = np.zeros(len(digests), np.uint32), np.zeros(2, np.uint32)
    salts = np.zeros(1, SALT)
    salts["salt_buf"][0], salts["salt_len"] = in_words(salt, WORDS, "<"), len(salt)
    numbers = np.zeros(1, PARAMETERS)
    numbers["bitmap_mask"], numbers["bitmap_shift1"], numbers["bitmap_shift2"] = (1 << BITS) - 1, *SHIFTS
    numbers["il_cnt"], numbers["digests_cnt"], numbers["gid_max"] = tried, len(digests), len(passwords)
    return (
        (
            *(passwords, rules, none, words, none, none, *bitmaps(digests, compared)),
            *(found, digests, shown, salts, none, count, none, none, none, none, numbers),
        ),
        shown,
        count,
    )
