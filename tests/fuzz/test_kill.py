"""A command that is killed leaves the old file or the new one, whole;
one that is interrupted leaves nothing else behind."""

from __future__ import annotations

import json
import os
import re
import signal
import zlib
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from ..conftest import unavailable
from .test_readers import Worker

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")]
OURS = re.compile(r"\..*\.part(\.\w+)?")
"""Names that a killed command may leave."""
FIT = ("{in}/pendulum.json", "--start", "{in}/actuator.json", "--starts", "1")
FILM = ("{in}/actuator.json", "--log", "{in}/pendulum.json", "--size", "160x160", "--fps", "10", "--force")
COMMANDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "fit": ("fit.json", ("fit", *FIT, "-o", "fit.json", "--force")),
    "export": (
        "servo.xml",
        (
            "export",
            "{in}/actuator.json",
            "--to",
            "mujoco",
            "--method",
            "formula",
            "-o",
            "servo.xml",
            "--force",
        ),
    ),
    "export into": (
        "model.xml",
        (
            "export",
            "{in}/actuator.json",
            "--to",
            "mujoco",
            "--method",
            "formula",
            "--joint",
            "knee",
            "--into",
            "model.xml",
            "--force",
        ),
    ),
    "report": (
        "report.html",
        ("report", "{in}/fit.json", "{in}/pendulum.json", "--no-exports", "-o", "report.html", "--force"),
    ),
    "render gif": ("film.gif", ("render", *FILM, "-o", "film.gif")),
    "render mp4": ("film.mp4", ("render", *FILM, "-o", "film.mp4")),
    "datasheet": ("sheet.png", ("datasheet", "mx-106", "--plot", "sheet.png", "--force")),
    "characterize": ("tests.svg", ("characterize", "{in}/sysid.json", "--plot", "tests.svg", "--force")),
    "log": (
        "map.json",
        ("log", "{in}/table.csv", "--map", "position=position[deg],-1", "--save-map", "map.json", "--force"),
    ),
}
"""Name -> (the file that is written, the command line)."""


def whole(path: Path) -> bool:
    """Whether a file is complete, from its first byte to its last."""
    content = path.read_bytes()
    if path.suffix == ".json":
        return bool(json.loads(content))
    if path.suffix in (".xml", ".svg"):
        return len(ElementTree.fromstring(content)) > 0
    if path.suffix == ".html":
        return content.startswith(b"<!") and content.rstrip().endswith(b"</html>")
    if path.suffix == ".png":
        return content.startswith(b"\x89PNG") and content.endswith(b"IEND\xaeB`\x82")
    if path.suffix == ".gif":
        return content.startswith(b"GIF89a") and content.endswith(b";")
    at, boxes = 0, []
    while at < len(content):  # an MP4 is a row of boxes, each with its size in front
        boxes.append(content[at + 4 : at + 8])
        at += int.from_bytes(content[at : at + 4], "big")
    return at == len(content) and {b"ftyp", b"moov", b"mdat"} <= set(boxes)


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    made = Worker(tmp_path_factory.mktemp("worker") / "errors.txt", "tests.fuzz.kill_worker")
    yield made
    made.close()


class Place:
    """A folder with an old file in it, and a command that would write over that."""

    def __init__(self, folder: Path, inputs: Path, worker: Worker, name: str):
        self.folder, self.worker = folder / "here", worker
        file, words = COMMANDS[name]
        self.words = [w.replace("{in}", str(inputs)) for w in words]
        self.path = self.folder / file
        self.folder.mkdir()
        self.old = (inputs / file).read_bytes() if name == "export into" else b"old and mine\n"
        self.path.write_bytes(self.old)

    def run(self, at: str | float | None, number: int) -> tuple[int, float]:
        answer = self.worker.ask(str(self.folder), self.words, at, int(number))
        assert len(answer) == 2, answer
        return answer

    @property
    def said(self) -> str:
        return (self.folder.parent / "said.txt").read_text(errors="replace")

    def others(self) -> list[str]:
        return sorted(p.name for p in self.folder.iterdir() if p != self.path)

    def settled(self) -> bool:
        """Whether the old file is there untouched (True), or the new one complete (False)."""
        if self.path.read_bytes() == self.old:
            return True
        assert whole(self.path)
        return False


OFTEN = ("export into",)
"""The others write as this one does, or take long: `make proofs` has them."""


@pytest.fixture(params=[pytest.param(c, marks=() if c in OFTEN else pytest.mark.proof) for c in COMMANDS])
def place(request, tmp_path, inputs, worker):
    if request.param.startswith("render"):
        from ..film.benches import needs_renderer

        needs_renderer()
    if request.param == "render mp4" and find_spec("imageio_ffmpeg") is None:
        unavailable("imageio-ffmpeg, of the extra 'video',")
    return Place(tmp_path, inputs, worker, request.param)


def test_a_killed_command_leaves_the_old_file_or_the_new_one(place, request):
    rng = np.random.default_rng(zlib.crc32(request.node.name.encode()))
    code, seconds = place.run(None, 0)
    assert code == 0, place.said
    assert place.path.read_bytes() != place.old
    assert whole(place.path)
    assert place.others() == []
    place.path.write_bytes(place.old)
    for moment in ("open", "rename"):
        assert place.run(moment, signal.SIGKILL)[0] == -signal.SIGKILL, place.said
        assert place.settled()
    for share in rng.uniform(0.2, 1.0, 2):
        place.run(float(share * seconds), signal.SIGKILL)
        if not place.settled():
            place.path.write_bytes(place.old)
    left = place.others()
    assert left, "at the rename the new file stands beside the old one"
    assert all(OURS.fullmatch(name) for name in left)
    assert place.run("after", signal.SIGKILL)[0] == -signal.SIGKILL, place.said
    assert not place.settled()
    assert place.run(None, 0)[0] == 0, place.said
    assert set(place.others()) == set(left)


def test_an_interrupted_command_leaves_nothing(place):
    for moment in ("open", "rename"):
        code, _ = place.run(moment, signal.SIGINT)
        assert code == 130, place.said
        assert place.others() == []
        assert place.settled()
        place.path.write_bytes(place.old)
        assert "Traceback" not in place.said
        assert "interrupted" in place.said
