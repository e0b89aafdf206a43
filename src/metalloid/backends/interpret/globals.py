"""The globals of a module as objects in memory: constant tables and threadgroup variables."""

from __future__ import annotations

from typing import Any

from metalloid.backends.interpret.accesses import storer
from metalloid.backends.interpret.instructions import Maker
from metalloid.backends.interpret.memory import AddressSpace, Object, Pointer, store
from metalloid.backends.observe import Memory
from metalloid.errors import LaunchError
from metalloid.ir.debug import variable_name
from metalloid.ir.layout import DataLayout, data_layout
from metalloid.ir.module import GlobalVariable, Module
from metalloid.ir.values import Aggregate, Constant

LOCAL = 3  # the address space of threadgroup variables


def constant_objects(module: Module, device: AddressSpace, arguments: int = 0) -> dict[str, Pointer]:
    """Everything but threadgroup variables, with what it holds.

    A table may hold addresses of those: they are the same in every threadgroup, behind so many arguments.
    """
    layout = data_layout(module.datalayout)
    found = {}
    variables = [g for g in module.globals if g.space != LOCAL]
    for variable in variables:
        if variable.initializer is None:
            raise LaunchError(
                f"[launch] the kernel needs a value for '{variable.name}', which was given none."
                " Pass it in constants={...}."
            )
        found[variable.name] = Pointer(device.add(_object(module, variable, layout)))
    known = {**found, **local_objects(module, AddressSpace(32, _made=arguments))} if variables else {}
    for variable in variables:
        _fill(Maker(module, layout), variable, known)
        found[variable.name].object.constant = variable.constant
    return found


def local_objects(module: Module, space: AddressSpace) -> dict[str, Pointer]:
    """The threadgroup variables of one threadgroup, all zero."""
    layout = data_layout(module.datalayout)
    found = {}
    for variable in module.globals:
        if variable.space == LOCAL:
            found[variable.name] = Pointer(space.add(_object(module, variable, layout)))
    return found


def _object(module: Module, variable: GlobalVariable, layout: DataLayout) -> Object:
    size, name = layout.size(variable.type), variable_name(module, variable)
    kind, words = (
        ("variable", "threadgroup variable") if variable.space == LOCAL else ("constant", "constant")
    )
    return Object(
        f"{words} '{name}'", memoryview(bytearray(size)), memory=Memory(kind, name=name, bytes=size)
    )


class _Nobody:
    """Stands for a thread where constants are worked out: it only knows the globals."""

    store = staticmethod(store)

    def __init__(self, globals: dict[str, Pointer]) -> None:
        self.group = self
        self.globals = globals


def _fill(maker: Maker, variable: GlobalVariable, found: dict[str, Pointer]) -> None:
    value = variable.initializer
    assert value is not None
    write = storer(maker.layout, variable.type)
    nobody = _Nobody(found)
    write(nobody, found[variable.name], _value(maker, value, nobody))


def _value(maker: Maker, value: Constant, nobody: _Nobody) -> Any:
    if isinstance(value, Aggregate):
        return tuple(_value(maker, e, nobody) for e in value.elements)
    return maker.operand(value)(nobody)
