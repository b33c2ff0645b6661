"""Parameter files loaded and moved by BAM itself; run by a Python that has BAM and nothing of ours.

python bam_run.py REQUEST.json     [{"file": ..., "log": ...}, ...] -> a JSON list of positions [rad]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from bam.model import load_model  # type: ignore[import-not-found]  # only where BAM is installed
from bam.simulate import Simulator  # type: ignore[import-not-found]  # as above


def positions(file: str, log: dict) -> list[float]:
    """Where BAM's own loop takes the pendulum of a log."""
    track, _, _ = Simulator(load_model(file)).rollout_log(log, simulate_control=True)
    return [float(q) for q in track]


if __name__ == "__main__":
    requests = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print(json.dumps([positions(one["file"], one["log"]) for one in requests]))
