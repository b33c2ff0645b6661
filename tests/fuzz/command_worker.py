"""Runs command lines one after another, with bounded time and memory, and says of each how it ended:
one line of JSON."""

from __future__ import annotations

import faulthandler
import importlib
import io
import json
import os
import sys
import time
import traceback
import warnings
from pathlib import Path

from .worker import bounded

SECONDS = 40
"""What one command may take, on a busy machine."""
LOADED = (
    "jax",
    "numba",
    "scipy.optimize",
    "scipy.signal",
    "mujoco",
    "matplotlib.pyplot",
    "pint",
    "pyarrow.parquet",
)


def run(words: list[str]) -> tuple[int | str, str, str]:
    """(exit code, or what went wrong; stdout; stderr) of `backemf WORDS`."""
    from backemf.apps.cli.main import main

    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    kept = sys.argv, sys.stdout, sys.stderr
    sys.argv, sys.stdout, sys.stderr = ["backemf", *words], out, err
    code: int | str = 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            main()
    except SystemExit as ended:
        code = (
            ended.code
            if isinstance(ended.code, int)
            else 0
            if ended.code is None
            else f"exit with {ended.code!r}"
        )
    except BaseException as error:  # what the command line would call a fault of its own
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "backemf" in f.filename]
        code = (
            f"{type(error).__name__} in"
            f" {' < '.join(f'{Path(f.filename).name}:{f.lineno}' for f in frames[-1:-4:-1])}:"
            f" {str(error)[:200]}"
        )
    finally:
        sys.argv, sys.stdout, sys.stderr = kept
    # text over bytes in memory
    texts = [stream.buffer.getvalue().decode("utf-8", "replace") for stream in (out, err)]  # type: ignore[attr-defined]
    return code, texts[0], texts[1]


def main() -> None:
    """Questions come as lines of JSON with a folder and the words; the answer to each is a line too."""
    os.environ["BACKEMF_TRACEBACK"] = "1"
    for name in LOADED:
        importlib.import_module(name)
    bounded()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints past Python is no answer
    for line in sys.stdin:
        folder, words = json.loads(line)
        os.chdir(folder)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        start = time.process_time()
        answer = run(words)
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps([*answer, time.process_time() - start]), file=answers, flush=True)


if __name__ == "__main__":
    main()
