"""JSON Schema in few words: records whose fields are all there and no others, unless they are said to be optional."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]


def record(about: str = "", /, **fields: Schema) -> Schema:
    """An object. A field that may be missing is made by `maybe`."""
    made: Schema = {"description": about} if about else {}
    needed = [name for name, field in fields.items() if not field.get("$optional")]
    shown = {n: {k: v for k, v in f.items() if k != "$optional"} for n, f in fields.items()}
    return {**made, "type": "object", "required": needed, "properties": shown, "additionalProperties": False}


def _plain(kind: str) -> Any:
    def made(about: str = "", **more: Any) -> Schema:
        return {"type": kind, **({"description": about} if about else {}), **more}

    return made


text, whole, number, yes_or_no = (_plain(kind) for kind in ("string", "integer", "number", "boolean"))


def many(of: Schema, about: str = "", **more: Any) -> Schema:
    return {"type": "array", **({"description": about} if about else {}), "items": of, **more}


def named(of: Schema, about: str) -> Schema:
    """An object with names that only a run knows."""
    return {"type": "object", "description": about, "additionalProperties": of}


def triple(about: str) -> Schema:
    return many({"type": "integer"}, about, minItems=3, maxItems=3)


def or_null(of: Schema) -> Schema:
    return {**of, "type": [of["type"], "null"]}


def maybe(of: Schema) -> Schema:
    return {**of, "$optional": True}
