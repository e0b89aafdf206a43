"""Run third-party kernels and compare what they compute with references.

`python -m conformance results [--only NAME] [--backend oracle|cpu|both]`. A family of kernels is one file with a
table of cases; a case makes its data, says how the kernel is launched, and what must come out.
"""
