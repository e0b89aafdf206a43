"""What mlx-vlm's bonsai and embedding_gemma2 make of pictures: with their kernels, and by the same formulas without.

python -m tests.forms.mlx_vlm_images on|off FILE.npz

bonsai: a step of its image transformer (an image, no tokens), in bfloat16 and with weights of one and two bits.
embedding_gemma2: frames of a video, planes of YUV turned into RGB; its embeddings begin there. Neither has a way
without kernels of its own, so `off` puts what the kernels' sources say in their place, in MLX and in numpy's int64.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

HEADS, HEAD, WIDE = 2, 64, 128
PICTURES = [  # height, width, depth, subsampling across and down, format, colour space
    (16, 32, 8, 1, 1, "yuv420p", 2),
    (17, 33, 8, 1, 1, "yuv420p", 1),
    (16, 32, 8, 1, 1, "yuvj420p", 5),
    (9, 20, 8, 1, 0, "yuv422p", 9),
    (15, 31, 10, 1, 1, "yuv420p10le", 9),
    (6, 8, 12, 0, 0, "yuv444p12le", 7),
]


def frames(kernels):
    """RGB of every picture by mlx-vlm's `decode_video`, which gets the planes that a decoder would give it."""
    from mlx_vlm.models.embedding_gemma2 import _video_decoder as decoder
    from mlx_vlm.models.embedding_gemma2 import _video_kernel as kernel

    if not kernels:
        kernel._kernel = lambda: plain_rgb
    made = {}
    for n, (h, w, depth, sx, sy, name, space) in enumerate(PICTURES):
        drawn = np.random.default_rng(n)
        shapes = [(h, w)] + [((h + sy) >> sy, (w + sx) >> sx)] * 2
        planes = [
            drawn.integers(0, 1 << depth, shape).astype("u1" if depth == 8 else "u2") for shape in shapes
        ]
        meta = {"format": name, "depth": depth, "log2_chroma_w": sx, "log2_chroma_h": sy, "colorspace": space}
        decoder.Decoder = lambda path, planes=planes, meta=meta: Given(planes, meta)
        video, _ = decoder.decode_video(__file__, None)
        made[f"rgb {name} {h}x{w}"] = video
    return made


class Given:
    """A decoder of one picture."""

    metadata = {"total_num_frames": 1, "fps": 1.0, "duration": 1.0}  # noqa: RUF012

    def __init__(self, planes, meta):
        self.planes, self.meta = planes, meta

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def get(self, index):
        return self.planes, self.meta


def plain_rgb(inputs, template, **_):
    """The conversion in integers, from the kernel's source."""
    import mlx.core as mx

    at: dict[str, Any] = dict(template)
    y, u, v, c = (np.array(a).astype(np.int64) for a in inputs)
    sx, sy, shift = at["SX"], at["SY"], at["DEPTH"] - 8
    column, row = np.arange(at["W"]) >> sx, np.arange(at["H"])
    if shift and sy:
        weights = np.where((row % 2 == 1)[:, None], [-346, 3571, 986, -115], [-115, 986, 3571, -346])
        rows = np.clip((row // 2 - (row % 2 == 0))[:, None] - 1 + np.arange(4), 0, ((at["H"] + 1) >> 1) - 1)
        u, v = (np.einsum("rt,rtc->rc", weights, p[rows][..., column]) for p in (u, v))
        u, v = ((p + (1 << (11 + shift))) >> (12 + shift) for p in (u, v))
    else:
        u, v = (p[row >> sy][:, column] for p in (u, v))
        if shift:
            u, v = ((p + (1 << (shift - 1))) >> shift for p in (u, v))
    if shift:
        y = (y + (1 << (shift - 1))) >> shift
        u, v = np.clip(u, 0, 255), np.clip(v, 0, 255)
    if at["NEON"]:
        luma, u, v = ((y * 8 - c[5]) * c[0]) >> 15, (u - 128) * 8, (v - 128) * 8
        r = luma + ((v * c[1]) >> 15)
        g = luma + ((u * c[2]) >> 15) + ((v * c[3]) >> 15)
        b = luma + ((u * c[4]) >> 15)
        rgb = [(x + 1) >> 1 for x in (r, g, b)]
    else:
        parts = [((x * k) >> 16) - (k >> 9) for x, k in ((v, c[1]), (u, c[2]), (v, c[3]), (u, c[4]))]
        sums = (y + parts[0], y + parts[1] + parts[2], y + parts[3])
        rgb = [(c[6] + x * c[0] + 32768) >> 16 for x in sums]
    return [mx.array(np.clip(np.stack(rgb, -1), 0, 255).astype("u1"))]


def image_step(kernels, precision):
    """One step of the image transformer: one block of each kind, random weights."""
    import mlx.core as mx
    from mlx_vlm.models.bonsai.klein_fast import blocks, megakernel, transformer

    if not kernels:
        blocks._get_fused_double_norm_rope_kernel = plain_double
        blocks._get_fused_single_norm_rope_kernel = plain_single
    mx.random.seed(5)
    wide, deep = HEADS * HEAD, 3 * HEADS * HEAD

    def drawn(rows, columns):
        return mx.random.normal((rows, columns)) * 0.08

    gains = {name: 1 + 0.1 * mx.random.normal((HEAD,)) for name in ("q", "k", "aq", "ak")}
    squares = {
        f: drawn(wide, wide)
        for f in ("to_q", "to_k", "to_v", "add_q_proj", "add_k_proj", "add_v_proj", "to_out", "to_add_out")
    }
    double = blocks.DoubleBlockWeights(
        modulation_img=drawn(6 * wide, wide),
        modulation_txt=drawn(6 * wide, wide),
        **squares,
        ff_linear_in=drawn(2 * deep, wide),
        ff_linear_out=drawn(wide, deep),
        ff_context_linear_in=drawn(2 * deep, wide),
        ff_context_linear_out=drawn(wide, deep),
        norm_q=gains["q"],
        norm_k=gains["k"],
        norm_added_q=gains["aq"],
        norm_added_k=gains["ak"],
    )
    single = blocks.SingleBlockWeights(
        drawn(3 * wide, wide),
        drawn(3 * wide + 2 * deep, wide),
        drawn(wide, wide + deep),
        gains["q"],
        gains["k"],
    )
    ends = drawn(wide, WIDE), drawn(wide, WIDE), drawn(2 * wide, wide), drawn(WIDE, wide)
    model = transformer.Flux2KleinFastTransformer(
        weights=megakernel.MegakernelWeights(*ends, [double], [single]),
        precision=precision,
        in_channels=WIDE,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=HEAD,
        num_attention_heads=HEADS,
        joint_attention_dim=WIDE,
        axes_dims_rope=(16, 16, 16, 16),
    )
    image, words = (mx.random.normal((1, n, WIDE)).astype(mx.bfloat16) for n in (12, 5))
    places = [
        mx.array([[0, n // 4, n % 4, 0] for n in range(12)]),
        mx.array([[0, 0, 0, n] for n in range(5)]),
    ]
    return model(image, words, 0.5, *places).astype(mx.float32)


def _turned(x, gain, cos, sin, eps):
    """Heads first, scaled by their norm, turned; float until the end."""
    import mlx.core as mx
    from mlx_vlm.models.bonsai.klein_fast.blocks import _apply_rope_bshd

    x = x.astype(mx.float32)
    x = x * mx.rsqrt(mx.mean(x * x, -1, keepdims=True) + eps) * gain.astype(mx.float32)
    return _apply_rope_bshd(x.transpose(0, 2, 1, 3), cos, sin).astype(mx.bfloat16)


def _heads(x, n):
    return x[..., n * HEADS * HEAD : (n + 1) * HEADS * HEAD].reshape(*x.shape[:2], HEADS, HEAD)


def plain_single(spec, length):
    def run(inputs, **_):
        fused, q, k, cos, sin = inputs
        turned = [_turned(_heads(fused, n), g, cos, sin, spec.rms_norm_eps) for n, g in enumerate((q, k))]
        return [*turned, _heads(fused, 2).transpose(0, 2, 1, 3)]

    return run


def plain_double(spec, images, words):
    import mlx.core as mx

    def run(inputs, **_):
        image, text, q, k, aq, ak, cos, sin = inputs
        eps, found = spec.rms_norm_eps, []
        for n, (own, added) in enumerate(((q, aq), (k, ak))):
            first = _turned(_heads(text, n), added, cos[:words], sin[:words], eps)
            found.append(
                mx.concatenate([first, _turned(_heads(image, n), own, cos[words:], sin[words:], eps)], 2)
            )
        return [*found, mx.concatenate([_heads(text, 2), _heads(image, 2)], 1).transpose(0, 2, 1, 3)]

    return run


def main(mode: str, file: str) -> None:
    names = []
    if mode == "on":
        import metalloid.mlx
        from metalloid.runtime.watch import Watcher, watchers

        metalloid.mlx.install()

        class Count(Watcher):
            def before(self, kernel, launch):
                names.append(kernel.name)
                return False

        watchers.append(Count())
    made = {f"bonsai {p}": np.array(image_step(mode == "on", p)) for p in ("bf16", "1bit", "2bit")}
    made |= frames(mode == "on")
    np.savez(file, **made)
    print(mode, len(names), sorted(set(names)))


if __name__ == "__main__":
    main(*sys.argv[1:])
