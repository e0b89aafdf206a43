"""tinygrad 0.9.0 with METAL=1, which drives Metal through PyObjC: its operations beside torch on the CPU."""
