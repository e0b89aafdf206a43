"""Llamas that run on the kernels of `metalloid.kernels`: load, generate, chat."""
