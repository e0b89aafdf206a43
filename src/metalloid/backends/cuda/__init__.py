"""NVIDIA GPUs: scalar IR and a device runtime, linked and made PTX by LLVM; the driver compiles that."""
