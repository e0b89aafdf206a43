"""What the shared library calls: kernels are compiled and run here.

`attach` puts functions into the library's table (struct mt_bridge of native/metal/bridge.h). Each of them may be called
by any thread of the program, and says what went wrong in words: no error of Python passes into C.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from metalloid import config
from metalloid.backends.clock import compiled
from metalloid.errors import KernelFault, MetalloidError
from metalloid.framework.container import opened
from metalloid.framework.describing import argument_lines, binding_lines, constant_lines, described_lines
from metalloid.framework.dispatch import Dispatcher, NativePlan
from metalloid.runtime import steps
from metalloid.runtime.datatypes import constant_of
from metalloid.runtime.device import device
from metalloid.runtime.kernel import Kernel
from metalloid.source import Constant

VERSION = 5
ERROR_ROOM = 1 << 16
INTERNAL, TIMEOUT, PAGE_FAULT, OUT_OF_MEMORY = 1, 2, 3, 8  # MTLCommandBufferError


class Kernels(Protocol):
    """A library, or several that a container holds."""

    @property
    def kernels(self) -> tuple[str, ...]: ...

    def kernel(self, name: str, constants: Mapping[str | int, Constant] | None = None) -> Kernel: ...


@dataclass(frozen=True)
class Function:
    """A kernel, and whether it was asked for with values of function constants."""

    kernel: Kernel
    specialized: bool

    def look_at_constants(self) -> None:
        """Metal makes no pipeline of a function that needs constants and was given none. Of one that was given some it
        does: ggml leaves out those that it thinks do not matter, and runs so on Macs."""
        listed = ", ".join(self.kernel.signature.undefined_constants)
        if listed and not self.specialized:
            raise MetalloidError(
                f"Function {self.kernel.name} cannot be used: its function constants ({listed}) have no value."
            )
        if listed:
            words = f"{self.kernel.name}: the function constants ({listed}) were given no value; they are 0"
            print(f"metalloid: {words}", file=sys.stderr, flush=True)


class Description(ctypes.Structure):
    """struct mt_description."""

    _fields_ = [
        (name, ctypes.c_uint64)
        for name in ("max_threads", "width", "static_memory", "buffers", "buffer_mask")
    ]


class Ready(ctypes.Structure):
    """struct mt_ready."""

    _fields_ = [
        (name, ctypes.c_uint64)
        for name in ("plan", "record", "size", "lengths", "below", "logs", "run", "threads", "parameters")
    ]


class ConstantRecord(ctypes.Structure):
    """struct mt_constant."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("index", ctypes.c_uint64),
        ("type", ctypes.c_uint64),
        ("value", ctypes.c_uint8 * 32),
    ]


_handle, _text, _address, _size = ctypes.c_int64, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t
_TYPES: dict[str, Any] = {
    "library": ctypes.CFUNCTYPE(_handle, _address, _size, _text, _address),
    "binary": ctypes.CFUNCTYPE(_handle, _address, _size, _text, _address),
    "names": ctypes.CFUNCTYPE(_handle, _handle, _address, _size),
    "kernel": ctypes.CFUNCTYPE(_handle, _handle, _text, _address, _size, _address),
    "describe": ctypes.CFUNCTYPE(_handle, _handle, _address, _address, _size, _address),
    "constants": ctypes.CFUNCTYPE(None, _handle, _address, _size),
    "arguments": ctypes.CFUNCTYPE(_handle, _handle, _handle, _address, _size, _address),
    "described": ctypes.CFUNCTYPE(_handle, _text, _address, _size, _address),
    "run": ctypes.CFUNCTYPE(_handle, _address, _size, _address, _address, _address),
    "finish": ctypes.CFUNCTYPE(_handle, _handle, _address, _address, _handle, _address),
    "release": ctypes.CFUNCTYPE(None, _handle),
    "tell": ctypes.CFUNCTYPE(None, _text, _text, _text, _text),
}


class Table(ctypes.Structure):
    """struct mt_bridge."""

    _fields_ = [
        ("version", ctypes.c_int64),
        *_TYPES.items(),
        ("name", ctypes.c_char * 64),
        ("architecture", ctypes.c_char * 64),
        *(
            (n, ctypes.c_uint64)
            for n in ("registry", "working_set", "longest_buffer", "most_threads", "most_local", "tracing")
        ),
        ("families", ctypes.c_char * 256),
    ]


_things: dict[int, Any] = {}
_numbers = itertools.count(1)


def _kept(thing: object) -> int:
    number = next(_numbers)
    _things[number] = thing
    return number


def say(place: int, words: str, room: int = ERROR_ROOM) -> None:
    """Write words where C expects them, cut where they are too long."""
    data = words.encode()[: room - 1] + b"\0"
    ctypes.memmove(place, data, len(data))


def _told(error: BaseException) -> str:
    known = isinstance(error, MetalloidError | MemoryError)
    return str(error) if known else f"{type(error).__name__}: {error}"


def library(text: int, size: int, options: bytes, error: int) -> int:
    try:
        settings: dict[str, Any] = {"defines": {}}
        for line in options.decode().splitlines():
            word, _, rest = line.partition(" ")
            if word == "define":
                name, _, value = rest.partition(" ")
                settings["defines"][name] = value
            else:
                settings[{"math": "math", "version": "language_version"}[word]] = rest
        source = ctypes.string_at(text, size).decode("utf-8", "replace")
        return _kept(device().library(source, name="program_source", **settings))
    except BaseException as caught:
        say(error, _told(caught))
        return 0


def binary(data: int, size: int, name: bytes, error: int) -> int:
    try:
        return _kept(opened(ctypes.string_at(data, size), name.decode("utf-8", "replace")))
    except BaseException as caught:
        say(error, _told(caught))
        return 0


def names(handle: int, place: int | None, room: int) -> int:
    data = "\n".join(_things[handle].kernels).encode()
    if place and room:
        ctypes.memmove(place, data[: room - 1] + b"\0", min(len(data), room - 1) + 1)
    return len(data)


def kernel(handle: int, name: bytes, constants: int | None, count: int, error: int) -> int:
    try:
        values: dict[str | int, Constant] = {}
        for record in (ConstantRecord * count).from_address(constants) if constants else ():
            value = constant_of(record.type, bytes(record.value))
            values[record.name.decode() if record.name else record.index] = value
        owner: Kernels = _things[handle]
        return _kept(Function(owner.kernel(name.decode(), values), specialized=constants is not None))
    except BaseException as caught:
        say(error, _told(caught))
        return 0


def describe(handle: int, description: int, bindings: int, room: int, error: int) -> int:
    try:
        function: Function = _things[handle]
        made = function.kernel
        function.look_at_constants()
        told = Description.from_address(description)
        indices = [p.index for p in made.signature.buffers]
        told.max_threads, told.width = made.max_threads_per_threadgroup, made.thread_execution_width
        told.static_memory = made.threadgroup_memory_length
        told.buffers, told.buffer_mask = 1 + max(indices, default=-1), sum(1 << i for i in indices)
        say(bindings, "\n".join(binding_lines(made)), room)
        return _kept(Dispatcher(made))
    except BaseException as caught:
        say(error, _told(caught))
        return 0


def constants(handle: int, lines: int, room: int) -> None:
    """The function constants that a function needs and has no value for."""
    say(lines, "\n".join(constant_lines(_things[handle].kernel)), room)


def arguments(handle: int, index: int, lines: int, room: int, error: int) -> int:
    """The members of an argument buffer; 1, or 0 where the parameter is none."""
    try:
        say(lines, "\n".join(argument_lines(_things[handle].kernel, index)), room)
        return 1
    except BaseException as caught:
        say(error, _told(caught))
        return 0


def described(members: bytes, lines: int, room: int, error: int) -> int:
    """The same of one that a list describes: `type index length alignment` for each member."""
    try:
        say(lines, "\n".join(described_lines(members.decode())), room)
        return 1
    except BaseException as caught:
        say(error, _told(caught))
        return 0


def run(dispatches: int, count: int, ready: int, compile_time: int, error: int) -> int:
    """Run dispatches in their order. 0, or which kind of MTLCommandBufferError stopped one."""
    before = compiled()
    try:
        for n, at in enumerate((ctypes.c_uint64 * count).from_address(dispatches)):
            plan = _things[ctypes.c_uint64.from_address(at).value].run(at)
            if plan is not None:
                offer(plan, Ready.from_address(ready + n * ctypes.sizeof(Ready)))
        return 0
    except BaseException as caught:
        say(error, _told(caught))
        return _kind(caught)
    finally:
        ctypes.c_double.from_address(compile_time).value = compiled() - before


def offer(plan: NativePlan, ready: Ready) -> None:
    """Tell C how it can run such dispatches itself."""
    how = plan.native
    ready.record, ready.size, ready.run, ready.threads = how.record, how.size, how.run, how.threads
    ready.lengths, ready.below, ready.logs = how.lengths, how.below, how.logs
    ready.parameters = sum(1 << index for index in plan.quick.parameters)
    ready.plan = _kept(plan)


def finish(plan: int, record: int, dispatch: int, status: int, error: int) -> int:
    """A launch that C started has something to say."""
    try:
        _things[plan].finish(record, dispatch, status)
        return 0
    except BaseException as caught:
        say(error, _told(caught))
        return _kind(caught)


def _kind(error: BaseException) -> int:
    """Which MTLCommandBufferError it is."""
    kinds: tuple[tuple[type[BaseException], int], ...] = (
        (TimeoutError, TIMEOUT),
        (MemoryError, OUT_OF_MEMORY),
        (KernelFault, PAGE_FAULT),
    )
    return next((code for kind, code in kinds if isinstance(error, kind)), INTERNAL)


def release(handle: int) -> None:
    _things.pop(handle, None)


def tell(kind: bytes, subject: bytes, detail: bytes, outcome: bytes) -> None:
    """A step of the program, for whoever traces."""
    steps.tell(*(text.decode("utf-8", "replace") for text in (kind, subject, detail, outcome)))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "library": library,
    "binary": binary,
    "names": names,
    "kernel": kernel,
    "describe": describe,
    "constants": constants,
    "arguments": arguments,
    "described": described,
    "run": run,
    "finish": finish,
    "release": release,
    "tell": tell,
}
_callbacks: dict[str, Any] = {}


_FAMILIES = {"apple": 1000, "mac": 2000, "common": 3000, "metal": 5000 - 2}  # MTLGPUFamily; Metal3 is 5001


def introduce(table: Table) -> None:
    """What the device is."""
    info = device().info
    table.name, table.architecture = info.name.encode()[:63], info.architecture.encode()[:63]
    table.registry, table.working_set = info.registry_id, info.working_set
    table.longest_buffer, table.most_threads = info.max_buffer_length, info.max_threads_per_threadgroup
    table.most_local = info.max_threadgroup_memory
    named = [(family.rstrip("0123456789"), family) for family in info.families]
    numbers = [_FAMILIES[word] + int(family.removeprefix(word)) for word, family in named]
    table.tracing = config.trace()
    table.families = f" {' '.join(map(str, numbers))} ".encode()


def attach(address: int) -> None:
    """Fill in the table at this address. Called once by the shared library, when the first device is made."""
    table = Table.from_address(address)
    for name, function in _FUNCTIONS.items():
        _callbacks[name] = _TYPES[name](function)
        setattr(table, name, _callbacks[name])
    introduce(table)
    config.guard_as_hardware()  # a GPU does not stop where a kernel leaves its buffer; METALLOID_GUARD=stop does
    table.version = VERSION
