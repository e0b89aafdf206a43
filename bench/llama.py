"""The shipped model token by token, beside the same model in numpy and in MLX: `python -m bench llama`.

Each decodes the same text of 64 tokens after a prompt of 39, in turns; of every token the quickest time counts, so that
what else the machine does is left out. numpy and MLX get the weights as they like them best.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from metalloid.llama import load, shipped
from metalloid.llama.config import Config
from metalloid.llama.safetensors import read_directory

PROMPT = (
    "<s><|user|>Tell me a story about a fox who lived in a town full of bridges, and about a girl with a kite in"
    " her hands, please.<|assistant|>There was once a young fox."
)
STEPS = 64
ROUNDS = 5
Decode = Callable[
    [list[int]], tuple[list[int], list[float]]
]  # tokens so far -> greedy tokens, seconds of each


def timed(first: int, step: Callable[[int, int], int], at: int) -> tuple[list[int], list[float]]:
    """Go on from a first token; `step` gets a token and its place."""
    found, seconds = [first], []
    for n in range(STEPS - 1):
        start = time.perf_counter()
        found.append(step(found[-1], at + n))
        seconds.append(time.perf_counter() - start)
    return found, seconds


def decode_metalloid(tokens: list[int]) -> tuple[list[int], list[float]]:
    session = SESSION
    session.reset()
    session.prefill(tokens)
    return timed(session.choose(), lambda token, at: session.step(token), len(tokens))


class Numpy:
    """Float32 with a cache, every product one call of BLAS."""

    def __init__(self, config: Config, dtype: type = np.float32) -> None:
        self.c = config
        found = {name: tensor.array().astype(dtype) for name, tensor in read_directory(shipped()).items()}
        self.embedding, self.norm = found["model.embed_tokens.weight"], found["model.norm.weight"]
        self.layers = []
        for n in range(config.layers):
            part = {name.split(".")[-2]: array for name, array in found.items() if f"layers.{n}." in name}
            qkv = np.concatenate([part["q_proj"], part["k_proj"], part["v_proj"]])
            gate_up = np.concatenate([part["gate_proj"], part["up_proj"]])
            self.layers.append((part, qkv, gate_up))
        angle = np.outer(np.arange(config.context), config.frequencies)
        self.cos, self.sin = np.cos(angle).astype(dtype), np.sin(angle).astype(dtype)
        shape = (config.layers, config.kv_heads, config.context, config.head)
        self.keys, self.values = np.zeros(shape, dtype), np.zeros(shape, dtype)

    def scaled(self, x: np.ndarray, gain: np.ndarray) -> np.ndarray:
        return x * (gain / np.sqrt(x @ x / len(x) + np.float32(self.c.eps)))

    def turned(self, x: np.ndarray, at: int) -> np.ndarray:
        first, second = x[:, : self.c.head // 2], x[:, self.c.head // 2 :]
        cos, sin = self.cos[at], self.sin[at]
        return np.concatenate([first * cos - second * sin, second * cos + first * sin], 1)

    def step(self, token: int, at: int) -> int:
        c = self.c
        x = self.embedding[token]
        groups, scale = c.heads // c.kv_heads, np.float32(c.head**-0.5)
        for n, (part, qkv, gate_up) in enumerate(self.layers):
            h = (qkv @ self.scaled(x, part["input_layernorm"])).reshape(-1, c.head)
            qk = self.turned(h[: c.heads + c.kv_heads], at)
            self.keys[n, :, at], self.values[n, :, at] = qk[c.heads :], h[c.heads + c.kv_heads :]
            q = qk[: c.heads].reshape(c.kv_heads, groups, c.head) * scale
            s = q @ self.keys[n, :, : at + 1].swapaxes(1, 2)
            p = np.exp(s - s.max(-1, keepdims=True))
            mixed = p @ self.values[n, :, : at + 1] / p.sum(-1, keepdims=True)
            x = x + part["o_proj"] @ mixed.reshape(-1)
            both = gate_up @ self.scaled(x, part["post_attention_layernorm"])
            gate = both[: c.hidden]
            x = x + part["down_proj"] @ (gate / (1 + np.exp(-gate)) * both[c.hidden :])
        return int((self.embedding @ self.scaled(x, self.norm)).argmax())

    def __call__(self, tokens: list[int]) -> tuple[list[int], list[float]]:
        for at, token in enumerate(tokens):
            first = self.step(token, at)
        return timed(first, self.step, len(tokens))


def mlx(dtype: str) -> Decode:
    """mlx-lm's own Llama on the CPU."""
    import json

    import mlx.core as mx
    from mlx_lm.models import llama
    from mlx_lm.models.cache import make_prompt_cache

    mx.set_default_device(mx.cpu)
    settings = json.loads((shipped() / "config.json").read_text())
    arguments = llama.ModelArgs.from_dict(settings)
    model = llama.Model(arguments)
    arrays = {name: tensor.array() for name, tensor in read_directory(shipped()).items()}
    model.load_weights([(name, mx.array(array).astype(getattr(mx, dtype))) for name, array in arrays.items()])
    mx.eval(model.parameters())

    def decode(tokens: list[int]) -> tuple[list[int], list[float]]:
        cache = make_prompt_cache(model)

        def after(tokens: list[int]) -> int:
            return mx.argmax(model(mx.array([tokens]), cache=cache)[:, -1], -1).item()

        return timed(after(tokens), lambda token, at: after([token]), len(tokens))

    return decode


MODEL = load()
SESSION = MODEL.llama.session()


def generation() -> None:
    tokens = MODEL.tokenizer.encode(PROMPT)
    SESSION.prepare()
    ways: dict[str, Decode] = {"metalloid": decode_metalloid, "numpy, float32": Numpy(MODEL.llama.config)}
    if find_spec("mlx_lm"):
        ways |= {f"MLX on the CPU, {dtype}": mlx(dtype) for dtype in ("float16", "float32")}
    times: dict[str, list[list[float]]] = {name: [] for name in ways}
    texts = {}
    for _ in range(ROUNDS):
        for name, decode in ways.items():
            texts[name], seconds = decode(tokens)
            times[name].append(seconds)
    best = {name: sum(map(min, zip(*rounds, strict=True))) for name, rounds in times.items()}
    for name, seconds in best.items():
        same = sum(a == b for a, b in zip(texts[name], texts["metalloid"], strict=True))
        print(
            f"{name:26} {seconds / (STEPS - 1) * 1e3:7.3f} ms a token {(STEPS - 1) / seconds:7.0f} tokens/s"
            f"   metalloid is {seconds / best['metalloid']:5.2f} times as fast   ({same}/{STEPS} tokens alike)"
        )
    if not find_spec("mlx_lm"):
        print("MLX: mlx-lm is not installed")


def main() -> None:
    generation()


if __name__ == "__main__":
    main()
