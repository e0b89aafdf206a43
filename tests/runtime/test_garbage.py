"""The garbage collector waits while something is compiled, and is as it was afterwards."""

from __future__ import annotations

import gc
import sys
import threading
from types import ModuleType, SimpleNamespace

import pytest

from metalloid import garbage
from metalloid.backends import clock


@pytest.fixture(autouse=True)
def as_it_was():
    was = gc.isenabled()
    yield
    (gc.enable if was else gc.disable)()


@pytest.mark.parametrize("was", [True, False])
def test_it_is_as_it_was(was: bool) -> None:
    (gc.enable if was else gc.disable)()
    with garbage.kept():
        with clock.compiling():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled() == was
    with pytest.raises(ValueError, match="inside"), garbage.kept():
        raise ValueError("inside")
    assert gc.isenabled() == was


def test_an_interrupt_on_the_way_in_leaves_it_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python looks for signals behind calls: Control-C may come right behind that of `gc.disable`."""

    def interrupted() -> None:
        gc.disable()
        raise KeyboardInterrupt

    gc.enable()
    given = SimpleNamespace(
        isenabled=gc.isenabled, enable=gc.enable, disable=interrupted, get_count=gc.get_count
    )
    monkeypatch.setattr(garbage, "gc", given)
    with pytest.raises(KeyboardInterrupt), garbage.kept():
        pass
    assert gc.isenabled() and not garbage._waiting


def test_threads_that_overlap_leave_it_on() -> None:
    gc.enable()
    inside, go = threading.Event(), threading.Event()

    def work() -> None:
        with garbage.kept():
            inside.set()
            go.wait(10)

    other = threading.Thread(target=work)
    with garbage.kept():
        other.start()
        assert inside.wait(10)
    assert not gc.isenabled()  # the other one still works
    go.set()
    other.join()
    assert gc.isenabled()


OLD, NEW = 2, "made_by_a_test"


def is_old(one: object) -> bool:
    return any(one is other for other in gc.get_objects(generation=OLD))


@pytest.mark.parametrize("imported", [True, False])
def test_what_an_import_has_made_is_old(imported: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the collector would look at all of it; without an import, garbage of the caller's would wait for long."""
    with garbage.imports():
        one: list[object] = [[]]
        if imported:
            monkeypatch.setitem(sys.modules, NEW, ModuleType(NEW))
    assert is_old(one) == imported
    assert gc.isenabled() and not gc.get_freeze_count()


@pytest.mark.parametrize("many", [True, False])
def test_what_a_long_compile_has_made_is_old(many: bool) -> None:
    """Behind a short one the caller's garbage would wait for long."""
    with garbage.kept():
        made: list[object] = [[] for _ in range(200_000 if many else 100)]
    assert is_old(made[0]) == many
    assert gc.isenabled() and not gc.get_freeze_count()


def test_what_somebody_has_put_aside_stays_there(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.freeze()
    try:
        with garbage.imports():
            monkeypatch.setitem(sys.modules, NEW, ModuleType(NEW))
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()
