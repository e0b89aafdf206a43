"""Put clang's words for types into Metal's."""

from __future__ import annotations

import re

_SCALARS = {
    "unsigned int": "uint",
    "unsigned char": "uchar",
    "unsigned short": "ushort",
    "unsigned long": "ulong",
}
_SCALARS |= {"_Float16": "half", "__bf16": "bfloat", "signed char": "char"}

VECTOR = re.compile(r"(?:packed_)?(?:u?(?:char|short|int|long)|float|half|bfloat|bool)[234]")
_ALIAS = re.compile(r" \(aka '(?:[^']|'(?=\())*'\)")
_WORDS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\bconst __constant\b|\b__constant const\b|\b__constant\b"), "constant"),
    (re.compile(r"\b__global(?:_device)?\b"), "device"),
    (re.compile(r"\b__local\b"), "threadgroup"),
    (re.compile(r"\b__private\b ?"), ""),
    (re.compile(r"\b__generic\b ?"), ""),
    *((re.compile(rf"\b{re.escape(c)}\b"), m) for c, m in _SCALARS.items()),
    (re.compile(r"\b(?:metal::)?remove_cvref_t<([^<>]*(?:<[^<>]*>)?)>"), r"\1"),
    (re.compile(r"\b(?:metal::)?packed_vec<(\w+), (\d)>"), r"packed_\1\2"),
    (re.compile(r"\b(?:metal::)?vec<(\w+), (\d)>"), r"\1\2"),
    (re.compile(r"\b(?:metal::)?matrix<(\w+), (\d), (\d)>"), r"\1\2x\3"),
    (re.compile(r"(?<=\w) (?=[*&]+')"), ""),
    (re.compile(r"^fatal error: "), ""),
)


def metal_words(message: str) -> str:
    """A message of clang without its own names for address spaces and types."""
    message = _ALIAS.sub("", message)
    for pattern, word in _WORDS:
        message = pattern.sub(word, message)
    return message


def bare_type(type_: str) -> str:
    """A type without address space, const and pointers."""
    return (
        re.sub(r"\b(?:const|device|constant|threadgroup|thread|volatile)\b ?|[&*]|\s+$", "", type_).strip()
        or "T"
    )
