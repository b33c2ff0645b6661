"""C99: a step that a simulator asks for, with n parts, as `callable_source` writes it for numba."""

from __future__ import annotations

from ..ir import Level, Node
from ..lower import Lowered
from ..passes import kept
from ..source import Source
from .c import _computed, _function, _prepare, _slow, words

_SLOW = (Level.CONSTANT, Level.PARAMETER, Level.LENGTH)


def kept_terms(lowered: Lowered) -> int:
    """Numbers that `NAME_prepare` leaves for `NAME_step`."""
    return len(kept(lowered.step.values, _SLOW))


def emit_live(name: str, lowered: Lowered, armature: Node) -> str:
    """Three functions in double:

    NAME_prepare(p, h, kept)     what parameters and the length of a part [s] decide
    NAME_step(n, kept, u, s)     n parts of a step; the states move on, and behind them goes the mean effort
    NAME_armature(p)             inertia that the joint must have besides its own
    """
    source, double, n_states = Source(), words("double"), len(lowered.states)
    values = lowered.step.values
    terms = kept(values, _SLOW)
    _prepare(source, f"static void {name}_prepare(const double *p, double h, double *kept)", terms, "double")
    head = f"static void {name}_step(int n, const double *kept, const double *u, double *s)"
    with _function(source, head):
        source.add("double effort = 0.0;", "int k;")
        with source.block("for (k = 0; k < n; k++) {", "}"):
            _computed(source, values, terms, ("s", "u"), double, "double")
            source.add(*[f"s[{i}] = {double.text(x)};" for i, x in enumerate(values[:n_states])])
            source.add(f"effort += {double.text(values[n_states])} / n;")
        source.add(f"s[{n_states}] = effort;")
    with _function(source, f"static double {name}_armature(const double *p)"):
        _slow(source, [armature])
        source.add(f"return {double.text(armature)};")
    return str(source)
