"""The garbage collector waits while something is compiled, and is as it was afterwards."""

from __future__ import annotations

import gc
import threading
from types import SimpleNamespace

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
    given = SimpleNamespace(isenabled=gc.isenabled, enable=gc.enable, disable=interrupted)
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
