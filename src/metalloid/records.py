"""`dataclass` at a fraction of its price: what nobody uses of a class is not written.

The standard library writes and compiles six functions for each class that it decorates, 0.9 ms. A first launch imports
170 of them, and makes objects of a third. Here a function is written when it is first looked up, and stands in the
class from then on: a call costs what it costs there. `fields`, `replace`, `asdict`, `match` and `copy` take such
classes for what they are. What is rarely asked for (KW_ONLY, InitVar, fields that are no arguments) is left to the
standard library.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, field, fields
from functools import partial
from inspect import get_annotations
from reprlib import recursive_repr
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass, replace
else:

    def dataclass(cls=None, /, *, frozen=False, eq=True, slots=False):
        """The standard library's decorator."""

        def wrap(cls):
            return _decorated(cls, frozen, eq, slots)

        return wrap if cls is None else wrap(cls)

    def replace(one, /, **changes):
        """The same object but for these fields: a third of the standard library's time, and passes do little else."""
        made = getattr(one.__class__, "__replace__", None)
        return dataclasses.replace(one, **changes) if made is None else made(one, **changes)


__all__ = ["dataclass", "field", "fields", "replace"]

_OTHERS = ("InitVar", "KW_ONLY", "dataclasses.", "typing.")  # annotations that may mean more than a type
_Names = dict[str, Any]


class _Factory:
    """In the place of an argument whose value is made for each object."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()
_FEW = 32  # objects


@dataclasses.dataclass
class _Sample:
    one: int = 0


_PLAIN = fields(_Sample)[0]._field_type  # type: ignore[attr-defined]  # there is no public name for it


def _decorated(cls: type, frozen: bool, eq: bool, slots: bool) -> type:
    own = {name: type for name, type in get_annotations(cls).items() if not str(type).startswith("ClassVar")}
    if not all(_plain(cls, name, type) for name, type in own.items()):
        standard: Any = dataclasses.dataclass(frozen=frozen, eq=eq, slots=slots)
        made: type = standard(cls)
        return made
    found: dict[str, Field[Any]] = {}
    for base in cls.__mro__[-1:0:-1]:
        found.update(getattr(base, "__dataclass_fields__", {}))
    found.update({name: _field(cls, name, type) for name, type in own.items()})
    if slots:
        cls = _with_slots(cls, found, frozen)
    known: Any = cls
    known.__dataclass_fields__ = found
    known.__dataclass_params__ = SimpleNamespace(init=True, repr=True, eq=eq, order=False, frozen=frozen)
    if "__match_args__" not in cls.__dict__:
        setattr(cls, "__match_args__", tuple(found))  # noqa: B010
    _add_methods(cls, frozen, eq)
    return cls


def _plain(cls: type, name: str, type: object) -> bool:
    """Whether an annotation is that of a field which is an argument."""
    given = cls.__dict__.get(name)
    argument = not isinstance(given, Field) or (given.init and given.kw_only is not True)
    return isinstance(type, str) and not type.startswith(_OTHERS) and argument


def _field(cls: type, name: str, type: str) -> Field[Any]:
    given = cls.__dict__.get(name, MISSING)
    made: Any = given if isinstance(given, Field) else field(default=given)
    if isinstance(given, Field):
        if given.default is MISSING:
            delattr(cls, name)
        else:
            setattr(cls, name, given.default)
    elif made.default.__class__.__hash__ is None:
        raise ValueError(
            f"the default of {cls.__name__}.{name} would be shared: use field(default_factory=...)"
        )
    made.name, made.type, made.kw_only, made._field_type = name, type, False, _PLAIN
    return made  # type: ignore[no-any-return]


def _with_slots(cls: type, found: dict[str, Field[Any]], frozen: bool) -> type:
    """The class once more, with a place for each of its own fields."""
    inherited = {name for base in cls.__mro__[1:-1] for name in getattr(base, "__slots__", ())}
    gone = {*found, "__dict__", "__weakref__"}
    body = {name: value for name, value in cls.__dict__.items() if name not in gone}
    body["__slots__"] = tuple(name for name in found if name not in inherited)
    if frozen:
        body.setdefault("__getstate__", _state)
        body.setdefault("__setstate__", _set_state)
    made = type(cls)(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    return made


def _state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for f, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, f.name, value)


def _add_methods(cls: type, frozen: bool, eq: bool) -> None:
    own, later = cls.__dict__, {"__repr__": _repr, "__replace__": _replace}
    if "__init__" not in own:
        cls.__init__ = _LaterInit(cls)  # type: ignore[misc]
    if eq:
        later["__eq__"] = _eq
        explicit = own.get("__hash__") is not None or ("__hash__" in own and "__eq__" not in own)
        if frozen and not explicit:
            cls.__hash__ = _Later(cls, "__hash__", _hash)  # type: ignore[assignment]
        elif not explicit:
            cls.__hash__ = None  # type: ignore[assignment]
    for name, write in later.items():
        if name not in own:
            setattr(cls, name, _Later(cls, name, write))
    if frozen:
        _freeze(cls)


def _freeze(cls: Any) -> None:
    def set(self: Any, name: str, value: object) -> None:
        if type(self) is cls or name in cls.__dataclass_fields__:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def delete(self: Any, name: str) -> None:
        if type(self) is cls or name in cls.__dataclass_fields__:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    cls.__setattr__, cls.__delattr__ = set, delete


class _Later:
    """A method that is written when somebody looks it up."""

    __slots__ = ("name", "owner", "write")

    def __init__(self, owner: type, name: str, write: Callable[[Any, _Names], str]) -> None:
        self.owner, self.name, self.write = owner, name, write

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        made = self.written()
        return made if instance is None else made.__get__(instance, owner)

    def written(self) -> Any:
        known: _Names = {"__name__": self.owner.__module__}
        exec(self.write(self.owner, known), known)  # of the class's own it holds the names of its fields
        made = known[self.name]
        made.__qualname__ = f"{self.owner.__qualname__}.{self.name}"
        if self.write is _init:
            made.__annotations__ = {f.name: f.type for f in fields(self.owner)} | {"return": None}
        setattr(self.owner, self.name, made)
        return made


class _LaterInit(_Later):
    """The first objects of a class are filled by a loop: 3 us each, where the function takes 200 to be written. Of the
    75 classes of a first launch, 66 have so few."""

    __slots__ = ("left",)

    def __init__(self, owner: type) -> None:
        super().__init__(owner, "__init__", _init)
        self.left = _FEW

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if instance is None or not self.left:
            return super().__get__(instance, owner)
        self.left -= 1
        return partial(self._fill, instance)

    def _fill(self, one: Any, /, *given: object, **named: object) -> None:
        cls: Any = self.owner
        found: dict[str, Field[Any]] = cls.__dataclass_fields__
        values = dict(zip(found, given, strict=False)) | named
        wrong = len(values) < len(given) + len(named) or not values.keys() <= found.keys()
        for name, f in found.items():
            if name not in values:
                wrong = wrong or (f.default is MISSING and f.default_factory is MISSING)
                values[name] = f.default if f.default_factory is MISSING else f.default_factory()
        if wrong:
            self.written()(one, *given, **named)  # says what is
            return
        put = object.__setattr__ if cls.__dataclass_params__.frozen else setattr
        for name in found:
            put(one, name, values[name])
        if hasattr(cls, "__post_init__"):
            one.__post_init__()


_become = object.__dict__["__class__"].__set__


def _open(cls: Any) -> type | None:
    """A class of the same places whose objects can be written: a plain assignment to a slot takes a tenth of the time
    of one that goes round the class's own refusal, and an instruction has sixteen fields."""
    if not (cls.__dataclass_params__.frozen and all("__slots__" in one.__dict__ for one in cls.__mro__[:-1])):
        return None
    if any("__dataclass_fields__" in base.__dict__ for base in cls.__mro__[1:]):
        return None
    return type(cls.__name__, cls.__bases__, {"__slots__": cls.__slots__})


def _init(cls: Any, known: _Names) -> str:
    open_ = _open(cls)
    known |= {
        "_set": object.__setattr__,
        "_factory": _FACTORY,
        "_become": _become,
        "_open": open_,
        "_own": cls,
    }
    heads, values = [], {}
    for f in cls.__dataclass_fields__.values():
        name, value, default = f.name, f.name, ""
        if f.default_factory is not MISSING:
            known[f"_made_{name}"], default = f.default_factory, " = _factory"
            value = f"_made_{name}() if {name} is _factory else {name}"
        elif f.default is not MISSING:
            known[f"_default_{name}"], default = f.default, f" = _default_{name}"
        heads.append(f"{name}{default}")
        values[name] = value
    plain = [f"    _self.{name} = {value}" for name, value in values.items()]
    lines = plain
    if cls.__dataclass_params__.frozen:
        lines = [f"    _set(_self, {name!r}, {value})" for name, value in values.items()]
    if open_ is not None:
        quick = ["    _become(_self, _open)", *plain, "    _become(_self, _own)"]
        lines = _either("_self.__class__ is _own", quick, lines)
    if hasattr(cls, "__post_init__"):
        lines.append("    _self.__post_init__()")
    return "\n".join([f"def __init__({', '.join(['_self', *heads])}):", *lines, "    return"])


def _either(test: str, then: list[str], otherwise: list[str]) -> list[str]:
    inner = [[f"    {line}" for line in lines] for lines in (then, otherwise)]
    return [f"    if {test}:", *inner[0], "    else:", *inner[1]]


def _compared(cls: Any, of: str, hashed: bool = False) -> str:
    found = cls.__dataclass_fields__.values()
    names = [f.name for f in found if (f.compare if f.hash is None or not hashed else f.hash)]
    return f"({' '.join(f'{of}.{name},' for name in names)})"


def _eq(cls: Any, known: _Names) -> str:
    return f"""def __eq__(self, other):
    if other.__class__ is self.__class__:
        return {_compared(cls, "self")} == {_compared(cls, "other")}
    return NotImplemented"""


def _hash(cls: Any, known: _Names) -> str:
    return f"def __hash__(self):\n    return hash({_compared(cls, 'self', hashed=True)})"


def _repr(cls: Any, known: _Names) -> str:
    known["_recursive_repr"] = recursive_repr
    words = ", ".join(f"{f.name}={{self.{f.name}!r}}" for f in cls.__dataclass_fields__.values() if f.repr)
    return f"""@_recursive_repr()
def __repr__(self):
    return f"{{self.__class__.__qualname__}}({words})" """


def _replace(cls: Any, known: _Names) -> str:
    known["_kept"] = object()
    names = list(cls.__dataclass_fields__)
    heads = ", ".join(["_self", *(["*"] if names else []), *(f"{name}=_kept" for name in names)])
    values = ", ".join(f"_self.{name} if {name} is _kept else {name}" for name in names)
    return f"def __replace__({heads}):\n    return _self.__class__({values})"
