"""The call forms that metalloid serves, and how a program gets them without being edited.

A form is put in place when the program has imported the package it belongs to, and not before: nothing is imported
for a program that does not use it. A form that brings its package along is there at once, for those who look for it.
A new form is one row of `FORMS` and a module with `install` and `uninstall`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module

from metalloid import config, imports
from metalloid.errors import MetalloidError


@dataclass(frozen=True)
class Form:
    name: str  # the word for it, in METALLOID= and in pytest's option
    module: str  # what a program imports; "" where the form brings it along
    ours: str  # the module whose install() and uninstall() serve it


FORMS = (
    Form("mlx", "mlx.core", "metalloid.mlx"),
    Form("torch", "torch", "metalloid.torch"),
    Form("metal", "", "metalloid.metal"),
)
NAMES = tuple(form.name for form in FORMS)


def chosen(words: Iterable[str], where: str) -> tuple[Form, ...]:
    """The forms that words name, all of them where there are none; `where` is who said them, for the error."""
    wanted = list(words)
    for word in wanted:
        if word not in NAMES:
            raise MetalloidError(f"{where}: there is no form {word!r}; the forms are {', '.join(NAMES)}.")
    return tuple(form for form in FORMS if not wanted or form.name in wanted)


def attach(forms: Iterable[Form] = FORMS) -> imports.Action:
    """Put forms in place from the moment their packages are imported; returns what takes them away.

    Their programs were written for hardware, which does not stop where a kernel leaves its memory.
    """
    installed: list[Form] = []
    stop_again = config.guard_as_hardware()
    wanted = tuple(forms)
    forgetting = [
        imports.after(form.module, partial(_install, form, installed)) for form in wanted if form.module
    ]
    for form in wanted:
        if not form.module:
            _install(form, installed)

    def detach() -> None:
        stop_again()
        for forget in forgetting:
            forget()
        while installed:
            import_module(installed.pop().ours).uninstall()

    return detach


@contextmanager
def attached(forms: Iterable[Form] = FORMS) -> Iterator[None]:
    """The same for as long as a block runs."""
    detach = attach(forms)
    try:
        yield
    finally:
        detach()


def _install(form: Form, installed: list[Form]) -> None:
    import_module(form.ours).install()
    installed.append(form)
