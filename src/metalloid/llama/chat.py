"""A conversation: questions in, answers as a stream of text, with what they cost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from metalloid.errors import ModelError
from metalloid.llama import tokenizer_gguf, tokenizer_json, weights
from metalloid.llama.model import Choice, Llama, Session
from metalloid.llama.style import question, style_of
from metalloid.llama.tokenizer import Tokenizer


def shipped() -> Path:
    """The model that comes with metalloid: a teller of short stories."""
    return Path(str(resources.files("metalloid.llama") / "model"))


@dataclass(frozen=True)
class Model:
    """Weights and the tokenizer that goes with them."""

    llama: Llama
    tokenizer: Tokenizer

    def __repr__(self) -> str:
        return f"<model {self.llama!r}, {self.tokenizer!r}>"


def load(path: Path | str | None = None, exact: bool = False) -> Model:
    """A model from a Hugging Face folder or a GGUF file; without a path, the one that comes with metalloid.

    `exact`: what goes into a product with weights in q4_0 or q8_0 is not rounded to 8 bits, on any device.
    """
    where = shipped() if path is None else Path(path)
    loaded = weights.load(where)
    if where.is_dir():
        tokenizer = tokenizer_json.load(where / "tokenizer.json")
    else:
        tokenizer = tokenizer_gguf.from_metadata(str(where), loaded.metadata)
    if len(tokenizer) > loaded.config.vocabulary:
        raise ModelError(
            f"{where}: the tokenizer has {len(tokenizer)} tokens; the model knows {loaded.config.vocabulary}."
        )
    return Model(Llama(loaded, exact), tokenizer)


@dataclass
class Cost:
    """What an answer took."""

    prompt_tokens: int = 0
    prompt_seconds: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    full: bool = False  # the context ended the answer

    @property
    def rate(self) -> float:
        """Tokens per second."""
        return self.tokens / self.seconds if self.seconds else 0.0


class Chat:
    """Remembers what was said, where the model's style has room for more than one question."""

    def __init__(
        self, model: Model, choice: Choice | None = None, system: str = "", style: str = "", context: int = 0
    ) -> None:
        self.model, self.choice, self.system = model, choice or Choice(), system
        self.style = style_of(model.tokenizer, style)
        self.session: Session = model.llama.session(context)
        self.cost = Cost()
        config, tokenizer = model.llama.config, model.tokenizer
        named = (tokenizer.special_id(text) for text in self.style.stops)
        self.stops = frozenset(config.stops) | {token for token in named if token is not None}

    def __repr__(self) -> str:
        return f"<chat, {self.style.name}, {self.session!r}>"

    def ask(self, text: str, max_tokens: int = 0) -> Iterator[str]:
        """The answer, piece by piece; it ends with a stop token, after `max_tokens`, or when the context is full."""
        first = not self.style.turns or not self.session.length
        if first:
            self.session.reset()
        start = self.model.llama.config.start
        tokens = question(self.model.tokenizer, self.style, text, self.system, first, start)
        return self.go_on(tokens, max_tokens)

    def go_on(self, tokens: list[int], max_tokens: int = 0) -> Iterator[str]:
        """What comes after these tokens."""
        session, cost = self.session, Cost(prompt_tokens=len(tokens))
        self.cost = cost
        begun = time.perf_counter()
        session.prefill(tokens)
        token = session.choose(self.choice)
        cost.prompt_seconds = time.perf_counter() - begun
        stream = self.model.tokenizer.stream()
        while token not in self.stops:
            cost.tokens += 1
            if piece := stream.feed(token):
                yield piece
            if cost.tokens == max_tokens:
                break
            if session.length >= session.context:
                cost.full = True
                break
            begun = time.perf_counter()
            token = session.step(token, self.choice)
            cost.seconds += time.perf_counter() - begun
        if piece := stream.end():
            yield piece
