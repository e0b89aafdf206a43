"""How vocabularies spell bytes.

Byte-level BPE has one printable character for each byte: those that print stand for themselves, the rest
(controls, the space, halves of accented letters) are moved up to U+0100 and on, in order. Sentencepiece writes
text, with a mark for the space, and odd bytes as <0x0A>.
"""

from __future__ import annotations

import re

SPACE = "\u2581"  # sentencepiece's space
_PRINT = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
_MOVED = [byte for byte in range(256) if byte not in _PRINT]
CHARACTERS = [chr(byte) if byte in _PRINT else chr(0x100 + _MOVED.index(byte)) for byte in range(256)]
_BYTES = {character: byte for byte, character in enumerate(CHARACTERS)}


def to_characters(text: str) -> str:
    return "".join(CHARACTERS[byte] for byte in text.encode("utf-8", "replace"))


def to_bytes(text: str) -> bytes:
    """Back; text with a character that stands for no byte is taken as it is."""
    try:
        return bytes(_BYTES[character] for character in text)
    except KeyError:
        return text.encode("utf-8", "replace")


_NAMED = re.compile(r"<0x([0-9A-F]{2})>")


def from_sentencepiece(text: str, space: str = SPACE, named: bool = True) -> bytes:
    """The bytes of a token; `named` where <0x0A> is a byte."""
    if named and (match := _NAMED.fullmatch(text)):
        return bytes([int(match[1], 16)])
    return (text.replace(space, " ") if space else text).encode("utf-8", "replace")
