"""The worker behind `backemf web`: command lines, run by the very functions that a terminal calls."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .fork import Bounds, progress_writer, run_alone, serve

DRAWN = 0.3
"""Seconds between two pictures of a fit that runs."""
FITTING = re.compile(r"(?:\w+: )?(?:start \d|from |fitting)")
"""How a search begins to speak; before it something else was done."""
PATIENCE = 0.4
"""Seconds until a fit that is stopped ends amid a step."""
LOGS, POINTS = 4, 300
"""How many recordings are drawn, and with how many points each at most."""


class JobProgress:
    """What a browser sees of a command that runs: words, a share, and for a fit its curves as they move."""

    def __init__(self, note: Callable[[dict[str, Any]], None]):
        self._note, self._said, self._drawn = note, {}, 0.0
        self._steps = 0
        self.stopping = False

    def stop(self, *_: Any) -> None:
        """Asked to stop, a fit that has found something ends at its next step, or amid one that takes long,
        and keeps it; one that has not, and one that is asked again, ends at once."""
        self._may_stop()  # asked again; its clock must not ring behind that
        if not self._steps:
            raise KeyboardInterrupt
        self.stopping = True
        with contextlib.suppress(AttributeError, ValueError):  # Windows has no such clock: then at a step
            signal.signal(signal.SIGALRM, self._may_stop)
            signal.setitimer(signal.ITIMER_REAL, PATIENCE)

    def _may_stop(self, *_: Any) -> None:
        if self.stopping:
            self.stopping = False
            with contextlib.suppress(AttributeError):
                signal.setitimer(signal.ITIMER_REAL, 0.0)
            raise KeyboardInterrupt

    def words(self, text: str, share: float | None) -> None:
        """What is being done, and how much of it all is done, where that is known."""
        self._may_stop()
        self._said |= {"text": text, **({} if share is None else {"share": share})}
        self._note(self._said)

    def step(self, problem: Any, x: Any, cost: float) -> None:
        """A step of a fit that improved.

        Args:
            problem: what is fitted.
            x: the free numbers, scaled as the search has them.
            cost: what is left, which nobody draws.
        """
        self._may_stop()
        self._steps += 1
        if self._steps == 1 and not FITTING.match(self._said.get("text", "")):  # what was read is over
            self._said |= {"text": "fitting", "share": None}
        if time.monotonic() - self._drawn < DRAWN:
            return
        with contextlib.suppress(Exception):  # a picture of the way is never worth the way
            drawn = curves(problem, x)
            self._said |= {"curves": drawn, "values": problem.values(x), "steps": self._steps}
            self._note(self._said)
        self._drawn = time.monotonic()


def curves(problem: Any, x: Any) -> list[dict[str, Any]]:
    """Recorded and predicted position of the first logs, thinned for a screen."""
    made = []
    for one, predicted in list(zip(problem.logs, problem.predictions(x), strict=True))[:LOGS]:
        recorded = one.log["position"]
        thin = max(1, len(recorded) // POINTS)
        rows = {"time": one.log.time, "recorded": recorded, "predicted": predicted}
        plain = {name: [round(float(v), 6) for v in values[::thin]] for name, values in rows.items()}
        made.append({"name": one.log.name, "unit": "m" if one.log.motion == "linear" else "rad", **plain})
    return made


def run(words: list[str], job: Path) -> int:
    """One command line, its progress noted in the job's folder."""
    from ...identify.optimize import watcher
    from ..cli import terminal
    from ..cli.main import main

    seen = JobProgress(progress_writer(job))
    terminal.watch(seen.words)
    watcher.set(seen.step)
    if words[0] == "fit":
        signal.signal(signal.SIGINT, seen.stop)
    sys.argv = ["backemf", *words]
    main()
    return 0


def load() -> None:
    """Everything that commands need, before the first of them: a copy then starts at once."""
    warnings.filterwarnings("ignore", message=".*fork.*")
    import backemf.apps.report.contents
    import backemf.apps.report.html
    import backemf.identify.check
    import backemf.identify.fit
    import backemf.identify.ladder
    import backemf.kits.frc.characterize
    import backemf.mujoco.explain.explanation
    import backemf.targets.export  # noqa: F401  # loaded once, for every copy

    from ... import units
    from ..cli import main  # noqa: F401  # loaded once, for every copy

    units.factor("deg", "rad", "position")  # builds the registry
    with contextlib.suppress(ImportError):
        import mujoco  # noqa: F401  # loaded once, for every copy
    with contextlib.suppress(ImportError):
        import pyarrow.parquet  # noqa: F401  # loaded once, for every copy
    with contextlib.suppress(Exception):  # what fails here says so where somebody asks for it
        rehearse()


def rehearse() -> None:
    """A look into and a check of a made-up recording, whose answers nobody needs: what is traced and compiled
    for them, and read from its cache, every copy has from the beginning."""
    import io
    import tempfile

    import numpy as np

    from ...datasheets import parts
    from ...identify.check import check
    from ...logs.log import log
    from ...physics.bench import Pendulum

    t = 0.01 * np.arange(200)
    asked = np.where(np.sin(6.0 * t) > 0, 0.4, -0.4)
    moved = 0.4 * np.sin(6.0 * t - 0.3)
    new_log = log("rehearsal", t, position=moved, position_target=asked, bench=Pendulum(mass=0.2, length=0.1))
    check(parts.part("sts3215-7.4v").actuator, [new_log])
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        table = Path(folder) / "rehearsal.csv"
        np.savetxt(
            table, np.stack([t, moved], axis=1), delimiter=",", header="time [s],position [rad]", comments=""
        )
        with contextlib.suppress(SystemExit):
            run(["log", str(table), "--json"], Path(folder))


if __name__ == "__main__":
    if len(sys.argv) == 2:  # where a program cannot be copied: one command, then the end
        asked = json.loads(sys.argv[1])
        places = (Path(asked["folder"]), Path(asked["job"]))
        sys.exit(run_alone(run, asked["words"], *places, Bounds(**asked["bounds"])))
    serve(run, load)
