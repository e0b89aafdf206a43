"""Objective-C's objects in Python: selectors are methods, colons are underscores.

A selector that a class does not have is answered in Objective-C's own words, and so is a message to an object that has
been released as often as it was retained. What metalloid refuses inside a selector comes out as Metal's assertions do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar, NoReturn, Self

from metalloid.errors import MetalloidError


class error(Exception):  # its name in PyObjC
    """What Objective-C would have raised: `objc.error`."""


class AssertionFailed(error):
    """What would have ended the program on a Mac: Metal's own assertion."""


class Unrecognized(error, AttributeError):
    """A selector that the object does not have. Python's hasattr and getattr know it as an AttributeError."""


def selector(name: str) -> str:
    """A method's name as Objective-C writes it: `setBuffer_offset_atIndex_` is `setBuffer:offset:atIndex:`."""
    return name.replace("_", ":")


class _Class(type):
    """The class object, which gets messages too."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise Unrecognized(
            f"+[{cls.__name__} {selector(name)}]: unrecognized selector sent to class {id(cls):#x}"
        )


class NSObject(metaclass=_Class):
    """The root. `PROPERTIES` of a class become a getter and a setter each, with their first values."""

    PROPERTIES: ClassVar[dict[str, Any]] = {}

    def __init__(self) -> None:
        self._retained = 1
        self._values: dict[str, Any] = {}

    def __init_subclass__(cls) -> None:
        for name, value in list(vars(cls).items()):
            if not name.startswith("_") and callable(value) and not isinstance(value, type):
                setattr(cls, name, _asserting(value))
        for name, first in vars(cls).get("PROPERTIES", {}).items():
            if name not in vars(cls):
                setattr(cls, name, _getter(name, first))
            setter = f"set{name[0].upper()}{name[1:]}_"
            if setter not in vars(cls):
                setattr(cls, setter, _setter(name))

    @classmethod
    def alloc(cls) -> Self:
        return cls()

    @classmethod
    def new(cls) -> Self:
        return cls()

    def init(self) -> Self:
        return self

    def copy(self) -> Self:
        return self

    def retain(self) -> Self:
        self._retained += 1
        return self

    def release(self) -> None:
        self._retained -= 1
        if self._retained == 0:
            self._dealloc()
            self.__class__ = _zombie(type(self))

    def autorelease(self) -> Self:
        return self

    def retainCount(self) -> int:
        return self._retained

    def _dealloc(self) -> None:
        """Give back what the object holds."""

    def respondsToSelector_(self, name: Any) -> bool:
        text = name if isinstance(name, str) else bytes(name).decode()
        return callable(getattr(type(self), text.replace(":", "_"), None))

    def performSelector_(self, name: str) -> Any:
        return getattr(self, name.replace(":", "_"))()

    def isKindOfClass_(self, cls: type) -> bool:
        return isinstance(self, cls)

    def conformsToProtocol_(self, protocol: Any) -> bool:
        return bool(getattr(protocol, "__name__", protocol) == type(self).__name__)

    def isEqual_(self, other: object) -> bool:
        return self is other or self == other

    def hash(self) -> int:
        return hash(self)

    def className(self) -> str:
        return type(self).__name__

    def description(self) -> str:
        label = self._values.get("label")
        return f"<{type(self).__name__}: {id(self):#x}>" + (f" label = {label}" if label else "")

    debugDescription = description

    def _assert(self, words: str, hint: str = "") -> NoReturn:
        """Metal's assertion, with the selector that called this."""
        caller = sys._getframe(1).f_code.co_name
        raise AssertionFailed(_failed(type(self).__name__, caller, words, hint))

    def _fail(self, name: str, words: str) -> NoReturn:
        """The same, of a selector that is not the caller's own."""
        raise AssertionFailed(_failed(type(self).__name__, name, words))

    def __setattr__(self, name: str, value: Any) -> None:
        """`options.mathMode = x` means `options.setMathMode_(x)`: a getter is not replaced by a value."""
        setter = (
            None if name.startswith("_") else getattr(type(self), f"set{name[:1].upper()}{name[1:]}_", None)
        )
        if setter is not None:
            setter(self, value)
        else:
            super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise Unrecognized(
            f"-[{type(self).__name__} {selector(name)}]: unrecognized selector sent to instance {id(self):#x}"
        )

    def __repr__(self) -> str:
        return self.description()


def _failed(owner: str, name: str, words: str, hint: str = "") -> str:
    return f"-[{owner} {selector(name)}]: failed assertion `{words}'" + (f"\n{hint}" if hint else "")


def _asserting(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method; what metalloid refuses inside it is told as an assertion of its selector."""

    @wraps(method)
    def told(self: Any, *arguments: Any) -> Any:
        try:
            return method(self, *arguments)
        except MetalloidError as refused:
            raise AssertionFailed(_failed(type(self).__name__, method.__name__, str(refused))) from refused

    return told


def _getter(name: str, first: Any) -> Callable[[Any], Any]:
    def get(self: Any) -> Any:
        if name not in self._values:
            self._values[name] = first() if callable(first) else first
        return self._values[name]

    get.__name__ = name
    return get


def _setter(name: str) -> Callable[[Any, Any], None]:
    def set(self: Any, value: Any) -> None:
        self._values[name] = value

    set.__name__ = f"set{name[0].upper()}{name[1:]}_"
    return set


_zombies: dict[type, type] = {}


def _zombie(cls: type) -> type:
    """What an object becomes that nobody retains: it only says so."""
    if cls not in _zombies:

        def dead(self: Any, name: str) -> NoReturn:
            if name.startswith("__"):
                raise AttributeError(name)
            raise error(
                f"*** -[{cls.__name__} {selector(name)}]: message sent to deallocated instance {id(self):#x}"
            )

        shown = {"__getattr__": dead, "__repr__": lambda self: f"<deallocated {cls.__name__}>"}
        _zombies[cls] = type(f"_Zombie_{cls.__name__}", (), shown)
    return _zombies[cls]


class Labelled(NSObject):
    """An object with a name that debuggers show."""

    PROPERTIES: ClassVar[dict[str, Any]] = {"label": None}
