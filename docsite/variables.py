"""docs/environment.md: every environment variable, as `metalloid.config` says what it means."""

from __future__ import annotations

from pathlib import Path

from metalloid import config

PAGE = Path(__file__).parents[1] / "docs" / "environment.md"
HEAD = """# Environment variables

Made by `python -m docsite.variables` from `src/metalloid/config.py`, which reads them.

| variable | what it does |
|---|---|
"""
# Read where they apply, and not metalloid's own.
OTHERS = {
    "PYTORCH_MPS_FAST_MATH": "PyTorch's: 1 compiles the kernels of `compile_shader` with fast math,"
    " as PyTorch does ([forms/torch.md](forms/torch.md))",
    "CUDA_HOME": "NVIDIA's: the CUDA toolkit, whose disassembler shows machine code of a GPU"
    " (`metalloid show --stage sass`)",
}
TAIL = """
`METALLOID` and `METALLOID_CHECK` reach a program that imports metalloid, and after `metalloid activate` every Python
program of the environment: [forms/programs.md](forms/programs.md). A value that cannot be understood is an error that
says what was expected. Settings of a project, such as rules to leave out, are in its `pyproject.toml`:
[checking.md](checking.md).
"""


def variables() -> dict[str, str]:
    """Name and meaning, in the order of the file."""
    found = {}
    for function in vars(config).values():
        if getattr(function, "__module__", "") == config.__name__:  # a function, or one that remembers
            name, colon, meaning = (function.__doc__ or "").strip().partition(": ")
            if colon and name.startswith("METALLOID"):
                found[name] = " ".join(meaning.split())
    return found


def page() -> str:
    rows = "".join(f"| `{name}` | {meaning} |\n" for name, meaning in {**variables(), **OTHERS}.items())
    return HEAD + rows + TAIL


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
