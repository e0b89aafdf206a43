"""A tokenizer from GGUF's metadata: sentencepiece with scores ("llama"), or byte-level BPE ("gpt2")."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from metalloid.errors import ModelError
from metalloid.llama.merging import merged
from metalloid.llama.patterns import GPT2, LLAMA3, Splitter
from metalloid.llama.spelling import SPACE, from_sentencepiece, to_bytes, to_characters
from metalloid.llama.tokenizer import Added, Tokenizer

_NORMAL, _UNKNOWN, _CONTROL, _USER, _UNUSED, _BYTE = range(1, 7)
_PATTERNS = {
    "gpt-2": (GPT2, False),
    "llama-bpe": (LLAMA3, True),
    "llama3": (LLAMA3, True),
    "llama-v3": (LLAMA3, True),
}  # with whether a word that is a token needs no merges


def from_metadata(where: str, metadata: Mapping[str, Any]) -> Tokenizer:
    prefix = "tokenizer.ggml."
    kind, tokens = metadata.get(f"{prefix}model"), metadata.get(f"{prefix}tokens")
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise ModelError(
            f"{where}: '{prefix}tokens' should be the vocabulary; it is missing or no list of texts."
        )
    types = metadata.get(f"{prefix}token_type", np.full(len(tokens), _NORMAL))
    if not isinstance(types, np.ndarray) or len(types) != len(tokens):
        raise ModelError(
            f"{where}: '{prefix}token_type' should have one number for each of {len(tokens)} tokens."
        )
    if kind not in ("llama", "gpt2"):
        raise ModelError(f"{where}: a tokenizer of kind {kind!r:.40} is not supported; llama and gpt2 are.")
    ids: dict[str, int] = {}
    for n, token in enumerate(tokens):
        ids.setdefault(token, n)
    added = {
        token: Added(n, token, special=types[n] != _USER)
        for n, token in enumerate(tokens)
        if types[n] in (_CONTROL, _USER) and token
    }
    make = _sentencepiece if kind == "llama" else _byte_level
    words, merge, spell = make(where, metadata, tokens, ids, types)
    pieces = [token.encode() if token in added else spell(token) for token in tokens]
    start = metadata.get(f"{prefix}bos_token_id")
    begins = metadata.get(f"{prefix}add_bos_token", kind == "llama")
    before = (start,) if isinstance(start, int) and begins else ()
    strip = kind == "llama" and bool(metadata.get(f"{prefix}add_space_prefix", True))
    return Tokenizer(pieces, ids, added, words, merge, before, (), strip)


Made = tuple[Callable[[str, bool], list[str]], Callable[[str], list[int]], Callable[[str], bytes]]


def _sentencepiece(
    where: str, metadata: Mapping[str, Any], tokens: list[str], ids: Mapping[str, int], types: Any
) -> Made:
    scores = metadata.get("tokenizer.ggml.scores")
    if not isinstance(scores, np.ndarray) or len(scores) != len(tokens):
        raise ModelError(
            f"{where}: 'tokenizer.ggml.scores' should have one number for each of {len(tokens)} tokens."
        )
    ranks = {token: -float(scores[n]) for token, n in ids.items()}
    as_bytes = [ids.get(f"<0x{byte:02X}>") for byte in range(256)]
    unknown = metadata.get("tokenizer.ggml.unknown_token_id", 0)
    spaced = bool(metadata.get("tokenizer.ggml.add_space_prefix", True))

    def words(text: str, first: bool) -> list[str]:
        return [(f" {text}" if spaced else text).replace(" ", SPACE)]

    def merge(word: str) -> list[int]:
        found: list[int] = []
        for symbol in merged(list(word), lambda a, b: ranks.get(a + b)):
            if symbol in ids:
                found.append(ids[symbol])
            else:
                spelt = [as_bytes[byte] for byte in symbol.encode("utf-8", "replace")]
                found += [unknown if token is None else token for token in spelt]
        return found

    return words, merge, from_sentencepiece


def _byte_level(
    where: str, metadata: Mapping[str, Any], tokens: list[str], ids: Mapping[str, int], types: Any
) -> Made:
    pre = metadata.get("tokenizer.ggml.pre", "gpt-2")
    if pre not in _PATTERNS:
        raise ModelError(
            f"{where}: 'tokenizer.ggml.pre' is {pre!r:.40}; supported are {', '.join(_PATTERNS)}."
        )
    merges = metadata.get("tokenizer.ggml.merges")
    if not isinstance(merges, list):
        raise ModelError(f"{where}: 'tokenizer.ggml.merges' is missing.")
    ranks: dict[tuple[str, str], float] = {}
    for n, merge_text in enumerate(merges):
        first, _, second = str(merge_text).partition(" ")
        ranks.setdefault((first, second), float(n))
    pattern, whole = _PATTERNS[pre]
    splitter = Splitter(pattern)

    def words(text: str, first: bool) -> list[str]:
        return [to_characters(piece) for piece, _ in splitter.pieces(text)]

    def merge(word: str) -> list[int]:
        if whole and word in ids:
            return [ids[word]]
        return [ids[s] for s in merged(list(word), lambda a, b: ranks.get((a, b))) if s in ids]

    return words, merge, to_bytes
