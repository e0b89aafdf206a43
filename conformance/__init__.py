"""Compile every kernel of the Metal sources people use, and say which compile.

`python -m conformance` downloads llama-cpp-python's sdist, MLX's headers, mlx-lm and mlx-vlm by package name,
compiles each of their kernels to IR, checks the IR, prints a table and writes docs/support.md.
"""
