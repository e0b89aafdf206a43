"""PyTorch's fused optimisers, from its library: many tensors in one launch, by pointers in an argument buffer."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = (100, 1000, 37)
_SLOTS = 32  # tensors that an argument buffer has room for
_RATE, _EPSILON, _DECAY = 0.01, 1e-8, 0.1
KERNELS = (
    "fused_adam_float_float",
    "fused_adamw_float_float",
    "fused_adam_float_half",
    "fused_adamw_float_half",
)


def difference(library: Any, name: str) -> str:
    """What is wrong with one step of an optimiser; "" where it is torch's own to within float32."""
    rng = np.random.default_rng(15)
    values = [rng.standard_normal(n).astype(np.float32) for n in SIZES]
    slopes = [rng.standard_normal(n).astype(np.float32) for n in SIZES]
    step_type = np.float16 if name.endswith("half") else np.float32
    device = library.device
    tensors = {
        "params": values,
        "grads": slopes,
        "exp_avgs": [np.zeros(n, np.float32) for n in SIZES],
        "exp_avg_sqs": [np.zeros(n, np.float32) for n in SIZES],
        "state_steps": [np.ones(1, step_type) for _ in SIZES],
    }
    bound = {word: [device.buffer(a, copy=True) for a in arrays] for word, arrays in tensors.items()}
    arguments = {word: [*buffers, *[buffers[0]] * (_SLOTS - len(SIZES))] for word, buffers in bound.items()}
    none = [0] * (_SLOTS - len(SIZES))
    groups = {
        "numels": [*SIZES, *none],
        "threadgroup_to_tensor": [*range(len(SIZES)), *none],
        "threadgroup_to_chunk": [0] * _SLOTS,
    }
    unscaled = np.ones(1, np.float32), np.zeros(1, np.float32)
    library[name](
        *(arguments, groups, _RATE, 0.9, 0.999, _DECAY, _EPSILON, 0, *unscaled),
        threadgroups=len(SIZES),
        threadgroup=64,
    )
    for n, (value, slope) in enumerate(zip(values, slopes, strict=True)):
        worst = float(np.abs(bound["params"][n].numpy() - _torch(name, value, slope)).max())
        if not worst < 1e-6:
            return f"tensor {n} of {len(SIZES)} is off by {worst:.2g}"
    return ""


def _torch(name: str, value: Any, slope: Any) -> Any:
    import torch

    parameter = torch.nn.Parameter(torch.from_numpy(value.astype(np.float64)))
    parameter.grad = torch.from_numpy(slope.astype(np.float64))
    kind = torch.optim.AdamW if "adamw" in name else torch.optim.Adam
    kind([parameter], lr=_RATE, eps=_EPSILON, weight_decay=_DECAY).step()
    return parameter.detach().numpy()
