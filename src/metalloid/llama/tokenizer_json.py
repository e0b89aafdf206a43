"""A tokenizer from Hugging Face's tokenizer.json: byte-level BPE, and BPE made from a sentencepiece model.

The file is a small program: a normaliser, a pre-tokenizer, a model, a post-processor and a decoder, each from a
table of kinds. A kind that is not in the tables here is refused by name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from metalloid.errors import ModelError
from metalloid.llama.mapped import read_json
from metalloid.llama.merging import merged
from metalloid.llama.patterns import GPT2, Splitter
from metalloid.llama.spelling import SPACE, from_sentencepiece, to_bytes, to_characters
from metalloid.llama.tokenizer import Added, Tokenizer

Normalise = Callable[[str], str]
Split = Callable[[list[str], bool], list[str]]  # pieces so far, and whether they begin the text
Json = Mapping[str, Any]


def load(path: Path) -> Tokenizer:
    return from_json(str(path), read_json(path))


def from_json(where: str, file: Json) -> Tokenizer:
    try:
        return _tokenizer(file)
    except ModelError as error:
        raise ModelError(f"{where}: {error}") from None
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        raise ModelError(f"{where}: it is not laid out as a tokenizer ({error!r:.120}).") from None


def _tokenizer(file: Json) -> Tokenizer:
    model = file["model"]
    if model.get("type", "BPE") != "BPE":
        raise ModelError(f"a model of type {model['type']!r:.40} is not supported; BPE is.")
    for name in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(name):
            raise ModelError(f"a model with {name} is not supported.")
    ids: dict[str, int] = dict(model["vocab"])
    added = {entry["content"]: _added(entry) for entry in file.get("added_tokens") or ()}
    everything = {**ids, **{content: token.id for content, token in added.items()}}
    count = 1 + max(everything.values(), default=-1)
    if any(type(i) is not int or i < 0 for i in everything.values()) or count > 4 * len(everything) + 1024:
        raise ModelError("the ids of its tokens are not whole numbers from 0 on.")
    prefix, suffix = _template(file.get("post_processor"), everything)
    decode, strip = _decoder(file.get("decoder"))
    pieces = [b""] * count
    for text, token in everything.items():
        pieces[token] = text.encode() if text in added else decode(text)
    normalise, split = _normaliser(file.get("normalizer")), _pre_tokenizer(file.get("pre_tokenizer"))

    def words(text: str, first: bool) -> list[str]:
        normal = normalise(text)
        return [word for word in split([normal], first) if word] if normal else []

    return Tokenizer(pieces, everything, added, words, _merging(model, ids), prefix, suffix, strip)


def _added(entry: Json) -> Added:
    if entry.get("single_word"):
        raise ModelError(f"added token {entry['content']!r:.40} is a single word, which is not supported.")
    if not entry["content"]:
        raise ModelError("an added token is empty.")
    return Added(
        entry["id"],
        entry["content"],
        bool(entry.get("special")),
        bool(entry.get("lstrip")),
        bool(entry.get("rstrip")),
    )


def _merging(model: Json, ids: Mapping[str, int]) -> Callable[[str], list[int]]:
    pairs = [tuple(pair.split(" ") if isinstance(pair, str) else pair) for pair in model["merges"]]
    for pair in pairs:
        if len(pair) != 2 or "".join(pair) not in ids:
            raise ModelError(f"the merge of {pair!r:.60} makes no token of the vocabulary.")
    ranks = {pair: float(n) for n, pair in enumerate(pairs)}
    whole, fallback = bool(model.get("ignore_merges")), bool(model.get("byte_fallback"))
    unknown = ids.get(model["unk_token"]) if model.get("unk_token") is not None else None
    fuse = bool(model.get("fuse_unk"))

    def merge(word: str) -> list[int]:
        if whole and word in ids:
            return [ids[word]]
        found: list[int] = []
        symbols: list[str] = []
        for character in word:
            if character in ids:
                symbols.append(character)
                continue
            as_bytes = (
                [f"<0x{byte:02X}>" for byte in character.encode("utf-8", "replace")] if fallback else []
            )
            symbols += as_bytes if as_bytes and all(name in ids for name in as_bytes) else [character]
        for symbol in merged(symbols, lambda a, b: ranks.get((a, b))):
            if symbol in ids:
                found.append(ids[symbol])
            elif unknown is not None and not (fuse and found and found[-1] == unknown):
                found.append(unknown)
        return found

    return merge


def _normaliser(part: Json | None) -> Normalise:
    if part is None:
        return lambda text: text
    kind = part["type"]
    if kind == "Sequence":
        steps = [_normaliser(inner) for inner in part["normalizers"]]
        return partial(_in_turn, steps)
    if kind == "Prepend":
        return lambda text: part["prepend"] + text if text else text
    if kind == "Replace":
        expression = _pattern(part["pattern"])
        content: str = part["content"]
        return lambda text: "".join(content if hit else piece for piece, hit in expression.pieces(text))
    if kind in ("NFC", "NFD", "NFKC", "NFKD"):
        return lambda text: unicodedata.normalize(kind, text)
    raise ModelError(f"a normalizer of type {kind!r:.40} is not supported.")


def _in_turn(steps: list[Normalise], text: str) -> str:
    for step in steps:
        text = step(text)
    return text


def _pattern(pattern: Json) -> Splitter:
    return Splitter(pattern["Regex"] if "Regex" in pattern else re.escape(pattern["String"]))


def _pre_tokenizer(part: Json | None) -> Split:
    if part is None:
        return lambda pieces, first: pieces
    kind = part["type"]
    if kind == "Sequence":
        steps = [_pre_tokenizer(inner) for inner in part["pretokenizers"]]

        def sequence(pieces: list[str], first: bool) -> list[str]:
            for step in steps:
                pieces = step(pieces, first)
            return pieces

        return sequence
    if kind == "ByteLevel":
        return partial(_byte_level, part.get("add_prefix_space", True), part.get("use_regex", True))
    if kind == "Split":
        behaviour = part["behavior"]
        if behaviour not in ("Isolated", "Removed") or part.get("invert"):
            raise ModelError(f"a split with behaviour {behaviour!r:.40} is not supported.")
        splitter = _pattern(part["pattern"])
        keep = behaviour == "Isolated"
        return lambda pieces, first: [
            piece for text in pieces for piece, hit in splitter.pieces(text) if keep or not hit
        ]
    if kind == "Digits":
        digits = Splitter(r"\p{N}" if part.get("individual_digits") else r"\p{N}+")
        return lambda pieces, first: [piece for text in pieces for piece, _ in digits.pieces(text)]
    if kind == "Metaspace":
        scheme = part.get("prepend_scheme", "always" if part.get("add_prefix_space", True) else "never")
        return partial(_metaspace, part.get("replacement", SPACE), scheme, part.get("split", True))
    raise ModelError(f"a pre-tokenizer of type {kind!r:.40} is not supported.")


_WORDS = Splitter(GPT2)


def _byte_level(prefixed: bool, cut: bool, pieces: list[str], first: bool) -> list[str]:
    found = []
    for text in pieces:
        spaced = f" {text}" if prefixed and not text.startswith(" ") else text
        found += [to_characters(piece) for piece, _ in (_WORDS.pieces(spaced) if cut else [(spaced, True)])]
    return found


def _metaspace(replacement: str, scheme: str, cut: bool, pieces: list[str], first: bool) -> list[str]:
    found: list[str] = []
    for n, text in enumerate(pieces):
        text = text.replace(" ", replacement)
        if scheme == "always" or (scheme == "first" and first and n == 0):
            text = text if text.startswith(replacement) else replacement + text
        found += re.split(f"(?={re.escape(replacement)})", text) if cut else [text]
    return found


def _template(part: Json | None, ids: Mapping[str, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Tokens that are put before and after a single text."""
    if part is None or part["type"] == "ByteLevel":
        return (), ()
    if part["type"] == "Sequence":
        both = [_template(inner, ids) for inner in part["processors"]]
        return tuple(t for b, _ in both for t in b), tuple(t for _, a in both for t in a)
    if part["type"] != "TemplateProcessing":
        raise ModelError(f"a post-processor of type {part['type']!r:.40} is not supported.")
    before: list[int] = []
    after: list[int] = []
    side = before
    for step in part["single"]:
        if "Sequence" in step:
            side = after
        else:
            side += part["special_tokens"][step["SpecialToken"]["id"]]["ids"]
    if any(type(token) is not int for token in (*before, *after)):
        raise ModelError("the post-processor's tokens are not whole numbers.")
    return tuple(before), tuple(after)


def _decoder(part: Json | None) -> tuple[Callable[[str], bytes], bool]:
    """What a token's text adds to the decoded bytes, and whether the first space is dropped."""
    if part is None:
        return str.encode, False
    kinds = [inner["type"] for inner in part["decoders"]] if part["type"] == "Sequence" else [part["type"]]
    steps = part["decoders"] if part["type"] == "Sequence" else [part]
    if kinds == ["ByteLevel"]:
        return to_bytes, False
    replaced, fallback, strip = "", False, False
    for step in steps:
        kind = step["type"]
        if kind == "Metaspace":
            replaced, strip = step.get("replacement", SPACE), step.get("prepend_scheme", "always") != "never"
        elif kind == "Replace" and step["content"] == " " and "String" in step["pattern"]:
            replaced = step["pattern"]["String"]
        elif kind == "Strip" and (step["content"], step["start"], step["stop"]) == (" ", 1, 0):
            strip = True
        elif kind == "ByteFallback":
            fallback = True
        elif kind != "Fuse":
            raise ModelError(f"a decoder of type {kind!r:.40} is not supported in this place.")
    return partial(from_sentencepiece, space=replaced, named=fallback), strip
