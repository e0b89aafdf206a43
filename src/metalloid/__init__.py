"""Run, check and measure Metal compute kernels on any machine."""
