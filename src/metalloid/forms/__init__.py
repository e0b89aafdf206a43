"""The ways people already call kernels, each adapted to metalloid's own."""
