"""Devices, buffers, kernels and launches: Metal's objects."""
