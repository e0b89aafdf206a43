"""Checked runs on the vector engine: shadow memory, attempts, what they saw."""
