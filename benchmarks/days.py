"""Three days of new users: the commands of three pages, typed one after another, and the seconds each takes.

Usage: python benchmarks/days.py [--docs] [--quick]
Each day is a page of docs/how-to, walked in a new folder with an empty cache of kernels, so that what a
command compiles counts where it is first typed. --docs writes the table into docs/three-days.md; --quick
types one command of one page.
"""

from __future__ import annotations

import os
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from backemf.tables import table

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "three-days.md"
DAYS = {
    "An arm and a LeRobot dataset": "so101-lerobot",
    "An SG90 and a camera": "sg90-in-class",
    "An FRC robot and its log": "frc-arm",
}
BLOCK = re.compile(r"^(<!-- not run: [^\n]+ -->\n)?^```(python|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def computed() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def walked(page: Path, most: int | None = None) -> list[tuple[str, float, float]]:
    """(command, seconds, seconds of CPU) of every command of a page, or of so many."""
    rows = []
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {"BACKEMF_CACHE": str(Path(home) / "cache"), "COLUMNS": "100"}
        folder = Path(home) / "here"
        folder.mkdir()
        for skipped, language, block in BLOCK.findall(page.read_text(encoding="utf-8")):
            if skipped:
                continue
            if language == "python":  # what stands for the user's own recording
                subprocess.run([sys.executable, "-c", block], cwd=folder, env=environment, check=True)
                continue
            for line in block.splitlines():
                words = shlex.split(line, comments=True)
                words[0] = str(Path(sys.executable).with_name("backemf"))
                began, spent = time.monotonic(), computed()
                done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
                if done.returncode:
                    raise SystemExit(f"{line}\n{done.stderr}")
                rows.append((line, time.monotonic() - began, computed() - spent))
                if len(rows) == most:
                    return rows
    return rows


def main(words: Sequence[str] | None = None) -> None:
    options = sys.argv[1:] if words is None else words
    quick, parts = "--quick" in options, []
    for title, name in [*DAYS.items()][-1 if quick else 0 :]:
        rows = walked(ROOT / "docs" / "how-to" / f"{name}.md", 1 if quick else None)
        print(f"{title}\n")
        shown = [(line[:70], f"{wall:.1f}", f"{cpu:.1f}") for line, wall, cpu in rows]
        print(table(shown, ("typed", "seconds", "of CPU")), end="\n\n")
        lines = [f"| `{line}` | {wall:.1f} | {cpu:.1f} |" for line, wall, cpu in rows]
        total = f"| all of it | {sum(r[1] for r in rows):.0f} | {sum(r[2] for r in rows):.0f} |"
        head = [f"## [{title}](how-to/{name}.md)", "", "| typed | seconds | of CPU |", "|---|---|---|"]
        parts.append("\n".join([*head, *lines, total]))
    if "--docs" in options:
        from_here, mark = PAGE.read_text(encoding="utf-8").partition("<!-- measured -->\n")[:2]
        PAGE.write_text(from_here + mark + "\n" + "\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
