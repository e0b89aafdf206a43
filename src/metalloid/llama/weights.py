"""The weights of a Llama by their place in it, whatever the file calls them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from metalloid.errors import ModelError
from metalloid.llama import config, gguf, grouped, safetensors
from metalloid.llama.config import Config
from metalloid.llama.formats import PACKED, Tensor
from metalloid.llama.mapped import read_json

_HUGGING_FACE = {
    "attention_norm": "input_layernorm",
    "q": "self_attn.q_proj",
    "k": "self_attn.k_proj",
    "v": "self_attn.v_proj",
    "o": "self_attn.o_proj",
    "feed_norm": "post_attention_layernorm",
    "gate": "mlp.gate_proj",
    "up": "mlp.up_proj",
    "down": "mlp.down_proj",
}
_GGUF = {
    "attention_norm": "attn_norm",
    "q": "attn_q",
    "k": "attn_k",
    "v": "attn_v",
    "o": "attn_output",
    "feed_norm": "ffn_norm",
    "gate": "ffn_gate",
    "up": "ffn_up",
    "down": "ffn_down",
}


@dataclass(frozen=True)
class Layer:
    attention_norm: Tensor
    q: Tensor
    k: Tensor
    v: Tensor
    o: Tensor
    feed_norm: Tensor
    gate: Tensor
    up: Tensor
    down: Tensor


@dataclass(frozen=True)
class Weights:
    config: Config
    embedding: Tensor
    layers: tuple[Layer, ...]
    norm: Tensor
    output: Tensor
    metadata: Mapping[str, Any]  # of a GGUF file; empty otherwise


def load(path: Path) -> Weights:
    """From a folder as Hugging Face lays it out, or from a GGUF file."""
    if path.is_dir():
        return _from_folder(path)
    if not path.exists():
        raise ModelError(f"{path}: there is no such file or folder.")
    return _from_gguf(path)


def _from_folder(folder: Path) -> Weights:
    settings = read_json(folder / "config.json")
    shape = config.from_json(str(folder / "config.json"), settings)
    found = grouped.unpacked(str(folder), safetensors.read_directory(folder), settings.get("quantization"))
    output = "model.embed_tokens.weight" if shape.tied else "lm_head.weight"
    names = {"embedding": "model.embed_tokens.weight", "norm": "model.norm.weight", "output": output}
    return _weights(str(folder), shape, found, names, "model.layers.{}.", _HUGGING_FACE, {})


def _from_gguf(path: Path) -> Weights:
    file = gguf.read(path)
    embedding = file.tensors.get("token_embd.weight")
    if embedding is None:
        raise ModelError(f"{path}: there is no tensor 'token_embd.weight'.")
    factors = file.tensors.get("rope_freqs.weight")
    shape = config.from_gguf(
        str(path), file.metadata, None if factors is None else factors.array(), embedding.shape[0]
    )
    shape = replace(shape, tied="output.weight" not in file.tensors)
    output = "token_embd.weight" if shape.tied else "output.weight"
    names = {"embedding": "token_embd.weight", "norm": "output_norm.weight", "output": output}
    return _weights(str(path), shape, file.tensors, names, "blk.{}.", _GGUF, file.metadata)


def _weights(
    where: str,
    shape: Config,
    found: Mapping[str, Tensor],
    names: Mapping[str, str],
    prefix: str,
    parts: Mapping[str, str],
    metadata: Mapping[str, Any],
) -> Weights:
    width, hidden, heads = shape.width, shape.hidden, shape.heads * shape.head
    shapes: dict[str, tuple[int, ...]] = {
        "attention_norm": (width,),
        "feed_norm": (width,),
        "norm": (width,),
        "q": (heads, width),
        "k": (shape.kv_width, width),
        "v": (shape.kv_width, width),
        "o": (width, heads),
        "gate": (hidden, width),
        "up": (hidden, width),
        "down": (width, hidden),
        "embedding": (shape.vocabulary, width),
        "output": (shape.vocabulary, width),
    }

    def tensor(part: str, name: str) -> Tensor:
        if name not in found:
            raise ModelError(f"{where}: there is no tensor '{name}'.")
        if found[name].shape != shapes[part]:
            raise ModelError(
                f"{where}: tensor '{name}' has shape {list(found[name].shape)};"
                f" the configuration makes it {list(shapes[part])}."
            )
        if found[name].format is PACKED:
            raise ModelError(
                f"{where}: tensor '{name}' is u32; weights in float32, float16 or bfloat16 are needed."
            )
        return found[name]

    layers = tuple(
        Layer(**{part: tensor(part, f"{prefix.format(n)}{name}.weight") for part, name in parts.items()})
        for n in range(shape.layers)
    )
    top = {part: tensor(part, name) for part, name in names.items()}
    return Weights(shape, top["embedding"], layers, top["norm"], top["output"], metadata)
