"""Text to tokens and back.

A tokenizer cuts out special tokens, normalises what is left, splits it into words and merges each into tokens.
Back it goes through bytes: a token may end in the middle of a character, so a stream keeps what is not yet whole.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from metalloid.errors import ModelError

_MOST_WORDS = 1 << 16


@dataclass(frozen=True)
class Added:
    """A token that is cut out of the text before anything else happens to it."""

    id: int
    content: str
    special: bool  # left out of decoded text
    lstrip: bool = False  # takes the white space before it along
    rstrip: bool = False


@dataclass(frozen=True)
class Tokenizer:
    """`words` normalises and splits a stretch of text; its flag tells whether the stretch begins the text."""

    pieces: Sequence[bytes]  # what each token adds to the text
    ids: Mapping[str, int]
    added: Mapping[str, Added]
    words: Callable[[str, bool], Iterable[str]]
    merge: Callable[[str], list[int]]
    prefix: tuple[int, ...] = ()  # tokens that stand before every text
    suffix: tuple[int, ...] = ()
    strip: bool = False  # the first space of a decoded text is not part of it
    _known: dict[str, list[int]] = field(default_factory=dict, compare=False)

    def __repr__(self) -> str:
        return f"<tokenizer of {len(self.pieces)} tokens>"

    def __len__(self) -> int:
        return len(self.pieces)

    def encode(self, text: str, special: bool = True, template: bool = True) -> list[int]:
        """The tokens of a text. `special` finds special tokens in it, `template` puts prefix and suffix around."""
        found = list(self.prefix) if template else []
        at = 0
        if special and self.added:
            for match in self._expression().finditer(text):
                added = self.added[
                    match.group().strip() if match.group() not in self.added else match.group()
                ]
                found += self._plain(text[at : match.start()], at == 0)
                found.append(added.id)
                at = match.end()
        found += self._plain(text[at:], at == 0)
        return [*found, *self.suffix] if template else found

    def decode(self, tokens: Iterable[int], special: bool = False) -> str:
        """The text of tokens; special ones are left out unless asked for."""
        stream = Stream(self, special)
        return "".join([*(stream.feed(token) for token in tokens), stream.end()])

    def stream(self) -> Stream:
        return Stream(self)

    def special_id(self, text: str) -> int | None:
        """The id of a special token, where the tokenizer has it."""
        added = self.added.get(text)
        return added.id if added is not None else None

    def _plain(self, text: str, first: bool) -> list[int]:
        found: list[int] = []
        for word in self.words(text, first) if text else ():
            known = self._known.get(word)
            if known is None:
                known = self.merge(word)
                if len(self._known) >= _MOST_WORDS:
                    self._known.clear()
                if len(word) < 64:
                    self._known[word] = known
            found += known
        return found

    def _expression(self) -> re.Pattern[str]:
        return _alternatives(tuple(sorted(self.added.values(), key=lambda a: (-len(a.content), a.id))))


class Stream:
    """Decoded text as it comes: `feed` gives what is certain so far, `end` the rest."""

    def __init__(self, tokenizer: Tokenizer, special: bool = False) -> None:
        self._tokenizer, self._special = tokenizer, special
        self._hidden = {a.id for a in tokenizer.added.values() if a.special}
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._strip = tokenizer.strip

    def feed(self, token: int) -> str:
        if not 0 <= token < len(self._tokenizer):
            raise ModelError(f"token {token} is not one of the tokenizer's {len(self._tokenizer)}.")
        if token in self._hidden and not self._special:
            return ""
        return self._without_space(self._decoder.decode(self._tokenizer.pieces[token]))

    def end(self) -> str:
        return self._without_space(self._decoder.decode(b"", final=True))

    def _without_space(self, text: str) -> str:
        if self._strip and text:
            self._strip = False
            return text.removeprefix(" ")
        return text


def _alternatives(added: tuple[Added, ...]) -> re.Pattern[str]:
    """Any of these tokens, the longest where several begin at one place; `re` keeps the compiled pattern."""
    return re.compile(
        "|".join(
            (r"\s*" if one.lstrip else "") + re.escape(one.content) + (r"\s*" if one.rstrip else "")
            for one in added
        )
    )
