"""Torch: a traced step for many actuators at once, as exact in 32 bits as that allows; and the functions of
such a step for any library of arrays.

What one addition rounds away can be carried to the next step: `summed` of the lowered system says for which
states.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from ..ir import SLOW, Node
from ..lower import LoweredHosted
from ..passes import is_truth, kept_terms, names_used_again, number, numbered_leaves, reachable
from ..source import ALIKE, SourceText, Words, call_words
from ..trace import CIRCULAR, HYPERBOLIC
from .numba import NUMBA

TORCH = Words(
    nan="torch.nan",
    infinity="torch.inf",
    primitives={
        **ALIKE,
        **{name: NUMBA.primitives[name] for name in ("and", "or", "xor")},
        **call_words("torch.{}", "abs", "sign", "floor", "ceil", *CIRCULAR[:-1], *HYPERBOLIC),
        **call_words("torch.{}", "sqrt", "rsqrt", "exp", "exp2", "expm1", "log", "log2", "log1p"),
        "rem": "torch.fmod({0}, {1})",
        "pow": "torch.pow({0}, {1})",
        "max": "torch.maximum({0}, {1})",
        "min": "torch.minimum({0}, {1})",
        "round_even": "torch.round({0})",
        "round_away": "torch.trunc({0} + 0.49999999999999994 * torch.sign({0}))",
        "cbrt": "torch.sign({0}) * torch.pow(torch.abs({0}), 1.0 / 3.0)",
        "logistic": "torch.sigmoid({0})",
        "atan2": "torch.atan2({0}, {1})",
        "not": "~{0}",
        "is_finite": "torch.isfinite({0})",
        "number": "torch.where({0}, one, 0.0)",
        "select": "torch.where({0}, {2}, {1})",
    },
)


class ArrayLanguage(NamedTuple):
    """How a library of arrays writes the functions of a step."""

    lines: type[TorchLines]
    arguments: str = "p, h, dtype"
    """Of every `prepare`."""
    one: str = "one = torch.ones((), dtype=h.dtype, device=h.device)"
    """The number 1 as an array, for who needs one; empty where numbers may stay numbers."""
    result: str = "[x.to(dtype) for x in ({},)]"
    """What a `prepare` gives, from 1 and the terms."""


def emit(lowered: LoweredHosted, language: ArrayLanguage | None = None) -> str:
    """Functions; p, s, u and g are lists in the order of the system's names, `kept_terms` is what the
    `prepare` of the same kind gave.

    prepare(p, h, dtype)           what parameters and step length decide
    advance(kept, s, u)            [change of every state, then the effort]
    prepare_load(p, h, dtype)
    load_seen(kept, u, v_before, v, effort)
    prepare_begin(p, h, dtype)
    begin(kept, s, g)              every state as it begins, of position and velocity in s and of targets g
    prepare_armature(p, h, dtype)  [1.0, armature]
    prepare_lag(p, h, dtype)       [1.0, whole steps that commands are late by, the part of one after them]

    Args:
        lowered: the traced step.
        language: whose functions they are; absent: torch's.

    Returns:
        Source text.
    """
    words = language or ArrayLanguage(TorchLines)
    source, step, load, begin = SourceText(), lowered.advance, lowered.load_seen, lowered.begin
    about = "What the parameters and the step length alone decide."
    _prepare(source, "prepare", about, kept_terms(step, SLOW), words)
    about = "Changes of the states over a step, then the effort."
    _function(source, "advance(kept, s, u)", about, step, ("s", "u"), words)
    _prepare(source, "prepare_load", "The same for `load_seen`.", kept_terms(load, SLOW), words)
    about = "The load that acted over the last step."
    _function(source, "load_seen(kept, u, v_before, v, effort)", about, load, ("u",), words)
    _prepare(source, "prepare_begin", "The same for `begin`.", kept_terms(begin, SLOW), words)
    about = "States as they begin, where the joint is and at the first targets."
    _function(source, "begin(kept, s, g)", about, begin, ("s", "g"), words)
    if lowered.lag:
        _prepare(
            source, "prepare_lag", "Steps that commands are late by, whole and a part.", lowered.lag, words
        )
    about = "Inertia that the simulator must add to the joint."
    _prepare(source, "prepare_armature", about, lowered.armature, words)
    return str(source)


def _prepare(
    source: SourceText, name: str, about: str, results: Sequence[Node], language: ArrayLanguage
) -> None:
    """A function of what changes slowly, in 64 bits and rounded once."""
    source.add("", "")
    with source.block(f"def {name}({language.arguments}):"):
        lines = language.lines(results, ())
        source.add(f'"""{about}"""', *_unpack_leaves(results, ("p",)))
        source.add(*filter(None, [language.one]), *lines.lines)
        first = "one" if language.one else "1.0"
        values = ", ".join([first, *(lines.name(x, tensor=True) for x in results)])
        source.add(f"return {language.result.format(values)}")


def _function(
    source: SourceText,
    signature: str,
    about: str,
    results: Sequence[Node],
    letters: Sequence[str],
    language: ArrayLanguage,
) -> None:
    """A function of what changes at every step."""
    source.add("", "")
    known = kept_terms(results, SLOW)
    with source.block(f"def {signature}:"):
        lines = language.lines(results, known)
        values = [lines.name(x, tensor=True) for x in results]
        source.add(f'"""{about}"""', *_unpack_leaves(results, letters))
        if any(re.search(r"\bone\b", text) for text in (*lines.lines, *values)):
            source.add("one = kept[0]")
        source.add(*[f"{TORCH.text(x)} = kept[{i}]" for i, x in enumerate(known, 1)], *lines.lines)
        source.add(f"return [{', '.join(values)}]" if len(values) > 1 else f"return {values[0]}")


def _unpack_leaves(results: Sequence[Node], letters: Sequence[str]) -> list[str]:
    """`s0 = s[0]` and so on, for the leaves that are used, in order."""
    return [f"{name} = {name[0]}[{name[1:]}]" for name in numbered_leaves(results, letters)]


class TorchLines:
    """`lines`, one for each node that is not known yet."""

    words: ClassVar[Words] = TORCH

    def __init__(self, results: Sequence[Node], known: Sequence[Node]):
        nodes = [n for n in reachable(results, known) if n.operands and number(n) is None]
        names = names_used_again(nodes, results)
        self.names: dict[int, str] = {}
        self.lines: list[str] = []
        for node in nodes:
            line = self.formula(node)
            self.names[node.index] = names[node.index]
            self.lines.append(f"{names[node.index]} = {line}")

    def name(self, node: Node, *, tensor: bool = False) -> str:
        """How a node is written; a number as a tensor, where that is asked for."""
        value = number(node)
        if value is None:
            return self.names.get(node.index) or self.words.text(node)
        written = self.words.constant(value)
        return f"{written} * one" if tensor and not is_truth(node) else written

    def formula(self, node: Node) -> str:
        """A node's formula. Numbers stay numbers where torch takes them; where it would have none to go by,
        the first becomes a tensor."""
        op, operands = node.op, node.operands
        numbers = [number(x) is not None for x in operands]
        if op in ("max", "min") and any(numbers):
            x, limit = (operands[1], operands[0]) if numbers[0] else operands
            return f"torch.clamp({self.name(x)}, {'min' if op == 'max' else 'max'}={self.name(limit)})"
        if op == "select":
            which, no, yes = operands
            chosen = self.name(yes, tensor=all(numbers[1:]))
            return self.words.formula(op, self.name(which), self.name(no), chosen)
        first = all(numbers)
        return self.words.formula(
            op, *(self.name(x, tensor=first and k == 0) for k, x in enumerate(operands))
        )
