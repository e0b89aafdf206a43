"""The flow: blocks one after the other, each under its mask.

Blocks stand in topological order. Those under one mask (see `divergence.mask head`) jump to each other directly, as
the scalar program does. A branch that lanes take differently adds lanes to the masks of its targets and falls
through; the first block of each mask is skipped while nobody waits for it, and a loop that lanes leave at
different times goes round while any of them is left. A block where the lanes of an outer mask meet again is
announced by the block that parted them.
"""

from __future__ import annotations

from collections.abc import Sequence

from metalloid.analysis.lane_sets import every, lanes_of
from metalloid.backends.cpu import abi
from metalloid.backends.cpu.lower import phi_slots
from metalloid.backends.cpu.lower.access import carried_vectors, sum_registers
from metalloid.backends.cpu.lower.emitter import Emitter, Val
from metalloid.backends.cpu.lower.full_mask_clones import Copies
from metalloid.backends.cpu.lower.lane_tests import all_lanes
from metalloid.backends.cpu.lower.straight_line import write_straight
from metalloid.errors import NotVectorised
from metalloid.ir import Block, Instruction
from metalloid.ir.cfg import EXIT
from metalloid.ir.values import Value
from metalloid.transforms.folds import finds_limit


class Control(Copies):
    """Writes the blocks of a function through an emitter."""

    def __init__(self, e: Emitter) -> None:
        super().__init__()
        self.e = e
        self.flow = e.u.flow
        self.order = self.flow.order
        self.place = {name: n for n, name in enumerate(self.order)}
        self.mask_head = e.u.divergence.mask_head
        self.parts = e.u.divergence.branches
        self.labels = {name: f"L{n}" for n, name in enumerate(self.order)}
        # Where lanes never part, every edge is a jump, and nobody waits: thousands of flags that are never set took
        # LLVM longer than the code (a switch of 2,000 cases, one lane).
        self.together = not self.parts and all(h == self.order[0] for h in self.mask_head.values())
        self.entry_mask: str | None = None
        self.entry_lanes = every(e.width)  # of that mask
        self.next = ""
        if self.flow.forest.irreducible or len(self.order) != len(self.flow.graph.reverse_postorder):
            raise NotVectorised("[engine] a loop with two ways in was left by the passes before")
        ends: dict[str, list[str]] = {}
        for loop in sorted(self.flow.forest.loops.values(), key=lambda loop: -loop.depth):
            ends.setdefault(max(loop.blocks, key=lambda b: self.place[b]), []).append(loop.header)
        self.ends = ends
        e.registers = sum_registers.find(e)
        e.carried = carried_vectors.find(e)

    # ---- slots ------------------------------------------------------------------------------------------

    def waiting(self, block: str) -> str:
        """The slot of a mask head's mask, or the flag of another block."""
        leads = self.leads(block)
        key = f"{'wait' if leads else 'flag'}:{block}"
        if key not in self.e.launch_values:
            type = self.e.vt("i1") if leads else "i1"
            slot = self.e.alloca(type, "wait")
            self.e.prologue.append(f"  store {type} {'zeroinitializer' if leads else 'false'}, ptr {slot}")
            self.e.launch_values[key] = slot
        return self.e.launch_values[key]

    def leads(self, block: str) -> bool:
        return self.mask_head[block] == block and block != self.order[0]

    def mask_of(self, block: str) -> str | None:
        """The mask that a block runs under, as it was when its mask head began."""
        head = self.mask_head[block]
        if head == self.order[0]:
            return self.entry_mask
        return self.e.put(f"load {self.e.vt('i1')}, ptr {self.current(head)}", "m")

    def current(self, head: str) -> str:
        key = f"mask:{head}"
        if key not in self.e.launch_values:
            self.e.launch_values[key] = self.e.alloca(self.e.vt("i1"), "mask")
        return self.e.launch_values[key]

    # ---- blocks -------------------------------------------------------------------------------------------

    def write(self) -> None:
        self.write_range(0, len(self.order), "end", True)
        self.e.label("end")

    def _write_block(self, n: int, following: str) -> None:
        name = self.order[n]
        after = f"{self.labels[name]}.after"
        self.next = after if name in self.ends else following
        self._check(name)
        self._body(self.flow.function.block[name])
        if name in self.ends and not self.together:
            self.e.label(after)
            self._loop_ends(self.ends[name], following)

    def _loop_ends(self, headers: list[str], following: str) -> None:
        """Go round where lanes wait at a header; inner loops first. That they do need not be asked there again."""
        e = self.e
        for header in headers:
            target = self.labels[header]
            slot = self.waiting(header)
            if self.leads(header):
                some = e.any(e.put(f"load {e.vt('i1')}, ptr {slot}"))
            else:
                some = e.put(f"load i1, ptr {slot}")
            on = e.fresh_label("on")
            e.do(f"br i1 {some}, label %{target}, label %{on}")
            e.label(on)
        e.do(f"br label %{following}")

    def _check(self, name: str) -> None:
        e = self.e
        label = self.labels[name]
        if self.together and name != self.order[0]:
            return
        if name == self.copying:
            e.label(f"{label}.check")  # the test was made before, with the mask
            e.do(f"br label %{label}")
            return
        if name == self.skip_check:
            e.label(f"{label}.some")
            some = e.any(e.put(f"load {e.vt('i1')}, ptr {self.waiting(name)}"))
            e.do(f"br i1 {some}, label %{label}, label %{self.next}")
            return
        if name == self.order[0]:
            e.label(f"{label}.check")
            e.do(f"br label %{label}")
            return
        e.label(f"{label}.check")
        slot = self.waiting(name)
        if self.leads(name):
            mask = e.put(f"load {e.vt('i1')}, ptr {slot}")
            some = e.any(mask)
            e.do(f"br i1 {some}, label %{label}, label %{self.next}")
        else:
            flag = e.put(f"load i1, ptr {slot}")
            e.do(f"br i1 {flag}, label %{label}, label %{self.next}")

    def _body(self, block: Block) -> None:
        e = self.e
        name = block.name
        e.values, e.built, e.block = {}, {}, name
        e.label(self.labels[name])
        if name == self.copying:
            e.mask = self.entry_mask
        elif name != self.order[0] and not self.together:
            slot = self.waiting(name)
            if self.leads(name):
                mask = e.put(f"load {e.vt('i1')}, ptr {slot}")
                e.do(f"store {e.vt('i1')} zeroinitializer, ptr {slot}")
                e.do(f"store {e.vt('i1')} {mask}, ptr {self.current(name)}")
                e.mask = mask
            else:
                e.do(f"store i1 false, ptr {slot}")
                e.mask = self.mask_of(name)
        else:
            e.mask = self.entry_mask
        e.range = None
        if e.mask is not None:
            e.range = lanes_of(e.u, e.width, name, self.mask_head, self.entry_lanes).bounds
        for phi in block.phis:
            phi_slots.take(e, phi)
        if e.carried is not None:
            e.carried.take(name)
        if name in self.flow.forest.loops and e.out.guard and name not in e.out.short_loops:
            self._poll()
        write_straight(e, block)
        e.place = e.out.place(block.terminator)
        self._leave(block)
        e.place = ""

    def _poll(self) -> None:
        """Stop where the launch was cancelled."""
        e = self.e
        flag = e.put(
            f"load volatile i32, ptr {e.at_start('cancel', f'getelementptr i8, ptr %launch, i64 {abi.CANCEL}')}"
        )
        stop = e.put(f"icmp ne i32 {flag}, 0")
        on = e.fresh_label("go")
        e.do(f"br i1 {stop}, label %stopped, label %{on}, !prof !2")
        e.label(on)

    # ---- edges ---------------------------------------------------------------------------------------------

    def _leave(self, block: Block) -> None:
        e, end = self.e, block.terminator
        if end.opcode == "ret":
            last = self.together or block.name == self.order[-1]
            e.do(f"br label %{'end' if last else self.next}")
            return
        if end.opcode != "br":
            raise NotVectorised(f"[engine] {end.opcode} is not supported")
        targets = end.labels
        if not end.operands or len(set(targets)) == 1:
            self._edge(block, targets[0], None)
            self._go(block, targets[0])
            return
        condition = end.operands[0]
        if block.name not in self.parts:
            yes, no = e.fresh_label("yes"), e.fresh_label("no")
            e.do(f"br i1 {e.scalar(condition)}, label %{yes}, label %{no}")
            saved, built = dict(e.values), dict(e.built)
            for label, target in ((yes, targets[0]), (no, targets[1])):
                e.label(label)
                e.values, e.built = dict(saved), dict(built)
                self._edge(block, target, None)
                self._go(block, target)
            return
        inside = self.stays(block)
        if inside:
            stay, part = e.fresh_label("stay"), e.fresh_label("part")
            e.do(f"br i1 {self.all_stay(condition, inside == targets[0])}, label %{stay}, label %{part}")
            saved, built = dict(e.values), dict(e.built)
            e.label(stay)
            self._edge(block, inside, None)
            self._go(block, inside)
            e.label(part)
            e.values, e.built = saved, built
            with self.as_masked(block.name):
                head = self.mask_head[block.name]
                if head != self.order[0]:
                    e.do(f"store {e.vt('i1')} splat (i1 true), ptr {self.current(head)}")
                # Most loops end for all lanes at once: then nobody's values are blended.
                outside = targets[1] if inside == targets[0] else targets[0]
                self._if_all(block, condition, outside, self.next)
                self._split(block, condition)
            return
        self._all_at_once(block, condition)
        if e.mask is not None and (outside := self._way_out(block)):
            self._if_all(block, condition, outside, self.next)
        self._split(block, condition)

    def _way_out(self, block: Block) -> str:
        """Where a loop's last lanes go: those that a last round was for mostly leave together."""
        loop = self.flow.forest.innermost.get(block.name)
        out = [t for t in block.terminator.labels if loop is not None and t not in loop.blocks]
        return out[0] if len(out) == 1 else ""

    def _all_at_once(self, block: Block, condition: Value) -> None:
        """Where one scalar test says that all lanes go to the next block, they jump to its copy without masks."""
        e, targets = self.e, block.terminator.labels
        n = self.place[block.name] + 1
        target = self.order[n] if n < len(self.order) else ""
        if not self.copied_next or e.mask is not None or target not in targets or not self.leads(target):
            return
        if not self.never_all(target):
            self._if_all(block, condition, target, f"{self.labels[target]}.all")
        if self.flow.graph.predecessors[target] == (block.name,):
            other = targets[1] if target == targets[0] else targets[0]
            self._if_all(block, condition, other, self.copied_next)

    def _if_all(self, block: Block, condition: Value, target: str, label: str) -> None:
        """Go to a label where a scalar test says that all lanes take the way to a block."""
        e, targets = self.e, block.terminator.labels
        if (flag := all_lanes(e, condition, target == targets[0])) is None:
            return
        every, some = e.fresh_label("every"), e.fresh_label("part")
        e.do(f"br i1 {flag}, label %{every}, label %{some}")
        saved, built = dict(e.values), dict(e.built)
        e.label(every)
        self._edge(block, target, None)
        self._announce(block.name, targets)
        e.do(f"br label %{label}")
        e.label(some)
        e.values, e.built = saved, built

    def _split(self, block: Block, condition: Value) -> None:
        """Lanes part: each target's mask gets its own."""
        e, targets = self.e, block.terminator.labels
        flags = e.vector(condition)
        other = e.put(f"xor {e.vt('i1')} {flags}, splat (i1 true)")
        masks = [e.both(e.mask, flags), e.both(e.mask, other)]
        if e.mask is None:
            masks = [e.put(f"freeze {e.vt('i1')} {m}") for m in masks]
        for target, mask in zip(targets, masks, strict=True):
            self._edge(block, target, mask)
        self._announce(block.name, targets)
        e.do(f"br label %{self.next}")

    def _go(self, block: Block, target: str) -> None:
        """After an edge that all lanes of the block take."""
        name = block.name
        if self.mask_head[target] == self.mask_head[name] and self._free(name, target):
            self.e.do(f"br label %{self.labels[target]}{self._note(name, target)}")
            return
        if self.mask_head[target] == self.mask_head[name]:
            self.e.do(f"store i1 true, ptr {self.waiting(target)}")
        else:
            self._announce(name, (target,))
        self.e.do(f"br label %{self.next}")

    def _note(self, source: str, target: str) -> str:
        """What LLVM is told at the end of a loop: to leave it as it is, where it looks for the least or the greatest
        of floats. LLVM's vectoriser estimates such a loop twice, sees the test for NaNs once, and asserts that both
        found the same."""
        loop = self.flow.forest.loops.get(target)
        if self.e.width > 1 or loop is None or source not in loop.blocks:
            return ""
        return ", !llvm.loop !5" if finds_limit(self.flow.function, loop) else ""

    def _free(self, source: str, target: str) -> bool:
        """Whether nobody can wait between two blocks: all there belongs to the lanes that jump."""
        if self.together:
            return True
        a, b = self.place[source], self.place[target]
        head = self.mask_head[source]
        between = self.order[min(a, b) + 1 : max(a, b)]
        if b <= a and target not in self.flow.forest.loops:
            return False
        return all(self.flow.dominators.dominates(head, x) for x in between)

    def _announce(self, name: str, targets: Sequence[str]) -> None:
        """The lanes of this mask will all get to the nearest block behind that has the same mask.

        Not where they get there in the next iteration only: then the loop's header sends them.
        """
        found = self.flow.post.immediate[name]
        while found != EXIT and self.mask_head[found] != self.mask_head[name]:
            found = self.flow.post.immediate[found]
        if found != EXIT and not self.flow.goes_round(name, targets, found):
            self.e.do(f"store i1 true, ptr {self.waiting(found)}")

    def _edge(self, block: Block, target: str, mask: str | None) -> None:
        """Bring values to the target's phis, and lanes to its mask. Without a mask all lanes of the block go."""
        e = self.e
        values: list[tuple[Instruction, Val]] = []
        for phi in self.flow.function.block[target].phis:
            if phi.name in e.stored or e.in_register(phi.name):
                continue
            value = phi.operands[phi.labels.index(block.name)]
            values.append((phi, phi_slots.incoming(e, phi, value)))
        together = mask is None and self.mask_head[target] == self.mask_head[block.name]
        lanes = mask if mask is not None else e.mask
        for phi, made in values:
            phi_slots.bring(e, phi, made, lanes, together, mask is not None)
        if e.registers is not None:
            e.registers.bring(block.name, target)
        if e.carried is not None:
            e.carried.bring(block.name, target, lanes, together)
        if self.leads(target):
            slot = self.waiting(target)
            vb = e.vt("i1")
            old = e.put(f"load {vb}, ptr {slot}")
            e.do(f"store {vb} {self._or(old, lanes)}, ptr {slot}")

    def _or(self, old: str, lanes: str | None) -> str:
        if lanes is None:
            return "splat (i1 true)"
        return self.e.put(f"or {self.e.vt('i1')} {old}, {lanes}")
