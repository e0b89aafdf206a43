"""`mx.fast.metal_kernel` on any machine.

import metalloid.mlx

kernel = metalloid.mlx.metal_kernel(name=..., input_names=..., output_names=..., source=...)
metalloid.mlx.install()     # or: under MLX's own names, for code you did not write
"""

from __future__ import annotations

from metalloid.forms.mlx_install import install, installed, is_installed, uninstall, vmap
from metalloid.forms.mlx_kernel import MetalKernel, metal_kernel

__all__ = ["MetalKernel", "install", "installed", "is_installed", "metal_kernel", "uninstall", "vmap"]
