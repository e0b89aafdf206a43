"""The shape of a Llama, from config.json or from GGUF's metadata."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from metalloid.errors import ModelError
from metalloid.llama.formats import Array

_MOST = {"layers": 1024, "width": 1 << 17, "heads": 4096, "hidden": 1 << 20, "vocabulary": 1 << 22}


@dataclass(frozen=True)
class Config:
    """`interleaved` tells which dimensions of a head turn together: neighbours, or the two halves."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    head: int  # dimensions of one
    hidden: int
    vocabulary: int
    context: int
    eps: float
    frequencies: tuple[float, ...]  # radians a position, per pair of dimensions
    interleaved: bool
    tied: bool
    stops: tuple[int, ...] = ()  # tokens that end an answer
    start: int | None = None  # the token that begins a text

    @property
    def kv_width(self) -> int:
        return self.kv_heads * self.head


class _Fields:
    """Values of a header, each looked at before it is believed."""

    def __init__(self, where: str, values: Mapping[str, Any], prefix: str = "") -> None:
        self.where, self.values, self.prefix = where, values, prefix

    def whole(self, name: str, most: int, default: int | None = None) -> int:
        value = self.values.get(self.prefix + name)
        value = default if value is None else value
        if type(value) is not int or not 1 <= value <= most:
            self.refuse(name, value, f"a whole number from 1 to {most}")
        return value

    def real(self, name: str, default: float | None = None) -> float:
        value = self.values.get(self.prefix + name)
        value = default if value is None else value
        if not isinstance(value, int | float) or not 0 < value < 1e12:
            self.refuse(name, value, "a number above 0")
        return float(value)

    def refuse(self, name: str, value: object, expected: str) -> NoReturn:
        got = "it is missing" if value is None else f"got {value!r:.80}"
        raise ModelError(f"{self.where}: '{self.prefix}{name}' should be {expected}; {got}.")


def from_json(where: str, values: Mapping[str, Any]) -> Config:
    """From Hugging Face's config.json."""
    kind = values.get("model_type")
    if kind not in ("llama", "mistral"):
        raise ModelError(f"{where}: model_type is {kind!r:.80}; llama and mistral are supported.")
    _expect(where, values, "hidden_act", "silu")
    for name in ("attention_bias", "mlp_bias", "sliding_window"):
        _expect(where, values, name, None)
    fields = _Fields(where, values)
    heads = fields.whole("num_attention_heads", _MOST["heads"])
    width = fields.whole("hidden_size", _MOST["width"])
    head = fields.whole("head_dim", 1024, width // heads)
    # Newer files keep all of it in rope_parameters.
    rope = values.get("rope_parameters") or values.get("rope_scaling") or {}
    if not isinstance(rope, Mapping):
        raise ModelError(f"{where}: 'rope_scaling' should be an object; got {rope!r:.80}.")
    inside = _Fields(f"{where}: rope_scaling", rope)
    base = inside.real("rope_theta") if "rope_theta" in rope else fields.real("rope_theta", 10000.0)
    eos = values.get("eos_token_id")
    stops = eos if isinstance(eos, list) else [] if eos is None else [eos]
    start = values.get("bos_token_id")
    if any(type(token) is not int for token in [*stops, *([] if start is None else [start])]):
        raise ModelError(f"{where}: 'eos_token_id' and 'bos_token_id' should be whole numbers.")
    return _checked(
        where,
        Config(
            layers=fields.whole("num_hidden_layers", _MOST["layers"]),
            width=width,
            heads=heads,
            kv_heads=fields.whole("num_key_value_heads", _MOST["heads"], heads),
            head=head,
            hidden=fields.whole("intermediate_size", _MOST["hidden"]),
            vocabulary=fields.whole("vocab_size", _MOST["vocabulary"]),
            context=fields.whole("max_position_embeddings", 1 << 24, 2048),
            eps=fields.real("rms_norm_eps", 1e-6),
            frequencies=tuple(_scaled(inside, _frequencies(base, head)).tolist()),
            interleaved=False,
            tied=values.get("tie_word_embeddings") is True,
            stops=tuple(stops),
            start=start,
        ),
    )


def from_gguf(where: str, metadata: Mapping[str, Any], factors: Array | None, vocabulary: int) -> Config:
    """From GGUF's metadata; `factors` is the tensor that slows the frequencies of newer models down."""
    kind = metadata.get("general.architecture")
    if kind != "llama":
        raise ModelError(f"{where}: general.architecture is {kind!r:.80}; llama is supported.")
    fields = _Fields(where, metadata, "llama.")
    if metadata.get("llama.expert_count"):
        raise ModelError(f"{where}: a mixture of experts is not supported.")
    scaling = metadata.get("llama.rope.scaling.type")
    if scaling not in (None, "none", "linear"):
        raise ModelError(f"{where}: RoPE scaling {scaling!r:.80} is not supported; linear is.")
    heads = fields.whole("attention.head_count", _MOST["heads"])
    width = fields.whole("embedding_length", _MOST["width"])
    head = fields.whole("attention.key_length", 1024, width // heads)
    for name in ("rope.dimension_count", "attention.value_length"):
        if fields.whole(name, 1024, head) != head:
            fields.refuse(name, metadata[f"llama.{name}"], f"{head}, the size of a head")
    found = _frequencies(fields.real("rope.freq_base", 10000.0), head)
    if scaling == "linear":
        found = found / fields.real("rope.scaling.factor", 1.0)
    if factors is not None:
        if factors.shape != found.shape or not (factors > 0).all():
            raise ModelError(f"{where}: rope_freqs.weight should hold {len(found)} numbers above 0.")
        found = found / factors.astype(np.float64)
    eos, start = (metadata.get(f"tokenizer.ggml.{name}_token_id") for name in ("eos", "bos"))
    eot = metadata.get("tokenizer.ggml.eot_token_id")
    return _checked(
        where,
        Config(
            layers=fields.whole("block_count", _MOST["layers"]),
            width=width,
            heads=heads,
            kv_heads=fields.whole("attention.head_count_kv", _MOST["heads"], heads),
            head=head,
            hidden=fields.whole("feed_forward_length", _MOST["hidden"]),
            vocabulary=vocabulary,
            context=fields.whole("context_length", 1 << 24, 2048),
            eps=fields.real("attention.layer_norm_rms_epsilon", 1e-5),
            frequencies=tuple(found.tolist()),
            interleaved=True,
            tied=False,  # told by whether there is an output tensor
            stops=tuple(token for token in (eos, eot) if isinstance(token, int)),
            start=start if isinstance(start, int) else None,
        ),
    )


def _frequencies(base: float, head: int) -> Array:
    return base ** (-np.arange(0, head, 2, dtype=np.float64) / head)


def _scaled(rope: _Fields, found: Array) -> Array:
    """Frequencies for contexts longer than a model was trained on at first."""
    kind = rope.values.get("rope_type", rope.values.get("type", "default"))
    if kind in ("default", None):
        return found
    if kind == "linear":
        return found / rope.real("factor")
    if kind != "llama3":
        raise ModelError(f"{rope.where}: type {kind!r:.80} is not supported; linear and llama3 are.")
    # Waves longer than the old context are slowed down, short ones kept, those between blended.
    factor, low, high = (rope.real(name) for name in ("factor", "low_freq_factor", "high_freq_factor"))
    turns = rope.real("original_max_position_embeddings") * found / (2 * math.pi)
    kept = np.clip((turns - low) / max(high - low, 1e-9), 0.0, 1.0)
    return (1 - kept) * found / factor + kept * found


def _expect(where: str, values: Mapping[str, Any], name: str, wanted: object) -> None:
    value = values.get(name, wanted)
    if value != wanted and value not in (None, False):
        raise ModelError(f"{where}: {name} is {value!r:.80}, which is not supported.")


def _checked(where: str, config: Config) -> Config:
    if config.head % 2 or config.heads % config.kv_heads:
        raise ModelError(
            f"{where}: {config.heads} heads of {config.head} dimensions over {config.kv_heads} key-value heads;"
            " expected an even number of dimensions, and heads that divide into groups."
        )
    return config
