"""`metalloid.records.dataclass` is the standard library's, written when it is used."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import pytest

from metalloid import records


def _classes(dataclass):
    """The same classes, decorated by one or the other."""

    @dataclass(frozen=True)
    class Point:
        x: int
        y: int = 2
        tags: list = dataclasses.field(default_factory=list, compare=False)
        kind: ClassVar[str] = "point"

    @dataclass(frozen=True)
    class Named(Point):
        name: str = "n"
        secret: int = dataclasses.field(default=3, repr=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "name", self.name.upper())

    @dataclass
    class Open:
        value: int
        parts: dict = dataclasses.field(default_factory=dict)

    @dataclass(eq=False)
    class Identity:
        value: int = 1

    @dataclass(frozen=True, slots=True)
    class Slotted:
        a: int
        b: tuple = ()

        @property
        def doubled(self) -> int:
            return 2 * self.a

    @dataclass(frozen=True)
    class Hashed:
        a: int

        def __hash__(self) -> int:
            return 7

    @dataclass(frozen=True)
    class Empty:
        pass

    return {c.__name__: c for c in (Point, Named, Open, Identity, Slotted, Hashed, Empty)}


CALLS = (
    ("Point", (1,), {}),
    ("Point", (1, 3), {"tags": [1]}),
    ("Named", (1,), {"name": "abc"}),
    ("Open", (5,), {}),
    ("Identity", (), {}),
    ("Slotted", (1, (2, 3)), {}),
    ("Hashed", (1,), {}),
    ("Empty", (), {}),
)


@pytest.mark.parametrize("before", [0, records._FEW], ids=["first", "later"])
@pytest.mark.parametrize("name, args, named", CALLS)
def test_objects_are_those_of_the_standard_library(name, args, named, before):
    """The first ones, and those after the class's function was written."""
    ours, theirs = (_classes(d)[name] for d in (records.dataclass, dataclasses.dataclass))
    for _ in range(before):
        ours(*args, **named)
    one, two, other = ours(*args, **named), ours(*args, **named), theirs(*args, **named)
    assert repr(one) == repr(other)
    assert (one == two) == (other == theirs(*args, **named))
    assert one != other
    assert (ours.__hash__ is None) == (theirs.__hash__ is None)
    if ours.__hash__ and name != "Identity":
        assert hash(one) == hash(two) == hash(other)
    assert [f.name for f in dataclasses.fields(one)] == [f.name for f in dataclasses.fields(other)]
    assert dataclasses.asdict(one) == dataclasses.asdict(other)
    assert ours.__match_args__ == theirs.__match_args__
    assert repr(copy.copy(one)) == repr(other)
    assert hasattr(one, "__dict__") == hasattr(other, "__dict__")
    assert isinstance(vars(ours)["__init__"], records._Later) == (before == 0)
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))


def test_frozen_objects_stay_as_they_are():
    for name in ("Point", "Slotted"):
        one = _classes(records.dataclass)[name](1)
        with pytest.raises(dataclasses.FrozenInstanceError):
            one.new = 1
        with pytest.raises(dataclasses.FrozenInstanceError):
            del one.x
    for replace in (dataclasses.replace, records.replace):
        assert replace(_classes(records.dataclass)["Slotted"](1), a=4).doubled == 8


def test_a_replaced_field_is_the_only_change():
    for decorate in (records.dataclass, dataclasses.dataclass):
        classes = _classes(decorate)
        named = records.replace(classes["Named"](1, tags=[2], name="a"), name="b")
        assert (named.x, named.y, named.tags, named.name, named.secret) == (1, 2, [2], "B", 3)
        assert records.replace(classes["Empty"]()) == classes["Empty"]()
        with pytest.raises(TypeError, match="nothing"):
            records.replace(classes["Point"](1), nothing=2)


@pytest.mark.parametrize(
    "args, named, told",
    [
        ((), {}, "missing 1 required positional argument: 'x'"),
        ((1,), {"z": 2}, "unexpected keyword argument 'z'"),
        ((1,), {"x": 2}, "multiple values for argument 'x'"),
        ((1, 2, [], 4), {}, "takes from 2 to 4 positional arguments but 5 were given"),
    ],
)
def test_mistakes_are_those_of_the_standard_library(args, named, told):
    for decorate in (records.dataclass, dataclasses.dataclass):
        point = _classes(decorate)["Point"]
        with pytest.raises(TypeError, match=told):
            point(*args, **named)
        assert point(1).y == 2


def test_a_default_that_would_be_shared_is_refused():
    with pytest.raises(ValueError, match="default_factory"):

        @records.dataclass
        class Shared:
            values: list = []  # noqa: RUF012


@records.dataclass(frozen=True, slots=True)
class Sent:
    a: int
    b: str = "x"


def test_objects_travel_between_processes():
    assert pickle.loads(pickle.dumps(Sent(1))) == Sent(1)


COUNT = """
import dataclasses
real, made = dataclasses.dataclass, []
def counted(cls=None, /, **options):
    def wrap(cls):
        made.append(cls.__module__)
        return real(cls, **options)
    return wrap if cls is None else wrap(cls)
dataclasses.dataclass = counted
import numpy, metalloid
text = "kernel void k(device int* o, uint i [[thread_position_in_grid]]) { o[i] = 1; }"
kernel = metalloid.device("cpu").library(text)["k"]
kernel(numpy.zeros(64, numpy.int32), grid=64)
print([name for name in made if name.startswith("metalloid.") and name != "metalloid.records"])
"""


def test_a_first_launch_writes_no_class_of_the_standard_library(tmp_path):
    environment = os.environ | {
        "METALLOID_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": str(Path(records.__file__).parents[1]),
    }
    done = subprocess.run(
        [sys.executable, "-c", COUNT],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def test_a_frozen_class_with_slots_is_its_own_class_and_so_is_a_class_made_of_it():
    """Its fields are written while it is of a class that can be written."""

    @records.dataclass(frozen=True, slots=True)
    class Pair:
        a: int
        b: tuple = ()

    class Sub(Pair):
        pass

    for made in (Pair, Sub):
        one = made(1, b=(2,))
        assert type(one) is made
        assert (one.a, one.b) == (1, (2,))
        with pytest.raises(dataclasses.FrozenInstanceError):
            one.a = 3
        assert records.replace(one, a=4) == made(4, (2,))
