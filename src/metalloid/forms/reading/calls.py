"""Calls: functions of the file are run, strings and lists do what Python does, all else is a symbol."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from typing import Any

from metalloid.forms.inline_texts import TEXTS, is_metal
from metalloid.forms.mlx_source import Dtype
from metalloid.forms.reading import traced
from metalloid.forms.reading.symbols import MISSING, Symbol
from metalloid.forms.reading.unknowns import PLAIN, Unknowns
from metalloid.forms.reading.values import (
    Class,
    Defined,
    Function,
    Instance,
    Method,
    Module,
    Returned,
    Scope,
    last_name,
    text_of,
)

MAX_DEPTH = 14

_FACTORY = (
    "name",
    "input_names",
    "output_names",
    "source",
    "header",
    "ensure_row_contiguous",
    "atomic_outputs",
)
BUILTINS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        *(len, range, str, int, float, bool, round, min, max, sum, enumerate, zip, list, tuple, dict, set),
        *(sorted, abs, any, all, reversed, divmod, repr, frozenset),
    )
}
_NUMBER_BUILTINS = {"int", "float", "round", "min", "max", "abs", "range", "divmod", "sum"}
_STRING_METHODS: dict[str, Callable[..., Any]] = {
    "replace": lambda s, old, new, *_: traced.replace(s, old, new),
    "format": lambda s, *args, **kwargs: traced.format_text(s, args, kwargs),
    "join": lambda s, parts: traced.join(s, list(parts)),
    "strip": lambda s, *a: traced.strip(s) if not a else str.strip(s, *a),
    "lstrip": lambda s, *a: traced.strip(s, right=False) if not a else str.lstrip(s, *a),
    "rstrip": lambda s, *a: traced.strip(s, left=False) if not a else str.rstrip(s, *a),
}
SPECIAL = {
    "isinstance",
    "hasattr",
    "getattr",
    "callable",
    "print",
    "super",
    "type",
    "id",
    "iter",
    "next",
    "map",
    "open",
}


class Calls(Unknowns):
    def value(self, node: ast.expr, scope: Scope) -> Any:
        raise NotImplementedError

    def execute(self, body: Sequence[ast.stmt], scope: Scope) -> None:
        raise NotImplementedError

    def attribute(self, owner: object, name: str) -> object:
        raise NotImplementedError

    def assign(self, target: ast.expr, value: object, scope: Scope) -> None:
        raise NotImplementedError

    def call(self, function: object, args: list[Any], kwargs: dict[str, Any], node: ast.Call) -> object:
        if last_name(node.func) in TEXTS and not isinstance(function, Function):
            source = args[0] if args else kwargs.get("source")
            if is_metal(source):
                return self._define("metal", {**kwargs, "source": source}, node)
        if isinstance(function, Function):
            return self.run(function, args, kwargs)
        if isinstance(function, Module):
            return self._call_module(function.path, args, kwargs, node)
        if isinstance(function, Defined):
            function.calls.append({**dict(zip(("inputs",), args, strict=False)), **kwargs})
            return Symbol(f"result of {text_of(node.func)}", "out", "array")
        if isinstance(function, Class):
            instance = Instance(function)
            make = function.methods.get("__init__")
            if isinstance(make, Function):
                self.run(Function(make.node, make.scope, instance, "__init__"), args, kwargs)
            return instance
        if isinstance(function, Instance) and isinstance(function.cls.methods.get("__call__"), Function):
            method: Any = function.cls.methods["__call__"]
            return self.run(Function(method.node, method.scope, function, "__call__"), args, kwargs)
        if isinstance(function, Method):
            return self._call_method(function, args, kwargs)
        return self._call_unknown(function, args, kwargs, node)

    def _call_unknown(
        self, function: object, args: list[Any], kwargs: dict[str, Any], node: ast.Call
    ) -> object:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else text_of(node.func)
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        made = Symbol(text_of(node), name)
        arrays = [a for a in args if isinstance(a, Symbol)]
        if name == "astype" or name == "view":
            made.hint, made.dtype = "array", args[0] if args else kwargs.get("dtype")
        elif owner is not None and isinstance(function, Symbol):
            base = function
            made.hint, made.dtype = "array", base.dtype
        elif name in ("scalar", "array", "full"):
            made.hint = "array"
            made.scalar = len(args) > 0 and (isinstance(args[0], (int, float)) or name == "scalar")
            dtype = kwargs.get("dtype", args[1] if len(args) > 1 else None)
            made.dtype = dtype if isinstance(dtype, (Dtype, Symbol)) else None
        elif isinstance(kwargs.get("dtype"), (Dtype, Symbol)):
            made.hint, made.dtype = "array", kwargs["dtype"]
        elif arrays and arrays[0].dtype is not None:
            made.hint, made.dtype = "array", arrays[0].dtype
        return made

    def _call_module(self, path: str, args: list[Any], kwargs: dict[str, Any], node: ast.Call) -> object:
        last = path.rsplit(".", 1)[-1]
        if last == "metal_kernel" and len(args) == 1 and "input_names" not in kwargs:
            return self._define("script", {"body": args[0], **kwargs}, node)
        if last == "metal_kernel":
            return self._define("mlx", dict(zip(_FACTORY, args, strict=False)) | kwargs, node)
        if last == "compile_shader":
            return self._define("torch", dict(zip(("source",), args, strict=False)) | kwargs, node)
        if last == "is_available":
            return True
        if path == "textwrap.dedent" and args and isinstance(args[0], str):
            return traced.dedent(args[0])
        if path.startswith("math.") and hasattr(math, last):
            return self._try(getattr(math, last), *[self.concrete(a) for a in args])
        if path == "functools.partial" or path == "partial":
            return args[0] if args else Symbol("partial", "")
        if path.startswith("builtins."):
            return self._call_builtin(last, args, kwargs, node)
        return self._call_unknown(Module(path), args, kwargs, node)

    def _call_builtin(self, name: str, args: list[Any], kwargs: dict[str, Any], node: ast.Call) -> object:
        if name == "isinstance":
            return _isinstance(args) if args and not isinstance(args[0], Symbol) else self._fork()
        if name in ("hasattr", "callable"):
            return True
        if name == "getattr" and len(args) >= 2 and isinstance(args[1], str):
            return self.attribute(args[0], str(args[1]))
        if name in SPECIAL:
            return Symbol(text_of(node), name)
        args = [tuple(self._iterate(a)) if isinstance(a, Symbol) and self._listed(a) else a for a in args]
        unknown = [a for a in args if isinstance(a, Symbol)]
        if name == "len" and unknown:
            return Symbol(text_of(node), unknown[0].name, "int")
        if name == "str" and args:
            return args[0] if isinstance(args[0], str) else str(self.concrete(args[0]))
        if name == "bool" and unknown:
            return self.truth(unknown[0])
        if unknown and name in _NUMBER_BUILTINS:
            args = [self.concrete(a) for a in args]
        elif unknown:
            return Symbol(text_of(node), unknown[0].name, unknown[0].hint, dtype=unknown[0].dtype)
        made = self._try(BUILTINS[name], *args, **kwargs)
        return made if isinstance(made, PLAIN) else list(self._iterate(made))

    def _call_method(self, method: Method, args: list[Any], kwargs: dict[str, Any]) -> object:
        owner, name = method.owner, method.name
        if isinstance(owner, str):
            if name == "join" and args:
                items = self._iterate(args[0])
                if any(isinstance(item, Symbol) and not self.definite(item) for item in items):
                    return Symbol(f"{owner!r}.join(...)", "join")
                args = [[self.concrete(item) for item in items]]
            args, kwargs = [self.concrete(a) for a in args], {k: self.concrete(v) for k, v in kwargs.items()}
            known = _STRING_METHODS.get(name)
            made = (
                self._try(known, owner, *args, **kwargs)
                if known
                else self._try(getattr(owner, name, None), *args)
            )
            return self._bounded(made) if isinstance(made, str) else made
        if (
            isinstance(owner, dict)
            and args
            and isinstance(args[0], Symbol)
            and name in ("get", "pop", "setdefault")
        ):
            return (
                self._select(owner, args[0], args[1] if len(args) > 1 else None)
                if owner
                else Symbol(name, name)
            )
        if isinstance(owner, PLAIN) and hasattr(owner, name):
            made = self._try(getattr(owner, name), *args, **kwargs)
            return (
                made
                if isinstance(made, PLAIN) or made is None or not hasattr(made, "__iter__")
                else list(made)
            )
        return Symbol(name, name)

    def _define(self, form: str, arguments: dict[str, object], node: ast.Call) -> Defined:
        made = Defined(form, node.lineno, arguments)
        self.kernels.append(made)
        return made

    def run(self, function: Function, args: list[Any], kwargs: dict[str, Any]) -> object:
        """Call a function of the file; parameters without an argument become symbols."""
        if len(self.running) >= MAX_DEPTH or self.running.count(function.name) > 4:
            return Symbol(f"{function.name}()", function.name)
        scope = Scope(self.bind(function, args, kwargs), function.scope)
        if isinstance(function.node, ast.Lambda):
            return self.value(function.node.body, scope)
        self.running.append(function.name)
        try:
            self.execute(function.node.body, scope)
        except Returned as returned:
            return returned.value
        finally:
            self.running.pop()
        return None

    def bind(self, function: Function, args: list[Any], kwargs: dict[str, Any]) -> dict[str, object]:
        parameters = function.node.args
        positional = [*parameters.posonlyargs, *parameters.args]
        values = list(args) if function.owner is None else [function.owner, *args]
        names: dict[str, object] = {}
        defaults = dict(
            zip([p.arg for p in reversed(positional)], reversed(parameters.defaults), strict=False)
        )
        defaults |= {
            p.arg: d for p, d in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True) if d
        }
        for index, parameter in enumerate([*positional, *parameters.kwonlyargs]):
            if index < len(values) and index < len(positional):
                names[parameter.arg] = values[index]
            elif parameter.arg in kwargs:
                names[parameter.arg] = kwargs[parameter.arg]
            else:
                names[parameter.arg] = self._open(
                    parameter, defaults.get(parameter.arg), bool(args or kwargs), function
                )
        if parameters.vararg is not None:
            names[parameters.vararg.arg] = values[len(positional) :]
        if parameters.kwarg is not None:
            names[parameters.kwarg.arg] = {k: v for k, v in kwargs.items() if k not in names}
        return names

    def _open(self, parameter: ast.arg, default: ast.expr | None, called: bool, function: Function) -> object:
        """A parameter nobody gave: its default in a call inside the file, a symbol at the file's edge."""
        value = self.value(default, function.scope) if default is not None else MISSING
        if value is not MISSING and (called or self.running):
            return value
        hint = text_of(parameter.annotation) if parameter.annotation is not None else ""
        if isinstance(value, bool):
            hint = "bool"
        elif isinstance(value, (int, float)) and not hint:
            hint = type(value).__name__
        if hint.endswith("array"):
            hint = "array"
        return Symbol(parameter.arg, parameter.arg, hint, default=value)


def _isinstance(args: list[Any]) -> bool:
    named = args[1] if isinstance(args[1], tuple) else (args[1],) if len(args) > 1 else ()
    names = {m.path.rsplit(".", 1)[-1] for m in named if isinstance(m, Module)}
    return bool(names & {t.__name__ for t in type(args[0]).__mro__})
