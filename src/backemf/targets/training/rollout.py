"""A robot's rollout in MJX with fitted actuators, differentiable in every number of theirs: the gradient of
whatever a user makes of the positions."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import BackemfWarning, InvalidValue, MissingValue, NotAvailable, UnknownName
from ...findings import Finding, finding
from ...mujoco.xml import compile_edited
from ...physics.actuator import Actuator
from ...physics.maths import is_whole
from ...results.fit_result import Fit
from ..export import export
from .jax import load_file

CONTACTS_OFF = 1 << 4
"""MuJoCo's flag for a model without contacts."""


class Rollout:
    """A model in MJX whose joints are driven by actuators; `Rollout(model, fit)(commands, params)`."""

    params: dict[str, Any]
    """Every actuator's numbers: path -> one for each joint. What derivatives are taken in."""
    joints: tuple[str, ...]
    """In the order of the commands and of the positions."""
    findings: tuple[Finding, ...]
    """What there is to say of the joints; what MJX leaves out of the model is a `BackemfWarning` too."""

    def __init__(self, model: Path | str, actuators: Fit | Actuator | Mapping[str, Actuator]):
        """Put the actuators onto the model.

        Args:
            model: an MJCF file.
            actuators: the fit of a robot, or actuators by joint or pattern of joints, of one structure; one
                alone is that of every joint that the model drives.

        Raises:
            NotAvailable: MJX is not installed.
            InvalidValue: a joint cannot have its actuator.
        """
        try:
            import mujoco
            from mujoco import mjx
        except ImportError:
            raise NotAvailable("MJX is not installed; install it with: pip install mujoco-mjx") from None
        several = getattr(actuators, "joints", None) or hasattr(actuators, "keys")
        wanted: Any = actuators if several else {".*": actuators}
        edited: Any = export(wanted, "jax@mjx", into=model, replay=False)
        (made,) = edited.exports
        self.model = compile_edited(mujoco, Path(model), edited.files)
        # MJX's solver has derivatives only where it takes one iteration
        self.model.opt.iterations = 1
        space = load_file(made.files, whole=True)
        self._robot, self._actuator = space["Robot"](self.model), made.actuator
        self.params, self.joints = self._robot.params(), self._robot.joints
        self._model, self._data = mjx.put_model(self.model), mjx.make_data(self.model)
        self.findings = (*edited.findings, *self._find_precision())
        for each in self.findings:
            if each.code in ("mjx_ignores", "mjx_in_32_bits"):
                warnings.warn(str(each), BackemfWarning, stacklevel=2)

    def _find_precision(self) -> list[Finding]:
        """Whether MJX's line search may divide by squares that are 0 in 32 bits: where its solver runs."""
        model, bits = self.model, 8 * self._data.qpos.dtype.itemsize
        limited = (model.jnt_limited, model.dof_frictionloss, model.tendon_limited, model.tendon_frictionloss)
        touches = bool(model.ngeom > 1) and not model.opt.disableflags & CONTACTS_OFF
        if bits > 32 or not (touches or model.neq or any(rows.any() for rows in limited)):
            return []
        text = "MJX's solver holds what limits this model in 32 bits, where its slopes may be NaN."
        remedy = 'jax.config.update("jax_enable_x64", True) before the rollout is made; or take values alone'
        return [finding("mjx_in_32_bits", text, remedy, bits=bits)]

    def __call__(
        self,
        commands: Any,
        params: Mapping[str, Any] | None = None,
        *,
        start: Any = None,
        n_substeps: int = 1,
    ) -> Any:
        """Positions of the joints while commands are given; jit, vmap and derivatives go through it.

        Args:
            commands: what each joint is asked, (n, n_joints), in the units of the drives.
            params: numbers to use in place of the fit's.
            start: where the joints stand at first [rad]; without it where the first command is, at rest.
            n_substeps: steps of the model's own time step for which each command is held.

        Returns:
            Positions [rad], (n, n_joints): before each command acts.

        Raises:
            InvalidValue: the commands are not one row of all joints after the other, a number is out of its
                range (inside jit none is known), or there are not as many as joints.
            UnknownName: a path of `params` is none of `Rollout.params`.
            MissingValue: one of these is not there.
        """
        import jax
        import jax.numpy as jnp

        asked, robot = jnp.asarray(commands, self._data.qpos.dtype), self._robot
        n, names = len(self.joints), ", ".join(self.joints)
        if asked.ndim != 2 or asked.shape[1] != n or not len(asked):
            raise InvalidValue(
                f"commands have the shape {asked.shape}; expected (n, {n}), a column for each of {names}, and"
                " at least one row"
            )
        if not is_whole(n_substeps) or n_substeps < 1:
            raise InvalidValue(f"n_substeps is {n_substeps!r}; expected a whole number above 0")
        p = self._check_params(params)
        model, at = robot.prepare(self._model, p), jnp.asarray(robot.qpos)
        stands = asked[0] if start is None else jnp.asarray(start, asked.dtype)
        if stands.shape != (n,):
            raise InvalidValue(
                f"start has the shape {stands.shape}; expected ({n},), one for each of {names}"
            )
        data = self._data.replace(qpos=self._data.qpos.at[at].set(stands))

        def step(data: Any, row: Any) -> tuple[Any, Any]:
            return robot.step(p, model, data, row, n_substeps), data.qpos[at]

        return jax.lax.scan(step, data, asked)[1]

    def _check_params(self, params: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """The numbers to use: those of every path, one for each joint, in range where they are known."""
        import jax
        import jax.numpy as jnp

        if params is None:
            return self.params
        for path, value in params.items():
            if path not in self.params:
                raise UnknownName("number of Rollout.params", path, self.params)
            shape, wanted = jnp.shape(value), self.params[path].shape
            if shape != wanted:
                raise InvalidValue(
                    f"{path} has the shape {shape}; expected {wanted}, one for each of"
                    f" {', '.join(self.joints)}"
                )
        missing = [path for path in self.params if path not in params]
        if missing:
            raise MissingValue(
                f"params have no {', '.join(missing)}; expected all: {{**run.params, path: numbers}}"
            )
        with contextlib.suppress(jax.errors.ConcretizationTypeError):  # inside jit or a derivative
            for k in range(len(self.joints)):
                own = {path: float(params[path][k]) for path in self._actuator.parameters}
                self._actuator.replace(**own)
        return params


def rollout(
    model: Path | str,
    actuators: Fit | Actuator | Mapping[str, Actuator],
    commands: Any,
    params: Mapping[str, Any] | None = None,
    *,
    start: Any = None,
    n_substeps: int = 1,
) -> Any:
    """Positions of a robot's joints in MJX; `Rollout` is the same where it is called again and again.

    Args:
        model: an MJCF file.
        actuators: the fit of a robot, or actuators by joint or pattern of joints, of one structure.
        commands: what each joint is asked, (n, n_joints).
        params: numbers to use in place of the fit's, as `Rollout.params` has them.
        start: where the joints stand at first [rad]; without it where the first command is.
        n_substeps: steps of the model for which each command is held.

    Returns:
        Positions [rad], (n, n_joints).
    """
    return Rollout(model, actuators)(commands, params, start=start, n_substeps=n_substeps)
