"""Walk the items of a text: namespaces, functions, classes and variables, and note what the rewriter needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metalloid.frontend.attributes import BUILTINS
from metalloid.frontend.declarations import (
    Declarations,
    FunctionConstant,
    GlobalBuiltin,
    Instantiation,
    Kernel,
    Span,
)
from metalloid.frontend.methods import SPACES, Method, merge
from metalloid.frontend.scan.arguments import arguments_of, attributes_of, in_attribute
from metalloid.frontend.scan.brackets import Brackets
from metalloid.frontend.scan.items import (
    declares_variable,
    extent,
    head_words,
    parameter_list,
    starts_statement,
    type_name,
)
from metalloid.frontend.scan.parts import class_part, function_part, variable_part
from metalloid.frontend.tokens import Token
from metalloid.frontend.words import Words
from metalloid.records import dataclass, field, fields

STAGES = frozenset(("vertex", "fragment", "mesh", "object", "intersection"))


@dataclass
class Found:
    """What `Declarations` is made of, as it comes."""

    kernels: list[Kernel] = field(default_factory=list)
    instantiations: list[Instantiation] = field(default_factory=list)
    constants: list[FunctionConstant] = field(default_factory=list)
    functions: dict[str, list[Span]] = field(default_factory=dict)
    parts: list[tuple[str, Span]] = field(default_factory=list)
    statics: list[int] = field(default_factory=list)
    arrays: list[tuple[int, Span]] = field(default_factory=list)
    drops: list[Span] = field(default_factory=list)
    casts: list[tuple[Span, str]] = field(default_factory=list)
    stages: list[Span] = field(default_factory=list)
    builtins: list[GlobalBuiltin] = field(default_factory=list)

    def copy(self) -> Found:
        """Another that grows on its own."""
        lists = {f.name: list(getattr(self, f.name)) for f in fields(self) if f.name != "functions"}
        return Found(functions={name: list(spans) for name, spans in self.functions.items()}, **lists)

    def declarations(self) -> Declarations:
        return Declarations(
            tuple(self.kernels),
            tuple(self.instantiations),
            tuple(self.constants),
            {name: tuple(spans) for name, spans in self.functions.items()},
            tuple(self.parts),
            tuple(self.statics),
            tuple(self.arrays),
            tuple(self.drops),
            tuple(self.casts),
            tuple(self.stages),
            tuple(self.builtins),
        )


class Walker:
    """Goes once over all items; `found` grows on the way."""

    def __init__(self, tokens: Sequence[Token], pairs: Mapping[int, int], words: Words, found: Found) -> None:
        self.tokens, self.code = tokens, Brackets(tokens, pairs, words)
        self.pairs, self.text = self.code.pairs, self.code.text
        self.found = found

    def namespace(self, first: int, last: int, scope: tuple[str, ...]) -> None:
        """Walk the items between two tokens at namespace level."""
        here = first
        while here < last:
            if self.text(here) in (";", "}") or self.tokens[here].kind == "directive":
                here += 1
                continue
            here = self.item(here, last, scope)

    def item(self, first: int, last: int, scope: tuple[str, ...]) -> int:
        """One namespace-level item; returns the index after it."""
        if (
            self.text(first) == "extern"
            and self.tokens[first + 1].kind == "string"
            and self.text(first + 2) != "{"
        ):
            first += 2  # extern "C" of one declaration
        words = head_words(self.code, first, last)
        end, brace = extent(self.code, first, last)
        if "namespace" in words[:2] or (words[:1] == ["extern"] and self.tokens[first + 1].kind == "string"):
            if brace is None:
                return end
            names = tuple(
                w for w in words if w not in ("namespace", "inline", "::", "extern") and w.isidentifier()
            )
            self.namespace(brace + 1, end - 1, scope + names)
            return end
        start = self.code.after_template(first)
        parameters = parameter_list(self.code, start, brace if brace is not None else end)
        if brace is not None and parameters is None:
            if any(w in ("struct", "class", "union") for w in words):
                self.class_body(brace + 1, self.pairs.get(brace, end))
            part = class_part(self.code, start, brace, end, scope)
            self.remember(type_name(self.code, start, brace), Span(first, end), part)
            return end
        if words[:1] == ["template"] and self.text(first + 1) != "<":
            self.instantiation(first, end, scope)
            return end
        if parameters is None:
            self.variable(first, end, scope)
            return end
        self.function(first, start, parameters, brace, end, scope)
        return end

    def instantiation(self, first: int, end: int, scope: tuple[str, ...]) -> None:
        """`template ... f<args>(...)` or `template ... decltype(f<args>) f<args>;`"""
        attributes = attributes_of(self.code, first, end)
        here, name, arguments = first + 1, -1, -1
        while here < end:
            text = self.text(here)
            if text in ("[[", "["):
                here = self.pairs.get(here, here)
            elif text == "(":
                if self.text(here - 1) != "decltype":
                    break
                here = self.pairs.get(here, here)
            elif text == "<" and self.tokens[here - 1].kind == "name":
                name, arguments = here - 1, here
                here = max(self.code.after_angles(here) - 1, here)
            here += 1
        words = [self.text(i) for i in range(first, end)]
        if name < 0 or not ("kernel" in words or "kernel" in attributes or "host_name" in attributes):
            return
        close = self.code.after_angles(arguments)
        if close == arguments:  # never closed
            return
        start = name
        while self.text(start - 1) == "::" and self.tokens[start - 2].kind == "name":
            start -= 2
        expression = " ".join(self.text(i) for i in range(start, close))
        qualified = "::".join((*scope, expression))
        host_name = attributes.get("host_name", expression.replace(" ", ""))
        given = arguments_of(self.code, here) if self.text(here) == "(" else ()
        self.found.instantiations.append(
            Instantiation(host_name, self.text(name), qualified, Span(first, end), scope, given)
        )

    def variable(self, first: int, end: int, scope: tuple[str, ...]) -> None:
        """Function constants, built-in variables, and names for the closure of what a kernel uses."""
        attributes = attributes_of(self.code, first, end)
        names = []
        here = first
        while here < end and self.text(here) not in ("=", ";", "[", "[[", "{"):
            if self.tokens[here].kind == "name":
                names.append(here)
            here += 1
        if not names:
            return
        name, span = names[-1], Span(first, end)
        words = [self.text(i) for i in range(first, name) if self.text(i) not in SPACES]
        kept = " ".join(w for w in words if w not in ("const", "constexpr", "static", "inline"))
        if "function_constant" in attributes:
            constant = FunctionConstant(self.text(name), kept, attributes["function_constant"], span)
            self.found.constants.append(constant)
        else:
            builtin = next((a for a in attributes if a in BUILTINS), "")
            if builtin and self.text(end - 2) == "]]":
                self.found.builtins.append(GlobalBuiltin(self.text(name), builtin, kept, span))
            part = variable_part(self.code, first, name, end, scope)
            self.remember(self.text(name), span, part)

    def function(
        self, first: int, start: int, parameters: int, brace: int | None, end: int, scope: tuple[str, ...]
    ) -> None:
        name = parameters - 1
        while name > start and self.text(name) == "]]":  # f [[max_total_threads_per_threadgroup(n)]] (
            name = self.code.opener(name) - 1
        if self.text(name) == ">":  # template <> void f<int>(...)
            name = next((i for i in range(name, start, -1) if self.text(i) == "<"), name + 1) - 1
        attributes = dict(attributes_of(self.code, start, parameters))
        close = self.pairs.get(parameters, end)
        attributes.update(attributes_of(self.code, close, brace if brace is not None else end))
        words = [self.text(i) for i in range(start, parameters)]
        span = Span(first, end)
        if (words and words[0] in STAGES) or any(a in STAGES for a in attributes):
            self.found.stages.append(span)
            return
        self.array_parameters(parameters)
        if brace is not None:
            self.function_body(brace + 1, self.pairs.get(brace, end))
        if "kernel" in words or "kernel" in attributes:
            returns = [
                self.text(i)
                for i in range(start, name)
                if self.text(i) not in ("kernel", "static", "inline")
                and not in_attribute(self.code, i, start)
            ]
            self.found.kernels.append(
                Kernel(
                    self.text(name),
                    scope,
                    span,
                    None if brace is None else Span(brace + 1, self.pairs.get(brace, end)),
                    arguments_of(self.code, parameters),
                    attributes,
                    tuple(returns),
                    " ".join(self.text(i) for i in range(first, start)),
                    name,
                )
            )
        else:
            part = function_part(self.code, Span(first, parameters), name, scope, self.found.functions)
            self.remember(self.text(name), span, part)

    def remember(self, name: str, span: Span, part: bool) -> None:
        if name.isidentifier():
            self.found.functions.setdefault(name, []).append(span)
            alone = not span.first or self.tokens[span.first - 1].kind != "string"  # no extern "C" before it
            if part and alone:
                self.found.parts.append((name, span))

    def function_body(self, first: int, last: int) -> None:
        """Threadgroup variables are one per threadgroup: `static` to C++."""
        words = ("threadgroup", "struct", "class")
        for here in sorted(place for word in words for place in self.code.between(word, first, last)):
            if self.text(here) != "threadgroup":
                if self.text(here + 2) == "{":
                    self.class_body(here + 3, self.pairs.get(here + 2, last))
            elif starts_statement(self.code, here) and declares_variable(self.code, here, last):
                self.found.statics.append(here)

    def class_body(self, first: int, last: int) -> None:
        here, methods = first, list[Method]()
        while here < last:
            if self.text(here) in ("public", "private", "protected") and self.text(here + 1) == ":":
                here += 2
                continue
            if self.text(here) in (";", "}") or self.tokens[here].kind == "directive":
                here += 1
                continue
            end, brace = extent(self.code, here, last)
            start = self.code.after_template(here)
            parameters = parameter_list(self.code, start, brace if brace is not None else end)
            if brace is not None and parameters is None:
                self.class_body(brace + 1, self.pairs.get(brace, end))
            elif parameters is not None:
                methods.append(self.method(here, start, parameters, brace, end))
            here = max(end, here + 1)
        changes = merge(self.tokens, self.pairs, methods)
        self.found.drops += changes.drops
        self.found.casts += changes.casts

    def method(self, first: int, start: int, parameters: int, brace: int | None, end: int) -> Method:
        close = self.pairs.get(parameters, parameters)
        tail_end = brace if brace is not None else end
        body = next((i for i in range(close, tail_end) if self.text(i) == ":"), tail_end)
        name = next((i for i in range(start, parameters) if self.text(i) == "operator"), parameters - 1)
        self.array_parameters(parameters)
        if brace is not None:
            self.function_body(brace + 1, self.pairs.get(brace, end))
        return Method(
            Span(first, end), Span(start, name), Span(name, close + 1), Span(close + 1, body), Span(body, end)
        )

    def array_parameters(self, opening: int) -> None:
        """`constant T s[2]` as a parameter: C++ refuses a space on the array, a pointer it is."""
        if not self.code.between("[", opening, self.pairs.get(opening, opening)):
            return
        for argument in arguments_of(self.code, opening):
            words = argument.words
            if "[" in words and not {"*", "&"} & set(words) and SPACES & set(words):
                first = next(i for i in range(argument.name_index, argument.span.last) if self.text(i) == "[")
                self.found.arrays.append((argument.name_index, Span(first, self.pairs.get(first, first) + 1)))
