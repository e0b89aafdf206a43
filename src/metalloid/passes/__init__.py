"""Passes over a kernel's IR; `kernel.vectorise` runs those of the CPU in order."""
