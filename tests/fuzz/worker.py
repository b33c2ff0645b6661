"""Reads broken files one after another, with bounded time and memory, and says of each what came of it:
one line of JSON."""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

SECONDS = 8
"""What one file may take."""
MEMORY = 4 << 30
"""Address space that all of them may take together, beyond the programs themselves: compiling kernels on a
cold machine takes threads, and each thread's allocator reserves 64 MiB."""


def openers() -> dict[str, Any]:
    """Format -> what reads it; those that are not named are logs like any other."""
    import backemf as be
    from backemf.kits.frc import sysid_json, wpilog
    from backemf.logs.mapping import mapping
    from backemf.logs.read import look, read
    from backemf.logs.to_log import to_log
    from backemf.mujoco.explain.explanation import explain, text
    from backemf.results.fit_result import Fit
    from backemf.targets import bam, isaaclab
    from backemf.targets.export import export
    from backemf.targets.mujoco import dcmotor_target as mujoco, mjcf_source

    from .seeds import servo

    def edited(target: str) -> Any:
        how: dict[str, Any] = {"joint": "knee", "method": "formula"}
        return lambda path: export(servo(), target, into=path, **how)

    def log(*told: str) -> Any:
        def both(path: Path) -> None:
            look(path, map=list(told) or None)
            read(path, map=list(told) or None)

        return both

    def dataset(path: Path) -> None:
        log("position=observation.state[deg]", "position_target=action[deg]")(
            next(p for p in path.parents if p.name == "set")
        )

    def runs(reader: Any) -> Any:
        def first(path: Path) -> None:
            read(path)
            for recording in reader.entries(path):
                to_log(recording)

        return first

    vectors = log("time=t[s]", "position=q[deg]", "voltage_target=run.u[V]")
    return {
        "mat": vectors,
        "mat compressed": vectors,
        "parquet": log("position=state.1[deg]"),
        "lerobot": dataset,
        "lerobot facts": dataset,
        "sysid": runs(sysid_json),
        "wpilog": runs(wpilog),
        "mapping": lambda path: mapping(str(path)),
        "sheet": lambda path: str(be.Datasheet.read(path)),
        "bam": bam.read,
        "actuator": be.Actuator.read,
        "fit": Fit.read,
        "motions": be.Motions.read,
        "mjcf read": mujoco.read,
        "mjcf explained": lambda path: text(explain(path)),
        "mjcf source": mjcf_source.read,
        "isaac": isaaclab.read,
        "mjcf edited": edited("mujoco"),
        "urdf edited": edited("urdf"),
    } | {"": log()}


def bounded() -> None:
    """Allow this process so much more memory, where the system can."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def attempt(run: Any, path: Path) -> tuple[str, str]:
    """(what came of it, in words)."""
    from backemf.errors import BackemfError

    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run(path)
    except BackemfError as error:
        said = str(error)
        return (
            ("refused", said[:300]) if said.strip() else ("wrong", f"{type(error).__name__} without a text")
        )
    except Exception as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "backemf" in f.filename]
        place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
        return "wrong", f"{type(error).__name__} in {place}: {str(error)[:200]}"
    return "read", ""


def main() -> None:
    """Inputs come as lines of JSON with a format and a path; the answer to each is a line too."""
    by_kind = openers()
    bounded()
    for line in sys.stdin:
        kind, path = json.loads(line)
        faulthandler.dump_traceback_later(SECONDS, exit=True)  # also where a loop in C never comes back
        start = time.perf_counter()
        result, words = attempt(by_kind.get(kind, by_kind[""]), Path(path))
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps([result, words, time.perf_counter() - start]), flush=True)


if __name__ == "__main__":
    main()
