"""How a model wants to be spoken to: the marks around a system prompt, a question and an answer.

A style is known by the special tokens a tokenizer has. What people type is never read as a mark.
"""

from __future__ import annotations

from dataclasses import dataclass

from metalloid.errors import ModelError
from metalloid.llama.tokenizer import Tokenizer


@dataclass(frozen=True)
class Style:
    """Marks before and after each part. `turns`: whether a text holds more than one question."""

    name: str
    known_by: tuple[str, ...]  # special tokens; none: only when asked for
    system: tuple[str, str] = ("", "")
    user: tuple[str, str] = ("", "")
    answer: str = ""
    again: str = ""  # what stands between an answer and the next question
    stops: tuple[str, ...] = ()
    turns: bool = True


_HEADER = "<|start_header_id|>{}<|end_header_id|>\n\n"
STYLES = (
    Style(
        "stories",  # the model that comes with metalloid
        ("<|system|>", "<|user|>", "<|assistant|>"),
        system=("<|system|>", ""),
        user=("<|user|>", ""),
        answer="<|assistant|>",
        turns=False,
    ),
    Style(
        "llama3",
        ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
        system=(_HEADER.format("system"), "<|eot_id|>"),
        user=(_HEADER.format("user"), "<|eot_id|>"),
        answer=_HEADER.format("assistant"),
        again="<|eot_id|>",
        stops=("<|eot_id|>", "<|end_of_text|>"),
    ),
    Style(
        "chatml",
        ("<|im_start|>", "<|im_end|>"),
        system=("<|im_start|>system\n", "<|im_end|>\n"),
        user=("<|im_start|>user\n", "<|im_end|>\n"),
        answer="<|im_start|>assistant\n",
        again="<|im_end|>\n",
        stops=("<|im_end|>",),
    ),
    Style(
        "zephyr",
        (),
        system=("<|system|>\n", "</s>\n"),
        user=("<|user|>\n", "</s>\n"),
        answer="<|assistant|>\n",
        again="</s>\n",
        stops=("</s>",),
    ),
    Style("llama2", (), system=("[INST] <<SYS>>\n", "\n<</SYS>>\n\n"), user=("[INST] ", " [/INST]"), stops=("</s>",)),
    Style("plain", ()),
)  # fmt: skip
NAMES = tuple(style.name for style in STYLES)


def style_of(tokenizer: Tokenizer, name: str = "") -> Style:
    """The style of this name; without one, the one whose marks the tokenizer knows, else plain text."""
    for style in STYLES:
        if name == style.name:
            return style
        if not name and style.known_by and all(mark in tokenizer.added for mark in style.known_by):
            return style
    if name:
        raise ModelError(f"there is no style '{name}'; there are {', '.join(NAMES)}.")
    return STYLES[-1]


def question(
    tokenizer: Tokenizer,
    style: Style,
    text: str,
    system: str = "",
    first: bool = True,
    start: int | None = None,
) -> list[int]:
    """The tokens of a question, up to where the answer begins; `start` opens the text."""

    def mark(text: str) -> list[int]:
        return tokenizer.encode(text, template=False) if text else []

    def plain(text: str) -> list[int]:
        return tokenizer.encode(text, special=False, template=False) if text else []

    found = list(tokenizer.prefix or (() if start is None else (start,))) if first else mark(style.again)
    if first and system:
        found += mark(style.system[0]) + plain(system) + mark(style.system[1])
    opening = style.user[0]
    if style.name == "llama2" and first and system:
        opening = ""  # the system prompt stands inside the first question
    return found + mark(opening) + plain(text) + mark(style.user[1]) + mark(style.answer)
