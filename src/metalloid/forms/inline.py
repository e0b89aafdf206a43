"""Find the kernels inside a Python file, without importing it.

`mx.fast.metal_kernel(...)`, `torch.mps.compile_shader(...)`, `device.library(...)`, `mt.metal_kernel(...)` and PyObjC's
`newLibraryWithSource_...` get their text from strings the file builds.
The file is evaluated statically, along every path that unknown flags open; each distinct text is one kernel.
What a call in the same file says about dtypes and template arguments is used; the rest is a documented guess
(`reading.symbols`, `reading.guess`), and `attempts` lists the guesses in the order worth trying. What cannot
be resolved is listed with the reason.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType

from metalloid.errors import Diagnostic
from metalloid.forms.inline_texts import NAME, TEXTS, bodies, whole
from metalloid.forms.mlx_source import Generated, KernelText, Origin, generate
from metalloid.forms.reading.evaluate import Evaluator
from metalloid.forms.reading.guess import Call, call_of, templates_in
from metalloid.forms.reading.shown import as_written
from metalloid.forms.reading.symbols import Symbol
from metalloid.forms.reading.traced import lines_of
from metalloid.forms.reading.values import (
    Choices,
    Class,
    Defined,
    Function,
    Instance,
    PathEnd,
    last_name,
    mentions,
)
from metalloid.forms.reading.written import Literals
from metalloid.forms.torch_source import shader_source
from metalloid.source import Source

MAX_PATHS = 48  # per function
PATIENCE = 12  # paths in a row that show nothing new
MAX_VARIANTS = 12  # per place
MAX_STEPS = 1_000_000  # per file: some ten seconds

SURE = ("metal_kernel", "compile_shader")
FACTORIES = (
    *SURE,
    *TEXTS,
)  # what is called library may be anything: it is no kernel where its text is unknown


@dataclass(frozen=True)
class InlineKernel:
    """One kernel text found in a Python file."""

    form: str  # "mlx", "torch", "metal" or "script"
    name: str
    line: int  # where its source is written
    text: KernelText | Source
    call: Call | None  # what is known of how it is called; None: no call in this file
    site: int = 0  # the line of the factory call
    written: tuple[str, ...] = ()  # source and header, with their places
    others: tuple[Source, ...] = ()  # other guesses at what is compiled

    def told(self, message: Diagnostic, name: str, python: str) -> Diagnostic:
        """A message about this kernel, in the words of the Python file `name`."""
        return as_written(message, python, self.written) if message.file == name else message

    def attempts(self) -> tuple[Generated | Source, ...]:
        """The texts to compile, best guess first; the kernel is right when one of them compiles."""
        if isinstance(self.text, Source):
            return (self.text, *self.others)
        call = self.call or Call()
        known = {name for name, _ in call.template}
        more = tuple(entry for entry in templates_in(self.text) if entry[0] not in known)
        tries = [call] if self.call is not None else []
        if more or not tries:
            tries.append(replace(call, template=(*call.template, *more)))
        made = (
            generate(self.text, *arguments)
            for call in tries
            for arguments in call.guesses(self.text.input_names, self.text.output_names, self.text.source)
        )
        return tuple({attempt.source.text: attempt for attempt in made}.values())


@dataclass(frozen=True)
class Unresolved:
    """A kernel whose text depends on running the program."""

    line: int
    reason: str


@dataclass(frozen=True)
class Found:
    kernels: tuple[InlineKernel, ...]
    unresolved: tuple[Unresolved, ...]


def find(text: str, name: str = "kernel.py") -> Found:
    """Every inline kernel of a Python file; SyntaxError when it is not Python."""
    tree = ast.parse(text)
    calls = [(n.lineno, last_name(n.func)) for n in ast.walk(tree) if isinstance(n, ast.Call)]
    every = {line for line, called in calls if called in FACTORIES}
    if not every:
        return Found((), ())
    sites = {line for line, called in calls if called in SURE}
    finder = _Finder(text, name, tree, every)
    finder.search()
    kernels = _share_calls(finder.kernels)
    resolved = {k.site for k in kernels}
    missing = {line: why for line, why in finder.problems.items() if line not in resolved}
    missing |= dict.fromkeys(
        sites - resolved - set(missing), "no path of the file that was followed reaches it"
    )
    return Found(tuple(kernels), tuple(Unresolved(line, why) for line, why in sorted(missing.items())))


class _Finder:
    def __init__(self, text: str, name: str, tree: ast.Module, sites: set[int]) -> None:
        self.text, self.name, self.tree, self.sites = text, name, tree, sites
        self._literals = Literals(text)
        self._seen: set[int] = set()
        self._relevant: frozenset[str] = frozenset()
        self.kernels: dict[tuple[object, ...], InlineKernel] = {}
        self.problems: dict[int, str] = {}
        self._variants: Counter[int] = Counter()
        self._steps = 0

    def search(self) -> None:
        """The module's statements, the callers of kernels, then whatever is still unseen."""
        users, makers, callers, self._relevant = _roles(self.tree)
        self._follow(None)
        for entry in users:
            self._follow(entry)
        for entry in makers:
            if entry.has_flags or entry.lines(self.sites) - self._seen:
                self._follow(entry)
        for entry in callers:
            if self.sites - self._seen:
                self._follow(entry)

    def _follow(self, entry: _Entry | None) -> None:
        before, problems = set(self.kernels), dict(self.problems)
        self.problems.clear()
        self._paths(entry)
        # Where one path needs a run to know the text, what the others made of it is no kernel of the file.
        for key in set(self.kernels) - before:
            if self.kernels[key].site in self.problems:
                del self.kernels[key]
        self.problems = self.problems | problems

    def _paths(self, entry: _Entry | None) -> None:
        choices = Choices()
        patience = PATIENCE
        for _ in range(MAX_PATHS):
            if self._steps > MAX_STEPS:
                return
            run = Evaluator(self.tree, choices, self._relevant, self._literals)
            try:
                if entry is not None:
                    _enter(run, entry)
            except (PathEnd, RecursionError):
                pass
            self._steps += run.steps
            news = [self._record(made, run) for made in run.kernels]
            patience = PATIENCE if any(news) else patience - 1
            if patience == 0 or not choices.next():
                return

    def _record(self, made: Defined, run: Evaluator) -> bool:
        """Keep what is new; whether anything was."""
        try:
            kernel = getattr(self, f"_{made.form}")(made, run)
        except (ValueError, PathEnd) as problem:
            self.problems.setdefault(made.line, str(problem))
            return False
        self._seen.add(made.line)
        text = kernel.text
        key: tuple[object, ...]
        if isinstance(text, KernelText):
            key = (made.line, text.input_names, text.output_names, str(text.source), str(text.header))
        else:
            key = (made.line, text.text)
        known = self.kernels.get(key)
        if known is None:
            self._variants[made.line] += 1
            if self._variants[made.line] > MAX_VARIANTS:
                return False
            self.kernels[key] = kernel
        elif known.call is None and kernel.call is not None:
            self.kernels[key] = kernel
        else:
            return False
        return True

    def _torch(self, made: Defined, run: Evaluator) -> InlineKernel:
        source = _text_of(made.arguments.get("source"), "source")
        origin = self._origin(source, "shader source", self.text)
        lines = [line for line in lines_of(source) if line]
        first = origin.lines[0] if origin.lines else 1
        text = f'#line {first} "{origin.name}"\n{source}'
        quoted = MappingProxyType({origin.name: origin.text})
        return InlineKernel(
            "torch",
            "shader",
            min(lines, default=made.line),
            replace(shader_source(text, self.name), quoted=quoted),
            None,
            made.line,
            (source,),
        )

    def _metal(self, made: Defined, run: Evaluator) -> InlineKernel:
        source = _text_of(made.arguments.get("source"), "source")
        origin = self._origin(source, "library source", self.text)
        defines = made.arguments.get("defines")
        known = {str(n): str(v) for n, v in defines.items()} if isinstance(defines, dict) else {}
        text = whole(Source(source, name=self.name, defines=known), source, origin)
        line = min((n for n in lines_of(source) if n), default=made.line)
        return InlineKernel("metal", "library", line, text, None, made.line, (source,))

    def _script(self, made: Defined, run: Evaluator) -> InlineKernel:
        body = _text_of(made.arguments.get("body"), "body")
        header = _text_of(made.arguments.get("header", ""), "header")
        origins = self._origin(body, NAME, self.text), self._origin(header, f"{NAME} header", self.text)
        first, *others = bodies({**made.arguments, "header": header}, origins)
        line = min((n for n in lines_of(body) if n), default=made.line)
        return InlineKernel("script", NAME, line, first, None, made.line, (body, header), tuple(others))

    def _mlx(self, made: Defined, run: Evaluator) -> InlineKernel:
        arguments = made.arguments
        name = run.concrete(arguments.get("name", "kernel"))
        source = _text_of(arguments.get("source"), "source")
        header = _text_of(arguments.get("header", ""), "header")
        header_origin = self._origin(header, f"{name} header", self.text)
        shown = header_origin.text if header_origin.name == self.name else self.text
        text = KernelText(
            name=str(name) if isinstance(name, str) else "kernel",
            input_names=_names(arguments.get("input_names"), run, "input_names"),
            output_names=_names(arguments.get("output_names"), run, "output_names"),
            source=source,
            header=header,
            atomic_outputs=arguments.get("atomic_outputs") is True,
            source_origin=self._origin(source, f"{name} source", shown),
            header_origin=header_origin,
        )
        line = min((n for n in lines_of(source) if n), default=made.line)
        call = call_of(made.calls[-1], text, run) if made.calls else None
        return InlineKernel("mlx", text.name, line, text, call, made.line, (source, header))

    def _origin(self, text: str, otherwise: str, base: str) -> Origin:
        """The Python file's lines, showing the text they became; a text of its own where no line is known."""
        numbers = lines_of(text)
        if not all(numbers):
            known = next((n for n in numbers if n), 0)
            if not known:
                return Origin(otherwise, str(text))
            filled = []
            for number in numbers:
                known = number or known
                filled.append(known)
            numbers = tuple(filled)
        shown = base.split("\n")
        for number, line in zip(numbers, text.split("\n"), strict=True):
            if line.strip():
                shown[number - 1] = line
        return Origin(self.name, "\n".join(shown), numbers)


def _text_of(value: object, what: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Symbol):
        raise ValueError(f"its {what} is `{value.text}`, which only running the program tells")
    raise ValueError(f"its {what} is not a string")


def _names(value: object, run: Evaluator, what: str) -> tuple[str, ...]:
    if isinstance(value, (list, tuple)):
        return tuple(str(run.concrete(item)) for item in value)
    raise ValueError(f"its {what} is not a list that can be read here")


def _share_calls(kernels: dict[tuple[object, ...], InlineKernel]) -> list[InlineKernel]:
    """A variant nobody calls is called like its neighbours from the same place."""
    called: dict[int, Call] = {}
    for kernel in kernels.values():
        if kernel.call is not None:
            called.setdefault(kernel.site, kernel.call)
    return [replace(k, call=k.call or called.get(k.site)) for k in kernels.values()]


# ---- which functions to enter ----


@dataclass(frozen=True)
class _Entry:
    """A function of the file, and the class it belongs to."""

    node: ast.FunctionDef | ast.AsyncFunctionDef
    owner: str = ""

    def lines(self, sites: set[int]) -> set[int]:
        return {line for line in sites if self.node.lineno <= line <= (self.node.end_lineno or 0)}

    @property
    def has_flags(self) -> bool:
        """Whether a parameter is a bool: both its values are kernels of this file."""
        arguments = self.node.args
        annotations = (a.annotation for a in (*arguments.args, *arguments.kwonlyargs))
        defaults = (*arguments.defaults, *arguments.kw_defaults)
        return any(isinstance(a, ast.Name) and a.id == "bool" for a in annotations) or any(
            isinstance(d, ast.Constant) and isinstance(d.value, bool) for d in defaults
        )


def _functions(body: list[ast.stmt], owner: str = "") -> Iterator[_Entry]:
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield _Entry(node, owner)
        elif isinstance(node, ast.ClassDef) and not owner:
            yield from _functions(node.body, node.name)
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            yield from _functions(node.body, owner)


def _roles(tree: ast.Module) -> tuple[list[_Entry], list[_Entry], list[_Entry], frozenset[str]]:
    """Users of a kernel's maker or object, makers, callers of users; and the names that lead to kernels."""
    functions = {entry: mentions([entry.node]) for entry in _functions(tree.body)}
    makers = [entry for entry, words in functions.items() if words & set(FACTORIES)]
    known = {entry.node.name for entry in makers}
    for statement in ast.walk(tree):
        if isinstance(statement, ast.Assign) and mentions([statement.value]) & (known | set(FACTORIES)):
            known |= {last_name(t) for t in statement.targets} - {""}
    users = [entry for entry, words in functions.items() if entry not in makers and words & known]
    names = {entry.node.name for entry in users}
    callers = [e for e, words in functions.items() if e not in makers and e not in users and words & names]
    return users, makers, callers, frozenset(known | names | set(FACTORIES))


def _enter(run: Evaluator, entry: _Entry) -> None:
    """Run one function of the file with nothing known about its parameters."""
    owner: Instance | None = None
    cls = run.globals.find(entry.owner) if entry.owner else None
    if isinstance(cls, Class):
        owner = Instance(cls)
        make = cls.methods.get("__init__")
        if isinstance(make, Function) and entry.node.name != "__init__":
            with suppress(PathEnd):
                run.run(Function(make.node, make.scope, owner, "__init__"), [], {})
    result = run.run(Function(entry.node, run.globals, owner, entry.node.name), [], {})
    if isinstance(result, Function):
        run.run(result, [], {})
