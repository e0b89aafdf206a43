"""docs/api.md: the public names with their signatures and docstrings, as they are in the code."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
HEAD = """# Public names

Made by `python -m docsite.api` from the docstrings. `import metalloid as mt` is cheap: names are loaded when they are
first used. What is not here may change without a word.
"""
# Sections: the module whose `__all__` they show, and a line about it; order is that of the page.
SECTIONS = {
    "metalloid": "mt",
    "metalloid.kernels": "mt.kernels",
    "metalloid.measure": "mt.measure",
    "metalloid.mlx": "mt.mlx",
    "metalloid.torch": "mt.torch",
    "metalloid.metal": "mt.metal",
    "metalloid.llama": "mt.llama",
}
# Objects that people hold and do not make: not in any `__all__`.
HELD = {
    "metalloid": (
        "metalloid.runtime.encoder:ComputeEncoder",
        "metalloid.runtime.pool:Pool",
        "metalloid.runtime.pool:PoolStats",
        "metalloid.types:Parameter",
        "metalloid.findings:Side",
        "metalloid.errors:Diagnostic",
    )
}

# Members that are there for other parts of metalloid.
INNER = frozenset(
    "add backend checked_ir checked_program contents forgotten inputs launch loops memory not_yet plan program run"
    " will_be_written".split()
)
WIDEST = 100


def page() -> str:
    return HEAD + "".join(_section(name, called) for name, called in SECTIONS.items())


def _section(name: str, called: str) -> str:
    module = importlib.import_module(name)
    about = _doc(module).split("\n\n")[0].replace("\n", " ")
    parts = [f"\n## {called}\n\n{about}\n"]
    parts += [_entry(called, n, value) for n, value in _names(module)]
    return "".join(parts)


def _names(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Functions first, then classes, then errors; modules have sections of their own."""
    found = [(name, getattr(module, name)) for name in module.__all__ if not name.startswith("__")]
    for place in HELD.get(module.__name__, ()):
        home, _, name = place.partition(":")
        found.append((name, getattr(importlib.import_module(home), name)))
    kept = [(name, value) for name, value in found if not inspect.ismodule(value)]
    yield from sorted(kept, key=lambda item: (_rank(item[1]), item[0].lower()))


def _rank(value: Any) -> int:
    if not inspect.isclass(value):
        return 0
    return 2 if issubclass(value, Exception) else 1


def _entry(called: str, name: str, value: Any) -> str:
    if inspect.isclass(value):
        return _class(name, value)
    if not callable(value):
        return f"\n### {name}\n\n`{called}.{name}`: {type(value).__name__}\n"
    head = f"{called}.{name}"
    return f"\n### {name}\n\n```python signature\n{head}{_signature(value, head)}\n```\n{_said(value)}"


def _class(name: str, value: type) -> str:
    error = issubclass(value, Warning | Exception)
    bases = ", ".join(b.__name__ for b in value.__bases__ if b is not object)
    head = (
        f"({bases})" if error and bases else _signature(value, f"class {name}") if is_dataclass(value) else ""
    )
    parts = [f"\n### {name}\n\n```python signature\nclass {name}{head}\n```\n", _said(value)]
    members = [] if error else list(_members(value))
    told = [(n, m) for n, m in members if _doc(_function(m))]
    silent = [f"`{_shown(n, m)}`" for n, m in members if not _doc(_function(m))]
    if told:
        parts.append("\n| | |\n|---|---|\n" + "".join(_row(n, m) for n, m in told))
    if silent:
        parts.append(f"\n{'Also ' if told else ''}{', '.join(silent)}.\n")
    return "".join(parts)


def _members(value: type) -> Iterator[tuple[str, Any]]:
    """Methods and properties that metalloid defines, in the order of the alphabet; a call first."""
    seen: dict[str, Any] = {}
    for base in reversed(value.__mro__):
        if base.__module__.startswith("metalloid"):
            seen |= vars(base)
    public = {n: m for n, m in seen.items() if (not n.startswith("_") or n == "__call__") and n not in INNER}
    kinds = (property, cached_property, staticmethod, classmethod)
    shown = {n: m for n, m in public.items() if inspect.isfunction(m) or isinstance(m, kinds)}
    yield from sorted(shown.items(), key=lambda item: (item[0] != "__call__", item[0]))


def _function(member: Any) -> Any:
    if isinstance(member, property):
        return member.fget
    return member.func if isinstance(member, cached_property) else getattr(member, "__func__", member)


def _shown(name: str, member: Any) -> str:
    if isinstance(member, property | cached_property):
        return name
    bound = not isinstance(member, staticmethod)
    return ("kernel" if name == "__call__" else name) + _plain(_function(member), bound)


def _row(name: str, member: Any) -> str:
    text = " ".join(_doc(_function(member)).split("\n\n")[0].split())
    return f"| `{_cell(_shown(name, member))}` | {_cell(text)} |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _doc(thing: Any) -> str:
    text = inspect.getdoc(thing) or ""
    if inspect.isclass(thing) and text.startswith(
        f"{thing.__name__}("
    ):  # dataclasses make one of their fields
        return ""
    return text


def _said(thing: Any) -> str:
    text = _doc(thing)
    return f"\n{text}\n" if text else ""


class _Bare:
    """An annotation without the quotes that a string has."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _signature(function: Any, called: str) -> str:
    """As it is written; one parameter a line where it is long."""
    signature = inspect.signature(function)
    parameters = [p.replace(annotation=_bare(p.annotation)) for p in signature.parameters.values()]
    returns = signature.empty if inspect.isclass(function) else _bare(signature.return_annotation)
    text = _short(str(signature.replace(parameters=parameters, return_annotation=returns)))
    if len(called) + len(text) <= WIDEST:
        return text
    arrow = f" -> {returns!r}" if isinstance(returns, _Bare) else ""
    lines, star = [], False
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not star and not any(q.kind is q.VAR_POSITIONAL for q in parameters):
            lines.append("    *,")
            star = True
        lines.append(f"    {_short(str(p))},")
    return "(\n" + "\n".join(lines) + f"\n){arrow}"


def _plain(function: Any, bound: bool) -> str:
    """Without types, for tables."""
    signature = inspect.signature(function)
    parameters = [p.replace(annotation=p.empty) for p in signature.parameters.values()][1 if bound else 0 :]
    return _short(str(signature.replace(parameters=parameters, return_annotation=signature.empty)))


def _bare(annotation: Any) -> Any:
    if annotation is inspect.Parameter.empty:
        return annotation
    return _Bare(annotation if isinstance(annotation, str) else inspect.formatannotation(annotation))


def _short(text: str) -> str:
    """Defaults by their names, without addresses."""
    text = re.sub(r"<class '([\w.]+)'>", lambda m: m[1].replace("numpy.", "np."), text)
    text = re.sub(r"<factory>|<function .*? at 0x[0-9a-f]+>|<\w+ object at 0x[0-9a-f]+>", "...", text)
    return text.replace("'", '"')


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
