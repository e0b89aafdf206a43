"""Small Llamas with random weights and awkward sizes, as Hugging Face lays them out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

SIZES = {
    "hidden_size": 36,
    "intermediate_size": 50,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 10,
    "vocab_size": 67,
    "max_position_embeddings": 64,
}


def tensors(settings: dict, seed: int = 0) -> dict[str, np.ndarray]:
    source = np.random.default_rng(seed)
    width, hidden, head = settings["hidden_size"], settings["intermediate_size"], settings["head_dim"]
    heads, kv = settings["num_attention_heads"] * head, settings["num_key_value_heads"] * head
    shapes = {"model.embed_tokens.weight": (settings["vocab_size"], width), "model.norm.weight": (width,)}
    if not settings.get("tie_word_embeddings"):
        shapes["lm_head.weight"] = (settings["vocab_size"], width)
    for n in range(settings["num_hidden_layers"]):
        layer = {
            "input_layernorm": (width,),
            "self_attn.q_proj": (heads, width),
            "self_attn.k_proj": (kv, width),
            "self_attn.v_proj": (kv, width),
            "self_attn.o_proj": (width, heads),
            "post_attention_layernorm": (width,),
            "mlp.gate_proj": (hidden, width),
            "mlp.up_proj": (hidden, width),
            "mlp.down_proj": (width, hidden),
        }
        shapes |= {f"model.layers.{n}.{name}.weight": shape for name, shape in layer.items()}
    return {
        name: (source.standard_normal(shape) * 0.3 + (len(shape) == 1)).astype(np.float32)
        for name, shape in shapes.items()
    }


def save_tensors(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """A safetensors file without the package."""
    kinds = {"float32": "F32", "float16": "F16", "uint32": "U32"}
    header, at = {}, 0
    for name, array in arrays.items():
        header[name] = {
            "dtype": kinds[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [at, at + array.nbytes],
        }
        at += array.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(a.tobytes() for a in arrays.values()))


def write(folder: Path, shards: int = 1, **changes: object) -> dict[str, np.ndarray]:
    settings = {"model_type": "llama", "hidden_act": "silu", "rms_norm_eps": 1e-5, **SIZES, **changes}
    arrays = tensors(settings)
    (folder / "config.json").write_text(json.dumps(settings))
    if shards == 1:
        save_tensors(folder / "model.safetensors", arrays)
        return arrays
    names, places = list(arrays), {}
    for n in range(shards):
        file = f"model-{n + 1:05}-of-{shards:05}.safetensors"
        part = {name: arrays[name] for name in names[n::shards]}
        save_tensors(folder / file, part)
        places |= dict.fromkeys(part, file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    return arrays
