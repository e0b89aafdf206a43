"""What there is once, however many threads ask for it first.

`functools.cache` runs the function in each of them and keeps the last result. That is right for plain values. It is not
for memory that C code points into, nor for objects that are told apart by who they are."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from functools import wraps
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")


def once(make: Callable[Given, Made]) -> Callable[Given, Made]:
    """A function whose result is made by one thread, and kept for good; others wait for it."""
    made: dict[tuple[Hashable, ...], Made] = {}
    making = threading.RLock()

    @wraps(make)
    def get(*given: Given.args, **named: Given.kwargs) -> Made:
        key = (*given, *named.items())
        if key in made:
            return made[key]
        with making:
            if key not in made:
                made[key] = make(*given, **named)
            return made[key]

    get.__dict__["cache_clear"] = made.clear  # as functools.cache has it
    return get
