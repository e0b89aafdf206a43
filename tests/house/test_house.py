"""The shape of the source tree: no import circles, no function above 60 lines, no file above 400.

What is still open stands in the three tables below. They only shrink: an entry that is no longer needed fails too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import metalloid
from tests.house.imports import Circle, File, circles, files, imports, shortest

MOST_LINES_OF_A_FUNCTION = 60  # its docstring counts
MOST_LINES_OF_A_FILE = 400

OPEN_CIRCLES: set[Circle] = set()
OPEN_FILES: set[str] = set()
OPEN_FUNCTIONS: set[str] = set()

HERE = Path(metalloid.__file__).parent
ROOT = HERE.parent
FILES = files(HERE)


def test_no_files_import_each_other_in_a_circle() -> None:
    graph = imports(FILES)
    found = circles(graph)
    new = [circle for circle in found if circle not in OPEN_CIRCLES]
    assert not new, "\n\n".join(_shown(graph, circle) for circle in new)
    done = OPEN_CIRCLES - set(found)
    assert not done, f"these circles are gone; take them out of OPEN_CIRCLES: {[sorted(c) for c in done]}"


def _shown(graph: dict[str, dict[str, int]], circle: Circle) -> str:
    """The shortest way round with the lines that make it, then all files of the circle."""
    way = shortest(graph, circle)
    steps = [
        f"  {FILES[one].path.relative_to(ROOT)}:{graph[one][two]} imports {two}" for one, two in pairwise(way)
    ]
    every = f"the circle has {len(circle)} files: {', '.join(sorted(circle))}"
    advice = (
        "give what both need a file of its own below them, or pass a value instead of importing its owner"
    )
    return "\n".join(["files import each other:", *steps, every, advice])


def test_every_analysis_and_transformation_is_used() -> None:
    """A pass that nobody calls does nothing, however well its own tests go."""
    used = {other for others in imports(FILES).values() for other in others}
    passes = {n for n, f in FILES.items() if f.path.relative_to(HERE).parts[0] in ("analysis", "transforms")}
    unused = [n for n in sorted(passes - used) if FILES[n].path.name != "__init__.py"]
    assert len(passes) > 40 and not unused, f"no file of the package imports {unused}"


def test_functions_are_short() -> None:
    found = {
        f"{file.name}.{name}": f"{file.path.relative_to(ROOT)}:{node.lineno} {name} has {length} lines"
        for file in FILES.values()
        for name, node, length in _functions(file)
        if length > MOST_LINES_OF_A_FUNCTION
    }
    new = [words for name, words in found.items() if name not in OPEN_FUNCTIONS]
    assert not new, f"more than {MOST_LINES_OF_A_FUNCTION} lines:\n" + "\n".join(new)
    done = OPEN_FUNCTIONS - set(found)
    assert not done, f"short enough now; take them out of OPEN_FUNCTIONS: {sorted(done)}"


def _functions(file: File) -> Iterator[tuple[str, ast.AST, int]]:
    """Functions and methods with their names inside the file, nested ones too."""

    def walk(node: ast.AST, inside: tuple[str, ...]) -> Iterator[tuple[str, ast.AST, int]]:
        for child in ast.iter_child_nodes(node):
            here = inside
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                here = (*inside, child.name)
                if not isinstance(child, ast.ClassDef):
                    assert child.end_lineno is not None
                    yield ".".join(here), child, child.end_lineno - child.lineno + 1
            yield from walk(child, here)

    return walk(file.tree, ())


def test_files_are_short() -> None:
    found = {file.name: file.lines for file in FILES.values() if file.lines > MOST_LINES_OF_A_FILE}
    new = [
        f"{FILES[name].path.relative_to(ROOT)} has {n}" for name, n in found.items() if name not in OPEN_FILES
    ]
    assert not new, f"more than {MOST_LINES_OF_A_FILE} lines:\n" + "\n".join(new)
    done = OPEN_FILES - set(found)
    assert not done, f"short enough now; take them out of OPEN_FILES: {sorted(done)}"


def test_every_kind_of_import_counts(tmp_path: Path) -> None:
    """At the top, for a type checker only, inside a function, relative, of a submodule or of a name in a package."""
    package = tmp_path / "house"
    (package / "inner").mkdir(parents=True)
    texts = {
        "__init__.py": "NAME = 1\n",
        "top.py": "from house import typed\n",
        "typed.py": "if TYPE_CHECKING:\n    from house.late import f\n",
        "late.py": "def f():\n    import house.inner\n",
        "inner/__init__.py": "from .part import g\n",
        "inner/part.py": "from ..top import h\n",
        "alone.py": "from house import NAME\nimport house.top\n",
    }
    for name, text in texts.items():
        (package / name).write_text(text)
    graph = imports(files(package))
    names = ["house.top", "house.typed", "house.late", "house.inner", "house.inner.part"]
    assert circles(graph) == [frozenset(names)]
    way = shortest(graph, frozenset(names))
    assert len(way) == 6 and set(way) == set(names)
    assert graph["house.alone"] == {"house": 1, "house.top": 2}
    assert graph["house.typed"] == {"house.late": 2}
