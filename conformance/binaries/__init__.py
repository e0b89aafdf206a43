"""Kernels of binaries: all of them lowered (`sweep`), many of them run (`mlx`, `torch`) and held against a source."""
