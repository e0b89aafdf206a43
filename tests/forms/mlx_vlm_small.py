"""Tiny models of mlx-vlm's architectures that have Metal kernels: tokens, and gradients of a LoRA step.

python -m tests.forms.mlx_vlm_small on FOLDER [NAME ...]     served by metalloid
python -m tests.forms.mlx_vlm_small off FOLDER [NAME ...]    MLX's own processor backend: mlx-vlm uses no kernel
python -m tests.forms.mlx_vlm_small compare FOLDER [NAME ...]

Two processes: mlx-vlm asks whether there is Metal when it is imported. Configurations are the classes' own defaults
with small numbers in the place of large ones.
"""

from __future__ import annotations

import dataclasses
import re
import sys
import traceback
from importlib import import_module
from pathlib import Path

from tests.forms.mlx_lm_plain import off
from tests.forms.mlx_vlm_sizes import MORE, SIZES

TEXT = [3, 14, 15, 92, 65, 35, 89, 79]


def text(count):
    return (TEXT + [(37 * n * n + 11 * n) % 127 + 1 for n in range(count)])[:count]


def tiny(kind, **more):
    """A configuration with small numbers; `more` are exceptions of one architecture."""
    fields = {f.name: f for f in dataclasses.fields(kind)}
    values = {name: SIZES[name] for name in fields if name in SIZES}
    values.update({name: value for name, value in more.items() if name in fields})
    return kind(**values)


def language(name):
    """The text half of an architecture."""
    more, name = MORE.get(name, {}), name.split()[0]
    package = import_module(f"mlx_vlm.models.{name}")
    kind = (
        getattr(package, "LanguageModel", None)
        or import_module(f"mlx_vlm.models.{name}.language").LanguageModel
    )
    config = package.ModelConfig
    if "config" in more:
        config = getattr(import_module(f"mlx_vlm.models.{name}.config"), more["config"])
    if not hasattr(package, "TextConfig"):
        return kind(tiny(config, **more))
    text = tiny(package.TextConfig, **more)
    parts = {"text_config": text}
    fields = {f.name for f in dataclasses.fields(config)}
    if "vision_config" in fields and hasattr(package, "VisionConfig"):
        parts["vision_config"] = tiny(package.VisionConfig, **more.get("vision", {}))
    whole = tiny(config, **{**parts, **more})
    if "modules" in more:  # layers that the whole model puts in the place of others
        return package.Model(whole).language_model
    taken = kind.__init__.__code__.co_varnames[: kind.__init__.__code__.co_argcount]
    return kind(text, whole) if len(taken) > 2 else kind(text)


def randomised(model):
    """Parameters that start as zeros get values too."""
    import mlx.core as mx
    from mlx.utils import tree_map

    def drawn(p):
        if not isinstance(p, mx.array) or p.any():
            return p
        if p.dtype == mx.uint8:
            return sum(mx.random.randint(0, 3, p.shape).astype(mx.uint8) << (2 * n) for n in range(4))
        if p.dtype == mx.uint32:  # weights of two bits, packed
            return mx.random.randint(0, 2**31 - 1, p.shape).astype(mx.uint32)
        return (mx.random.normal(p.shape) * 0.1).astype(p.dtype)

    model.update(tree_map(drawn, model.parameters()))
    return model


def made(name):
    import mlx.core as mx

    mx.random.seed(7)
    model = randomised(language(name))
    model.set_dtype(getattr(mx, MORE[name].get("dtype", "float32")))
    model.eval()
    mx.eval(model.parameters())
    return model


def logits(output):
    return getattr(output, "logits", output)


def generated(model, prompt, count=8):
    """Greedy tokens after so many, and the logits behind each."""
    import mlx.core as mx
    from mlx_vlm.models.cache import make_prompt_cache

    cache = make_prompt_cache(model)
    given, tokens, rows = mx.array([text(prompt)]), [], []
    for _ in range(count):
        row = logits(model(given, cache=cache))[0, -1].astype(mx.float32)
        mx.eval(row)
        tokens.append(int(mx.argmax(row)))
        rows.append(row)
        given = mx.array([[tokens[-1]]])
    return tokens, mx.stack(rows)


def gradients(model, where="", length=8):
    """The gradients of LoRA's parameters in every linear layer that a layer has."""
    import mlx.core as mx
    import mlx.nn as nn
    from mlx.utils import tree_flatten, tree_unflatten
    from mlx_lm.tuner.lora import LoRALinear

    model.freeze()
    mx.random.seed(11)
    linear = [(k, m) for k, m in model.named_modules() if type(m) is nn.Linear and ".layers." in f".{k}"]
    wanted = [(k, m) for k, m in linear if "proj" in k and re.search(where, k) and not k.endswith("res_proj")]
    changed = [(k, LoRALinear.from_base(m, r=4)) for k, m in wanted]
    for _, layer in changed:
        layer.lora_b = mx.random.normal(layer.lora_b.shape) * 0.1
    model.update_modules(tree_unflatten(changed))
    tokens = mx.array([text(length)])

    def loss(model):
        found = logits(model(tokens[:, :-1])).astype(mx.float32)
        return nn.losses.cross_entropy(found, tokens[:, 1:]).mean()

    model.train()
    value, found = nn.value_and_grad(model, loss)(model)
    mx.eval(value, found)
    return {"loss": value, **dict(tree_flatten(found))}


def run(name, folder, served):
    import mlx.core as mx

    names = []
    if served:
        from metalloid.runtime.watch import Watcher, watchers

        class Count(Watcher):
            def before(self, kernel, launch):
                names.append(kernel.name)
                return False

        watchers.append(Count())
    elif name in ("bitnet", "muse_spark"):
        off("mlx_vlm.models.bitnet.bitlinear", "mlx_vlm.models.muse_spark.language")
    more = MORE[name]
    model = made(name)
    tokens, rows = generated(model, more.get("prompt", 6))
    kernels = sorted(set(names))
    found, problem = {}, ""
    try:
        found = gradients(made(name), more.get("lora", ""), more.get("train", 8))
    except Exception as error:
        problem = str(error).splitlines()[0]
    if served:
        watchers.pop()
    mark = "on" if served else "off"
    file = str(Path(folder) / f"{name}.{mark}.npz")
    mx.savez(file, tokens=mx.array(tokens), rows=rows, **{f"g.{k}": v for k, v in found.items()})
    print(name, mark, len(names), kernels, tokens, f"{len(found)} gradients", problem, flush=True)


LIMITS = {"float32": (1e-3, 1e-4), "float16": (8 * 2**-11, 4 * 2**-11), "bfloat16": (8 * 2**-8, 4 * 2**-8)}


def compare(name, folder):
    import numpy as np

    more = MORE[name]
    limit, least = LIMITS[more.get("rounded", more.get("dtype", "float32"))]

    on, off = (np.load(Path(folder) / f"{name}.{mark}.npz") for mark in ("on", "off"))
    assert on["tokens"].tolist() == off["tokens"].tolist(), (name, on["tokens"], off["tokens"])
    np.testing.assert_allclose(on["rows"], off["rows"], rtol=limit, atol=least)
    assert np.std(on["rows"]) > 1e-3, name
    shared = [k for k in on.files if k.startswith("g.") and k in off.files]
    for key in shared:  # of half precision relative to the largest
        small = 1e-5 if limit == 1e-3 else limit * abs(off[key]).max()
        np.testing.assert_allclose(on[key], off[key], rtol=limit, atol=small, err_msg=key)
    print(name, "the same", on["tokens"].tolist(), f"{len(shared)} gradients")


def main(mode, folder, *names):
    if mode == "on":
        import metalloid.mlx

        metalloid.mlx.install()
    for name in names or sorted(MORE):
        try:
            compare(name, folder) if mode == "compare" else run(name, folder, mode == "on")
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(last.filename).name}:{last.lineno}"
            print(f"{name} {mode} FAILED {type(error).__name__}: {str(error)[:300]} ({where})", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
