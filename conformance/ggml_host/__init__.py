"""ggml with ggml-metal's host sources, unmodified, over metalloid's framework: built here, tested by its own suite."""
