"""Kernels in Metal and in CUDA, side by side on one NVIDIA GPU."""
