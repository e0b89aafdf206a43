"""docs/schemas and docs/json.md: what commands print for machines; `tests/docs` holds their output against it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from docsite.shapes import Schema, many, maybe, named, number, or_null, record, text, triple, whole, yes_or_no

ROOT = Path(__file__).parents[1] / "docs"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
SEVERITY = text("how bad it is", enum=["error", "warning", "note"])
PLACE = record(
    "a place in a source",
    file=text("as messages name it"),
    line=whole("from 1"),
    column=whole("from 1; 0: unknown"),
)
OTHER = record(
    "another place that has to do with it: the other access of a race, the `return` before a barrier",
    what=text("such as `read by`"),
    location=or_null(PLACE),
    thread=or_null(triple("who")),
    threadgroup=or_null(triple("and its threadgroup")),
    excerpt=text("the source line"),
)
FINDING = record(
    "one mistake, however many threads make it",
    rule=text("its number; `metalloid rule` prints its page", pattern="^M[1-6][0-9]{2}$"),
    severity=SEVERITY,
    message=text("one line"),
    kernel=text("its name; empty where no kernel is meant"),
    location=or_null(PLACE),
    thread=or_null(triple("the first thread, in the grid")),
    threadgroup=or_null(triple("its threadgroup")),
    buffer=text("the name of the memory; empty where none is meant"),
    hint=text("what to do"),
    count=whole("how often it happened, all threads together"),
    excerpt=text("the source line"),
    other=maybe(OTHER),
)
LAUNCH = record(
    "",
    kernel=text("its name"),
    grid=triple("threads in all"),
    threadgroup=triple("threads of a threadgroup"),
    threads=whole("that were checked"),
    findings=whole("of this launch"),
)
DIAGNOSTIC = record(
    "one message of the compiler",
    message=text("one line"),
    file=text(),
    line=whole("from 1"),
    column=whole("from 1; 0: unknown"),
    length=whole("of what is marked"),
    severity=SEVERITY,
    rule=text("its number; empty where it has none"),
    hint=text("what to do"),
    excerpt=text("the source line"),
)
MEASURED = record(
    "times in seconds",
    kernel=text(),
    median=number(),
    low=number("a quarter of all runs took less"),
    high=number("a quarter took more"),
    best=number(),
    runs=whole(),
    operations=whole("floating-point, as compiled"),
    bytes=whole("of every buffer once for each direction: the least that must pass through memory"),
    bytes_read=whole("that threads asked for"),
    bytes_written=whole(),
    bandwidth=number("`bytes` per second"),
    rate=number("`operations` per second"),
    limit=text("the nearer one", enum=["memory", "arithmetic"]),
    share=number("of that limit, 1 is all of it"),
)
FUNCTION = record(
    "",
    name=text(),
    kind=text("kernel, vertex, fragment..."),
    air=text("the version of AIR"),
    metal=text("the version of Metal"),
    bitcode=whole("bytes"),
    signature=maybe(text("what it takes, with --signatures")),
)
# Name, the command that prints it, and its shape.
DOCUMENTS: dict[str, tuple[str, Schema]] = {
    "check": (
        "`metalloid check --json`, `report.json()`",
        record(
            "",
            ok=yes_or_no("whether every launch ran to its end and nothing but notes about cost was found"),
            stopped=text("why a run ended early; empty where none did"),
            left=many(text(), "what was looked at in part only, in sentences"),
            findings=many(FINDING, "worst first"),
            launches=many(LAUNCH, "in the order they were made"),
        ),
    ),
    "lint": (
        "`metalloid lint --json`",
        many(
            record(
                "one file",
                file=text(),
                kernels=many(text(), "their names"),
                diagnostics=many(DIAGNOSTIC),
                unresolved=many(text(), "inline kernels whose text only a running program has, in sentences"),
            )
        ),
    ),
    "run": (
        "`metalloid run FILE --json`",
        record(
            "",
            kernel=text(),
            milliseconds=number("with what was compiled on the way"),
            outputs=named(
                {"type": ["array", "number"]}, "what the kernel wrote, by name: lists in the array's shape"
            ),
        ),
    ),
    "bench": (
        "`metalloid bench --json`",
        record(
            "",
            machine=record(
                "the limits, measured just before",
                name=text(),
                bandwidth=number("bytes per second"),
                peak=number("float32 operations per second"),
            ),
            kernels=many(MEASURED),
            others=maybe(
                named({"type": "object"}, "without FILE: medians of numpy, MLX and PyTorch, by operation")
            ),
        ),
    ),
    "tune": (
        "`metalloid tune --json`",
        many(
            record(
                "one threadgroup, the fastest first",
                threadgroup=triple("its size"),
                median=or_null(number("seconds; null where it cannot be used")),
                problem=text("why it cannot be used; empty where it can"),
            )
        ),
    ),
    "ls": (
        "`metalloid ls --json`",
        many(
            record(
                "one Metal library in the file",
                file=text(),
                offset=whole("where it starts, in bytes"),
                size=whole("in bytes"),
                system=text("what it is for, such as macOS 14.0"),
                kernels=whole("how many of its functions are kernels"),
                functions=many(FUNCTION),
            )
        ),
    ),
    "rule": (
        "`metalloid rule M201 --json`",
        record("", rule=text(), title=text(), text=text("the page, in Markdown")),
    ),
    "devices": (
        "`metalloid devices --json`",
        many(
            {
                **record(
                    "a device that kernels can run on; what else it says is its own",
                    name=text("for `mt.device(name)` and METALLOID_DEVICE"),
                    processor=text(),
                    threads=whole(),
                    simd_width=whole(),
                    max_threads_per_threadgroup=whole(),
                    max_threadgroup_memory_length=whole("bytes"),
                ),
                "additionalProperties": True,
            }
        ),
    ),
    "chat": (
        "`metalloid chat --json`",
        record(
            "",
            text=text("the answer"),
            tokens=whole("of the answer"),
            tokens_per_second=number(),
            prompt_tokens=whole(),
            prompt_seconds=number(),
            seed=whole("the same seed gives the same answer"),
        ),
    ),
    "baseline": (
        "`metalloid check --write-baseline FILE`",
        record(
            "",
            version=whole("of this format", const=1),
            findings=many(
                record(
                    "a finding that is known",
                    rule=text(),
                    file=text(),
                    kernel=text(),
                    buffer=text(),
                    text=text("the source line, without its indentation"),
                )
            ),
        ),
    ),
}
HEAD = """# JSON, for machines

Made by `python -m docsite.schemas`. Each command that has `--json` prints one document on stdout; what a script of
yours prints goes to stderr then. The schemas are JSON Schema 2020-12, and the tests hold what commands print against
them. Fields may be added.

`--format sarif` prints SARIF 2.1.0, which has a schema of its own, and `metalloid show --stage signature --json` the
signature of a kernel with its types as they nest.
"""


def schema(name: str) -> Schema:
    command, shape = DOCUMENTS[name]
    return {"$schema": DIALECT, "title": f"metalloid {name}", "$comment": command, **shape}


def page() -> str:
    return HEAD + "".join(map(_section, DOCUMENTS))


def _section(name: str) -> str:
    command, shape = DOCUMENTS[name]
    rows = "".join(f"| `{path}` | {kind} | {about} |\n" for path, kind, about in _fields(shape, ""))
    link = f"[schemas/{name}.json](schemas/{name}.json)"
    return f"\n## {name}\n\n{command}: {link}\n\n| field | | |\n|---|---|---|\n{rows}"


def _fields(shape: Schema, path: str) -> Iterator[tuple[str, str, str]]:
    """Every field with the way to it, depth first."""
    if shape.get("type") == "array":
        yield from _fields(shape["items"], f"{path}[]")
        return
    needed = shape.get("required", ())
    for name, field in shape.get("properties", {}).items():
        at = f"{path}.{name}".lstrip(".")
        optional = "" if name in needed else ", or missing"
        yield at, _kind(field) + optional, field.get("description", "")
        yield from _fields(field, at)


def _kind(field: Schema) -> str:
    if "enum" in field:
        return " or ".join(f"`{value}`" for value in field["enum"])
    kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
    of = f" of {field['items']['type']}" if "items" in field else ""
    return " or ".join(f"{kind}{of if kind == 'array' else ''}" for kind in kinds)


def files() -> dict[Path, str]:
    """Everything that is written, by path."""
    made = {
        ROOT / "schemas" / f"{name}.json": json.dumps(schema(name), indent=2) + "\n" for name in DOCUMENTS
    }
    return {**made, ROOT / "json.md": page()}


if __name__ == "__main__":
    (ROOT / "schemas").mkdir(exist_ok=True)
    for path, content in files().items():
        path.write_text(content, encoding="utf-8")
        print(f"wrote {path}")
