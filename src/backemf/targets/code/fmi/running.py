"""An unpacked FMU run by FMPy, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ....errors import InvalidValue
from ...motions import Clocked


class Running:
    """One instance of an FMU, by the names of its variables."""

    def __init__(self, folder: Path, name: str):
        import fmpy

        self.said: list[str] = []
        self.told: Any = fmpy.read_model_description(str(folder))
        self.references = {v.name: v.valueReference for v in self.told.modelVariables}
        self.inputs = [v.name for v in self.told.modelVariables if v.causality == "input"]
        about = {
            "guid": self.told.guid,
            "unzipDirectory": str(folder),
            "modelIdentifier": self.told.coSimulation.modelIdentifier,
            "instanceName": name,
        }
        self.fmu, self.two = self._made(about), self.told.fmiVersion == "2.0"

    def _made(self, about: dict[str, Any]) -> Any:
        from fmpy import fmi2, fmi3

        def two(environment: Any, instance: Any, status: Any, category: Any, message: Any) -> None:
            self.said.append(message.decode())

        def three(environment: Any, status: Any, category: Any, message: Any) -> None:
            self.said.append(message.decode())

        if self.told.fmiVersion == "2.0":
            one = fmi2.FMU2Slave(**about)
            self.logger: Any = fmi2.fmi2CallbackLoggerTYPE(two)
            self.callbacks = fmi2.fmi2CallbackFunctions(
                logger=self.logger,
                allocateMemory=fmi2.defaultCallbacks.allocateMemory,
                freeMemory=fmi2.defaultCallbacks.freeMemory,
            )
            one.instantiate(callbacks=self.callbacks)
            return one
        other = fmi3.FMU3Slave(**about)
        self.logger = three
        other.instantiate(logMessage=three)
        return other

    def set(self, values: Mapping[str, float]) -> None:
        at = [self.references[name] for name in values]
        (self.fmu.setReal if self.two else self.fmu.setFloat64)(at, [*values.values()])

    def get(self, *names: str) -> list[float]:
        at = [self.references[name] for name in names]
        return [*(self.fmu.getReal if self.two else self.fmu.getFloat64)(at)]

    def begin(self, values: Mapping[str, float]) -> None:
        """Set values and pass through initialization."""
        if self.two:
            self.fmu.setupExperiment(startTime=0.0)
        self.set(values)
        if self.two:
            self.fmu.enterInitializationMode()
        else:
            self.fmu.enterInitializationMode(startTime=0.0)
        self.fmu.exitInitializationMode()

    def step(self, time: float, length: float) -> None:
        self.fmu.doStep(currentCommunicationPoint=time, communicationStepSize=length)

    def moved(self, case: Clocked, adjust: Mapping[str, float]) -> np.ndarray:
        """Positions of a case, from a reset on."""
        h, sent = case.timestep, case.mean_inputs
        positions, q, w = np.empty(len(case.moments)), case.position, case.velocity
        self.fmu.reset()
        try:
            own = {"step": h, "inertia": case.inertia, "start.position": q, "start.velocity": w}
            self.begin({**own, **adjust})
            for k in range(len(positions)):
                positions[k] = q
                asked = dict(zip(case.ctrl, sent[k].tolist(), strict=True))
                self.set({"load": case.load(k, q, w), **asked})
                self.step(k * h, h)
                q, w = self.get("position", "velocity")
        except Exception as error:  # FMPy's own, with the status alone; the FMU itself has said why
            why = self.said[-1] if self.said else str(error)
            raise InvalidValue(f"the FMU refuses to go on: {why}") from None
        return positions


@contextmanager
def opened(folder: Path, name: str) -> Iterator[Running]:
    """An FMU, loaded until the end."""
    try:
        one = Running(folder, name)
    except Exception as error:  # a broken description or library fails in any way
        raise InvalidValue(f"{name} cannot be loaded: {type(error).__name__}: {error}") from None
    try:
        yield one
    finally:
        one.fmu.freeInstance()
