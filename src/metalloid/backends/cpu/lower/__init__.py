"""Scalar IR to vector code: `vectorize` runs the steps, `control_flow` and `emitter` write a function."""
