"""Folders as mlx-lm quantises them: matrices of 4 or 8 bits in groups, each with a scale and a bias.

`config.json` says how, `quantization: {group_size, bits}`; beside each `NAME.weight` of packed words lie
`NAME.scales` and `NAME.biases`. They are unpacked when the model is loaded, into numbers of their scales' dtype.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metalloid.errors import ModelError
from metalloid.kernels.affine import BITS, GROUPS, affine_dequantize
from metalloid.llama.formats import PACKED, Array, Tensor


def unpacked(where: str, found: Mapping[str, Tensor], settings: Any) -> dict[str, Tensor]:
    """The tensors of a folder, packed ones as plain numbers. `settings`: its configuration's `quantization`."""
    names = [name.removesuffix(".scales") for name in found if name.endswith(".scales")]
    if settings is None and not names:
        return dict(found)
    if not isinstance(settings, dict):
        raise ModelError(f"{where}: there are scales of packed weights, but no 'quantization' that says how.")
    packed = {f"{name}.{part}" for name in names for part in ("weight", "scales", "biases")}
    plain = {name: tensor for name, tensor in found.items() if name not in packed}
    return plain | {f"{name}.weight": _matrix(where, name, found, settings) for name in names}


def _matrix(where: str, name: str, found: Mapping[str, Tensor], settings: Mapping[str, Any]) -> Tensor:
    group, bits = _how(where, name, settings)
    parts = [found.get(f"{name}.{part}") for part in ("weight", "scales", "biases")]
    weight, scales, biases = parts
    if weight is None or scales is None or biases is None:
        raise ModelError(f"{where}: '{name}' has scales and needs a weight and biases beside them.")
    rows, words = weight.shape if len(weight.shape) == 2 else (0, 0)
    columns = words * 32 // bits
    shape = (rows, columns // group)
    if weight.format is not PACKED or not rows or columns % group or scales.format is not biases.format:
        raise ModelError(
            f"{where}: '{name}.weight' is {weight.format.name} of shape {list(weight.shape)} with {scales.format.name}"
            f" scales; expected rows of u32 with whole groups of {group} numbers of {bits} bits."
        )
    if scales.shape != shape or biases.shape != shape or scales.format is PACKED:
        raise ModelError(
            f"{where}: scales and biases of '{name}' have shapes {list(scales.shape)} and {list(biases.shape)};"
            f" its weight makes them {list(shape)}."
        )
    numbers: Array = affine_dequantize(weight.array(), scales.array(), biases.array(), group, bits)
    return Tensor(f"{name}.weight", scales.format, (rows, columns), numbers.reshape(-1).view("u1"))


def _how(where: str, name: str, settings: Mapping[str, Any]) -> tuple[int, int]:
    """Numbers in a group, and bits of each; a matrix may have its own."""
    own = settings.get(name)
    chosen: Mapping[str, Any] = own if isinstance(own, dict) else settings
    group, bits, mode = chosen.get("group_size", 64), chosen.get("bits", 4), chosen.get("mode", "affine")
    if mode != "affine" or bits not in BITS or group not in GROUPS:
        raise ModelError(
            f"{where}: '{name}' is quantised as {mode!r:.40} in groups of {group!r:.40} with {bits!r:.40} bits;"
            f" 'affine' in groups of {GROUPS} with {BITS} bits is supported."
        )
    return int(group), int(bits)
