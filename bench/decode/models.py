"""The models that `python -m bench decode` runs, as GGUF files in q4_0: the shipped one, and one of a billion weights.

The large one has the shape of TinyLlama (1.1 billion weights, 0.6 GB) and random blocks. Files have no vocabulary:
tokens are numbers here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from metalloid.llama import shipped
from metalloid.llama.safetensors import read_directory

Array = np.ndarray[Any, Any]
BLOCK, SIZE = 32, 18
PARTS = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


@dataclass(frozen=True)
class Shape:
    layers: int
    width: int
    hidden: int
    heads: int
    kv_heads: int
    vocabulary: int
    theta: float = 10000.0
    eps: float = 1e-5

    @property
    def head(self) -> int:
        return self.width // self.heads

    def matrices(self) -> dict[str, tuple[int, int]]:
        """Rows and columns by the name in a file."""
        kv = self.kv_heads * self.head
        one = {
            "attn_q": (self.width, self.width),
            "attn_k": (kv, self.width),
            "attn_v": (kv, self.width),
            "attn_output": (self.width, self.width),
            "ffn_gate": (self.hidden, self.width),
            "ffn_up": (self.hidden, self.width),
            "ffn_down": (self.width, self.hidden),
        }
        ends = dict.fromkeys(("token_embd", "output"), (self.vocabulary, self.width))
        return ends | {f"blk.{n}.{part}": size for n in range(self.layers) for part, size in one.items()}

    def gains(self) -> list[str]:
        layers = [f"blk.{n}.{part}" for n in range(self.layers) for part in ("attn_norm", "ffn_norm")]
        return ["output_norm", *layers]


LARGE = Shape(22, 2048, 5632, 32, 4, 32000)


def small() -> Shape:
    found = json.loads((shipped() / "config.json").read_text())
    names = (
        "num_hidden_layers",
        "hidden_size",
        "intermediate_size",
        "num_attention_heads",
        "num_key_value_heads",
    )
    layers, width, hidden, heads, kv_heads = (found[name] for name in names)
    return Shape(
        layers,
        width,
        hidden,
        heads,
        kv_heads,
        found["vocab_size"],
        found["rope_theta"],
        found["rms_norm_eps"],
    )


def quantized(weight: Array) -> Array:
    """Rows of q4_0: the number furthest from 0 is -8."""
    blocks = weight.astype(np.float32).reshape(len(weight), -1, BLOCK)
    place = np.abs(blocks).argmax(-1)[..., None]
    scale = np.take_along_axis(blocks, place, -1) / -8
    numbers = np.clip(np.round(blocks / np.where(scale == 0, 1, scale)) + 8, 0, 15).astype(np.uint8)
    return packed(numbers, scale[..., 0].astype(np.float16))


def packed(numbers: Array, scales: Array) -> Array:
    """Bytes of blocks from numbers below 16 [rows, blocks, 32] and their scales."""
    both = numbers[..., :16] | numbers[..., 16:] << 4
    return np.concatenate([scales[..., None].view(np.uint8), both], -1).reshape(len(numbers), -1)


def unpacked(rows: Array) -> tuple[Array, Array]:
    """Numbers below 16 [rows, blocks, 32], and the scales of blocks."""
    blocks = rows.reshape(len(rows), -1, SIZE)
    scales = np.ascontiguousarray(blocks[..., :2]).view(np.float16)[..., 0]
    return np.concatenate([blocks[..., 2:] & 15, blocks[..., 2:] >> 4], -1), scales


def _drawn(drawn: np.random.Generator, rows: int, columns: int) -> Array:
    """Random blocks; a weight's variance is one over the columns."""
    blocks = columns // BLOCK
    made = np.empty((rows, blocks, SIZE), np.uint8)
    made[..., 2:] = drawn.integers(0, 256, (rows, blocks, 16), np.uint8)
    scale = np.full((rows, blocks, 1), columns**-0.5 / 4.6, np.float16)
    made[..., :2] = scale.view(np.uint8)
    return made.reshape(rows, -1)


def _turned(weight: Array, heads: int) -> Array:
    """GGUF keeps the two numbers that turn together side by side; Hugging Face half a head apart."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def write(
    path: Path, shape: Shape, tensor: Callable[[str, tuple[int, int]], Array], gain: Callable[[str], Array]
) -> None:
    """`tensor` gives a matrix in q4_0 by its name and size, `gain` the gain of a norm."""
    import gguf

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(shape.layers)
    writer.add_embedding_length(shape.width)
    writer.add_feed_forward_length(shape.hidden)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_context_length(320)
    writer.add_rope_dimension_count(shape.head)
    writer.add_rope_freq_base(shape.theta)
    writer.add_layer_norm_rms_eps(shape.eps)
    writer.add_tokenizer_model("no_vocab")
    writer.add_vocab_size(shape.vocabulary)
    kind = gguf.GGMLQuantizationType.Q4_0
    for name, size in shape.matrices().items():
        writer.add_tensor(f"{name}.weight", tensor(name, size), raw_dtype=kind)
    for name in shape.gains():
        writer.add_tensor(f"{name}.weight", gain(name).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_small(path: Path) -> None:
    """The shipped model; its embedding is written twice, as files without tied weights have it."""
    found = {name: tensor.array() for name, tensor in read_directory(shipped()).items()}
    shape = small()
    heads = {"attn_q": shape.heads, "attn_k": shape.kv_heads}

    def tensor(name: str, size: tuple[int, int]) -> Array:
        if not name.startswith("blk"):
            return quantized(found["model.embed_tokens.weight"])
        _, n, part = name.split(".")
        weight = found[f"model.layers.{n}.{PARTS[part]}.weight"]
        return quantized(_turned(weight, heads[part]) if part in heads else weight)

    def gain(name: str) -> Array:
        if name == "output_norm":
            return found["model.norm.weight"]
        _, n, part = name.split(".")
        own = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}[part]
        return found[f"model.layers.{n}.{own}.weight"]

    write(path, shape, tensor, gain)


def write_large(path: Path) -> None:
    drawn = np.random.default_rng(1)
    write(path, LARGE, lambda name, size: _drawn(drawn, *size), lambda name: np.ones(LARGE.width))
