"""From a system's structure to a compiled function:
loaded from the disk, or traced, lowered, written and compiled."""

from __future__ import annotations

import dataclasses
import functools
import types
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from ...errors import BackemfWarning, NotLowered
from ...physics.quantity import fields_of
from ..rows import DELAY
from ..system import System
from . import cache

if TYPE_CHECKING:
    from ..hosted_system import HostedSystem
    from .lower import LoweredHosted, LoweredSignals, LoweredSystem


class Structure:
    """A system without its numbers: equal for systems that can share compiled code."""

    def __init__(self, system: System):
        self.system, self.classes = system, frozenset(_classes(system))
        self._key = system.key, self.classes

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and self._key == other._key

    def of_states(self) -> Structure:
        """The same with outputs that do not matter, for code that does not observe."""
        return Structure(dataclasses.replace(cast(Any, self.system), outputs=("position",)))

    def name(self, *parts: object) -> str | None:
        """What the index of kernels knows it by; nothing where a part came from outside the physics' rooms,
        because its code may change unnoticed."""
        if not all(map(cache.is_physics, self.classes)) or cache.is_stale():
            return None
        return cache.name_of(cache.physics_code(), type(self.system).__qualname__, self.system.key, *parts)


def _classes(owner: Any) -> set[type]:
    inside = [getattr(owner, f.name) for f in fields_of(type(owner))]
    return {type(owner)}.union(*(_classes(x) for x in inside if dataclasses.is_dataclass(x)))


def lowered_hosted(system: HostedSystem) -> LoweredHosted:
    """An attached system lowered, once for all that share its structure: several targets write the same."""
    return _lowered_hosted(Structure(system))


def lowered_signals(system: HostedSystem) -> LoweredSignals:
    """Its signals likewise."""
    return _lowered_signals(Structure(system))


@functools.lru_cache(maxsize=32)
def _lowered_hosted(structure: Structure) -> LoweredHosted:
    from .lower import lower_hosted

    return lower_hosted(cast("HostedSystem", structure.system))


@functools.lru_cache(maxsize=32)
def _lowered_signals(structure: Structure) -> LoweredSignals:
    from .lower import lower_signals

    return lower_signals(cast("HostedSystem", structure.system))


def kernel(
    kind: str,
    structure: Structure,
    free: tuple[str, ...],
    start: tuple[str, ...],
    delayed: bool,
    fallback: bool,
) -> Callable[..., None]:
    """A compiled loop; where that cannot be, the reference in its place (with `fallback`),
    or an error that says why."""
    if kind in ("trajectory", "cost", "lanes"):
        free, start = (), ()  # without derivatives it does not matter what is free
    if kind == "trajectory":
        structure = structure.of_states()
    loops = _kernel(kind, structure, free, start, delayed or DELAY in free)
    if not isinstance(loops, NotLowered):
        return loops.kernel
    if not fallback:
        raise loops
    from .. import reference as plain

    _warn(str(loops))
    return plain.kernel(kind, structure.system, free, start)


@functools.lru_cache(maxsize=256)
def _kernel(
    kind: str, structure: Structure, free: tuple[str, ...], start: tuple[str, ...], delayed: bool
) -> types.ModuleType | NotLowered:
    def write() -> str:
        from .loops import kernel_source  # imports JAX, which a kernel found on the disk does not need

        if kind == "lanes":
            from .dialects.vectors import lanes_source
            from .lower import lower

            return lanes_source(lower(structure.system, delayed=delayed))  # adds to what it is given
        return kernel_source(kind, _lower_once(structure, free, start, delayed))

    return _load(structure.name(kind, free, start, delayed), write)


@functools.lru_cache(maxsize=4)
def _lower_once(
    structure: Structure, free: tuple[str, ...], start: tuple[str, ...], delayed: bool
) -> LoweredSystem:
    """A system lowered, once for its sensitivities and its normal equations, which a fit needs both."""
    from .lower import lower

    return lower(structure.system, free=free, start=start, delayed=delayed)


@functools.lru_cache(maxsize=64)
def stepper(structure: Structure) -> Any:
    """The functions of a stepper: `prepare`, `step`, and the WIDTH of what passes between them."""

    def write() -> str:
        from .dialects.numba import stepper_source
        from .lower import lower

        return stepper_source(lower(structure.system))

    structure = structure.of_states()
    module = _load(structure.name("stepper"), write)
    if not isinstance(module, NotLowered):
        return module
    from .. import reference as plain

    _warn(str(module))
    return plain.PlainStepper(structure.system)


@functools.lru_cache(maxsize=64)
def step_functions(structure: Structure) -> types.ModuleType:
    """The functions of a step that is called without Python: `prepare`, `step.address`, `begin.address`,
    WIDTH."""

    def write() -> str:
        from .dialects.numba import callable_source
        from .lower import lower, lower_begin

        lowered = lower(structure.system)
        return callable_source(lowered, lower_begin(cast("HostedSystem", structure.system), lowered.graph))

    structure = structure.of_states()
    module = _load(structure.name("called", "begin"), write)
    if isinstance(module, NotLowered):
        raise module
    return module


def _load(name: str | None, write: Callable[[], str]) -> types.ModuleType | NotLowered:
    """A compiled module, or the reason why there is none."""
    try:
        return cache.load(name, write)
    except NotLowered as cause:
        return cause
    except Exception as error:
        if not (type(error).__module__.startswith("numba") or isinstance(error, RecursionError)):
            raise
        return NotLowered(
            f"numba could not compile its step ({type(error).__name__}: {str(error).strip().splitlines()[0]})"
        )


@functools.cache
def _warn(cause: str) -> None:
    warnings.warn(
        f"cannot compile this actuator: {cause}. The reference engine runs it instead, more slowly.",
        BackemfWarning,
        stacklevel=6,
    )
