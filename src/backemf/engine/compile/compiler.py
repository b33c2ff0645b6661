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
    from ..hosted_system import HostedSystem, LiveSystem
    from .lower import LoweredHosted, LoweredSignals, LoweredSystem


@dataclasses.dataclass(frozen=True)
class Structure:
    """A system without its numbers: equal for systems that can share compiled code."""

    system: System = dataclasses.field(compare=False)
    key: tuple = dataclasses.field(init=False, repr=False)
    classes: frozenset[type] = dataclasses.field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", self.system.key)
        object.__setattr__(self, "classes", frozenset(_classes(self.system)))

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
    return _lower_shared(Structure(system), "lower_hosted")


def lowered_signals(system: HostedSystem) -> LoweredSignals:
    """Its signals likewise."""
    return _lower_shared(Structure(system), "lower_signals")


@functools.lru_cache(maxsize=64)
def _lower_shared(structure: Structure, function: str) -> Any:
    """What a function of `lower.py` makes of a hosted system."""
    from . import lower

    return getattr(lower, function)(structure.system)


def kernel(
    kind: str,
    structure: Structure,
    free: tuple[str, ...],
    start: tuple[str, ...],
    delayed: bool,
    fallback: bool,
) -> Callable[..., None]:
    """A compiled loop; where that cannot be, the reference in its place.

    Args:
        kind: 'trajectory', 'cost', 'sensitivities', 'normal', or 'lanes' for eight candidates at a time.
        structure: of the system.
        free: parameters, by path, that derivatives are taken in.
        start: states whose start values are free too.
        delayed: whether inputs change between samples.
        fallback: whether the reference may take its place.

    Returns:
        A function with the arguments of `loops.ARGUMENTS`.

    Raises:
        NotLowered: it cannot be compiled, and there is no fallback.
    """
    if kind in ("trajectory", "cost", "lanes"):
        free, start = (), ()  # without derivatives it does not matter what is free
    if kind == "trajectory":
        structure = structure.of_states()
    loops, cause = _kernel(kind, structure, free, start, delayed or DELAY in free)
    if cause is None:
        return loops.kernel
    if not fallback:
        raise cause
    from .. import reference as plain

    _warn(str(cause))
    return plain.kernel(kind, structure.system, free, start)


@functools.lru_cache(maxsize=256)
def _kernel(
    kind: str, structure: Structure, free: tuple[str, ...], start: tuple[str, ...], delayed: bool
) -> tuple[Any, NotLowered | None]:
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
    module, cause = _load(structure.name("stepper"), write)
    if cause is None:
        return module
    from .. import reference as plain

    _warn(str(cause))
    return plain.PlainStepper(structure.system)


@functools.lru_cache(maxsize=64)
def step_functions(structure: Structure) -> types.ModuleType:
    """The functions of a step that is called without Python: `prepare`, `step.address`, `begin.address`,
    WIDTH, and `demand.address` where a supply is shared."""

    def write() -> str:
        from .dialects.numba import callable_source
        from .lower import lower, lower_begin, lower_demand

        lowered, live = lower(structure.system), cast("LiveSystem", structure.system)
        more = {"begin": lower_begin(live, lowered.graph)}
        if "sag" in live.inputs:
            more["demand"] = lower_demand(live, lowered.graph)
        return callable_source(lowered, more)

    structure = structure.of_states()
    module, cause = _load(structure.name("called", "begin"), write)
    if cause is not None:
        raise cause
    return module


def _load(name: str | None, write: Callable[[], str]) -> tuple[Any, NotLowered | None]:
    """(a compiled module, None), or (None, the reason why there is none): also that is remembered."""
    try:
        return cache.load(name, write), None
    except NotLowered as cause:
        return None, cause
    except RecursionError as error:
        return None, _not_compiled(error)
    except Exception as error:
        if not type(error).__module__.startswith("numba"):
            raise
        return None, _not_compiled(error)


def _not_compiled(error: Exception) -> NotLowered:
    said = str(error).strip().splitlines()[0]
    return NotLowered(f"numba could not compile its step ({type(error).__name__}: {said})")


@functools.cache
def _warn(cause: str) -> None:
    warnings.warn(
        f"cannot compile this actuator: {cause}. The reference engine runs it instead, more slowly.",
        BackemfWarning,
        stacklevel=6,
    )
