"""The text of one function: instructions, labels, constants, and code about masks."""

from __future__ import annotations

from collections.abc import Iterator

from metalloid.backends.cpu.lower.output import Output

# How a function ends that runs gangs: all of them are done, or one was stopped.
ENDS = ("done:", "  ret i32 0", "stopped:", "  ret i32 -1", "}")


class Text:
    """`lines` is what there is so far; `allocas` and `prologue` come before it."""

    def __init__(self, out: Output) -> None:
        self.out, self.width = out, out.lanes.width
        self.lines: list[str] = []
        self.allocas: list[str] = []
        self.prologue: list[str] = []
        self.mask: str | None = None  # of the current block; None: all lanes
        self.count = 0
        self.launch_values: dict[str, str] = {}
        self.place = ""  # a comment that says where the current instruction comes from; see `line_table`

    def name(self, hint: str = "t") -> str:
        self.count += 1
        return f"%{hint}{self.count}"

    def put(self, text: str, hint: str = "t") -> str:
        """An instruction with a result."""
        name = self.name(hint)
        self.lines.append(f"  {name} = {text}{self.place}")
        return name

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}{self.place}")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def fresh_label(self, hint: str) -> str:
        self.count += 1
        return f"{hint}.{self.count}"

    def alloca(self, type: str, hint: str) -> str:
        name = self.name(hint)
        self.allocas.append(f"  {name} = alloca {type}")
        return name

    def vt(self, type: str) -> str:
        return f"<{self.width} x {type}>"

    def constants(self, type: str, numbers: tuple[int, ...] | list[int]) -> str:
        return "<" + ", ".join(f"{type} {n}" for n in numbers) + ">"

    def splat(self, type: str, ref: str, count: int = 0) -> str:
        """One scalar in all lanes."""
        count = count or self.width
        if ref in ("0", "zeroinitializer"):
            return "zeroinitializer"
        if not ref.startswith("%"):
            return f"splat ({type} {ref})"
        first = self.put(f"insertelement <{count} x {type}> poison, {type} {ref}, i64 0")
        return self.put(
            f"shufflevector <{count} x {type}> {first}, <{count} x {type}> poison, <{count} x i32> zeroinitializer"
        )

    def launch_field(self, offset: int, type: str) -> str:
        """Something of the launch; read once, at the start."""
        key = f"{offset}:{type}"
        if key not in self.launch_values:
            at, name = self.name("at"), self.name("field")
            self.prologue.append(f"  {at} = getelementptr i8, ptr %launch, i64 {offset}")
            self.prologue.append(f"  {name} = load {type}, ptr {at}, !invariant.load !0")
            self.launch_values[key] = name
            self.out.fields.setdefault((offset, type), "")
        return self.launch_values[key]

    def copy_field(self, slot: int) -> str:
        """How far behind threadgroup memory's start this thread's copy of a buffer lies; 0: it has none."""
        key = f"copy {slot}"
        if key not in self.launch_values:
            at, name = self.name("at"), self.name("copy")
            self.prologue.append(f"  {at} = getelementptr i8, ptr %tg, i64 {8 * slot}")
            self.prologue.append(f"  {name} = load i64, ptr {at}, align 8, !invariant.load !0")
            self.launch_values[key] = name
        return self.launch_values[key]

    def readable(self, offset: int, kind: str, align: int) -> None:
        """Four bytes at a pointer of the launch, a `kind`, may be read at any time."""
        name = self.launch_field(offset, "ptr")
        for n, line in enumerate(self.prologue):
            if line.startswith(f"  {name} = load ptr") and "!dereferenceable" not in line and align >= 4:
                self.prologue[n] = f"{line}, !dereferenceable !4, !align !4"
                self.out.fields[offset, "ptr"] = kind

    def at_start(self, key: str, text: str) -> str:
        """An instruction that is written once, at the start."""
        if key not in self.launch_values:
            name = self.name("start")
            self.prologue.append(f"  {name} = {text}")
            self.launch_values[key] = name
        return self.launch_values[key]

    # ---- masks --------------------------------------------------------------------------------------------

    def mask_ref(self) -> str:
        """The current mask as a vector."""
        return self.mask or "splat (i1 true)"

    def any(self, mask: str) -> str:
        """Whether a lane is set."""
        bits = self.put(f"bitcast {self.vt('i1')} {mask} to i{self.width}")
        return self.put(f"icmp ne i{self.width} {bits}, 0")

    def both(self, mask: str | None, condition: str) -> str:
        """Lanes of the mask that have the condition; a select, because idle lanes may hold poison."""
        if mask is None:
            return condition
        return self.put(
            f"select {self.vt('i1')} {mask}, {self.vt('i1')} {condition}, {self.vt('i1')} zeroinitializer"
        )

    def first(self, mask: str | None) -> str:
        """The number of the first set lane."""
        if mask is None:
            return "0"
        n = self.width
        self.out.declare(f"llvm.cttz.i{n}", f"declare i{n} @llvm.cttz.i{n}(i{n}, i1)")
        bits = self.put(f"bitcast <{n} x i1> {mask} to i{n}")
        found = self.put(f"call i{n} @llvm.cttz.i{n}(i{n} {bits}, i1 false)")
        if n == 32:
            return found
        return self.put(f"{'trunc' if n > 32 else 'zext'} i{n} {found} to i32")

    def last(self, mask: str | None) -> str:
        n = self.width
        if mask is None:
            return str(n - 1)
        self.out.declare(f"llvm.ctlz.i{n}", f"declare i{n} @llvm.ctlz.i{n}(i{n}, i1)")
        bits = self.put(f"bitcast <{n} x i1> {mask} to i{n}")
        found = self.put(f"call i{n} @llvm.ctlz.i{n}(i{n} {bits}, i1 false)")
        found = self.put(f"sub i{n} {n - 1}, {found}")
        return found if n == 32 else self.put(f"{'trunc' if n > 32 else 'zext'} i{n} {found} to i32")

    def lanes_loop(self, mask: str | None) -> Iterator[str]:
        """Code between the two steps of this iterator runs for each set lane, in order; yields the lane's number."""
        n = self.width
        bits = (
            self.put(f"bitcast <{n} x i1> {self.mask_ref()} to i{n}")
            if mask is None
            else self.put(f"bitcast <{n} x i1> {mask} to i{n}")
        )
        left = self.alloca(f"i{n}", "left")
        head, body, done = (self.fresh_label(x) for x in ("lane", "lane.body", "lane.done"))
        self.do(f"store i{n} {bits}, ptr {left}")
        self.do(f"br label %{head}")
        self.label(head)
        now = self.put(f"load i{n}, ptr {left}")
        some = self.put(f"icmp ne i{n} {now}, 0")
        self.do(f"br i1 {some}, label %{body}, label %{done}")
        self.label(body)
        self.out.declare(f"llvm.cttz.i{n}", f"declare i{n} @llvm.cttz.i{n}(i{n}, i1)")
        lane = self.put(f"call i{n} @llvm.cttz.i{n}(i{n} {now}, i1 true)")
        yield lane if n == 32 else self.put(f"{'trunc' if n > 32 else 'zext'} i{n} {lane} to i32")
        lower = self.put(f"sub i{n} {now}, 1")
        rest = self.put(f"and i{n} {now}, {lower}")
        self.do(f"store i{n} {rest}, ptr {left}")
        self.do(f"br label %{head}")
        self.label(done)
