"""The shipped model as a GGUF file, written by the gguf package."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from .reference import SHIPPED, Weights, config, shipped

NAMES = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def renamed(name: str) -> str:
    if name in NAMES:
        return NAMES[name]
    _, _, layer, rest = name.split(".", 3)
    return f"blk.{layer}.{NAMES[rest.removesuffix('.weight')]}.weight"


def interleaved(weight: np.ndarray, heads: int) -> np.ndarray:
    """Rows of a head in the order that GGUF has them: pairs side by side instead of half a head apart."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def write(path: Path, kind: str) -> Weights:
    """Write the model with its matrices in this format; returns the weights it then has, by Hugging Face's names."""
    import gguf

    c, format = config(), gguf.GGMLQuantizationType[kind]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(c.layers)
    writer.add_context_length(c.context)
    writer.add_embedding_length(c.width)
    writer.add_feed_forward_length(c.hidden)
    writer.add_head_count(c.heads)
    writer.add_head_count_kv(c.kv_heads)
    writer.add_layer_norm_rms_eps(c.eps)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(c.head)
    add_tokenizer(writer)
    found: Weights = {}
    for name, array in shipped().items():
        weight = array.astype(np.float32)
        if weight.ndim == 1:
            writer.add_tensor(renamed(name), weight)
            found[name] = array
            continue
        stored = gguf.quants.quantize(weight, format)
        found[name] = gguf.quants.dequantize(stored, format).astype(np.float64)
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            stored = interleaved(stored, c.heads if "q_proj" in name else c.kv_heads)
        writer.add_tensor(renamed(name), stored, raw_dtype=format)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return found


def add_tokenizer(writer) -> None:
    file = json.loads((SHIPPED / "tokenizer.json").read_text())
    special = {entry["content"] for entry in file["added_tokens"]}
    tokens = sorted(file["model"]["vocab"], key=file["model"]["vocab"].get)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token in special else 1 for token in tokens])
    writer.add_token_merges([" ".join(pair) for pair in file["model"]["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
