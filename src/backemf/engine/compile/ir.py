"""What lies between a trace and its source text: shared terms sorted by how often they change, and tangents
as linear forms.

A traced step is turned into a graph in which equal terms are one node. Every node has a level: terms of
constants and parameters leave the time loop, terms of the step length and of the inputs leave the loop over
substeps.

Sensitivities are forward tangents. All of them, one lane per free parameter or start value, move through the
same linear operations, so a tangent is written once as a linear form over *lane vectors*:

    tangent = c_0 d_0 + c_1 t_4 + ... + seeds

d_i is the tangent of state i, t_k a vector computed on the way, the coefficients c are scalar nodes common to
all lanes, and a seed adds a scalar to one lane alone: that is how a parameter enters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple, TypeVar, cast

from ...errors import NotLowered
from .trace import COMMUTE, Flat, Operand, TracedOperation, TracedValue

_K = TypeVar("_K", str, int)


class Level(IntEnum):
    """How often a term changes; a term changes as often as the fastest of its operands."""

    CONSTANT = 0
    PARAMETER = 1
    LENGTH = 2
    INPUT = 3
    STATE = 4


SLOW = (Level.CONSTANT, Level.PARAMETER, Level.LENGTH)
"""Terms that are computed once and kept while steps are taken."""
FAST = (Level.INPUT, Level.STATE)
"""Terms of every step."""


@dataclass(eq=False, slots=True)
class Node:
    """A scalar term: an operation on other nodes, a constant, or a leaf that the loop provides."""

    op: str
    operands: tuple[Node, ...]
    level: Level
    index: int
    value: float | bool | str | None = None
    """A constant's number, a leaf's name in the source."""

    @property
    def number(self) -> float:
        """A constant's value."""
        assert self.op == "constant"
        return float(cast("float", self.value))

    def is_constant(self, value: float) -> bool:
        """Whether it is this number."""
        return self.op == "constant" and self.value == value

    def as_form(self, graph: Graph) -> Form:
        """As a tangent, which may have come out as the number zero of its graph."""
        if graph.is_zero(self):
            return ZERO
        raise NotLowered(
            "a derivative that is a number rather than a tangent; a compiled derivative has only linear"
            " operations on tangents"
        )


class Graph:
    """Nodes in an order in which each follows its operands;
    asking for an equal term gives the node that is there."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._known: dict[tuple, Node] = {}

    def _node(
        self, op: str, operands: tuple[Node, ...], level: Level, value: float | bool | str | None = None
    ) -> Node:
        key = (op, *(n.index for n in operands), type(value), repr(value))  # repr keeps 0.0 and -0.0 apart
        if key not in self._known:
            self._known[key] = Node(op, operands, level, len(self.nodes), value)
            self.nodes.append(self._known[key])
        return self._known[key]

    def constant(self, value: float | bool) -> Node:
        """The node of a number or a truth value."""
        return self._node("constant", (), Level.CONSTANT, value)

    def leaf(self, name: str, level: Level) -> Node:
        """The node of what the loop provides under a name."""
        return self._node("leaf", (), level, name)

    def apply(self, op: str, *operands: Node) -> Node:
        """The term `op(operands)`, rewritten only where that gives the same number,
        or saves a division in the loop."""
        simpler = self._simpler(op, *operands) or (self._as_product(*operands) if op == "div" else None)
        if simpler is not None:
            return simpler
        if op in COMMUTE:
            operands = tuple(sorted(operands, key=lambda n: n.index))
        return self._node(op, operands, max(n.level for n in operands))

    def _simpler(self, op: str, *operands: Node) -> Node | None:
        """The operand that a term is equal to, if any."""
        a, b = operands[0], operands[-1]
        if op == "select" and (operands[1] is b or a.op == "constant"):
            return b if a.value else operands[1]
        if op in ("mul", "div") and b.is_constant(1.0):
            return a
        if op == "mul" and a.is_constant(1.0):
            return b
        return a.operands[0] if op == "neg" and a.op == "neg" else None

    def _as_product(self, a: Node, b: Node) -> Node | None:
        """a / b as a product, where that saves a division in the loop."""
        # JAX divides by 1 or by 2 to share the derivative of max and min at a tie.
        if b.op == "select" and all(x.is_constant(1.0) or x.is_constant(2.0) for x in b.operands[1:]):
            inverse = [self.constant(1.0 / x.number) for x in b.operands[1:]]
            return self.apply("mul", a, self.apply("select", b.operands[0], *inverse))
        if b.level < a.level and not a.is_constant(1.0):
            return self.apply("mul", a, self.apply("div", self.constant(1.0), b))
        return None

    # Coefficients of linear forms follow the algebra of derivatives, in which zero times anything is zero.

    def product(self, a: Node, b: Node) -> Node:
        """Of two coefficients."""
        for x, y in ((a, b), (b, a)):
            if x.is_constant(0.0):
                return x
            if x.is_constant(-1.0):
                return self.negative(y)
            if x.op == "neg":
                return self.negative(self.product(x.operands[0], y))
        return self.apply("mul", a, b)

    def total(self, a: Node, b: Node) -> Node:
        """Of two coefficients."""
        for x, y in ((a, b), (b, a)):
            if x.is_constant(0.0):
                return y
            if x.op == "neg" and y.op != "neg":
                return self.apply("sub", y, x.operands[0])
        return self.apply("add", a, b)

    def negative(self, a: Node) -> Node:
        return self.constant(-a.number) if a.op == "constant" else self.apply("neg", a)

    def is_zero(self, node: Node) -> bool:
        """Zero by construction: JAX writes the absent tangents of its custom derivatives as 0 * c."""
        if node.op == "mul":
            return any(map(self.is_zero, node.operands))
        if node.op in ("neg", "div"):
            return self.is_zero(node.operands[0])
        if node.op in ("add", "sub", "select"):
            return all(map(self.is_zero, node.operands[-2:]))
        return node.is_constant(0.0)


class Form(NamedTuple):
    """A tangent: the sum of coefficient times lane vector, plus a number in single lanes."""

    lanes: dict[str, Node]
    seeds: dict[int, Node]

    def as_form(self, graph: Graph) -> Form:
        """Itself."""
        return self

    @property
    def vectors(self) -> list[str]:
        """The lane vectors that it is made of."""
        return list(self.lanes)

    @property
    def nodes(self) -> list[Node]:
        """The scalar terms that it is made of."""
        return [*self.lanes.values(), *self.seeds.values()]


ZERO = Form({}, {})


class LaneChoice(NamedTuple):
    """A lane vector that is one of two others; None stands for zero."""

    condition: Node
    no: str | None
    yes: str | None

    @property
    def vectors(self) -> list[str]:
        """The lane vectors that it is made of."""
        return [name for name in (self.no, self.yes) if name is not None]

    @property
    def nodes(self) -> list[Node]:
        """The scalar terms that it is made of."""
        return [self.condition]


@dataclass
class Tangents:
    """Linear forms over one graph, and the lane vectors computed on the way, in order."""

    graph: Graph
    vectors: dict[str, Form | LaneChoice] = field(default_factory=dict)

    def scale(self, form: Form, factor: Node) -> Form:
        """A tangent times a number."""
        if len(form.lanes) > 1 and not (factor.is_constant(1.0) or factor.is_constant(-1.0)):
            form = self.single_vector(form)  # one product per lane rather than one per term

        def each(part: dict[_K, Node]) -> dict[_K, Node]:
            products = {k: self.graph.product(c, factor) for k, c in part.items()}
            return {k: c for k, c in products.items() if not c.is_constant(0.0)}

        return Form(each(form.lanes), each(form.seeds))

    def sum(self, a: Form, b: Form) -> Form:
        """Of two tangents."""

        def each(x: dict[_K, Node], y: dict[_K, Node]) -> dict[_K, Node]:
            return {**x, **y, **{k: self.graph.total(x[k], y[k]) for k in x if k in y}}

        return Form(each(a.lanes, b.lanes), each(a.seeds, b.seeds))

    def select(self, condition: Node, no: Form, yes: Form) -> Form:
        """One of two tangents. Where every vector is a state's, the coefficients are chosen, once for all
        lanes. A vector computed on the way may be infinite in the branch that is not taken, and 0 times
        infinity is not 0: there the vectors are.

        Args:
            condition: which one.
            no: where it is false.
            yes: where it is true.

        Returns:
            The tangent.
        """
        if any(k.startswith("t") for k in (*no.lanes, *yes.lanes)):
            return self._vector(LaneChoice(condition, self._name(no), self._name(yes)))
        zero = self.graph.constant(0.0)

        def each(x: dict[_K, Node], y: dict[_K, Node]) -> dict[_K, Node]:
            return {
                k: self.graph.apply("select", condition, x.get(k, zero), y.get(k, zero)) for k in {**x, **y}
            }

        return Form(each(no.lanes, yes.lanes), each(no.seeds, yes.seeds))

    def single_vector(self, form: Form) -> Form:
        """The same tangent as a single lane vector, so that it is computed once;
        seeds alone stay as they are."""
        return self._vector(form) if form.lanes and not _is_single(form) else form

    def _name(self, form: Form) -> str | None:
        if not (form.lanes or form.seeds):
            return None
        form = form if _is_single(form) else self._vector(form)
        return next(iter(form.lanes))

    def _vector(self, what: Form | LaneChoice) -> Form:
        name = f"t{len(self.vectors)}"
        self.vectors[name] = what
        return Form({name: self.graph.constant(1.0)}, {})


def _is_single(form: Form) -> bool:
    return len(form.lanes) == 1 and not form.seeds and next(iter(form.lanes.values())).is_constant(1.0)


def evaluate(flat: Flat, given: Sequence[Node | Form], tangents: Tangents) -> list[Node | Form]:
    """Put nodes and forms in for the arguments of a traced function.

    Args:
        flat: the function.
        given: for each argument a node, or a form where it is a tangent.
        tangents: collects the lane vectors on the way; its graph takes the nodes.

    Returns:
        What the results become.
    """
    graph = tangents.graph
    known: dict[TracedValue, Node | Form] = dict(zip(flat.arguments, given, strict=True))
    needed, uses = _needed_values(flat)

    def read(operand: Operand) -> Node | Form:
        return known[operand] if isinstance(operand, TracedValue) else graph.constant(operand)

    for operation in flat.operations:
        if operation.result not in needed:
            continue
        operands = [read(x) for x in operation.operands]
        if any(isinstance(x, Form) for x in operands):
            form = _linear(operation, operands, tangents)
            known[operation.result] = tangents.single_vector(form) if uses[operation.result] > 1 else form
        else:
            known[operation.result] = graph.apply(operation.name, *nodes(operands))
    return [read(x) for x in flat.results]


def nodes(results: Sequence[Node | Form]) -> list[Node]:
    """Results of a function without tangents."""
    plain = [x for x in results if isinstance(x, Node)]
    assert len(plain) == len(results)
    return plain


def _needed_values(flat: Flat) -> tuple[set[Operand], Counter]:
    """What the results depend on, and how often each is used; numbers among it do no harm."""
    uses: Counter = Counter(flat.results)
    needed = set(uses)
    for operation in reversed(flat.operations):
        if operation.result in needed:
            operands = set(operation.operands)
            needed |= operands
            uses.update(operands)
    return needed, uses


def _linear(operation: TracedOperation, operands: list[Node | Form], tangents: Tangents) -> Form:
    """An operation on tangents. They only ever appear linearly, so few operations can meet one."""
    graph, name = tangents.graph, operation.name
    match name, operands:
        case "neg", [Form() as a]:
            return tangents.scale(a, graph.constant(-1.0))
        case "mul", [Form() as a, Node() as b] | [Node() as b, Form() as a]:
            return tangents.scale(a, b)
        case "div", [Form() as a, Node() as b]:
            return tangents.scale(a, graph.apply("div", graph.constant(1.0), b))
        case "add", [a, b]:
            return tangents.sum(a.as_form(graph), b.as_form(graph))
        case "sub", [a, b]:
            return tangents.sum(a.as_form(graph), tangents.scale(b.as_form(graph), graph.constant(-1.0)))
        case "select", [Node() as condition, no, yes]:
            return tangents.select(condition, no.as_form(graph), yes.as_form(graph))
    raise NotLowered(
        f"a tangent in the primitive {name!r}; a compiled derivative has only linear operations on tangents"
    )
