"""Virtual servos for tests, each in a process of its own, and what the tests ask them."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
import tty
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import backemf as be
from backemf.kits.recorder.registers import MAPS
from backemf.kits.recorder.virtual.serial_line import FRAMINGS
from backemf.planning.motions import Motion, Motions, SafetyLimits, Track, usual

BACKEMF = (sys.executable, "-c", "from backemf.apps.cli.main import main; main()")
SOURCE = str(Path(__file__).resolve().parents[2] / "src")
BENCH = be.bench.Pendulum(mass=0.1, length=0.1)
SERVO = ("sts3215-12v", "--firmware", "lerobot", "--bench", "pendulum mass=0.1 length=0.1")
PATIENCE = 60.0
"""What may take long on a busy machine [s]; nothing is measured with it."""


def started(
    *words: str, within: tuple[str, ...] = (), preload: str = "", **more: Any
) -> subprocess.Popen[str]:
    """A backemf command in a process of its own, `within` another program, with a library loaded first."""
    env = {**os.environ, "PYTHONFAULTHANDLER": "1", **({"LD_PRELOAD": preload} if preload else {})}
    env |= {"PYTHONPATH": os.pathsep.join([SOURCE, os.environ.get("PYTHONPATH", "")])}
    if os.name == "posix":
        more["preexec_fn"] = _answering(more.get("preexec_fn"))
    return subprocess.Popen([*within, *BACKEMF, *words], stdout=subprocess.PIPE, text=True, env=env, **more)


def _answering(then: Callable[[], None] | None) -> Callable[[], None]:
    """A new process answers Ctrl-C, even where these tests run in the background of a shell, which ignores
    it."""

    def ready() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if then is not None:
            then()

    return ready


@contextlib.contextmanager
def virtual(*words: str) -> Iterator[str]:
    """The port of a virtual servo; it ends with the block."""
    process = started("virtual", *(words if words and not words[0].startswith("-") else (*SERVO, *words)))
    try:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        assert port, "the virtual servo did not start"
        yield port
    finally:
        process.kill()
        process.communicate()


class Tap:
    """A wire between a recorder and a Feetech servo that remembers every block of measurements."""

    def __init__(self, port: str):
        import serial

        self._servo = serial.Serial(port, 1_000_000, timeout=0)
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        self.port, self.passed = os.ttyname(self._slave), list[tuple[float, ...]]()
        self._framing, self._table, self._open = FRAMINGS["feetech"], MAPS["feetech-sts"], True
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        heard = bytearray()
        while self._open:
            ready, _, _ = select.select([self._master, self._servo.fileno()], [], [], 0.05)
            if self._master in ready:
                self._servo.write(os.read(self._master, 4096))
            if self._servo.fileno() in ready:
                content = os.read(self._servo.fileno(), 4096)
                heard += content
                while (packet := self._framing.take(heard)) is not None:
                    if len(packet.content) == self._table.block[1]:
                        counts = self._table.in_block(packet.content)
                        self.passed.append(tuple(float(v) for v in counts.values()))
                os.write(self._master, content)

    def close(self) -> None:
        self._open = False
        self._thread.join()
        self._servo.close()
        os.close(self._master)
        os.close(self._slave)


@contextlib.contextmanager
def tapped(port: str) -> Iterator[Tap]:
    """A tap on a servo's wire; it ends with the block."""
    tap = Tap(port)
    try:
        yield tap
    finally:
        tap.close()


def short(*names: str, seconds: float = 4.0) -> Motions:
    """The usual motions, or some of them, quickly."""
    whole = usual(0.3, seconds=seconds)
    return Motions(motions=tuple(one for one in whole.motions if one.name in names) or whole.motions)


def hold(seconds: float = 30.0, name: str = "hold", **more: Any) -> Motions:
    """A motion that goes on until something ends it, on a machine that may be busy."""
    track = Track(command="sine amplitude=0.2rad frequency=0.5Hz", **more)
    moving = (Motion(name=name, duration=seconds, tracks={"*": track}),)
    return Motions(motions=moving, limits=SafetyLimits(silence=2.0))


class Patient:
    """A maker's packet handler that asks again where an answer is late, as it is on a busy machine."""

    def __init__(self, port: Any, packets: Any):
        self.port, self.packets = port, packets

    def __getattr__(self, name: str) -> Any:
        def ask(*given: Any) -> Any:
            for _ in range(30):
                self.port.ser.reset_input_buffer()
                with contextlib.suppress(IndexError):  # a late answer of another length
                    answer = getattr(self.packets, name)(*given)
                    if answer[1 if len(answer) == 3 else 0] == 0:
                        return answer
                time.sleep(0.1)
            raise AssertionError(f"{name}{given[1:]} is not answered")

        return ask


def until(condition: Callable[[], Any], what: str) -> Any:
    """What a condition gives once it is true."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited in vain: {what}")


def register(port: str, address: int, id: int = 1) -> int:
    """One byte of a Feetech servo, asked through its maker's package."""
    import scservo_sdk

    handler = scservo_sdk.PortHandler(port)
    assert handler.openPort()
    try:
        for _ in range(20):
            handler.ser.reset_input_buffer()
            value, result, _ = scservo_sdk.PacketHandler(0).read1ByteTxRx(handler, id, address)
            if result == 0:
                return value
            time.sleep(0.1)
    finally:
        handler.closePort()
    raise AssertionError("the virtual servo does not answer")


TORQUE = 40


def torque(port: str, id: int = 1) -> int:
    return register(port, TORQUE, id)
