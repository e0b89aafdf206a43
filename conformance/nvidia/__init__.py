"""Kernels that a machine with an NVIDIA GPU runs: packed where there is none, run there, told in docs/nvidia.md."""
