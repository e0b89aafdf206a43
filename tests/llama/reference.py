"""A Llama in numpy's float64, written for reading: what the kernels are held against."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import numpy as np

from metalloid.llama import safetensors
from metalloid.llama.config import Config
from metalloid.llama.weights import load

SHIPPED = Path(str(resources.files("metalloid.llama") / "model"))
Weights = dict[str, np.ndarray]  # by Hugging Face's names, float64


def shipped() -> Weights:
    found = safetensors.read_directory(SHIPPED)
    return {name: tensor.array().astype(np.float64) for name, tensor in found.items()}


def config() -> Config:
    return load(SHIPPED).config


def norm(x: np.ndarray, gain: np.ndarray, eps: float) -> np.ndarray:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * gain


def rotated(x: np.ndarray, frequencies: tuple[float, ...]) -> np.ndarray:
    """[token, head, dimension], the two halves of a head turned together."""
    angle = np.outer(np.arange(len(x)), frequencies)[:, None]
    first, second = np.split(x, 2, -1)
    cos, sin = np.cos(angle), np.sin(angle)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], -1)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def forward(weights: Weights, c: Config, tokens: list[int]) -> np.ndarray:
    """The logits after every token."""
    n = len(tokens)
    x = weights["model.embed_tokens.weight"][tokens]
    mask = np.triu(np.full((n, n), -np.inf), 1)
    for layer in range(c.layers):
        w = {
            name.removeprefix(f"model.layers.{layer}.").removesuffix(".weight"): array
            for name, array in weights.items()
            if name.startswith(f"model.layers.{layer}.")
        }
        h = norm(x, w["input_layernorm"], c.eps)
        q, k, v = (
            (h @ w[f"self_attn.{part}_proj"].T).reshape(n, heads, c.head)
            for part, heads in (("q", c.heads), ("k", c.kv_heads), ("v", c.kv_heads))
        )
        q, k = rotated(q, c.frequencies), rotated(k, c.frequencies)
        k, v = (np.repeat(a, c.heads // c.kv_heads, 1) for a in (k, v))
        p = softmax(np.einsum("qhd,khd->hqk", q, k) / np.sqrt(c.head) + mask)
        x = x + np.einsum("hqk,khd->qhd", p, v).reshape(n, -1) @ w["self_attn.o_proj"].T
        h = norm(x, w["post_attention_layernorm"], c.eps)
        g = h @ w["mlp.gate_proj"].T
        x = x + (g / (1 + np.exp(-g)) * (h @ w["mlp.up_proj"].T)) @ w["mlp.down_proj"].T
    return norm(x, weights["model.norm.weight"], c.eps) @ weights["model.embed_tokens.weight"].T
