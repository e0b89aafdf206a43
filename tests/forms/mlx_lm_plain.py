"""Architectures of mlx-lm and mlx-vlm that have no way but their kernels: what those compute, in operations of MLX.

Written from what the kernels' own docstrings say. `off()` puts them in the kernels' place.
"""

from __future__ import annotations

from importlib import import_module

import mlx.core as mx


def bit_linear(self, x):
    """Weights are two bits each, four rows in a byte, one less than they are written."""
    packed = self.weight
    rows = mx.concatenate([(packed >> (2 * n)) & 3 for n in range(4)]).astype(mx.float32) - 1
    scale = 1 / self.weight_scale if self.invert_weight_scales else self.weight_scale
    y = (x @ rows.T) * scale
    return y if self.bias is None else y + self.bias


def _split(qkvg, heads, kv_heads, dim, eps, scale):
    q, k, _ = mx.split(qkvg, [heads * dim, (heads + kv_heads) * dim], axis=-1)
    q = mx.fast.rms_norm(q.reshape(*q.shape[:-1], heads, dim), None, eps)
    k = mx.fast.rms_norm(k.reshape(*k.shape[:-1], kv_heads, dim), None, eps)
    return (q.astype(mx.float32) * scale).astype(qkvg.dtype), k


def qk_norm(qkvg, *, n_heads, n_kv_heads, head_dim, eps, query_scale):
    return _split(qkvg, n_heads, n_kv_heads, head_dim, eps, query_scale)


def qk_norm_rope(qkvg, *, n_heads, n_kv_heads, head_dim, eps, query_scale, rope_base, offset):
    def turned(x):
        x = x.transpose(0, 2, 1, 3)
        x = mx.fast.rope(x, head_dim, traditional=True, base=rope_base, scale=1.0, offset=offset)
        return x.transpose(0, 2, 1, 3)

    return [turned(x) for x in _split(qkvg, n_heads, n_kv_heads, head_dim, eps, query_scale)]


def expert_routing(logits, expert_bias, *, top_k, multiplier, score_eps, route_scale):
    scores = mx.sigmoid(logits * multiplier)
    chosen = mx.argsort(-(scores + expert_bias), axis=-1)[..., :top_k]
    weights = mx.take_along_axis(scores, chosen, axis=-1)
    return chosen, weights / (weights.sum(axis=-1, keepdims=True) + score_eps) * route_scale


def norm_add_norm(branch, stream, *, alpha, beta, post_weight, post_eps, next_norm):
    scaled = branch if post_weight is None else post_weight.astype(branch.dtype) * branch
    stream = alpha * stream + beta * mx.fast.rms_norm(scaled, None, post_eps).astype(mx.float32)
    if next_norm is None:
        return stream, None
    normed = mx.fast.rms_norm(stream, next_norm.weight.astype(mx.float32), next_norm.eps)
    return stream, normed.astype(branch.dtype)


def post_expert_norm_combine(experts, weights, *, norm_weight, eps):
    normed = mx.fast.rms_norm(experts.astype(mx.float32) * norm_weight, None, eps)
    return (normed * weights.astype(experts.dtype)[..., None]).sum(axis=-2).astype(experts.dtype)


def rms_norm_sigmoid_gate(x, gate, *, eps):
    batch, heads, length, dim = x.shape
    normed = mx.fast.rms_norm(x.astype(mx.float32), None, eps).transpose(0, 2, 1, 3)
    gate = mx.sigmoid(gate.astype(mx.float32)).reshape(batch, length, heads, dim)
    return (normed * gate).astype(x.dtype).reshape(batch, length, heads * dim)


MUSE = (qk_norm, qk_norm_rope, expert_routing, norm_add_norm, post_expert_norm_combine, rms_norm_sigmoid_gate)


def off(bitnet: str = "", muse_spark: str = "") -> None:
    """Put them in the place of the kernels, in the modules that are named."""
    if bitnet:
        import_module(bitnet).BitLinear.__call__ = bit_linear
    if muse_spark:
        for function in MUSE:
            setattr(import_module(muse_spark), function.__name__, function)
