"""Kernels of programs that know nothing of metalloid, run on numbers nobody chose for them."""
