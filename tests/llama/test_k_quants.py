"""A Llama in the formats with blocks of 256, mixed as real files mix them, against float64."""

import struct

import numpy as np
import pytest

from metalloid.llama.model import Llama

from ..kernels.test_quantized import blocks, unpacked
from .reference import forward
from .test_gguf import info, made, pair

WIDTH, HIDDEN, HEADS, KV, VOCABULARY = 256, 512, 4, 2, 40
HEAD = WIDTH // HEADS
NUMBERS = {"f32": 0, "q4_K": 12, "q6_K": 14, "q8_0": 8, "q4_0": 2}
SHAPES = {
    "attn_q": (WIDTH, WIDTH),
    "attn_k": (KV * HEAD, WIDTH),
    "attn_v": (KV * HEAD, WIDTH),
    "attn_output": (WIDTH, WIDTH),
    "ffn_gate": (HIDDEN, WIDTH),
    "ffn_up": (HIDDEN, WIDTH),
    "ffn_down": (WIDTH, HIDDEN),
}
MIXES = {
    "q4_K with some q6_K": {"attn_v": "q6_K", "ffn_down": "q6_K", "token_embd": "q6_K"},
    "q6_K": dict.fromkeys((*SHAPES, "token_embd"), "q6_K"),
    "every kind": {
        "attn_q": "q8_0",
        "attn_k": "q4_0",
        "ffn_gate": "q8_0",
        "ffn_up": "q4_0",
        "output": "q6_K",
    },
}
NAMES = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def u32(key: str, value: int) -> bytes:
    return pair(f"llama.{key}", 4, struct.pack("<I", value))


def scaled(format: str, rows: int, columns: int, seed: int) -> np.ndarray:
    """Random blocks whose weights are about as large as a model's."""
    raw = blocks(format, rows, columns, seed)
    size = {"q4_K": 144, "q6_K": 210, "q8_0": 34, "q4_0": 18}[format]
    at = {"q4_K": (0, 2), "q6_K": (208,), "q8_0": (0,), "q4_0": (0,)}[format]
    b = raw.reshape(-1, size)
    factor = {"q4_K": 0.002, "q6_K": 0.0005, "q8_0": 0.01, "q4_0": 0.1}[format]
    for n in at:
        b[:, n : n + 2] = (b[:, n : n + 2].copy().view(np.float16) * np.float16(factor)).view(np.uint8)
    return raw


def halves(weight: np.ndarray, heads: int) -> np.ndarray:
    """Rows of a head from side by side, as in GGUF, to half a head apart, as in the reference."""
    return weight.reshape(heads, HEAD // 2, 2, -1).swapaxes(1, 2).reshape(weight.shape)


def write(path, mix: dict[str, str]) -> dict[str, np.ndarray]:
    found, infos, body = {}, [], b""

    def add(name: str, format: str, raw: np.ndarray, shape: tuple[int, ...]) -> None:
        nonlocal body
        body += bytes(-len(body) % 32)
        infos.append(info(f"{name}.weight", shape[::-1], NUMBERS[format], len(body)))
        body += raw.tobytes()

    gains = np.random.default_rng(1).uniform(0.5, 1.5, (3, WIDTH)).astype(np.float32)
    places = ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm")
    theirs = ("model.layers.0.input_layernorm", "model.layers.0.post_attention_layernorm", "model.norm")
    for gain, name, other in zip(gains, places, theirs, strict=True):
        add(name, "f32", gain, (WIDTH,))
        found[f"{other}.weight"] = gain.astype(np.float64)
    for seed, (name, shape) in enumerate(SHAPES.items()):
        format = mix.get(name, "q4_K")
        raw = scaled(format, *shape, seed)
        add(f"blk.0.{name}", format, raw, shape)
        weight = unpacked(raw, format)
        if name in ("attn_q", "attn_k"):
            weight = halves(weight, HEADS if name == "attn_q" else KV)
        found[f"model.layers.0.{NAMES[name]}.weight"] = weight
    format = mix.get("token_embd", "q4_K")
    raw = scaled(format, VOCABULARY, WIDTH, 9)
    add("token_embd", format, raw, (VOCABULARY, WIDTH))
    found["model.embed_tokens.weight"] = unpacked(raw, format)
    if "output" in mix:
        add("output", format, raw, (VOCABULARY, WIDTH))
    pairs = [
        pair("general.architecture", 8, struct.pack("<Q", 5) + b"llama"),
        u32("block_count", 1),
        u32("embedding_length", WIDTH),
        u32("feed_forward_length", HIDDEN),
        u32("attention.head_count", HEADS),
        u32("attention.head_count_kv", KV),
        u32("context_length", 64),
        pair("llama.attention.layer_norm_rms_epsilon", 6, struct.pack("<f", 1e-5)),
    ]
    path.write_bytes(made(pairs, infos, body))
    return found


@pytest.mark.parametrize("mix", MIXES)
def test_logits_are_those_of_float64(tmp_path, mix):
    weights = write(tmp_path / "x.gguf", MIXES[mix])
    model = Llama.load(tmp_path / "x.gguf", exact=True)
    tokens = [3, 39, 0, 12, 12, 20, 7, 1, 9, 33, 21, 4]
    wanted = forward(weights, model.config, tokens)
    assert 0.1 < wanted.std() < 1e3
    session = model.session()
    got = [session.prefill(tokens[:9]).copy()]
    for token in tokens[9:]:
        session.step(token)
        got.append(session.logits.copy())
    assert np.abs(np.array(got) - wanted[8:]).max() < 1e-5 * np.abs(wanted).max()
