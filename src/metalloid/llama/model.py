"""A Llama on the library's kernels.

A prompt goes through the layers in pieces of 32 or 8 tokens, as products of matrices; what a piece has too many is
left out where it would be seen. After that each token is a list of small launches: norms are taken on the way
into a product, and the next token is chosen by the last launch. Both are recorded once and run again with another
place in the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from metalloid.errors import ModelError
from metalloid.kernels.families import kernel
from metalloid.llama import bytewise, weights, wide, wide_bytes
from metalloid.llama.buffers import TOKENS, buffers, padded, seen
from metalloid.llama.config import Config
from metalloid.llama.formats import Array
from metalloid.llama.layers import Matrix
from metalloid.llama.placing import Placing, gain
from metalloid.runtime.recording import Recording

LANES, ROWS = 32, 8  # threads of a threadgroup, and the rows of weights that one takes
PIECES = (TOKENS, 8)


@dataclass(frozen=True)
class Choice:
    """How the next token is chosen; temperature 0 takes the likeliest."""

    temperature: float = 0.0
    top_k: int = 0  # 0: all
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < 1e4 or not 0 < self.top_p <= 1 or self.top_k < 0:
            raise ModelError(
                f"temperature {self.temperature}, top_p {self.top_p}, top_k {self.top_k}: expected a temperature"
                " of 0 or more, top_p above 0 and up to 1, top_k of 0 or more."
            )


class Llama:
    """The weights of a model, mapped from its files; `session()` begins a text.

    Weights in q4_0 and q8_0 are multiplied byte by byte where the device does that well, which rounds what goes into a
    product to 8 bits (bytewise.py, wide_bytes.py); `exact` does not.
    """

    def __init__(self, loaded: weights.Weights, exact: bool = False) -> None:
        self.config: Config = loaded.config
        self.exact = exact
        place = Placing(wide.suits(self.config), not exact)
        self.output = place.matrix(loaded.output)
        tied = loaded.embedding is loaded.output and self.output.format not in bytewise.FORMATS
        self.embedding = self.output if tied else place.plain(loaded.embedding)
        self.norm = gain(loaded.norm)
        self.layers = tuple(place.layer(layer) for layer in loaded.layers)

    def __repr__(self) -> str:
        c = self.config
        return f"<llama of {len(self.layers)} layers, width {c.width}, {c.heads} heads, {self.output.format}>"

    @staticmethod
    def load(path: Path, exact: bool = False) -> Llama:
        return Llama(weights.load(path), exact)

    def session(self, context: int = 0) -> Session:
        """A text of up to `context` tokens; the model's own limit, or 4096, where none is given."""
        limit = self.config.context
        if context < 0 or context > limit:
            raise ModelError(f"a context of {context} tokens was asked for; the model has {limit}.")
        return Session(self, context or min(limit, 4096))


class Session:
    """One text: its cache, how far it has come, and the logits of what comes next."""

    def __init__(self, model: Llama, context: int) -> None:
        self.model, self.context = model, context
        self.length = 0
        self._b = buffers(model.config, context)
        self._shape = {
            "heads": model.config.heads,
            "kv_heads": model.config.kv_heads,
            "head": model.config.head,
            "context": padded(context),
            "interleaved": int(model.config.interleaved),
        }
        self._recorded: dict[str | int, Recording] = {}

    def __repr__(self) -> str:
        return f"<session, {self.length} of {self.context} tokens>"

    @property
    def logits(self) -> Array:
        """Of the token that comes next; overwritten by the next step."""
        return seen(self._b.logits)

    def reset(self) -> None:
        self.length = 0

    def prepare(self) -> None:
        """Compile the kernels now, not when the first token asks for them."""
        for what in (*PIECES, "logits", "choice", "token"):
            self._recording(what).prepare()

    def prefill(self, tokens: Sequence[int]) -> Array:
        """Append tokens; returns the logits after the last."""
        self._check(tokens)
        start = 0
        while start < len(tokens):
            left = len(tokens) - start
            size = next((size for size in PIECES if size <= left), PIECES[-1])
            piece = tokens[start : start + size]
            self._b.ids[:size] = 0
            self._b.ids[: len(piece)] = piece
            self._b.place[0] = self.length, len(piece)
            self._run(size)
            start += len(piece)
            self.length += len(piece)
        x = seen(self._b.x)
        x[0] = x[len(piece) - 1]
        del x  # kernels need not look whether it was changed again
        self._run("logits")
        return self.logits

    def step(self, token: int, choice: Choice = Choice()) -> int:  # frozen
        """Append one token and choose the one after it."""
        self._check([token])
        b = self._b
        b.ids[0], b.place[0] = token, (self.length, 1)
        self._set(choice, self.length + 1)
        self._run("token")
        self.length += 1
        return int(b.token[0])

    def choose(self, choice: Choice = Choice()) -> int:
        """A token for the logits there are, as after a prefill."""
        self._set(choice, self.length)
        self._run("choice")
        return int(self._b.token[0])

    def _run(self, what: str | int) -> None:
        self._recording(what).run()

    def _recording(self, what: str | int) -> Recording:
        """The launches of one token, of a piece of a prompt, of the logits or of a choice."""
        found = self._recorded.get(what)
        if found is None:
            found = Recording()
            if isinstance(what, int):
                self._prompt(found, what)
            elif what == "token":
                self._one(found)
            elif what == "logits":
                self._logits(found)
            else:
                self._sample(found)
            self._recorded[what] = found
        return found

    def _rounds(self, columns: int) -> bool:
        """Whether kernels of wide devices round an input of so many numbers."""
        return not self.model.exact and wide_bytes.fits(columns)

    @property
    def _eps(self) -> float:
        return self.model.config.eps

    def _set(self, choice: Choice, step: int) -> None:
        chosen = choice.temperature, choice.top_p, min(choice.top_k, 0xFFFFFFFF), choice.seed & 0xFFFFFFFF
        self._b.choice[0] = chosen
        self._b.step[0] = step

    def _check(self, tokens: Sequence[int]) -> None:
        if not len(tokens):
            raise ModelError("there are no tokens to go on from.")
        if self.length + len(tokens) > self.context:
            raise ModelError(
                f"{self.length} tokens and {len(tokens)} more; this text has room for {self.context}."
            )
        vocabulary = self.model.config.vocabulary
        if wrong := [token for token in tokens if not 0 <= token < vocabulary]:
            raise ModelError(f"token {wrong[0]} is not one of the model's {vocabulary}.")

    def _one(self, run: Recording) -> None:
        """The launches of one token."""
        b, eps = self._b, self._eps
        _embed(run, self.model.embedding, b.ids[:1], b.x[:1])
        x, q, k, v, mixed, gate, up = (a[0] for a in (b.x, b.q, b.k, b.v, b.mixed, b.gate, b.up))
        for n, layer in enumerate(self.model.layers):
            if wide.heads_fit(layer, self.model.config):
                near = self._rounds(self.model.config.width) and wide_bytes.near(self._shape["context"])
                for part in (wide_bytes.heads, wide_bytes.attend) if near else (wide.heads, wide.attend):
                    part(run, layer, b, n, self._shape, self.model.config)
            else:
                heads = ((layer.q, q), (layer.k, k), (layer.v, v))
                self._project(run, heads, x, layer.attention_norm)
                self._attend(run, n, 1)
            self._multiply(run, layer.o, mixed, x, add=True)
            if layer.gate.format == layer.up.format in bytewise.FORMATS:
                bytewise.normed(run, x, layer.feed_norm, b.bytes, eps)
                bytewise.gate_up(run, layer.gate, layer.up, b.bytes, gate)
            elif {layer.gate.format, layer.up.format} == {wide.FORMAT}:
                gates = wide_bytes.gate_up if self._rounds(layer.gate.columns) else wide.gate_up
                gates(run, layer.gate, layer.up, x, layer.feed_norm, gate, eps)
            elif layer.gate.format == layer.up.format:
                run.add(
                    kernel("decode", f"norm_gate_up_{layer.gate.format}"),
                    *(layer.gate.data, layer.up.data, x, layer.feed_norm, gate),
                    *(layer.gate.rows, layer.gate.columns, eps),
                    threadgroups=_groups(layer.gate.rows, ROWS),
                    threadgroup=LANES,
                )
            else:
                self._project(run, ((layer.gate, gate), (layer.up, up)), x, layer.feed_norm)
                run.add(kernel("decode", "gate_up"), gate, up, grid=gate.size, threadgroup=LANES)
            self._multiply(run, layer.down, gate, x, add=True)
        self._logits(run)
        self._sample(run)

    def _prompt(self, run: Recording, count: int) -> None:
        """The launches of a piece of a prompt; leaves what comes out of the last layer in `x`."""
        b = self._b
        _embed(run, self.model.embedding, b.ids[:count], b.x[:count])
        x, h, q, k, v, mixed, gate, up = (a[:count] for a in (b.x, b.h, b.q, b.k, b.v, b.mixed, b.gate, b.up))
        for n, layer in enumerate(self.model.layers):
            self._norm(run, x, layer.attention_norm, h)
            for matrix, out in ((layer.q, q), (layer.k, k), (layer.v, v)):
                self._multiply(run, matrix, h, out)
            self._attend(run, n, count)
            self._multiply(run, layer.o, mixed, x, add=True)
            self._norm(run, x, layer.feed_norm, h)
            self._multiply(run, layer.gate, h, gate)
            self._multiply(run, layer.up, h, up)
            run.add(kernel("decode", "gate_up"), gate, up, grid=gate.size, threadgroup=LANES)
            self._multiply(run, layer.down, gate, x, add=True)

    def _logits(self, run: Recording) -> None:
        """Of the first row of `x`."""
        self._project(run, ((self.model.output, self._b.logits),), self._b.x[0], self.model.norm)

    def _project(
        self, run: Recording, products: Sequence[tuple[Matrix, Array]], x: Array, gain: Array
    ) -> None:
        """out = matrix @ rms_norm(x) for each of them"""
        if any(matrix.format in bytewise.FORMATS for matrix, _ in products):
            bytewise.normed(run, x, gain, self._b.bytes, self._eps)
        for matrix, out in products:
            if matrix.format in bytewise.FORMATS:
                bytewise.multiply(run, matrix, self._b.bytes, out)
            elif matrix.format == wide.FORMAT and self._rounds(matrix.columns):
                wide_bytes.project(run, matrix, x, gain, out, self._eps)
            else:
                _project(run, matrix, x, gain, out, self._eps)

    def _multiply(self, run: Recording, matrix: Matrix, x: Array, out: Array, add: bool = False) -> None:
        """out = matrix @ x for one input or a row of them; `add`: onto what is there."""
        if matrix.format in bytewise.FORMATS:
            bytewise.rounded(run, x, self._b.bytes)
            bytewise.multiply(run, matrix, self._b.bytes, out, add)
        elif x.ndim == 1 and add and matrix.format == wide.FORMAT and self._rounds(matrix.columns):
            wide_bytes.multiply_add(run, matrix, x, out)
        else:
            _multiply(run, matrix, x, out, add)

    def _norm(self, run: Recording, x: Array, gain: Array, out: Array) -> None:
        count, width = x.shape
        run.add(
            kernel("norm", "rms_norm_float32", THREADS=LANES),
            *(x, gain, out),
            {"n": width, "rows": count, "stride": width, "other": 0, "eps": self._eps},
            threadgroups=count,
            threadgroup=LANES,
        )

    def _attend(self, run: Recording, layer: int, count: int) -> None:
        b, config = self._b, self.model.config
        keys, values = b.keys[layer], b.values[layer]
        size = min(LANES, config.head // 2)
        run.add(
            kernel("decode", "rotate"),
            *(b.q[:count], b.k[:count], b.v[:count], keys, values, b.turns, self._shape, b.place),
            threadgroups=(_groups(config.head // 2, size), config.heads + config.kv_heads, count),
            threadgroup=size,
        )
        run.add(
            kernel("decode", "attend"),
            *(b.q[:count], keys, values, b.scores[:count], b.mixed[:count], self._shape, b.place),
            threadgroups=(config.heads, count),
            threadgroup=LANES,
        )

    def _sample(self, run: Recording) -> None:
        b = self._b
        if wide.apart():
            wide.sample(run, b)
            return
        run.add(
            kernel("sampling", "sample"),
            *(b.logits, b.kept, b.token, len(b.logits), b.choice, b.step),
            threadgroups=1,
            threadgroup=LANES,
        )


def _groups(count: int, each: int) -> int:
    return -(-count // each)


def _embed(run: Recording, table: Matrix, ids: Array, out: Array) -> None:
    run.add(
        kernel("quantized", f"embedding_{table.format}_float32"),
        *(table.data, ids, out, table.columns),
        threadgroups=(_groups(table.columns, LANES), len(ids)),
        threadgroup=LANES,
    )


def _project(run: Recording, matrix: Matrix, x: Array, gain: Array, out: Array, eps: float) -> None:
    """out = matrix @ rms_norm(x)"""
    if matrix.format == wide.FORMAT:
        wide.project(run, matrix, x, gain, out, eps)
        return
    run.add(
        kernel("decode", f"norm_matvec_{matrix.format}"),
        *(matrix.data, x, gain, out, matrix.rows, matrix.columns, eps),
        threadgroups=_groups(matrix.rows, ROWS),
        threadgroup=LANES,
    )


def _multiply(run: Recording, matrix: Matrix, x: Array, out: Array, add: bool = False) -> None:
    """out = matrix @ x for one input or a row of them; `add`: onto what is there."""
    kind, inputs = ("matvec", 1) if x.ndim == 1 else ("matmul", len(x))
    name = f"{kind}_add_{matrix.format}" if add else f"{kind}_{matrix.format}_float32"
    if x.ndim == 1 and add and matrix.format == wide.FORMAT:
        wide.multiply_add(run, matrix, x, out)
    elif x.ndim == 1:
        run.add(
            kernel("quantized", name),
            *(matrix.data, x, out, matrix.rows, matrix.columns),
            threadgroups=_groups(matrix.rows, ROWS),
            threadgroup=LANES,
        )
    else:
        run.add(
            kernel("quantized", name),
            *(matrix.data, x, out, matrix.rows, matrix.columns, inputs),
            threadgroups=(_groups(matrix.rows, 2), _groups(inputs, 8)),
            threadgroup=LANES,
        )
