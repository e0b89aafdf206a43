"""The module `objc` as far as Metal's scripts use it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from metalloid.metal import foundation, names
from metalloid.metal.objects import NSObject, error

nil = None
NULL = None
YES, NO = True, False


class nosuchclass_error(error):  # its name in PyObjC
    """A class that there is not."""


@contextmanager
def autorelease_pool() -> Iterator[None]:
    """Objects live as long as Python refers to them: a pool has nothing to do."""
    yield


def lookUpClass(name: str) -> Any:
    """A class by its name."""
    found = {**foundation.NAMES, **names.classes()}.get(name)
    if found is None:
        raise nosuchclass_error(name)
    return found


def loadBundle(name: str, namespace: dict[str, Any], **where: Any) -> Any:
    """Put a framework's names into a namespace."""
    namespace.update({**foundation.NAMES, **names.names()})
    return None


def loadBundleFunctions(bundle: Any, namespace: dict[str, Any], functions: Any, skip: bool = True) -> None:
    known = names.names()
    namespace.update({entry[0]: known[entry[0]] for entry in functions if entry[0] in known})


def pathForFramework(name: str) -> str:
    return name


def python_method(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def selector(function: Callable[..., Any], **_: Any) -> Callable[..., Any]:
    return function


def super(*arguments: Any) -> Any:
    import builtins

    return builtins.super(*arguments)


NAMES: dict[str, Any] = {
    "nil": nil,
    "NULL": NULL,
    "YES": YES,
    "NO": NO,
    "error": error,
    "nosuchclass_error": nosuchclass_error,
    "autorelease_pool": autorelease_pool,
    "lookUpClass": lookUpClass,
    "loadBundle": loadBundle,
    "loadBundleFunctions": loadBundleFunctions,
    "pathForFramework": pathForFramework,
    "python_method": python_method,
    "selector": selector,
    "super": super,
    "objc_object": NSObject,
    "__version__": "10.0",
}
