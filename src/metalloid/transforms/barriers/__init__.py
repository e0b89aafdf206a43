"""Kernels divided at their barriers: regions, what is live into them, what is computed again."""
