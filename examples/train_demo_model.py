"""Train the model that `metalloid chat` uses: a Llama of 22 layers and four million weights.

    python examples/train_demo_model.py OUT [--steps 6000]

Needs torch, tokenizers and safetensors, and a GPU to be quick (a few minutes on a large one). It learns from
the endless stories of stories.py, so nothing is downloaded. OUT gets config.json, tokenizer.json and
model.safetensors (float16, about 8 MB) as Hugging Face lays a Llama out. The model in src/metalloid/llama/model
was made with --steps 6500; its loss ended at 0.349 nats a token.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import random
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from stories import chat, story
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor, nn

LAYERS, WIDTH, HEADS, KV_HEADS, HIDDEN = 22, 128, 8, 2, 352
VOCABULARY, CONTEXT, THETA, EPS = 2048, 320, 10000.0, 1e-5
BOS, EOS, SYSTEM, USER, ASSISTANT = SPECIAL = ["<s>", "</s>", "<|system|>", "<|user|>", "<|assistant|>"]
SYSTEM_PROMPTS = ("You tell stories.", "You are a storyteller.", "You tell short stories with a good end.")


def document(source: random.Random) -> str:
    """A story on its own, or as the answer to a request."""
    if source.random() < 0.5:
        return f"{BOS}{story(source)}{EOS}"
    asked, answer = chat(source)
    system = f"{SYSTEM}{source.choice(SYSTEM_PROMPTS)}" if source.random() < 0.3 else ""
    return f"{BOS}{system}{USER}{asked}{ASSISTANT}{answer}{EOS}"


def documents(job: tuple[int, int]) -> list[str]:
    seed, count = job
    source = random.Random(seed)
    return [document(source) for _ in range(count)]


def make_tokenizer(texts: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=SPECIAL, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


class Norm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + EPS)
        return (x.float() * scale).type_as(x) * self.weight


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        size = WIDTH // HEADS
        self.q_proj = nn.Linear(WIDTH, WIDTH, bias=False)
        self.k_proj = nn.Linear(WIDTH, KV_HEADS * size, bias=False)
        self.v_proj = nn.Linear(WIDTH, KV_HEADS * size, bias=False)
        self.o_proj = nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate_proj = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.up_proj = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down_proj = nn.Linear(HIDDEN, WIDTH, bias=False)
        self.input_layernorm, self.post_attention_layernorm = Norm(), Norm()

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, length, _ = x.shape
        h = self.input_layernorm(x)
        q = self.q_proj(h).view(batch, length, HEADS, -1).transpose(1, 2)
        k = self.k_proj(h).view(batch, length, KV_HEADS, -1).transpose(1, 2)
        v = self.v_proj(h).view(batch, length, KV_HEADS, -1).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        k, v = (t.repeat_interleave(HEADS // KV_HEADS, 1) for t in (k, v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o_proj(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        h = self.post_attention_layernorm(x)
        return x + self.down_proj(F.silu(self.gate_proj(h)) * self.up_proj(h))


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Half-split rotary positions, as Hugging Face's Llama has them."""
    first, second = x.chunk(2, -1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1).type_as(x)


class Llama(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = Norm()
        size = WIDTH // HEADS
        frequency = THETA ** (-torch.arange(0, size, 2) / size)
        angle = torch.outer(torch.arange(CONTEXT), frequency)
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)
        for name, weight in self.named_parameters():
            if weight.ndim == 2:
                deep = name.endswith(("o_proj.weight", "down_proj.weight"))
                nn.init.normal_(weight, std=0.05 / (math.sqrt(2 * LAYERS) if deep else 1))

    def forward(self, tokens: Tensor) -> Tensor:
        length = tokens.shape[1]
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = layer(x, self.cos[:length], self.sin[:length])
        return self.norm(x) @ self.embed_tokens.weight.T  # the output layer shares the embedding


def train(model: Llama, data: Tensor, steps: int, batch: int, device: str) -> None:
    run = torch.compile(model) if device == "cuda" else model
    decayed = [p for p in model.parameters() if p.ndim == 2]
    plain = [p for p in model.parameters() if p.ndim != 2]
    groups = [{"params": decayed, "weight_decay": 0.05}, {"params": plain, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=1.0, betas=(0.9, 0.95), fused=device == "cuda")
    start = time.time()
    for step in range(steps):
        rate = 3e-3 * min(1, (step + 1) / 300) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * step / steps)))
        for group in optimiser.param_groups:
            group["lr"] = rate
        at = torch.randint(0, len(data) - CONTEXT - 1, (batch, 1), device=device)
        window = data[at + torch.arange(CONTEXT + 1, device=device)].long()
        with torch.autocast(device, torch.bfloat16):
            logits = run(window[:, :-1])
        loss = F.cross_entropy(logits.float().flatten(0, 1), window[:, 1:].flatten())
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if step % 250 == 0 or step == steps - 1:
            print(f"step {step:5}  loss {loss.item():.4f}  {time.time() - start:.0f} s", flush=True)


@torch.no_grad()
def continue_text(model: Llama, tokenizer: Tokenizer, prompt: str, device: str, count: int = 120) -> str:
    tokens = tokenizer.encode(prompt).ids
    for _ in range(count):
        logits = model(torch.tensor([tokens[-CONTEXT:]], device=device))[0, -1].float()
        probabilities = torch.softmax(logits / 0.7, -1)
        token = int(torch.multinomial(probabilities, 1))
        if token == tokenizer.token_to_id(EOS):
            break
        tokens.append(token)
    return tokenizer.decode(tokens, skip_special_tokens=False)


def save(model: Llama, tokenizer: Tokenizer, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    names = {
        "q_proj": "self_attn.q_proj", "k_proj": "self_attn.k_proj", "v_proj": "self_attn.v_proj",
        "o_proj": "self_attn.o_proj", "gate_proj": "mlp.gate_proj", "up_proj": "mlp.up_proj",
        "down_proj": "mlp.down_proj",
    }  # fmt: skip
    weights = {}
    for name, weight in model.state_dict().items():
        parts = [names.get(part, part) for part in name.split(".")]
        weights["model." + ".".join(parts)] = weight.half().cpu().contiguous()
    save_file(weights, out / "model.safetensors", metadata={"format": "pt"})
    tokenizer.save(str(out / "tokenizer.json"))
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
        "hidden_size": WIDTH, "intermediate_size": HIDDEN, "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "vocab_size": VOCABULARY,
        "max_position_embeddings": CONTEXT, "rms_norm_eps": EPS, "rope_theta": THETA,
        "tie_word_embeddings": True, "torch_dtype": "float16",
        "bos_token_id": tokenizer.token_to_id(BOS), "eos_token_id": tokenizer.token_to_id(EOS),
    }  # fmt: skip
    (out / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--batch", type=int, default=384)
    parser.add_argument("--documents", type=int, default=800_000)
    arguments = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    start = time.time()
    with multiprocessing.Pool() as pool:
        jobs = [(seed, 10_000) for seed in range(max(1, arguments.documents // 10_000))]
        texts = [text for part in pool.map(documents, jobs) for text in part]
    tokenizer = make_tokenizer(texts[:20_000])
    ids = [torch.tensor(e.ids, dtype=torch.int16) for e in tokenizer.encode_batch_fast(texts)]
    data = torch.cat(ids).to(device)
    print(
        f"{len(texts)} documents, {len(data) / 1e6:.0f} million tokens, {time.time() - start:.0f} s",
        flush=True,
    )
    model = Llama().to(device)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} million weights", flush=True)
    train(model, data, arguments.steps, arguments.batch, device)
    for prompt in (
        f"{BOS}Once there was",
        f"{BOS}{USER}Tell me a story about a fox.{ASSISTANT}",
        f"{BOS}The rain",
    ):
        print("---", continue_text(model, tokenizer, prompt, device), flush=True)
    save(model, tokenizer, arguments.out)


if __name__ == "__main__":
    main()
