"""`be.virtual`: virtual servos in a process of their own."""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ....errors import InvalidValue

LONGEST = 3600.0
"""A virtual servo ends after so long, should nobody stop it [s]."""


class Virtual:
    """Virtual servos that run until they are stopped, or until the program ends that started them."""

    def __init__(self, process: Any, port: str):
        self._process, self.port = process, port
        """The device's name, for `record` and for the makers' programs."""
        atexit.register(self.stop)

    def stop(self) -> None:
        self._process.kill()
        self._process.communicate()
        atexit.unregister(self.stop)

    def __enter__(self) -> Virtual:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Virtual({self.port})"


def virtual(
    source: str | os.PathLike[str],
    *,
    protocol: str = "feetech",
    ids: Iterable[int] = (1,),
    bench: str = "",
    firmware: str = "",
    faults: Iterable[str] = (),
    link: str | os.PathLike[str] = "",
    **more: Any,
) -> Virtual:
    """Start virtual servos: a part of the catalogue or a stored fit, as `backemf virtual` takes it; `more`
    are its other options by name. `with be.virtual("mx-106", protocol="dynamixel1") as servo: servo.port`"""
    words = [str(source), "--protocol", protocol, "--ids", ",".join(str(id) for id in ids)]
    given = {"bench": bench, "firmware": firmware, "link": str(link), "seconds": LONGEST, **more}
    for name, value in given.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            words += [f"--{name.replace('_', '-')}", str(one)] if one != "" else []
    for fault in faults:
        words += ["--fault", fault]
    paths = [str(Path(__file__).resolve().parents[4]), os.environ.get("PYTHONPATH", "")]
    process = subprocess.Popen(
        [sys.executable, "-c", "from backemf.apps.cli.main import main; main()", "virtual", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )
    assert process.stdout is not None
    port = process.stdout.readline().decode().strip()
    if not port:
        _, said = process.communicate()
        raise InvalidValue(said.decode(errors="replace").strip().removeprefix("backemf: "))
    return Virtual(process, port)


@contextlib.contextmanager
def linked(device: str, link: str | os.PathLike[str]) -> Any:
    """A name of one's own for a device, as long as the block runs."""
    place = Path(link)
    if place.is_symlink() and not place.exists():
        place.unlink()  # left behind by one that was killed
    if place.exists() or place.is_symlink():
        raise InvalidValue(f"{str(link)!r} exists; expected a new name for the link to the port")
    if not place.parent.is_dir():
        raise InvalidValue(f"there is no folder {str(place.parent)!r} for the link to the port")
    try:
        place.symlink_to(device)
    except OSError as error:
        raise InvalidValue(f"{str(link)!r} cannot be the link to the port: {error.strerror}") from None
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            place.unlink()
