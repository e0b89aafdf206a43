"""mlx-lm's kernels, each against the same computation in MLX's own operations on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from conformance.results import site
from conformance.results.case import TOLERANCE, Array, Case, Order, Output, Size, Step, Work, tolerance
from conformance.results.mlx_lm.record import module, numpy_of, recorded


def _work(
    call: Callable[[], Any], expected: dict[str, Any], factor: float = 4.0, through: str = "float32"
) -> Work:
    """What `call` records, against arrays by output; `through` is what it rounds to on the way."""
    recorded.clear()
    call()
    made = [
        Output(name, array, numpy_of(expected[name]), _allowed(array, factor, through))
        for _, outputs in recorded
        for name, array in outputs.items()
        if name in expected
    ]
    assert len(made) == len(expected), f"outputs {sorted(expected)} expected"
    return Work(tuple(step for step, _ in recorded), tuple(made))


def _allowed(array: Array, factor: float, through: str) -> float:
    """Sums differ by `factor` float roundings; the one to 16 bits hides those, but may fall the other way."""
    if array.dtype == np.float32 and through == "float32":
        return tolerance(array, factor)
    return 1.5 * max(tolerance(array), TOLERANCE[through] if through != "float32" else 0.0)


def _random(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: str = "float32", scale: float = 1
) -> Any:
    mx = site.mlx()
    return mx.array((rng.standard_normal(shape) * scale).astype(np.float32)).astype(getattr(mx, dtype))


def _gated_delta(
    rng: np.random.Generator, size: Size, kind: str, dtype: str, keys: int, vector: bool, masked: bool
) -> Work:
    mx, gd = site.mlx(), module("models.gated_delta")
    batch, tokens, key_heads, heads, rows = {"small": (1, 2, 1, 2, 8), "large": (2, 12, 2, 4, 64)}[size]
    q, k = (_random(rng, (batch, tokens, key_heads, keys), dtype, keys**-0.5) for _ in range(2))
    v = _random(rng, (batch, tokens, heads, rows), dtype)
    g = mx.sigmoid(_random(rng, (batch, tokens, heads, keys) if vector else (batch, tokens, heads)))
    beta = mx.sigmoid(_random(rng, (batch, tokens, heads), dtype))
    state = _random(rng, (batch, heads, rows, keys))
    mask: Any = mx.array(np.arange(tokens)[None].repeat(batch, 0) != 1) if masked else None
    y, new = gd.gated_delta_ops(q, k, v, g, beta, state, mask)
    if masked:  # the kernel leaves zeros where the twin leaves the unmasked output
        y = mx.where(mask[..., None, None], y, mx.zeros_like(y))
    return _work(lambda: getattr(gd, kind)(q, k, v, g, beta, state, mask), {"y": y, "state_out": new})


def _ssm(rng: np.random.Generator, size: Size, dtype: str) -> Work:
    ssm = module("models.ssm")
    batch, heads, groups, dim, states = {"small": (2, 2, 1, 8, 64), "large": (2, 16, 4, 64, 128)}[size]
    x = _random(rng, (batch, 1, heads, dim), dtype)
    a_log, d, bias = (_random(rng, (heads,)) for _ in range(3))
    b, c = (_random(rng, (batch, 1, groups, states), dtype) for _ in range(2))
    dt = _random(rng, (batch, 1, heads), dtype)
    state = _random(rng, (batch, heads, dim, states))
    limits = (0.001, 100.0)
    mx = site.mlx()
    exact = [
        a.astype(mx.float32) for a in (x, b, c, dt)
    ]  # the twin rounds between its steps, the kernel once
    y, new = ssm.ssm_attn(exact[0], a_log, exact[1], exact[2], d, exact[3], bias, state, limits)
    call = partial(ssm.ssm_update_kernel, x, a_log, b, c, d, dt, bias, state, limits)
    return _work(call, {"out": y.astype(x.dtype), "state_out": new}, 8.0)


def _rwkv7(rng: np.random.Generator, size: Size) -> Work:
    mx, rwkv = site.mlx(), module("models.rwkv7")
    batch, tokens, heads, dim = {"small": (1, 2, 1, 32), "large": (2, 12, 4, 64)}[size]
    r, k, v, a, b = (_random(rng, (batch, tokens, heads, dim), scale=0.3) for _ in range(5))
    w = mx.sigmoid(_random(rng, (batch, tokens, heads, dim)))
    state = now = _random(rng, (batch, heads, dim, dim))
    ys = []
    for t in range(tokens):
        y, now = rwkv._wkv7_step_ops(r[:, t], w[:, t], k[:, t], v[:, t], a[:, t], b[:, t], now)
        ys.append(y.squeeze(-1))
    call = partial(rwkv.wkv7_kernel, r, w, k, v, a, b, state)
    return _work(call, {"y": mx.stack(ys, 1), "state_out": now})


def _bitlinear(rng: np.random.Generator, size: Size, dtype: str, invert: bool) -> Work:
    """No twin in mlx-lm: the packed weights are unpacked, two bits each, and multiplied."""
    mx, bit = site.mlx(), module("models.bitlinear_layers")
    batch, columns, rows = {"small": (3, 132, 8), "large": (16, 1024, 256)}[size]
    x = _random(rng, (batch, columns), dtype)
    packed = rng.integers(0, 256, (rows // 4, columns), np.uint8)
    packed &= 0xAA | rng.integers(0, 256, packed.shape, np.uint8)
    layer = bit.BitLinear(columns, rows, bias=False, invert_weight_scales=invert)
    layer.weight_scale = mx.array([1.7]).astype(getattr(mx, dtype))
    scale = layer.weight_scale.astype(mx.float32)
    weight = np.concatenate([((packed >> (2 * n)) & 3).astype(np.float32) - 1 for n in range(4)])
    y = x.astype(mx.float32) @ mx.array(weight).T * (1 / scale if invert else scale)
    call = partial(layer.execute_matmul_kernel, x, mx.array(packed))
    return _work(call, {"out": y.astype(x.dtype)})


def _expert_routing(rng: np.random.Generator, size: Size, experts: int) -> Work:
    mx, kernels = site.mlx(), module("kernels.expert_routing")
    tokens, k = {"small": (3, 4), "large": (40, 8)}[size]
    logits, bias = _random(rng, (tokens, experts)), _random(rng, (experts,), scale=0.1)
    options = {"top_k": k, "multiplier": 0.7, "score_eps": 1e-6, "route_scale": 2.5}
    scores = mx.sigmoid(logits * 0.7)
    chosen = mx.argsort(-(scores + bias), axis=-1)[:, :k]
    picked = mx.take_along_axis(scores, chosen, -1)
    weights = picked / (picked.sum(-1, keepdims=True) + 1e-6) * 2.5
    call = partial(kernels.expert_routing, logits, bias, **options)
    return _work(call, {"inds": chosen.astype(mx.uint32), "weights": weights})


def _heads_normed(x: Any, heads: int, dim: int, eps: float, scale: float) -> Any:
    mx = site.mlx()
    normed = mx.fast.rms_norm(x.reshape(*x.shape[:-1], heads, dim), None, eps)
    return (normed.astype(mx.float32) * scale).astype(x.dtype)


def _qk_norm(rng: np.random.Generator, size: Size, dtype: str, rope: bool, offsets: bool = False) -> Work:
    mx = site.mlx()
    batch, tokens, heads, kv_heads, dim = {"small": (2, 2, 2, 1, 40), "large": (2, 20, 8, 2, 128)}[size]
    qkvg = _random(rng, (batch, tokens, 2 * (heads + kv_heads) * dim), dtype)
    options: dict[str, Any] = {
        "n_heads": heads, "n_kv_heads": kv_heads, "head_dim": dim, "eps": 1e-5, "query_scale": 0.3,
    }  # fmt: skip
    q, k = qkvg[..., : heads * dim], qkvg[..., heads * dim : (heads + kv_heads) * dim]
    q, k = _heads_normed(q, heads, dim, 1e-5, 0.3), _heads_normed(k, kv_heads, dim, 1e-5, 1.0)
    if not rope:
        return _work(partial(module("kernels.qk_norm").qk_norm, qkvg, **options), {"q": q, "k": k})
    offset = mx.array([3, 11]) if offsets else 7

    def rotated(x: Any) -> Any:
        turned = mx.fast.rope(x.swapaxes(1, 2), dim, traditional=True, base=10000.0, scale=1.0, offset=offset)
        return turned.swapaxes(1, 2)

    call = partial(
        module("kernels.qk_norm_rope").qk_norm_rope, qkvg, rope_base=10000.0, offset=offset, **options
    )
    # Positions up to 31 carry as many float roundings into their sines.
    return _work(call, {"q": rotated(q), "k": rotated(k)}, 16.0)


def _rms(x: Any, eps: float) -> Any:
    mx = site.mlx()
    x = x.astype(mx.float32)
    return x * mx.rsqrt((x * x).mean(-1, keepdims=True) + eps)


def _norm_add_norm(rng: np.random.Generator, size: Size, dtype: str, scaled: bool, last: bool) -> Work:
    mx, kernels = site.mlx(), module("kernels.norm_add_norm")
    rows, dim = {"small": (3, 520), "large": (20, 4096)}[size]
    branch, stream = _random(rng, (rows, dim), dtype), _random(rng, (rows, dim))
    alpha, beta, weight, after = (_random(rng, (dim,)) for _ in range(4))
    norm = type("Norm", (), {"weight": after.astype(branch.dtype), "eps": 1e-6})()
    x = (weight.astype(branch.dtype) * branch) if scaled else branch
    normed = _rms(x, 1e-5).astype(branch.dtype).astype(mx.float32)
    total = alpha * stream + beta * normed
    expected = {"new_stream": total}
    if not last:
        after_norm = _rms(total, 1e-6) * norm.weight.astype(mx.float32)
        expected["normed"] = after_norm.astype(branch.dtype)
    call = partial(
        kernels.norm_add_norm, branch, stream, alpha=alpha, beta=beta,
        post_weight=weight if scaled else None, post_eps=1e-5, next_norm=None if last else norm,
    )  # fmt: skip
    return _work(call, expected, through=dtype)


def _pre_norm(rng: np.random.Generator, size: Size, dtype: str) -> Work:
    mx, kernels = site.mlx(), module("kernels.norm_add_norm")
    rows, dim = {"small": (3, 520), "large": (20, 4096)}[size]
    stream, weight = _random(rng, (rows, dim)), _random(rng, (dim,), dtype)
    norm = type("Norm", (), {"weight": weight, "eps": 1e-6})()
    expected = (_rms(stream, 1e-6) * weight.astype(mx.float32)).astype(weight.dtype)
    return _work(partial(kernels.pre_norm, stream, norm, dtype=weight.dtype), {"normed": expected})


def _expert_combine(rng: np.random.Generator, size: Size, dtype: str) -> Work:
    mx, kernels = site.mlx(), module("kernels.post_expert_norm_combine")
    tokens, experts, dim = {"small": (2, 3, 520), "large": (20, 8, 2048)}[size]
    x = _random(rng, (tokens, experts, dim), dtype)
    weights, norm = _random(rng, (tokens, experts)), _random(rng, (dim,), dtype)
    scaled = x.astype(mx.float32) * norm.astype(mx.float32)
    normed = _rms(scaled, 1e-6)
    total = mx.zeros((tokens, dim))
    for k in range(experts):
        share = weights[:, k : k + 1].astype(x.dtype).astype(mx.float32)
        total = (total + normed[:, k] * share).astype(x.dtype).astype(mx.float32)
    call = partial(kernels.post_expert_norm_combine, x, weights, norm_weight=norm, eps=1e-6)
    return _work(call, {"out": total.astype(x.dtype)})


def _norm_gate(rng: np.random.Generator, size: Size, dtype: str) -> Work:
    mx, kernels = site.mlx(), module("kernels.rms_norm_sigmoid_gate")
    batch, heads, tokens, dim = {"small": (2, 2, 3, 40), "large": (2, 8, 20, 128)}[size]
    x = _random(rng, (batch, heads, tokens, dim), dtype)
    gate = _random(rng, (batch, tokens, heads * dim), dtype)
    shares = mx.sigmoid(gate.astype(mx.float32))
    expected = _rms(x, 1e-5).swapaxes(1, 2).reshape(gate.shape) * shares
    call = partial(kernels.rms_norm_sigmoid_gate, x, gate, eps=1e-5)
    return _work(call, {"out": expected.astype(x.dtype)})


def _attention_residual(rng: np.random.Generator, size: Size, dtype: str) -> Work:
    mx, kimi = site.mlx(), module("models.kimi_k3")
    count, rows, dim = {"small": (3, 2, 600), "large": (6, 20, 2048)}[size]
    blocks = kimi.ResidualBlocks(1e-6)
    for _ in range(count):
        blocks.append(_random(rng, (rows, dim), dtype))
    partial_sum, weight = _random(rng, (rows, dim), dtype), _random(rng, (dim,), scale=dim**-0.5)
    expected = kimi._attn_res_combine(blocks.raw, blocks.inv_rms, partial_sum, weight, 1e-6)

    def call() -> None:
        kimi._attn_res_kernel(
            inputs=[blocks.raw, blocks.inv_rms, partial_sum, weight, mx.array([1e-6]), rows],
            template=[("InT", partial_sum.dtype), ("K", count), ("D", dim), ("THREADS", 512)],
            grid=(512, rows, 1),
            threadgroup=(512, 1, 1),
            output_shapes=[partial_sum.shape],
            output_dtypes=[partial_sum.dtype],
        )

    return _work(call, {"out": expected})


def _sinkhorn(rng: np.random.Generator, size: Size) -> Work:
    mx, deepseek = site.mlx(), module("models.deepseek_v41")
    count, iterations, n = {"small": (5, 3, 4), "large": (300, 20, 4)}[size]
    comb, eps = mx.softmax(_random(rng, (count, n, n)), axis=-1), mx.array([1e-6])
    expected = deepseek._sinkhorn(comb, iters=iterations, eps=eps)

    def call() -> None:
        deepseek._sinkhorn_kernel(
            inputs=[comb, eps],
            template=[("HC", n), ("ITERS", iterations)],
            grid=(count, 1, 1),
            threadgroup=(min(count, 256), 1, 1),
            output_shapes=[comb.shape],
            output_dtypes=[mx.float32],
        )

    return _work(call, {"out": expected})


BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"
BEFORE_SUMS = "// Share the sum_exp across the threadgroup"


def _mended(work: Work) -> Work:
    """With the barrier between the reading of all maxima and the writing of sums in their place."""

    def mend(step: Step) -> Step:
        text = step.source.text
        assert text.count(BEFORE_SUMS) == 1
        return replace(step, source=replace(step.source, text=text.replace(BEFORE_SUMS, BARRIER), quoted={}))

    return replace(work, steps=tuple(map(mend, work.steps)))


def _loss(rng: np.random.Generator, size: Size, name: str, mended: bool) -> Work:
    """Forward: the loss. Backward: its gradient, times what comes from above."""
    mx, losses = site.mlx(), module("tuner.losses")
    rows, vocabulary = {"small": (1, 600), "large": (3, 9001)}[size]
    q, p = _random(rng, (rows, vocabulary)), _random(rng, (rows, vocabulary))
    cotangent = _random(rng, (rows,))
    log_q, log_p = (x - mx.logsumexp(x, axis=-1, keepdims=True) for x in (q, p))
    log_m = mx.logaddexp(log_q, log_p) - np.log(2)
    kl_p, kl_q = ((mx.exp(x) * (x - log_m)).sum(-1) for x in (log_p, log_q))
    shared: dict[str, Any] = {
        "template": [("T", mx.float32), ("V", vocabulary)],
        "grid": (1024, rows, 1),
        "threadgroup": (1024, 1, 1),
    }
    one = {"output_shapes": [(rows,)], "output_dtypes": [mx.float32]}
    whole = {"output_shapes": [q.shape], "output_dtypes": [mx.float32]}
    two = {"output_shapes": [(rows,)] * 2, "output_dtypes": [mx.float32] * 2}
    calls: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
        "kl_forward": (
            lambda: losses._kl_forward_kernel(inputs=[q, p], **one, **shared),
            {"out": (mx.exp(log_p) * (log_p - log_q)).sum(-1)},
        ),
        "kl_backward": (
            lambda: losses._kl_backward_kernel(inputs=[q, p, cotangent], **whole, **shared),
            {"out": cotangent[:, None] * (mx.exp(log_q) - mx.exp(log_p))},
        ),
        "js_forward": (
            lambda: losses._js_forward_kernel(inputs=[q, p], **two, **shared),
            {"out": 0.5 * (kl_p + kl_q), "out_kl_q": kl_q},
        ),
        "js_backward": (
            lambda: losses._js_backward_kernel(inputs=[q, p, cotangent, kl_q], **whole, **shared),
            {"out_q": cotangent[:, None] * 0.5 * mx.exp(log_q) * (log_q - log_m - kl_q[:, None])},
        ),
    }
    work = _work(*calls[name], 8.0)
    return _mended(work) if mended else work


def cases() -> list[Case]:
    def case(family: str, name: str, make: Any, order: Order = "any") -> Case:
        return Case("mlx-lm", family, name, make, order)

    made = []
    for name, kind, dtype, keys, vector, masked in (
        ("packed", "gated_delta_kernel", "float32", 128, False, False),
        ("explicit tree", "gated_delta_kernel_xtree", "float32", 128, False, False),
        ("unpacked", "gated_delta_kernel_unpacked", "float16", 64, False, False),
        ("masked", "gated_delta_kernel", "float32", 64, False, True),
        ("vector gates", "gated_delta_kernel", "float32", 32, True, False),
        ("vector gates, masked", "gated_delta_kernel", "bfloat16", 32, True, True),
    ):
        make = partial(_gated_delta, kind=kind, dtype=dtype, keys=keys, vector=vector, masked=masked)
        made.append(case("gated_delta", f"{name} {dtype}", make))
    made += [case("ssm", t, partial(_ssm, dtype=t)) for t in ("float32", "float16")]
    made.append(case("rwkv7", "float32", _rwkv7))
    made.append(case("bitlinear", "float32", partial(_bitlinear, dtype="float32", invert=False)))
    made.append(case("bitlinear", "bfloat16, inverted", partial(_bitlinear, dtype="bfloat16", invert=True)))
    made += [case("expert_routing", f"{n} experts", partial(_expert_routing, experts=n)) for n in (20, 96)]
    made += [case("qk_norm", t, partial(_qk_norm, dtype=t, rope=False)) for t in ("float32", "bfloat16")]
    made += [
        case("qk_norm_rope", "float32", partial(_qk_norm, dtype="float32", rope=True)),
        case(
            "qk_norm_rope",
            "float16, two offsets",
            partial(_qk_norm, dtype="float16", rope=True, offsets=True),
        ),
    ]
    for dtype, scaled, last in (("float32", True, False), ("float16", False, False), ("float32", True, True)):
        name = f"{dtype}{', scaled' if scaled else ''}{', last' if last else ''}"
        make = partial(_norm_add_norm, dtype=dtype, scaled=scaled, last=last)
        made.append(case("norm_add_norm", name, make))
    made += [case("pre_norm", t, partial(_pre_norm, dtype=t)) for t in ("float32", "bfloat16")]
    made += [
        case("post_expert_norm_combine", t, partial(_expert_combine, dtype=t)) for t in ("float32", "float16")
    ]
    made += [case("rms_norm_sigmoid_gate", t, partial(_norm_gate, dtype=t)) for t in ("float32", "float16")]
    made += [case("attnres_mix", t, partial(_attention_residual, dtype=t)) for t in ("float32", "float16")]
    made.append(case("sinkhorn", "float32", _sinkhorn))
    # As shipped, all four overwrite maxima that other SIMD-groups still read.
    for name in ("kl_forward", "kl_backward", "js_forward", "js_backward"):
        made.append(case("losses", f"{name}, mended", partial(_loss, name=name, mended=True)))
        made.append(case("losses", name, partial(_loss, name=name, mended=False), order="race"))
    return made
