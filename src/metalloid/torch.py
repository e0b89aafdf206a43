"""`torch.mps.compile_shader` on any machine.

import metalloid.torch

library = metalloid.torch.compile_shader(source)     # for tensors on the CPU
metalloid.torch.install()   # or: under PyTorch's own names, for code you did not write
"""

from __future__ import annotations

from metalloid.forms.torch_install import install, installed, is_installed, uninstall
from metalloid.forms.torch_shader import ShaderKernel, ShaderLibrary, compile_shader

__all__ = [
    "ShaderKernel",
    "ShaderLibrary",
    "compile_shader",
    "install",
    "installed",
    "is_installed",
    "uninstall",
]
