"""A system's step and observation, traced and lowered: what a kernel is written from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...physics.actuator import signals
from ..hosted_system import HostedSystem, LiveSystem
from ..rows import DELAY
from ..system import System
from .ir import FAST, Form, Graph, LaneChoice, Level, Node, Tangents, evaluate, nodes
from .passes import change, tidy, without
from .trace import trace, trace_with_tangents


@dataclass(frozen=True, kw_only=True)
class Function:
    """Results of a traced function as nodes, and their tangents as forms over the vectors computed on the
    way."""

    values: list[Node]
    tangents: list[Form]
    vectors: dict[str, Form | LaneChoice]


@dataclass(frozen=True, kw_only=True)
class LoweredSystem:
    """Leaves are named p0, p1, ... for parameters, s for states, u for inputs, h for the step length; d are
    states' tangents, and dh the change of a step's length per second of delay. There is a lane for each
    free parameter, then one for each free start value."""

    step: Function
    observe: Function
    parameters: tuple[str, ...]
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    free: tuple[str, ...]
    start: tuple[str, ...]
    delayed: bool
    """Whether inputs may change from one substep to the next."""
    graph: Graph

    @property
    def lanes(self) -> int:
        return len(self.free) + len(self.start)


def lower(
    system: System, *, free: Sequence[str] = (), start: Sequence[str] = (), delayed: bool = False
) -> LoweredSystem:
    """Trace and lower a system.

    Args:
        system: what becomes a loop.
        free: parameters, by path, that derivatives are taken in.
        start: states whose start values are free too.
        delayed: whether inputs change between samples.

    Returns:
        Its step and observation as nodes, with tangents if anything is free.

    Raises:
        NotLowered: the step does what a compiled one cannot.
    """
    names = list(system.parameters)
    n_p, n_s, n_u = len(names), len(system.states), len(system.inputs)
    graph = Graph()
    p = [graph.leaf(f"p{i}", Level.PARAMETER) for i in range(n_p)]
    s = [graph.leaf(f"s{i}", Level.STATE) for i in range(n_s)]
    # A command that comes late changes inside an interval, which is then split there.
    u = [graph.leaf(f"u{i}", Level.STATE if delayed else Level.INPUT) for i in range(n_u)]
    h = graph.leaf("h", Level.STATE if delayed else Level.LENGTH)
    one = graph.constant(1.0)

    # What moves, as (place among the arguments, tangent): states in all lanes, a parameter in its own.
    moving = [(names.index(path), Form({}, {lane: one})) for lane, path in enumerate(free) if path != DELAY]
    moving += [(n_p + i, Form({f"d{i}": one}, {})) for i in range(n_s)]
    late = []
    if DELAY in free:
        lane = list(free).index(DELAY)
        late = [(n_p + n_s + n_u, Form({}, {lane: graph.leaf("dh", Level.STATE)}))]

    def step(*x: Any) -> Sequence[Any]:
        return system.step(x[:n_p], x[n_p : n_p + n_s], x[n_p + n_s : -1], x[-1])

    def observe(*x: Any) -> Sequence[Any]:
        return system.observe(x[:n_p], x[n_p : n_p + n_s], x[n_p + n_s :])

    if not (free or start):
        moving = []
    return LoweredSystem(
        step=_lower_function(graph, step, [*p, *s, *u, h], moving + late),
        observe=_lower_function(graph, observe, [*p, *s, *u], moving),
        parameters=tuple(names),
        states=system.states,
        inputs=system.inputs,
        free=tuple(free),
        start=tuple(start),
        delayed=delayed,
        graph=graph,
    )


def _lower_function(
    graph: Graph, function: Any, given: list[Any], moving: list[tuple[int, Form]]
) -> Function:
    """A traced function's results as nodes of a graph, with the tangents of what moves, if anything does."""
    tangents = Tangents(graph)
    if not moving:
        plain = nodes(evaluate(trace(function, len(given)), given, tangents))
        return Function(values=plain, tangents=[], vectors={})
    flat = trace_with_tangents(function, len(given), [place for place, _ in moving])
    results = evaluate(flat, [*given, *(form for _, form in moving)], tangents)
    half = len(results) // 2
    forms = [x.as_form(graph) for x in results[half:]]
    return Function(values=nodes(results[:half]), tangents=forms, vectors=tangents.vectors)


@dataclass(frozen=True, kw_only=True)
class LoweredHosted:
    """An attached system's functions as nodes over the leaves p, s, u and h: for languages that run it live.

    States are advanced by their change, written so that 32 bits keep its digits; see `passes.change`.
    """

    advance: list[Node]
    """The change of every state over a step, then the effort."""
    load_seen: list[Node]
    """Of the inputs and the leaves v_before, v and effort."""
    armature: list[Node]
    begin: list[Node]
    """The states to begin with, of the leaves p, of position and velocity among s, and of targets g."""
    lag: list[Node]
    """Whole steps by which commands come late, and the part of one after them; none where they do not."""
    summed: tuple[bool, ...]
    """For each state, whether it is a sum of changes, so that what one addition rounds away belongs to the
    next. A state that a branch sets outright, as sticking sets the velocity to exactly 0, is not."""
    parameters: tuple[str, ...]
    states: tuple[str, ...]
    inputs: tuple[str, ...]

    @property
    def follows(self) -> tuple[str, ...]:
        """States that begin where the joint is, as fast as it is, or at the first targets."""
        own = ("position", "velocity")
        pairs = zip(self.states, self.begin, strict=True)
        return tuple(name for name, node in pairs if name not in own and node.level in FAST)


def lower_hosted(system: HostedSystem) -> LoweredHosted:
    """Trace and lower an attached system."""
    graph, n_p, n_s, n_u = Graph(), len(system.parameters), len(system.states), len(system.inputs)
    p = [graph.leaf(f"p{i}", Level.PARAMETER) for i in range(n_p)]
    s = [graph.leaf(f"s{i}", Level.STATE) for i in range(n_s)]
    u = [graph.leaf(f"u{i}", Level.INPUT) for i in range(n_u)]
    h = graph.leaf("h", Level.LENGTH)
    seen = [graph.leaf(name, Level.STATE) for name in ("v_before", "v", "effort")]

    def trace_nodes(function: Any, *given: Node) -> list[Node]:
        return nodes(evaluate(trace(function, len(given)), given, Tangents(graph)))

    *after, effort = trace_nodes(
        lambda *x: system.step(x[:n_p], x[n_p : n_p + n_s], x[n_p + n_s : -1], x[-1]), *p, *s, *u, h
    )
    load = trace_nodes(
        lambda *x: (system.load_seen(x[:n_p], x[n_p : n_p + n_u], *x[n_p + n_u :]),), *p, *u, *seen, h
    )
    late = DELAY in system.parameters and bool(system.targets)
    changes = [change(graph, node, leaf) for node, leaf in zip(after, s, strict=True)]
    differences = [c or graph.apply("sub", a, b) for a, b, c in zip(after, s, changes, strict=True)]
    v = system.states.index("velocity")
    effort = without(graph, effort, after[v], s[v], differences[v])
    return LoweredHosted(
        advance=tidy(graph, [*differences, effort]),
        load_seen=load,
        armature=trace_nodes(lambda *x: (system.armature(x),), *p),
        begin=lower_begin(system, graph),
        lag=trace_nodes(lambda *x: system.lag(x[:-1], x[-1]), *p, h) if late else [],
        summed=tuple(c is not None and a.op != "select" for a, c in zip(after, changes, strict=True)),
        parameters=tuple(system.parameters),
        states=system.states,
        inputs=system.inputs,
    )


def lower_begin(system: HostedSystem, graph: Graph) -> list[Node]:
    """Trace and lower the states that a hosted system begins with: of the leaves p, of position and velocity
    among s, and of the targets g."""
    n_p = len(system.parameters)
    leaves = [graph.leaf(f"p{i}", Level.PARAMETER) for i in range(n_p)]
    places = [system.states.index(name) for name in ("position", "velocity")]
    leaves += [graph.leaf(f"s{i}", Level.STATE) for i in places]
    leaves += [graph.leaf(f"g{i}", Level.INPUT) for i in range(len(system.targets))]

    def begin(*x: Any) -> Sequence[Any]:
        return system.begin(x[:n_p], x[n_p], x[n_p + 1], x[n_p + 2 :])

    return tidy(graph, nodes(evaluate(trace(begin, len(leaves)), leaves, Tangents(graph))))


def lower_demand(system: LiveSystem, graph: Graph) -> list[Node]:
    """Trace and lower what a live system asks of a shared supply: of the leaves p, s and u."""
    n_p, n_s = len(system.parameters), len(system.states)
    leaves = [graph.leaf(f"p{i}", Level.PARAMETER) for i in range(n_p)]
    leaves += [graph.leaf(f"s{i}", Level.STATE) for i in range(n_s)]
    leaves += [graph.leaf(f"u{i}", Level.INPUT) for i in range(len(system.inputs))]

    def demand(*x: Any) -> Sequence[Any]:
        return system.demand(x[:n_p], x[n_p : n_p + n_s], x[n_p + n_s :])

    return tidy(graph, nodes(evaluate(trace(demand, len(leaves)), leaves, Tangents(graph))))


@dataclass(frozen=True, kw_only=True)
class LoweredSignals:
    """What an actuator shows at a moment, as nodes over the leaves p, s and u."""

    names: tuple[str, ...]
    values: list[Node]


def lower_signals(system: HostedSystem) -> LoweredSignals:
    """Trace and lower the signals of an attached system: voltage, current, torque, and a temperature where it
    has one."""
    zeros = dict.fromkeys(system.inputs, 0.0)
    names = tuple(signals(system.actuator, system.initial_state(), zeros))
    lowered = lower(replace(system, outputs=names))
    return LoweredSignals(names=names, values=lowered.observe.values)
