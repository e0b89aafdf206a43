"""Dominance and loops against their definitions, tried path by path on random graphs."""

from hypothesis import given
from hypothesis import strategies as st

from metalloid import ir
from metalloid.ir.cfg import EXIT, Graph, graph, reversed_graph
from metalloid.ir.dominance import dominator_tree, dominators, post_dominators
from metalloid.ir.loops import find_loops, loops

graphs = st.lists(st.lists(st.integers(0, 7), max_size=3), min_size=1, max_size=8).map(
    lambda rows: Graph(
        "0",
        {
            str(n): tuple(dict.fromkeys(str(t) for t in row if 0 < t < len(rows)))
            for n, row in enumerate(rows)
        },
    )
)


def reachable(graph: Graph, start: str, without: str = "") -> set[str]:
    seen, work = set(), [start] if start != without else []
    while work:
        node = work.pop()
        if node not in seen:
            seen.add(node)
            work += [t for t in graph.successors[node] if t != without]
    return seen


@given(graphs)
def test_a_block_dominates_what_cannot_be_reached_without_it(graph: Graph) -> None:
    tree = dominator_tree(graph)
    live = reachable(graph, graph.root)
    for above in live:
        left = reachable(graph, graph.root, without=above)
        for below in live:
            assert tree.dominates(above, below) == (below not in left)


@given(graphs)
def test_the_frontier_is_where_dominance_ends(graph: Graph) -> None:
    tree = dominator_tree(graph)
    live = reachable(graph, graph.root)
    for node in live:
        expected = {
            join
            for join in live
            for source in graph.predecessors[join]
            if tree.dominates(node, source) and not (tree.dominates(node, join) and node != join)
        }
        assert tree.frontier[node] == expected


@given(graphs)
def test_every_reachable_block_has_a_post_dominator(graph: Graph) -> None:
    tree = dominator_tree(reversed_graph(graph))
    for node in reachable(graph, graph.root):
        assert tree.dominates(EXIT, node)


@given(graphs)
def test_a_loop_is_what_returns_to_its_header(graph: Graph) -> None:
    tree = dominator_tree(graph)
    forest = find_loops(graph, tree)
    live = reachable(graph, graph.root)
    for loop in forest.loops.values():
        for block in loop.blocks & live:
            assert tree.dominates(loop.header, block)
            assert any(loop.header in reachable(graph, t) for t in graph.successors[block])
        assert all(inside in loop.blocks and outside not in loop.blocks for inside, outside in loop.exits)
    for block in live:
        if block in forest.innermost:
            assert forest.nest(block)[-1] == forest.innermost[block].header
            assert len(forest.nest(block)) == forest.depth(block)


NEST = """
define void @f(i1 %c) {
entry:
  br label %outer
outer:
  br label %inner
inner:
  br i1 %c, label %inner, label %latch
latch:
  br i1 %c, label %outer, label %done
done:
  ret void
}
"""


def test_nested_loops_are_found() -> None:
    function = ir.read(NEST).functions[0]
    forest = loops(function)
    assert forest.nest("inner") == ("outer", "inner")
    assert forest.loops["outer"].blocks == {"outer", "inner", "latch"}
    assert forest.loops["outer"].exits == (("latch", "done"),)
    assert dominators(function).immediate["done"] == "latch"
    assert post_dominators(function).immediate["outer"] == "inner"
    assert post_dominators(function).immediate["done"] == EXIT


TEXT = """
define void @f(i1 %c) {
entry:
  br label %head
head:
  %n = phi i32 [ 0, %entry ], [ %m, %head ]
  %m = add i32 %n, 1
  br i1 %c, label %head, label %end
end:
  ret void
}
"""


def test_what_is_known_of_a_graph_is_found_once() -> None:
    """Where instructions change and branches do not, the graph is the same, its dominators and loops as well."""
    function = ir.read(TEXT).function["f"]
    other = ir.read(TEXT.replace("add i32 %n, 1", "add i32 %n, 2")).function["f"]
    assert graph(other) is graph(function)
    assert dominators(other) is dominators(function)
    assert post_dominators(other) is post_dominators(function)
    assert loops(other) is loops(function)


def test_other_branches_are_another_graph() -> None:
    turned = TEXT.replace("label %head, label %end", "label %end, label %head")
    assert graph(ir.read(turned).function["f"]) is not graph(ir.read(TEXT).function["f"])


def test_an_instruction_remembers_what_it_reads() -> None:
    made = ir.read(TEXT).function["f"].definitions["m"]
    assert made.uses == ("n",)
    assert made.uses is made.uses
    assert made.substitute({"n": made.value}).uses == ("m",)
