"""Compare every case with the MuJoCo of this interpreter and print one JSON object:
`python -m tests.conformance.worker [--pairwise]`."""

from __future__ import annotations

import json
import sys
import time

import mujoco

from .cases import full, pairwise
from .compile_cases import disagreement, table
from .lockstep import FREE_RUN, STEPS, Difference, compare, groups


def summary(found: list[Difference]) -> dict[str, object]:
    """The worst of many comparisons."""
    calm = [d for d in found if d.free_run <= FREE_RUN]
    one, run = max(found, key=lambda d: d.one_step), max(calm, key=lambda d: d.free_run)
    return {
        "cases": len(found),
        "one_step": one.one_step,
        "one_step_case": one.case.name,
        "free_run": run.free_run,
        "free_run_case": run.case.name,
        "sensitive": len(found) - len(calm),
        "diverged": sum(d.steps < STEPS for d in found),
        "disagree": [d.case.name for d in found if not d.agrees],
        "sensitive_cases": [
            {"case": d.case.name, "free_run": d.free_run, "amplification": d.amplification}
            for d in found
            if d.free_run > FREE_RUN
        ],
    }


def main() -> None:
    version, start = mujoco.__version__, time.monotonic()
    cases = pairwise(version) if "--pairwise" in sys.argv else full(version)
    by_integrator: dict[str, list[Difference]] = {}
    every = groups(cases)
    for k, group in enumerate(every):
        by_integrator.setdefault(group[0].integrator, []).extend(compare(group))
        if k % 20 == 0:
            print(
                f"{version}: {k} of {len(every)} groups after {time.monotonic() - start:.0f} s",
                file=sys.stderr,
                flush=True,
            )
    compiled = [disagreement(attributes, default, version) for attributes, default in table(version)]
    found = {
        "version": version,
        "integrators": {name: summary(rows) for name, rows in by_integrator.items()},
        "compiled": len(compiled),
        "compiled_disagree": [text for text in compiled if text is not None],
        "seconds": round(time.monotonic() - start),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
