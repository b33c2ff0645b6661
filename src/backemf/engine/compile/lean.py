"""The same terms with fewer operations, for loops that run millions of candidates.

What is written here holds for finite numbers: products are taken in another order, slow factors are gathered
and leave the loop, one power serves for its slope too, and a decision is taken once. Values differ from the
traced ones by rounding alone, except the slope of a clip exactly at its limit: JAX shares it, here it is 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .ir import Graph, Level, Node
from .passes import number, reachable

FLIP, POWER, DECAY = "flip", "power", "decay"
"""Operations beyond the table, for languages that write them in few instructions: flip(x, y) is x where
y >= 0, else -x; power(x, y) is x^y of an x above 0; decay(x) is exp(-x)."""


def lean(graph: Graph, roots: Sequence[Node], *, more: bool = False) -> list[Node]:
    """The same terms with fewer operations.

    Args:
        graph: takes the new terms.
        roots: the terms.
        more: whether the operations beyond the table may be used.

    Returns:
        The roots rewritten, in their order.
    """
    for _ in range(6):  # what one round opens, the next one takes
        before, roots = list(roots), _Round(graph, roots, more).roots
        if [x.index for x in before] == [x.index for x in roots]:
            break
    return list(roots)


class _Round:
    """One pass over all terms, operands first."""

    def __init__(self, graph: Graph, roots: Sequence[Node], more: bool):
        self.graph, self.more = graph, more
        order = reachable(roots)
        self.users: dict[int, list[Node]] = {node.index: [] for node in order}
        for node in order:
            for operand in node.operands:
                self.users[operand.index].append(node)
        self.times = Counter({k: len(v) for k, v in self.users.items()})
        self.times.update(root.index for root in roots)
        self.single: dict[int, bool] = {}
        """Of the terms made here: whether one term alone reads it."""
        self.loose: dict[int, bool] = {}
        """Whether every reader multiplies it further, so that it need not stand by itself."""
        made: dict[int, Node] = {}
        for node in order:
            new = self.rewrite(node, [made[x.index] for x in node.operands]) if node.operands else node
            made[node.index] = new
            once = self.times[node.index] == 1
            self.single[new.index] = once and self.single.get(new.index, True)
            self.loose[new.index] = self.only_multiplied(node) and self.loose.get(new.index, True)
        self.roots = [made[root.index] for root in roots]

    def only_multiplied(self, node: Node) -> bool:
        users = self.users[node.index]
        if node.op != "mul" or len(users) < self.times[node.index] or any(u.op != "mul" for u in users):
            return False
        others = [x for u in users for x in u.operands if x is not node]
        return len(users) == 1 or all(x.level is node.level for x in others)

    def rewrite(self, node: Node, operands: list[Node]) -> Node:
        rule = getattr(self, f"_{node.op}", None)
        found = rule(*operands) if rule is not None else None
        if found is None and node.op in ("add", "sub", "mul", "div", "neg"):
            found = self.through_select(node.op, operands)
        return self.graph.apply(node.op, *operands) if found is None else found

    def through_select(self, op: str, operands: list[Node]) -> Node | None:
        """f(one of two slow numbers) is one of two slow numbers."""
        level = max(x.level for x in operands)
        chosen = [x for x in operands if x.op == "select" and x.level is level]
        if len(chosen) != 1 or not self.single.get(chosen[0].index, False):
            return None
        condition, *ways = chosen[0].operands
        rest = [x for x in operands if x is not chosen[0]]
        if any(x.level >= level for x in (*ways, *rest)):
            return None
        made = [self.simple(op, *(way if x is chosen[0] else x for x in operands)) for way in ways]
        return self.graph.apply("select", condition, *made)

    def simple(self, op: str, *operands: Node) -> Node:
        found = getattr(self, f"_{op}")(*operands)
        return self.graph.apply(op, *operands) if found is None else found

    # One rule for each operation; None leaves it as it is.

    def _neg(self, a: Node) -> Node | None:
        return self.graph.constant(-a.number) if a.op == "constant" else None

    def _add(self, a: Node, b: Node) -> Node | None:
        for x, y in ((a, b), (b, a)):
            if number(x) == 0:
                return y
        if a is b:
            return self.product([self.graph.constant(2.0), *(a.operands if a.op == "mul" else [a])])
        return None

    def _sub(self, a: Node, b: Node) -> Node | None:
        if a is b:
            return self.graph.constant(0.0)
        if number(a) == 0:
            return self.graph.apply("neg", b)
        return a if number(b) == 0 else None

    def _mul(self, a: Node, b: Node) -> Node | None:
        for x, y in ((a, b), (b, a)):
            if number(x) == 0:
                return x
            if number(x) == -1:
                return self.graph.apply("neg", y)
            if x.op == FLIP and x.operands[0].is_constant(1.0):
                return self.flip(y, x.operands[1])
            if x.op == "select" and x.operands[1].is_constant(0.0) and x.operands[2].is_constant(1.0):
                within = self._inside(x.operands[0], y)
                if within is not None:
                    return self.graph.apply("select", within, *x.operands[1:])
                if not (y.op == "select" and y.operands[2].is_constant(0.5)):
                    return self.graph.apply("select", x.operands[0], x.operands[1], y)
        if Level.STATE in (a.level, b.level) and (self.is_open(a) or self.is_open(b)):
            return self.product([*self.factors(a), *self.factors(b)])
        return None

    def _inside(self, tie: Node, share: Node) -> Node | None:
        """JAX's slope of max(x, y) in x: 1 where x is it, shared where both are; here 0 where both are."""
        if tie.op != "eq" or share.op != "select" or share.operands[0].op != "eq":
            return None
        if not (share.operands[1].is_constant(1.0) and share.operands[2].is_constant(0.5)):
            return None
        for m, x in (tie.operands, tie.operands[::-1]):
            if m.op in ("max", "min") and x in m.operands:
                y = next((z for z in m.operands if z is not x), x)
                if set(share.operands[0].operands) == {m, y}:
                    return self.graph.apply("gt" if m.op == "max" else "lt", x, y)
        return None

    def is_open(self, node: Node) -> bool:
        return node.op == "mul" and self.loose.get(node.index, False)

    def factors(self, node: Node) -> list[Node]:
        return [f for x in node.operands for f in self.factors(x)] if self.is_open(node) else [node]

    def product(self, factors: list[Node]) -> Node:
        """Slow factors first, so that they leave the loop; the rest in one order, so that equal ones meet."""
        ordered = sorted(factors, key=lambda x: (x.level, x.index))
        by_level: dict[bool, list[Node]] = {False: [], True: []}
        for factor in ordered:
            by_level[factor.level is Level.STATE].append(factor)
        parts = []
        for group in by_level.values():
            made = None
            for factor in group:
                made = factor if made is None else self.graph.apply("mul", made, factor)
            parts += [] if made is None else [made]
        made = parts[0] if len(parts) == 1 else self.graph.apply("mul", *parts)
        return made

    def _pow(self, x: Node, exponent: Node) -> Node | None:
        """x^(p - 1) is x^p / x, where x is known to be above 0."""
        if x.op != "select" or x.operands[0].op != "gt":
            return None
        positive = x.operands[0].operands[1].is_constant(0.0) and x.operands[0].operands[0] is x.operands[2]
        if not positive or (number(x.operands[1]) or 0.0) <= 0:
            return None
        op = POWER if self.more else "pow"
        if exponent.op == "sub" and exponent.operands[1].is_constant(1.0):
            return self.graph.apply("div", self.graph.apply(op, x, exponent.operands[0]), x)
        return self.graph.apply(op, x, exponent)

    def _exp(self, x: Node) -> Node | None:
        return self.graph.apply(DECAY, x.operands[0]) if self.more and x.op == "neg" else None

    def _and(self, a: Node, b: Node) -> Node | None:
        for x, y in ((a, b), (b, a)):
            if x.op != "gt" or y.op != "lt" or y.operands[0].op != "max":
                continue
            value, low = x.operands
            if set(y.operands[0].operands) == {value, low}:  # above its lower limit it is its maximum
                y = self.graph.apply("lt", value, y.operands[1])
                return self._symmetric(x, y) or self.graph.apply("and", x, y)
        return None

    def _symmetric(self, above: Node, below: Node) -> Node | None:
        (x, low), (y, high) = above.operands, below.operands
        if x is y and low.op == "neg" and low.operands[0] is high:
            return self.graph.apply("lt", self.graph.apply("abs", x), high)
        return None

    def _or(self, a: Node, b: Node) -> Node | None:
        """Beyond a level on either side."""
        for x, y in ((a, b), (b, a)):
            if x.op == "gt" and y.op == "lt" and x.operands[0] is y.operands[0]:
                low, high = y.operands[1], x.operands[1]
                if low.op == "neg" and low.operands[0] is high:
                    return self.graph.apply("gt", self.graph.apply("abs", x.operands[0]), high)
            if y.op == "or":  # (p or x > f) or x < -f
                for i, inner in enumerate(y.operands):
                    both = self._or(inner, x) if {inner.op, x.op} == {"gt", "lt"} else None
                    if both is not None:
                        return self.graph.apply("or", y.operands[1 - i], both)
        return None

    def _select(self, condition: Node, no: Node, yes: Node) -> Node | None:
        if condition.op == "not":
            return self.graph.apply("select", condition.operands[0], yes, no)
        ways = [self.specialise(x, condition, place) for x, place in ((no, 1), (yes, 2))]
        if ways[0] is not no or ways[1] is not yes:
            return self.graph.apply("select", condition, *ways)
        if yes.op == "select" and yes.operands[1] is no and self.single.get(yes.index, False):
            both = self.simple("and", condition, yes.operands[0])
            return self.graph.apply("select", both, no, yes.operands[2])
        opposite = no.op == "neg" and no.operands[0] is yes
        opposite = opposite or (yes.is_constant(1.0) and no.is_constant(-1.0))
        if self.more and opposite and condition.op == "ge" and condition.operands[1].is_constant(0.0):
            return self.flip(yes, condition.operands[0])
        return None

    def flip(self, x: Node, by: Node) -> Node:
        return self.graph.apply(FLIP, x, by)

    def specialise(self, node: Node, condition: Node, place: int) -> Node:
        """The term where a decision has fallen one way, as far as it is nobody else's."""
        if node.op == "select" and node.operands[0] is condition:
            return node.operands[place]
        if node.op not in ("mul", "neg") or not self.single.get(node.index, False):
            return node
        inside = [self.specialise(x, condition, place) for x in node.operands]
        changed = any(x is not y for x, y in zip(inside, node.operands, strict=True))
        return self.graph.apply(node.op, *inside) if changed else node
