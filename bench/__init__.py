"""Benchmarks: each module measures one thing and prints ratios of one run."""
