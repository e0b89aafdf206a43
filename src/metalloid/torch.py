"""`torch.mps.compile_shader` on any machine: `metalloid.torch.compile_shader(source)`, for tensors on the CPU."""

from __future__ import annotations

from metalloid.forms.torch_shader import ShaderKernel, ShaderLibrary, compile_shader

__all__ = ["ShaderKernel", "ShaderLibrary", "compile_shader"]
