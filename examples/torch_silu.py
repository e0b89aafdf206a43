"""SiLU as a PyTorch shader, as it is written for a Mac: nothing in this file knows metalloid.

metalloid run torch_silu.py            on any machine
metalloid check torch_silu.py          and what is wrong with it
"""

import torch

library = torch.mps.compile_shader("""
#include <metal_stdlib>
using namespace metal;

kernel void silu(device const float* x [[buffer(0)]], device float* out [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
    out[i] = x[i] / (1 + precise::exp(-x[i]));
}
""")


def silu(x):
    out = torch.empty_like(x)
    library.silu(x, out)
    return out


if __name__ == "__main__":
    x = torch.linspace(-8, 8, 10_000, device="mps")
    error = (silu(x).cpu() - torch.nn.functional.silu(x.cpu())).abs().max()
    print(f"largest difference from torch.nn.functional.silu: {error.item():.1e}")
    assert error < 1e-5
