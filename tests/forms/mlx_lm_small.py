"""One tiny model of an architecture of mlx-lm: tokens with its kernels and without, and a LoRA step with and without.

python -m tests.forms.mlx_lm_small falcon_h1
"""

from __future__ import annotations

import sys
from importlib import import_module

COMMON = {"hidden_size": 64, "intermediate_size": 96, "vocab_size": 128, "max_position_embeddings": 256}
HEADS = {"num_attention_heads": 2, "num_key_value_heads": 1}
DELTA = {
    "linear_num_value_heads": 4,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 64,
    "linear_value_head_dim": 32,
    "linear_conv_kernel_dim": 4,
}
MODELS = {
    "falcon_h1": {
        **COMMON,
        **HEADS,
        "model_type": "falcon_h1",
        "num_hidden_layers": 2,
        "head_dim": 32,
        "mamba_d_ssm": 128,
        "mamba_d_head": 32,
        "mamba_n_heads": 4,
        "mamba_d_state": 32,
        "rope_theta": 10000.0,
    },
    "granitemoehybrid": {
        **COMMON,
        **HEADS,
        "model_type": "granitemoehybrid",
        "num_hidden_layers": 3,
        "attention_bias": False,
        "embedding_multiplier": 1.0,
        "attention_multiplier": 0.2,
        "logits_scaling": 1.0,
        "residual_multiplier": 1.0,
        "layer_types": ["mamba", "attention", "mamba"],
        "rms_norm_eps": 1e-5,
        "mamba_n_heads": 4,
        "mamba_d_head": 32,
        "mamba_proj_bias": False,
        "mamba_d_state": 32,
        "mamba_d_conv": 4,
        "mamba_n_groups": 1,
        "mamba_conv_bias": True,
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
        "shared_intermediate_size": 64,
    },
    "nemotron_h": {
        **COMMON,
        **HEADS,
        "model_type": "nemotron_h",
        "attention_bias": False,
        "mamba_num_heads": 4,
        "mamba_head_dim": 32,
        "mamba_proj_bias": False,
        "ssm_state_size": 32,
        "conv_kernel": 4,
        "n_groups": 1,
        "mlp_bias": False,
        "layer_norm_epsilon": 1e-5,
        "use_bias": False,
        "use_conv_bias": True,
        "head_dim": 32,
        "hybrid_override_pattern": ["M", "*", "M", "-"],
    },
    "plamo2": {
        **COMMON,
        **HEADS,
        "model_type": "plamo2",
        "num_hidden_layers": 4,
        "hidden_size_per_head": 32,
        "mamba_d_state": 32,
        "mamba_num_heads": 4,
        "attention_window_size": 64,
    },
    "olmo_hybrid": {
        **COMMON,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "model_type": "olmo_hybrid",
        "num_hidden_layers": 4,
        "rms_norm_eps": 1e-5,
        **DELTA,
        "linear_num_key_heads": 4,
        "linear_allow_neg_eigval": True,
        "tie_word_embeddings": False,
        "attention_bias": False,
    },
    "qwen3_5": {
        "model_type": "qwen3_5",
        "text_config": {
            **COMMON,
            **HEADS,
            **DELTA,
            "model_type": "qwen3_5",
            "num_hidden_layers": 4,
            "head_dim": 32,
            "rms_norm_eps": 1e-6,
        },
    },
    "kimi_linear": {
        **COMMON,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "model_type": "kimi_linear",
        "num_hidden_layers": 4,
        "head_dim": 32,
        "rope_theta": 10000.0,
        "rms_norm_eps": 1e-5,
        "linear_attn_config": {
            "num_heads": 2,
            "head_dim": 32,
            "short_conv_kernel_size": 4,
            "kda_layers": [1, 2, 3],
            "full_attn_layers": [4],
        },
        "model_max_length": 256,
        "num_experts": 4,
        "moe_intermediate_size": 32,
        "kv_lora_rank": 32,
        "qk_nope_head_dim": 32,
        "qk_rope_head_dim": 16,
        "v_head_dim": 32,
        "num_experts_per_token": 2,
        "num_shared_experts": 1,
        "first_k_dense_replace": 1,
    },
}


MODELS["bailing_moe_v3"] = {
    **COMMON,
    "model_type": "bailing_hybrid",
    "num_hidden_layers": 4,
    "num_attention_heads": 2,
    "head_dim": 32,
    "moe_intermediate_size": 32,
    "moe_shared_expert_intermediate_size": 32,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 2,
    "topk_group": 1,
    "q_lora_rank": 32,
    "kv_lora_rank": 32,
    "qk_nope_head_dim": 32,
    "qk_rope_head_dim": 16,
    "v_head_dim": 32,
}

# The layers of qwen3_5, some of them two-bit weights behind a rotation.
MODELS["prism_hadamard_qwen35"] = {
    **MODELS["qwen3_5"],
    "text_config": {**MODELS["qwen3_5"]["text_config"], "hidden_size": 512, "tie_word_embeddings": False},
    "model_type": "prism_hadamard_qwen35",
    "tensor_namespace": "mlx-vlm-qwen3_5",
    "quantization": {"bits": 2, "group_size": 128, "mode": "affine"},
    "modules": [
        {"path": path, "block": block, "embedding": "embed" in path, "dtype": "float16"}
        for path, block in (
            ("model.embed_tokens", 512),
            ("model.layers.0.linear_attn.out_proj", 0),
            ("model.layers.3.mlp.up_proj", 512),
            ("lm_head", 512),
        )
    ],
}
MODELS["kimi_k3"] = {
    "model_type": "kimi_k3",
    "text_config": {
        **{
            k: v
            for k, v in MODELS["kimi_linear"].items()
            if k not in ("head_dim", "rope_theta", "model_type")
        },
        "attn_res_block_size": 2,
        "q_lora_rank": 32,
        "mla_use_output_gate": True,
    },
}
MODELS["qwen3_5_moe"] = {
    "model_type": "qwen3_5_moe",
    "text_config": {
        **MODELS["qwen3_5"]["text_config"],
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 32,
        "shared_expert_intermediate_size": 32,
    },
}
MODELS["deepseek_v41"] = {
    "model_type": "deepseek_v41",
    "hidden_size": 64,
    "vocab_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "head_dim": 32,
    "q_lora_rank": 32,
    "qk_rope_head_dim": 16,
    "o_groups": 2,
    "o_lora_rank": 16,
    "moe_intermediate_size": 32,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "rms_norm_eps": 1e-6,
    "sliding_window": 16,
    "compress_ratios": [0, 2],
    "kv_source_layer_ids": [1],
    "index_source_layer_ids": [1],
    "index_n_heads": 2,
    "index_head_dim": 32,
    "index_topk": 4,
}
MODELS["bitnet"] = {**COMMON, **HEADS, "model_type": "bitnet", "num_hidden_layers": 2, "rms_norm_eps": 1e-5}
MODELS["muse_spark"] = {
    "model_type": "muse_spark",
    "text_config": {
        **HEADS,
        "hidden_size": 64,
        "vocab_size": 128,
        "num_hidden_layers": 2,
        "head_dim": 32,
        "rms_norm_eps": 1e-5,
        "post_norm_eps": 1e-5,
        "rope_parameters": {"rope_theta": 10000.0},
        "layer_rope_theta": [10000.0, 0],
        "layer_types": ["sliding_attention", "full_attention"],
        "sliding_window": 16,
        "final_logit_softcapping": 30.0,
        "output_multiplier": 1.0,
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
        "moe_hidden_size": 32,
        "moe_intermediate_size": 32,
    },
}
# Layers that LoRA takes; all linear ones where nothing is said. kimi_k3 reads the weights of others itself.
LORA = {
    "prism_hadamard_qwen35": [
        "self_attn.q_proj",
        "self_attn.o_proj",
        "linear_attn.in_proj_qkv",
        "mlp.gate_proj",
    ],
    "kimi_k3": ["self_attn.o_proj", "self_attn.qkv_proj", "self_attn.g_a_proj", "mlp.gate", "mlp.down_proj"],
}
# Their kernels have no gradient, on a Mac neither: MLX says so, and so does metalloid.
NO_GRADIENT = ("deepseek_v41", "bitnet", "muse_spark")
DRAWN = (*NO_GRADIENT, "prism_hadamard_qwen35")  # parameters that start as zeros get values


def _drawn(parameter):
    import mlx.core as mx

    if parameter.any():
        return parameter
    if parameter.dtype == mx.uint32:  # weights of two bits
        return mx.random.randint(0, 2**31 - 1, parameter.shape).astype(mx.uint32)
    if parameter.dtype == mx.uint8:  # four weights of -1, 0 or 1
        return sum(mx.random.randint(0, 3, parameter.shape).astype(mx.uint8) << (2 * n) for n in range(4))
    return mx.random.normal(parameter.shape).astype(parameter.dtype) * 0.1


def made(module, name):
    """A model with random weights; what starts as zeros gets some too."""
    import mlx.core as mx
    from mlx.utils import tree_map

    mx.random.seed(7)
    model = module.Model(module.ModelArgs.from_dict(MODELS[name]))
    if name in DRAWN:
        model.update(tree_map(_drawn, model.parameters()))
    model.eval()
    mx.eval(model.parameters())
    return model


def main(name: str) -> None:
    import metalloid.mlx

    metalloid.mlx.install()  # before mlx-lm makes its kernels
    import mlx.core as mx
    import mlx.nn as nn
    from mlx.utils import tree_flatten
    from mlx_lm.generate import generate_step
    from mlx_lm.tuner.utils import linear_to_lora_layers

    from metalloid.runtime.watch import Watcher, watchers
    from tests.forms.mlx_lm_plain import off

    class Count(Watcher):
        names: list[str] = []  # noqa: RUF012

        def before(self, kernel, launch):
            self.names.append(kernel.name)
            return False

    module = import_module(f"mlx_lm.models.{name}")
    model = made(module, name)

    def tokens(n=10):
        prompt = mx.array([3, 14, 15, 92, 65, 35])
        made = list(generate_step(prompt, model, max_tokens=n, sampler=lambda p: mx.argmax(p, axis=-1)))
        return [int(token) for token, _ in made], mx.stack([logs.reshape(-1) for _, logs in made])

    def same(one, other):
        close = mx.allclose(one[1], other[1], rtol=1e-3, atol=1e-4).item()
        return one[0] == other[0] and close and mx.std(one[1]).item() > 1e-3

    def gradients():
        text = mx.array([[3, 14, 15, 92, 65, 35, 89, 79]])

        def loss(model):
            return nn.losses.cross_entropy(model(text[:, :-1]), text[:, 1:]).mean()

        model.train()
        value, found = nn.value_and_grad(model, loss)(model)
        mx.eval(value, found)
        model.eval()
        return value.item(), dict(tree_flatten(found))

    def lora(model, name):
        model.freeze()
        linear_to_lora_layers(model, 2, {"rank": 4, "scale": 10.0, "dropout": 0.0, "keys": LORA.get(name)})
        mx.eval(model.parameters())
        adapted = tokens(4)
        served_loss, served = gradients()
        metalloid.mlx.uninstall()
        assert same(adapted, tokens(4))
        loss, plain = gradients()
        assert set(served) == set(plain) and plain and abs(loss - served_loss) <= 1e-6 * abs(loss)
        for key, value in plain.items():
            assert mx.allclose(value, served[key], rtol=1e-4, atol=1e-6), key
        assert sum(mx.abs(value).sum().item() for value in plain.values()) > 0

    count = Count()
    watchers.append(count)
    with_kernels = tokens()
    watchers.remove(count)
    if name in NO_GRADIENT:
        try:
            gradients()
        except metalloid.LaunchError as error:
            assert "has no vjp: MLX cannot look into a kernel" in str(error)
        else:
            raise AssertionError("a gradient came out of a kernel that has none")
        metalloid.mlx.uninstall()
    else:
        lora(model, name)
    assert not mx.metal.is_available()
    off("mlx_lm.models.bitlinear_layers", "mlx_lm.models.muse_spark")
    model = made(module, name)
    without = tokens()
    assert same(with_kernels, without), (with_kernels, without)
    assert len(count.names) >= 10, count.names
    print(name, len(count.names), sorted(set(count.names)), without[0])


if __name__ == "__main__":
    main(sys.argv[1])
