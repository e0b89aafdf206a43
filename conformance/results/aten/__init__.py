"""PyTorch's ATen kernels from their sources, launched as its host code does, held against numpy in double precision."""

from conformance.results.aten import elementwise, places, products

FAMILIES = (elementwise, places, products)
