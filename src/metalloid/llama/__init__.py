"""Llamas that run on the kernels of `metalloid.kernels`.

from metalloid import llama

model = llama.load()                # the model that comes with metalloid, a Hugging Face folder or a GGUF file
chat = llama.Chat(model, llama.Choice(temperature=0.7, seed=1))
for piece in chat.ask("Tell me a story about a fox."):
    print(piece, end="", flush=True)
"""

from __future__ import annotations

from metalloid.llama.chat import Chat, Cost, Model, load, shipped
from metalloid.llama.model import Choice, Llama, Session
from metalloid.llama.tokenizer import Tokenizer

__all__ = ["Chat", "Choice", "Cost", "Llama", "Model", "Session", "Tokenizer", "load", "shipped"]
