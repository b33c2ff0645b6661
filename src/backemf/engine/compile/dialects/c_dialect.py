"""C99: a traced step as functions without allocation, in double or, with carried roundings, in float."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import FAST, SLOW, Level, Node
from ..lower import LoweredHosted, LoweredSignals, LoweredSystem
from ..passes import computed_terms, is_truth, kept_terms as kept, leaves, numbered_leaves
from ..source import ALIKE, SourceText, Words, call_words
from ..trace import CIRCULAR, HYPERBOLIC


def words(real: str) -> Words:
    """C's words for numbers of this type: double or float."""
    f = {"double": "", "float": "f"}[real]
    zero, one = "0.0" + f, "1.0" + f
    return Words(
        true="1",
        false="0",
        nan="NAN",
        infinity="INFINITY",
        literal=f"{{0}}{f}",
        assign="{0} = {1};",
        decide="if ({0}) {{",
        otherwise="} else {",
        end="}",
        primitives={
            **ALIKE,
            **call_words(f"{{}}{f}", *CIRCULAR[:-1], *HYPERBOLIC),
            **call_words(f"{{}}{f}", *("sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log1p")),
            **call_words(f"{{}}{f}", "floor", "ceil"),
            "rem": f"fmod{f}({{0}}, {{1}})",
            "pow": f"pow{f}({{0}}, {{1}})",
            "abs": f"fabs{f}({{0}})",
            "sign": f"({{0}} > {zero} ? {one} : {{0}} < {zero} ? -{one} : {{0}})",
            "max": "({0} >= {1} || {0} != {0} ? {0} : {1})",
            "min": "({0} <= {1} || {0} != {0} ? {0} : {1})",
            "round_even": f"rint{f}({{0}})",
            "round_away": f"round{f}({{0}})",
            "rsqrt": f"{one} / sqrt{f}({{0}})",
            "logistic": f"{one} / ({one} + exp{f}(-{{0}}))",
            "atan2": f"atan2{f}({{0}}, {{1}})",
            "and": "{0} && {1}",
            "or": "{0} || {1}",
            "xor": "{0} != {1}",
            "not": "!{0}",
            "is_finite": "isfinite({0})",
            "number": f"({{0}} ? {one} : {zero})",
            "select": "({0} ? {2} : {1})",
        },
    )


def declarations(name: str, lowered: LoweredHosted, real: str = "double") -> str:
    """The header's lines: sizes and functions; arrays are in the order of the system's names.

    Args:
        name: what functions and sizes begin with.
        lowered: the system.
        real: 'double' or 'float', of what changes at every step.

    Returns:
        C.
    """
    sizes = {
        "PARAMETERS": len(lowered.parameters),
        "STATES": len(lowered.states),
        "INPUTS": len(lowered.inputs),
        "KEPT": len(kept(lowered.advance, SLOW)),
        "KEPT_LOAD": len(kept(lowered.load_seen, SLOW)),
    }
    lines = [f"#define {name.upper()}_{key} {value}" for key, value in sizes.items()]
    lines += ["", *(f"{about}\n{head};" for head, about in _functions(name, real).values())]
    return "\n".join(lines) + "\n"


def _functions(name: str, real: str) -> dict[str, tuple[str, str]]:
    """Every function's head and what it does."""
    return {
        "prepare": (
            f"void {name}_prepare(const double *p, double h, {real} *kept)",
            "/* What parameters and step length [s] alone decide: call it again when one of them changed. */",
        ),
        "advance": (
            f"{real} {name}_advance(const {real} *kept, {real} *s, {real} *carried, const {real} *u)",
            "/* One step: the states move on, and the mean effort over it comes back. `carried`, as long"
            "\n   as the states and 0 at first, holds what additions rounded away. */",
        ),
        "prepare_load": (
            f"void {name}_prepare_load(const double *p, double h, {real} *kept)",
            "/* The same for the load. */",
        ),
        "load_seen": (
            f"{real} {name}_load_seen(const {real} *kept, const {real} *u, {real} v_before, {real} v,"
            f" {real} effort)",
            "/* The load over the last step, in which an effort took the joint from v_before to v. */",
        ),
        "rest": (
            f"void {name}_rest(const double *p, {real} *s)",
            "/* The states at rest at 0, as cold as the surroundings. */",
        ),
        "begin": (
            f"void {name}_begin(const double *p, const {real} *g, {real} *s)",
            "/* States that begin where the joint is, as fast as it is, or at the targets `g`. */",
        ),
        "armature": (
            f"double {name}_armature(const double *p)",
            "/* Inertia that whoever moves the joint must add to it [kg m^2]. */",
        ),
    }


def emit(name: str, lowered: LoweredHosted, real: str = "double") -> str:
    """The functions' bodies. What changes slowly is computed in double and rounded once.

    Args:
        name: what functions and sizes begin with.
        lowered: the system.
        real: 'double' or 'float', of what changes at every step.

    Returns:
        C.
    """
    heads = {key: head for key, (head, _) in _functions(name, real).items()}
    step, load = lowered.advance, lowered.load_seen
    source = SourceText()
    _prepare(source, heads["prepare"], kept(step, SLOW), real)
    _advance(source, heads["advance"], lowered, real)
    _prepare(source, heads["prepare_load"], kept(load, SLOW), real)
    with _function(source, heads["load_seen"]):
        _write_results(source, load, kept(load, SLOW), ("u",), words(real), real)
        source.add(f"return {words(real).text(load[0])};")
    _rest(source, heads["rest"], lowered.begin, real)
    _begin(source, heads["begin"], lowered.begin, real)
    with _function(source, heads["armature"]):
        _slow(source, lowered.armature)
        source.add(f"return {words('double').text(lowered.armature[0])};")
    return str(source)


def _rest(source: SourceText, head: str, states: Sequence[Node], real: str) -> None:
    """States that only parameters decide; the others are 0 until the joint is known."""
    still = {i: x for i, x in enumerate(states) if x.level in SLOW}
    text = words("double").text
    with _function(source, head):
        _slow(source, [*still.values()])
        for i in range(len(states)):
            source.add(f"s[{i}] = ({real}){text(still[i]) if i in still else 0.0};")


def _begin(source: SourceText, head: str, states: Sequence[Node], real: str) -> None:
    """The others, in double."""
    moving = {i: x for i, x in enumerate(states) if x.level in FAST and x.value != f"s{i}"}
    results, double = [*moving.values()], words("double")
    with _function(source, head):
        source.add(*declare(results, (*SLOW, *FAST), "double", double))
        used = numbered_leaves(results, "gps")
        source.add(*(f"const double {x} = (double){x[0]}[{x[1:]}];" for x in used))
        source.add(*(f"(void){letter};" for letter in "pgs" if not any(x[0] == letter for x in used)))
        source.add(*double.statements(results, *SLOW, *FAST))
        source.add(*(f"s[{i}] = ({real}){double.text(x)};" for i, x in moving.items()))


def signal_declarations(name: str, lowered: LoweredSignals, real: str) -> str:
    """The header's lines of what `emit_signals` writes.

    Args:
        name: what functions and sizes begin with.
        lowered: the signals.
        real: 'double' or 'float', of what changes at every step.

    Returns:
        C.
    """
    sizes = {"SIGNALS": len(lowered.names), "KEPT_SIGNALS": len(kept(lowered.values, SLOW))}
    lines = [f"#define {name.upper()}_{key} {value}" for key, value in sizes.items()]
    lines += ["", *(f"{about}\n{head};" for head, about in _signal_functions(name, real))]
    return "\n".join(lines) + "\n"


def _signal_functions(name: str, real: str) -> tuple[tuple[str, str], ...]:
    return (
        (f"void {name}_prepare_signals(const double *p, {real} *kept)", "/* The same for the signals. */"),
        (
            f"void {name}_signals(const {real} *kept, const {real} *s, const {real} *u, {real} *seen)",
            "/* What can be seen from outside at a moment. */",
        ),
    )


def emit_signals(name: str, lowered: LoweredSignals, real: str) -> str:
    """The signals' functions.

    Args:
        name: what functions and sizes begin with.
        lowered: the signals.
        real: 'double' or 'float', of what changes at every step.

    Returns:
        C.
    """
    (prepare, _), (signals, _) = _signal_functions(name, real)
    source, known, c = SourceText(), kept(lowered.values, SLOW), words(real)
    _prepare(source, prepare, known, real, length=False)
    with _function(source, signals):
        _write_results(source, lowered.values, known, ("s", "u"), c, real)
        source.add(*[f"seen[{i}] = {c.text(x)};" for i, x in enumerate(lowered.values)])
    return str(source)


def _function(source: SourceText, head: str):
    source.add("")
    return source.block(head + " {", "}", keep=True)


def _prepare(
    source: SourceText, head: str, results: Sequence[Node], real: str, *, length: bool = True
) -> None:
    with _function(source, head):
        _slow(source, results)
        text = words("double").text
        source.add(*[f"kept[{i}] = ({real}){text(x)};" for i, x in enumerate(results)])
        if not results:
            source.add("(void)kept;")
        if length and "h" not in leaves(results):
            source.add("(void)h;")


def _slow(source: SourceText, results: Sequence[Node]) -> None:
    """Terms of the parameters and the step length, in double."""
    double = words("double")
    source.add(*declare(results, SLOW, "double", double))
    used = numbered_leaves(results, "p")
    source.add(*(f"const double {x} = p[{x[1:]}];" for x in used))
    source.add(*double.statements(results, *SLOW))
    if not used:
        source.add("(void)p;")


def _advance(source: SourceText, head: str, lowered: LoweredHosted, real: str) -> None:
    c, changes, effort = words(real), lowered.advance[:-1], lowered.advance[-1]
    with _function(source, head):
        _write_results(source, lowered.advance, kept(lowered.advance, SLOW), ("s", "u"), c, real)
        carries = real == "float" and any(lowered.summed)
        if carries:
            source.add("float change, moved;")
        for i, (node, summed) in enumerate(zip(changes, lowered.summed, strict=True)):
            if summed and carries:
                # What this addition rounds away is added to the next change.
                source.add(f"change = {c.text(node)} + carried[{i}];", f"moved = s[{i}] + change;")
                source.add(f"carried[{i}] = change - (moved - s[{i}]);", f"s[{i}] = moved;")
            else:
                source.add(f"s[{i}] += {c.text(node)};")
        if not carries:
            source.add("(void)carried;")
        source.add(f"return {c.text(effort)};")


def _write_results(
    source: SourceText,
    results: Sequence[Node],
    known: Sequence[Node],
    letters: Sequence[str],
    c: Words,
    real: str,
) -> None:
    """Declarations, what is known, and the lines that compute the results."""
    source.add(*declare(results, FAST, real, c))
    for letter in letters:
        own = numbered_leaves(results, letter)
        source.add(*(f"const {real} {x} = {letter}[{x[1:]}];" for x in own))
        if not own:
            source.add(f"(void){letter};")
    source.add(*(f"const {_type(x, real)} {c.text(x)} = {_cast(x)}kept[{i}];" for i, x in enumerate(known)))
    if not known:
        source.add("(void)kept;")
    source.add(*c.statements(results, *FAST))


def declare(results: Sequence[Node], levels: Sequence[Level], real: str, c: Words) -> list[str]:
    """A line for each type of what is computed at these levels."""
    nodes, lines = computed_terms(results, levels), []
    for kind, zero in (("int", "0"), (real, c.constant(0.0))):
        names = [f"{c.text(n)} = {zero}" for n in nodes if _type(n, real) == kind]
        lines += [f"{kind} {', '.join(names[k : k + 8])};" for k in range(0, len(names), 8)]
    return lines


def _type(node: Node, real: str) -> str:
    return "int" if is_truth(node) else real


def _cast(node: Node) -> str:
    """Truths are kept among the numbers."""
    return "(int)" if is_truth(node) else ""


def kept_terms(lowered: LoweredSystem) -> int:
    """Numbers that `NAME_prepare` leaves for `NAME_step`."""
    return len(kept(lowered.step.values, SLOW))


def emit_live(name: str, lowered: LoweredSystem, armature: Node, begin: Sequence[Node]) -> str:
    """Functions in double:

    NAME_prepare(p, h, kept)     what parameters and the length of a part [s] decide
    NAME_step(n, kept, u, s)     n parts of a step; the states move on, and behind them goes the mean effort
    NAME_rest(p, s)              the states at rest at 0
    NAME_begin(p, g, s)          those that begin where the joint is or at the targets
    NAME_armature(p)             inertia that the joint must have besides its own

    Args:
        name: what functions and sizes begin with.
        lowered: the live system.
        armature: the term of its armature.
        begin: the states as they begin.

    Returns:
        C.
    """
    source, double, n_states = SourceText(), words("double"), len(lowered.states)
    values = lowered.step.values
    terms = kept(values, SLOW)
    _prepare(source, f"static void {name}_prepare(const double *p, double h, double *kept)", terms, "double")
    head = f"static void {name}_step(int n, const double *kept, const double *u, double *s)"
    with _function(source, head):
        source.add("double effort = 0.0;", "int k;")
        with source.block("for (k = 0; k < n; k++) {", "}"):
            _write_results(source, values, terms, ("s", "u"), double, "double")
            source.add(*[f"s[{i}] = {double.text(x)};" for i, x in enumerate(values[:n_states])])
            source.add(f"effort += {double.text(values[n_states])} / n;")
        source.add(f"s[{n_states}] = effort;")
    _rest(source, f"static void {name}_rest(const double *p, double *s)", begin, "double")
    _begin(source, f"static void {name}_begin(const double *p, const double *g, double *s)", begin, "double")
    with _function(source, f"static double {name}_armature(const double *p)"):
        _slow(source, [armature])
        source.add(f"return {double.text(armature)};")
    return str(source)
