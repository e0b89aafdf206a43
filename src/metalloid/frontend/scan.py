"""Find the structure the rewriter needs: scopes, kernels, instantiations, threadgroup variables.

Not a C++ parser. It walks declarations by their brackets: at namespace level each item ends at
`;` or at the `}` of its body; what stands in front of the body says what it is. Where the text
is too broken to follow, it finds less, and clang reports the error.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from metalloid.frontend.declarations import (
    Argument,
    Declarations,
    FunctionConstant,
    Instantiation,
    Kernel,
    Span,
)
from metalloid.frontend.methods import SPACES, Method, merge
from metalloid.frontend.tokens import OPENERS, Token, pair_brackets, skip_angles

STAGES = frozenset(("vertex", "fragment", "mesh", "object", "intersection"))
_NOT_PARAMETERS = frozenset(
    ("alignas", "__attribute__", "decltype", "__declspec", "sizeof", "noexcept", "__asm__")
)


@dataclass
class _Found:
    kernels: list[Kernel] = field(default_factory=list)
    instantiations: list[Instantiation] = field(default_factory=list)
    constants: list[FunctionConstant] = field(default_factory=list)
    functions: dict[str, list[Span]] = field(default_factory=dict)
    statics: list[int] = field(default_factory=list)
    arrays: list[tuple[int, Span]] = field(default_factory=list)
    drops: list[Span] = field(default_factory=list)
    casts: list[tuple[Span, str]] = field(default_factory=list)
    stages: list[Span] = field(default_factory=list)


def scan(tokens: Sequence[Token]) -> Declarations:
    scanner = _Scanner(tokens)
    scanner.namespace(0, len(tokens), ())
    found = scanner.found
    return Declarations(
        tuple(found.kernels),
        tuple(found.instantiations),
        tuple(found.constants),
        {name: tuple(spans) for name, spans in found.functions.items()},
        tuple(found.statics),
        tuple(found.arrays),
        tuple(found.drops),
        tuple(found.casts),
        tuple(found.stages),
    )


class _Scanner:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.pairs = pair_brackets(tokens)
        self.openers = {close: opening for opening, close in self.pairs.items()}
        self.found = _Found()

    def text(self, index: int) -> str:
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    # ---- items

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
        words = self.head_words(first, last)
        end, brace = self.extent(first, last)
        if "namespace" in words[:2] or (words[:1] == ["extern"] and self.tokens[first + 1].kind == "string"):
            if brace is None:
                return end
            names = tuple(
                w for w in words if w not in ("namespace", "inline", "::", "extern") and w.isidentifier()
            )
            self.namespace(brace + 1, end - 1, scope + names)
            return end
        start = self.after_template(first)
        parameters = self.parameter_list(start, brace if brace is not None else end)
        if brace is not None and parameters is None:
            if any(w in ("struct", "class", "union") for w in words):
                self.class_body(brace + 1, self.pairs.get(brace, end))
            self.remember(self.type_name(start, brace), Span(first, end))
            return end
        if words[:1] == ["template"] and self.text(first + 1) != "<":
            self.instantiation(first, end, scope)
            return end
        if parameters is None:
            self.variable(first, end)
            return end
        self.function(first, start, parameters, brace, end, scope)
        return end

    def head_words(self, first: int, last: int) -> list[str]:
        """The words in front of the first bracket, `;` or `=`."""
        words: list[str] = []
        here = self.after_template(first)
        if here != first:
            words.append("template<>")
        while here < last and self.text(here) not in (";", "{", "(", "="):
            if self.text(here) == "[[":
                here = self.pairs.get(here, here)
            else:
                words.append(self.text(here))
            here += 1
        return words

    def extent(self, first: int, last: int) -> tuple[int, int | None]:
        """(index after the item, index of its body's `{` or None)."""
        here = self.after_template(first)
        initialised = constructor = False
        while here < last:
            text = self.text(here)
            if text == ";":
                return here + 1, None
            if text == "}":
                return here, None
            if text == "=" and self.text(here - 1) != "operator":
                initialised = True
            if text == ":" and self.text(here - 1) == ")":
                constructor = True
            if text == "{":
                close = self.pairs.get(here, last - 1)
                previous = self.tokens[here - 1]
                member = constructor and (previous.kind == "name" or previous.text == ">")
                if not initialised and not member:
                    after = close + 1
                    if self.is_type(first, here):  # struct { ... } name;
                        while after < last and self.text(after) not in (";", "{", "}"):
                            after += 1
                        return min(after + 1, last), here
                    return after, here
                here = close
            elif text in OPENERS:
                here = self.pairs.get(here, here)
            here += 1
        return last, None

    def is_type(self, first: int, brace: int) -> bool:
        start = self.after_template(first)
        keywords = {self.text(i) for i in range(start, brace)}
        return (
            bool(keywords & {"struct", "class", "union", "enum"})
            and self.parameter_list(start, brace) is None
        )

    def after_template(self, first: int) -> int:
        """The index after any `template <...>` heads."""
        while self.text(first) == "template" and self.text(first + 1) == "<":
            after = skip_angles(self.tokens, self.pairs, first + 1)
            if after == first + 1:
                return first
            first = after
        return first

    def parameter_list(self, first: int, last: int) -> int | None:
        """Index of the `(` that opens a function's parameters, or None."""
        here = first
        while here < last:
            text = self.text(here)
            if text in ("=", ";") and self.text(here - 1) != "operator":
                return None
            if text == "(":
                if self.text(here - 1) not in _NOT_PARAMETERS:
                    if self.text(here - 1) == "operator":  # operator()(...)
                        return self.pairs.get(here, here) + 1
                    return here
                here = self.pairs.get(here, here)
            elif text in ("[", "[["):
                here = self.pairs.get(here, here)
            elif text == "<" and self.tokens[here - 1].kind == "name":
                after = skip_angles(self.tokens, self.pairs, here)
                here = max(after - 1, here)
            here += 1
        return None

    # ---- what an item can be

    def instantiation(self, first: int, end: int, scope: tuple[str, ...]) -> None:
        """`template ... f<args>(...)` or `template ... decltype(f<args>) f<args>;`"""
        attributes = self.attributes(first, end)
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
                here = max(skip_angles(self.tokens, self.pairs, here) - 1, here)
            here += 1
        words = [self.text(i) for i in range(first, end)]
        if name < 0 or not ("kernel" in words or "kernel" in attributes or "host_name" in attributes):
            return
        close = skip_angles(self.tokens, self.pairs, arguments)
        if close == arguments:  # never closed
            return
        start = name
        while self.text(start - 1) == "::" and self.tokens[start - 2].kind == "name":
            start -= 2
        expression = " ".join(self.text(i) for i in range(start, close))
        qualified = "::".join((*scope, expression))
        host_name = attributes.get("host_name", expression.replace(" ", ""))
        self.found.instantiations.append(
            Instantiation(host_name, self.text(name), qualified, Span(first, end))
        )

    def variable(self, first: int, end: int) -> None:
        """Function constants, and names for the closure of what a kernel uses."""
        attributes = self.attributes(first, end)
        names = []
        here = first
        while here < end and self.text(here) not in ("=", ";", "[", "[[", "{"):
            if self.tokens[here].kind == "name":
                names.append(here)
            here += 1
        if not names:
            return
        name = names[-1]
        if "function_constant" in attributes:
            words = [self.text(i) for i in range(first, name) if self.text(i) not in SPACES]
            kept = [w for w in words if w not in ("const", "constexpr", "static", "inline")]
            self.found.constants.append(
                FunctionConstant(
                    self.text(name), " ".join(kept), attributes["function_constant"], Span(first, end)
                )
            )
        else:
            self.remember(self.text(name), Span(first, end))

    def function(
        self, first: int, start: int, parameters: int, brace: int | None, end: int, scope: tuple[str, ...]
    ) -> None:
        name = parameters - 1
        while name > start and self.text(name) == "]]":  # f [[max_total_threads_per_threadgroup(n)]] (
            name = self.opener(name) - 1
        if self.text(name) == ">":  # template <> void f<int>(...)
            name = next((i for i in range(name, start, -1) if self.text(i) == "<"), name + 1) - 1
        attributes = dict(self.attributes(start, parameters))
        close = self.pairs.get(parameters, end)
        attributes.update(self.attributes(close, brace if brace is not None else end))
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
                if self.text(i) not in ("kernel", "static", "inline") and not self.in_attribute(i, start)
            ]
            self.found.kernels.append(
                Kernel(
                    self.text(name),
                    scope,
                    span,
                    None if brace is None else Span(brace + 1, self.pairs.get(brace, end)),
                    self.arguments(parameters),
                    attributes,
                    tuple(returns),
                    " ".join(self.text(i) for i in range(first, start)),
                    name,
                )
            )
        else:
            self.remember(self.text(name), span)

    def opener(self, close: int) -> int:
        return self.openers.get(close, close)

    def in_attribute(self, index: int, start: int) -> bool:
        """Inside `[[...]]` or `__attribute__((...))`."""
        here = start
        while here <= index:
            opening = here + 1 if self.text(here) == "__attribute__" else here
            if self.text(here) in ("[[", "__attribute__"):
                close = self.pairs.get(opening, opening)
                if here <= index <= close:
                    return True
                here = close
            here += 1
        return False

    def remember(self, name: str, span: Span) -> None:
        if name.isidentifier():
            self.found.functions.setdefault(name, []).append(span)

    def type_name(self, start: int, brace: int) -> str:
        names = [i for i in range(start, brace) if self.tokens[i].kind == "name"]
        for i in names:
            if self.text(i) in ("struct", "class", "union", "enum"):
                following = [j for j in names if j > i and self.text(j) not in ("class", "alignas", "packed")]
                return self.text(following[0]) if following else ""
        return ""

    # ---- inside functions and classes

    def function_body(self, first: int, last: int) -> None:
        """Threadgroup variables are one per threadgroup: `static` to C++."""
        for here in range(first, last):
            if (
                self.text(here) == "threadgroup"
                and self.starts_statement(here)
                and self.declares_variable(here, last)
            ):
                self.found.statics.append(here)
            elif self.text(here) in ("struct", "class") and self.text(here + 2) == "{":
                self.class_body(here + 3, self.pairs.get(here + 2, last))

    def starts_statement(self, here: int) -> bool:
        previous = here - 1
        while True:
            text = self.text(previous)
            if text == "]]":
                previous = self.opener(previous) - 1
            elif text == ")" and self.text(self.opener(previous) - 1) == "alignas":
                previous = self.opener(previous) - 2
            elif text in ("const", "constexpr", "volatile"):
                previous -= 1
            else:
                return text in ("{", "}", ";", ":") or self.tokens[previous].kind == "directive"

    def declares_variable(self, here: int, last: int) -> bool:
        """`threadgroup T x[n];`, not `threadgroup T* p = ...;`"""
        here += 1
        while here < last:
            text = self.text(here)
            if text in ("*", "&"):
                return False
            if text in ("alignas", "__attribute__"):
                here = self.pairs.get(here + 1, here) + 1
                continue
            if text in (";", "=", "[", ",", "(", "{"):
                return text != "("
            if text == "<":
                here = max(skip_angles(self.tokens, self.pairs, here) - 1, here)
            here += 1
        return False

    def class_body(self, first: int, last: int) -> None:
        here, methods = first, list[Method]()
        while here < last:
            if self.text(here) in ("public", "private", "protected") and self.text(here + 1) == ":":
                here += 2
                continue
            if self.text(here) in (";", "}") or self.tokens[here].kind == "directive":
                here += 1
                continue
            end, brace = self.extent(here, last)
            start = self.after_template(here)
            parameters = self.parameter_list(start, brace if brace is not None else end)
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

    # ---- attributes and parameters

    def array_parameters(self, opening: int) -> None:
        """`constant T s[2]` as a parameter: C++ refuses a space on the array, a pointer it is."""
        for argument in self.arguments(opening):
            words = argument.words
            if "[" in words and not {"*", "&"} & set(words) and SPACES & set(words):
                first = next(i for i in range(argument.name_index, argument.span.last) if self.text(i) == "[")
                self.found.arrays.append((argument.name_index, Span(first, self.pairs.get(first, first) + 1)))

    def attributes(self, first: int, last: int) -> Mapping[str, str]:
        """All `[[name(argument)]]` between two tokens, strings evaluated."""
        found: dict[str, str] = {}
        here = first
        while here < last:
            if self.text(here) == "[[":
                close = self.pairs.get(here, here)
                found.update(self.attribute_list(here + 1, close))
                here = close
            here += 1
        return found

    def attribute_list(self, first: int, last: int) -> Mapping[str, str]:
        found: dict[str, str] = {}
        here = first
        while here < last:
            if self.tokens[here].kind == "name":
                name, argument = self.text(here), ""
                if self.text(here + 1) == "(":
                    close = self.pairs.get(here + 1, here + 1)
                    argument = join_tokens(self.tokens[here + 2 : close])
                    here = close
                found[name] = argument
            here += 1
        return found

    def arguments(self, opening: int) -> tuple[Argument, ...]:
        close = self.pairs.get(opening, opening)
        found: list[Argument] = []
        here = start = opening + 1
        while here <= close:
            text = self.text(here)
            if here == close or text == ",":
                if here > start and [self.text(i) for i in range(start, here)] != ["void"]:
                    found.append(self.argument(start, here))
                start = here + 1
            elif text == "<":
                here = max(skip_angles(self.tokens, self.pairs, here) - 1, here)
            elif text in OPENERS:
                here = self.pairs.get(here, here)
            here += 1
        return tuple(found)

    def argument(self, first: int, last: int) -> Argument:
        words: list[str] = []
        name_index, here = first, first
        while here < last:
            text = self.text(here)
            if text == "[[":
                here = self.pairs.get(here, here)
            elif text == "=":
                break
            else:
                if self.tokens[here].kind == "name" and "[" not in words:
                    name_index = here
                words.append(text)
            here += 1
        return Argument(
            self.text(name_index), Span(first, last), self.attributes(first, last), tuple(words), name_index
        )


def join_tokens(tokens: Sequence[Token]) -> str:
    """The text of an attribute's argument; neighbouring string literals become one string."""
    if tokens and all(t.kind == "string" for t in tokens):
        return "".join(str(ast.literal_eval(t.text)) for t in tokens)
    return " ".join(t.text for t in tokens)
