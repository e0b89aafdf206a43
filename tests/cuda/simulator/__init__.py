"""Code for an NVIDIA GPU, run where there is none.

What LLVM would write PTX from is compiled for this machine instead, and run by `machine.cpp`, which does what warps
do. So guards, masks, barriers, records and the host's part of a launch are tested without a GPU; PTX, the driver and
time are not.
"""
