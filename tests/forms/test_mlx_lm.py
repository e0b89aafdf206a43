"""Models of mlx-lm with its own kernels on a machine without Metal: the same tokens as without kernels."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

SCRIPT = """
import sys
import metalloid.mlx
metalloid.mlx.install()                       # before mlx-lm makes its kernels
import mlx.core as mx
from mlx_lm.generate import generate_step
from mlx_lm.models import mamba2, qwen3_next, rwkv7
from metalloid.runtime.watch import Watcher, watchers

QWEN = qwen3_next.ModelArgs(
    model_type="qwen3_next", hidden_size=64, num_hidden_layers=4, intermediate_size=96, num_attention_heads=2,
    linear_num_value_heads=4, linear_num_key_heads=2, linear_key_head_dim=HEAD, linear_value_head_dim=32,
    linear_conv_kernel_dim=4, num_experts=4, num_experts_per_tok=2, decoder_sparse_step=1,
    shared_expert_intermediate_size=32, mlp_only_layers=[], moe_intermediate_size=32, rms_norm_eps=1e-6,
    vocab_size=128, num_key_value_heads=1, rope_theta=10000.0, partial_rotary_factor=0.5,
    max_position_embeddings=256, head_dim=32)
MAMBA = mamba2.ModelArgs(
    model_type="mamba2", num_heads=4, head_dim=32, vocab_size=128, hidden_size=64, intermediate_size=128,
    state_size=32, num_hidden_layers=3, layer_norm_epsilon=1e-5, conv_kernel=4, n_groups=1, use_bias=False,
    use_conv_bias=True, tie_word_embeddings=False, time_step_limit=(0.001, 100.0), time_step_rank="auto")

RWKV = rwkv7.ModelArgs(
    model_type="rwkv7", vocab_size=128, hidden_size=128, intermediate_size=128, norm_eps=1e-5, head_dim=64,
    num_hidden_layers=2, a_low_rank_dim=16, v_low_rank_dim=16, gate_low_rank_dim=16, decay_low_rank_dim=16)

class Count(Watcher):
    def __init__(self): self.names = []
    def before(self, kernel, launch): self.names.append(kernel.name); return False

module, arguments = {
    "qwen": (qwen3_next, QWEN), "mamba": (mamba2, MAMBA), "rwkv": (rwkv7, RWKV)}[sys.argv[1]]
mx.random.seed(7)
model = module.Model(arguments)
model.eval()
mx.eval(model.parameters())

def tokens(n=12):
    prompt = mx.array([3, 14, 15, 92, 65, 35])
    made = generate_step(prompt, model, max_tokens=n, sampler=lambda p: mx.argmax(p, axis=-1))
    return [int(token) for token, _ in made]

count = Count()
watchers.append(count)
with_kernels = tokens()
watchers.remove(count)
metalloid.mlx.uninstall()
assert not mx.metal.is_available()
without = tokens()
print(len(count.names), with_kernels == without, sorted(set(count.names)), with_kernels)
assert len(count.names) >= 12, count.names
assert with_kernels == without, (with_kernels, without)
assert len(set(without)) > 1
"""


@pytest.mark.skipif(find_spec("mlx_lm") is None, reason="mlx-lm is not installed")
@pytest.mark.parametrize(("model", "head"), [("qwen", 64), ("qwen", 128), ("mamba", 0), ("rwkv", 0)])
def test_a_tiny_model_generates_the_same_tokens_with_kernels_and_without(model, head):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("HEAD", str(head or 64)), model],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
