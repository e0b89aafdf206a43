"""Command buffers: work that is encoded, committed once, and run in the background.

not enqueued -> enqueued -> committed -> scheduled -> completed
                                                   -> error
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Generator, Sequence
from time import perf_counter
from typing import Any

from metalloid.backends.backend import Span
from metalloid.backends.base import Guard, Launch
from metalloid.backends.clock import compiled
from metalloid.errors import DeviceError, LaunchError
from metalloid.findings.places import nearby
from metalloid.runtime import alive, resources
from metalloid.runtime.blit import BlitEncoder
from metalloid.runtime.buffer import Buffer
from metalloid.runtime.encoder import ComputeEncoder
from metalloid.runtime.encoding import Command, Encoder, Groups
from metalloid.runtime.events import SharedEvent
from metalloid.runtime.executor import DONE, SerialExecutor, Status, Work
from metalloid.runtime.kernel import Kernel
from metalloid.runtime.places import place_text
from metalloid.runtime.plan import Bound, Plan
from metalloid.runtime.steps import tell
from metalloid.runtime.watch import watchers

Handler = Callable[["CommandBuffer"], object]
# A dispatch that has run before: its arguments, and the same with the arrays of buffers.
Again = tuple[Kernel, Plan, tuple[Any, ...], tuple[Any, ...], Guard]
_SCHEDULED, _COMPLETED = Status.SCHEDULED, Status.COMPLETED


class CommandBuffer(Work, Groups):
    """Commands in order. Errors of its kernels come out of `wait_until_completed`, of `await`, and of `error`."""

    # One is made for each few launches: what most never change is the class's.
    error: BaseException | None = None
    on_error: Handler | None = None  # is told of an error before anybody who waits
    gpu_start_time = gpu_end_time = 0.0
    told = False  # whether the user has heard that its work has not run
    _committed = True  # one that could not be made has nothing to forget
    _kind = "command buffer"
    _scheduled: tuple[Handler, ...] = ()
    _completed: tuple[Handler, ...] = ()
    _span: Span | None = None  # of launches that nobody has waited for

    def __init__(self, queue: SerialExecutor, label: str = "") -> None:
        self.queue = queue
        self._committed = self._named = False
        self._encoder: Encoder | None = None
        if label:
            self.label = label
        self._commands: list[Command | Again] = []
        self._kernels: list[str] = []  # what it holds, by name
        self._reference = weakref.ref(self)  # for buffers that it will write
        self._place = resources.made(self, "command buffer", self._reference)
        if watchers:
            tell("command buffer", repr(self), f"of {queue}")

    def compute_encoder(self, label: str = "", raw: bool = False) -> ComputeEncoder:
        """A new encoder; the one before it has to be ended. A `raw` one takes bindings as bytes, as Metal does."""
        if self._committed or self._encoder is not None:
            self._still_open("compute_encoder")
        made = ComputeEncoder(self.queue.device, self, label, raw)
        self._encoder = made
        return made

    def blit_encoder(self, label: str = "") -> BlitEncoder:
        """An encoder for copies and fills of memory; the one before it has to be ended."""
        self._still_open("blit_encoder")
        made = BlitEncoder(self.queue.device, self, label)
        self._encoder = made
        return made

    def signal_event(self, event: SharedEvent, value: int) -> None:
        """Set a shared event once everything before has run."""
        self._still_open("signal_event")

        def signal() -> None:
            self._settle()
            event.signal(value)

        self._commands.append(signal)

    def wait_for_event(self, event: SharedEvent, value: int, timeout: float | None = None) -> None:
        """Hold up what comes after until a shared event has this value."""
        self._still_open("wait_for_event")

        def wait() -> None:
            self._settle()
            self.waits_for = f"{event} to reach {value}"
            reached = event.wait(value, timeout)
            self.waits_for = ""
            if not reached:
                raise LaunchError(f"[command buffer] {event} did not reach {value} within {timeout} s.")

        self._commands.append(wait)

    def add_scheduled_handler(self, handler: Handler) -> None:
        self._still_open("add_scheduled_handler", encoding=True)
        with self.queue._lock:
            self._scheduled += (handler,)

    def add_completed_handler(self, handler: Handler) -> None:
        """Call `handler(commands)` in the background when all is done, well or not."""
        self._still_open("add_completed_handler", encoding=True)
        with self.queue._lock:
            self._completed += (handler,)

    def enqueue(self) -> None:
        """Reserve the place in the queue; the work starts with `commit`."""
        self._still_open("enqueue", encoding=True)
        if self.status is not Status.ENQUEUED:
            self.status = Status.ENQUEUED
            self.queue._reserve(self)

    def commit(self) -> None:
        """Hand the work over. It runs when what was committed before it has."""
        if self._committed or self._encoder is not None:
            self._still_open("commit")
        alive.forget(self)
        self.told = False
        if watchers:
            tell("commit", repr(self), f"{len(self._commands)} commands")
        self._committed = True
        self.queue._commit(self)
        if self._completed or self._scheduled:
            self.queue.hurry()

    def wait_until_scheduled(self) -> None:
        self._wait((Status.SCHEDULED, *DONE), None)

    def wait_until_completed(self, timeout: float | None = None) -> None:
        """Wait, and raise what went wrong."""
        self._wait(DONE, timeout)
        if self.error is not None:
            raise self.error

    def __await__(self) -> Generator[Any, None, None]:
        import asyncio  # slow to import, and only programs that have it already get here

        self._must_be_committed()
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[None] = loop.create_future()

        def finished(_: CommandBuffer) -> None:
            loop.call_soon_threadsafe(go_on)

        def go_on() -> None:
            if not waiting.done():
                waiting.set_result(None)

        with self.queue._lock:
            if not self.done:
                self._completed += (finished,)
        self.queue.hurry()
        if not self.done:
            yield from waiting.__await__()
        if self.error is not None:
            raise self.error

    @property
    def done(self) -> bool:
        return self.status in DONE

    @property
    def forgotten(self) -> bool:
        """Whether it holds work that nobody has committed."""
        return not self._committed and bool(self._commands)

    @property
    def _where(self) -> str:
        """The caller's line that made it."""
        return place_text(*self._place)

    @property
    def contents(self) -> str:
        """Which one it is, in words: its label and its kernels."""
        label = f" {self.label!r}" if self.label else ""
        names = ", ".join(f"'{name}'" for name in dict.fromkeys(self._kernels))
        kernels = f"kernel{'s' if ',' in names else ''} {names}" if names else "no kernel"
        return f"command buffer{label} with {kernels}"

    def not_yet(self, name: str) -> tuple[str, str]:
        """What whoever reads a result too early should hear, and what to do."""
        made = f"the {self.contents}, made at {nearby(self._where)},"
        if not self._committed:
            return (
                f"{name} is read before it is written: {made} has not been committed.",
                "Call commit() and wait_until_completed() on it before this line.",
            )
        return (
            f"{name} is read while it may still be written: {made} has not completed.",
            "Call wait_until_completed() on it before this line.",
        )

    @property
    def gpu_time(self) -> float:
        """Seconds from the start of its first command to the end of its last, without those spent on compiling; by the
        device's own clock where it has one."""
        return self.gpu_end_time - self.gpu_start_time

    def _run(self) -> None:
        """Called by the queue's thread."""
        self._become(_SCHEDULED)
        if watchers:
            tell("schedule", repr(self))
        if self._scheduled:
            self._call(self._due("_scheduled"))
        before, self.gpu_start_time = compiled(), perf_counter()
        error: BaseException | None = None
        try:
            self._span = self.queue.device.backend.span()
            for command in self._commands:
                if not isinstance(command, tuple):
                    command()
                elif watchers or not command[1].repeat(command[2]):  # or an argument has changed since
                    _launch(*command)
            if self._span is not None:
                self._span.settle()
        except BaseException as caught:
            error = caught
        self.gpu_end_time = perf_counter() - (compiled() - before)
        if self._span is not None:
            error = self._spanned(self._span) or error
        self._commands.clear()
        self.error = error
        if error is not None and self.on_error is not None:
            self.on_error(self)
        # Told before anybody who waits goes on.
        if watchers:
            tell("complete", repr(self), f"{error or 'no error'}, {self.gpu_time * 1e3:.3f} ms")
        self._become(Status.ERROR if error else _COMPLETED)
        if self._completed:
            self._call(self._due("_completed"))

    def _settle(self) -> None:
        """What was launched has ended when this returns."""
        if self._span is not None:
            self._span.settle()

    def _spanned(self, span: Span) -> BaseException | None:
        """The device's own clock says how long it took, where it still can."""
        self._span = None
        try:
            seconds = span.end()
        except DeviceError as error:
            return error
        if seconds is not None:
            self.gpu_end_time = self.gpu_start_time + seconds
        return None

    def _become(self, status: Status) -> None:
        self.status = status
        if self.queue._waiters:
            self.queue._tell_waiters()

    def _due(self, which: str) -> tuple[Handler, ...]:
        """Handlers that have not been called; they are only once."""
        with self.queue._lock:
            due: tuple[Handler, ...] = getattr(self, which)
            setattr(self, which, ())
        return due

    def _call(self, handlers: tuple[Handler, ...]) -> None:
        for handler in handlers:
            try:
                handler(self)
            except Exception as error:  # a handler's mistake is its caller's to see, not the queue's end
                self.error = self.error or error
                self._become(Status.ERROR)

    def _encoded(
        self,
        kernel: Kernel,
        launch: Launch,
        arguments: list[object],
        guard: Guard,
        later: Callable[[Launch], Launch] | None,
        key: object,
    ) -> None:
        def run(_held: object = arguments) -> None:  # a buffer's room in a heap is not free before
            sized = later(launch) if later is not None else launch
            if 0 not in sized.grid:
                kernel.run(sized, guard)
            if key is not None and not watchers and key not in kernel.plans:
                kernel.keep_plan(key, launch, guard)

        self._commands.append(run)
        self._note(kernel, arguments)

    def _encoded_quick(self, kernel: Kernel, plan: Plan, bound: Bound, guard: Guard) -> None:
        def run() -> None:
            if watchers:  # they came after it was encoded
                kernel.run(plan.launch_of(bound), guard)
            else:
                plan.run(bound)

        self._commands.append(run)
        self._note(kernel, bound[6])

    def _encoded_again(
        self, kernel: Kernel, plan: Plan, arguments: tuple[Any, ...], held: tuple[Any, ...], guard: Guard
    ) -> None:
        self._commands.append((kernel, plan, arguments, held, guard))
        self._kernels.append(kernel.name)
        for position, name in kernel.outputs:
            value = arguments[position]
            if type(value) is Buffer:
                value._pending = self._reference, name  # it is no slice: those are not repeated

    def _note(self, kernel: Kernel, arguments: Sequence[object]) -> None:
        """What messages about unfinished work speak of."""
        self._kernels.append(kernel.name)
        for position, name in kernel.outputs:
            value = arguments[position]
            if type(value) is Buffer:
                value.will_be_written(self._reference, name)

    def _add(self, command: Command) -> None:
        self._commands.append(command)

    def _writes(self, buffer: Buffer, name: str) -> None:
        buffer.will_be_written(self._reference, name)

    def _encoder_ended(self, encoder: Encoder) -> None:
        if self._encoder is encoder:
            self._encoder = None

    def _still_open(self, what: str, encoding: bool = False) -> None:
        if self._committed:
            again = "committed twice" if what == "commit" else f"{what} after commit"
            raise LaunchError(
                f"[command buffer] M308 {again}; it is {self.status}, and more would never run.\n"
                "Ask the queue for another command buffer."
            )
        if self._encoder is not None and not encoding:
            raise LaunchError(
                f"[command buffer] M308 {what} while an encoder is open: what it encodes would never run.\n"
                "Call end_encoding() on it first."
            )

    def _must_be_committed(self) -> None:
        if not self._committed:
            self.told = True
            raise LaunchError(
                f"[command buffer] M308 waiting for work that was never committed: the {self.contents}, made at"
                f" {nearby(self._where)}.\n"
                "Call commit() first."
            )

    def _wait(self, statuses: tuple[Status, ...], timeout: float | None) -> None:
        if not self._committed:
            self._must_be_committed()
        if timeout is None and not (self._completed or self._scheduled):
            self.queue.help(self)  # handlers run beside whoever waits: he may hold what they want
        elif not self.done:
            self.queue.hurry()
        if self.status not in statuses:
            self._sleep(statuses, timeout)

    def _sleep(self, statuses: tuple[Status, ...], timeout: float | None) -> None:
        if not self.queue._wait_for(lambda: self.status in statuses, timeout):
            raise TimeoutError(f"[command buffer] still {self.status} after {timeout} s.")

    def __del__(self, forget: Callable[[object], None] = alive.forget) -> None:
        if self._committed:
            return
        forget(self)
        if self.forgotten and not self.told:
            resources.forgotten.append(resources.Resource("command buffer", self.contents, self._where))

    def __repr__(self) -> str:
        return f"<command buffer{f' {self.label!r}' if self.label else ''}, {self.status}>"


def _launch(kernel: Kernel, plan: Plan, _: tuple[Any, ...], held: tuple[Any, ...], guard: Guard) -> None:
    """Run a dispatch that cannot be repeated after all."""
    sizes = {"grid": plan.launch.grid, "threadgroup": plan.launch.threadgroup}
    local = plan.launch.threadgroup_memory
    kernel.run(kernel.launch(*held, threadgroup_memory=local, overlap=True, **sizes), guard)
