"""What every bus of servos can do; the recorder knows nothing more of it. And the serial ports under them:
which there are, and in words why one cannot be opened."""

from __future__ import annotations

import contextlib
import errno
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, NamedTuple

from ....errors import BackemfError, NotAvailable


class BusError(BackemfError):
    """A bus that does not do what was asked: which port, which servo, and what to do."""


class PortGone(BusError):
    """The port itself is no longer there: pulled, or switched off."""


class ReplyColumn(NamedTuple):
    """One number of a reply as it is stored: SI = factor * (stored - zero) - offset."""

    name: str
    unit: str
    factor: float = 1.0
    zero: float = 0.0
    offset: float = 0.0

    def si(self, stored: float) -> float:
        """What a stored number is, in `unit`."""
        return self.factor * (stored - self.zero) - self.offset


@dataclass(frozen=True, kw_only=True)
class BusServo:
    """A servo as it says it is, before anything moves."""

    id: int
    model: str
    number: int = 0
    firmware: str = ""
    columns: tuple[ReplyColumn, ...]
    """Of its replies: a position is always among them."""
    settings: Mapping[str, float] = field(default_factory=dict)
    """Parameters of its drive by path, as its firmware has them."""
    registers: Mapping[str, Any] = field(default_factory=dict)
    """Everything else that was read, as its maker counts it."""
    low: float | None = None
    """Lowest goal that it takes [rad]."""
    high: float | None = None
    resolution: float = 1e-3
    """One count of its position [rad]."""
    supply: tuple[float, float] | None = None
    """Lowest and highest voltage that it works on."""
    temperature_limit: float | None = None
    problems: tuple[str, ...] = ()
    """Why it cannot be recorded as it is, in sentences."""

    def reply_values(self, values: Sequence[float]) -> dict[str, float]:
        """A reply in SI."""
        return {c.name: c.si(v) for c, v in zip(self.columns, values, strict=True)}

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {**asdict(self), "columns": [c._asdict() for c in self.columns]}

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> BusServo:
        """A servo from what `to_dict` gave; other keys are left out."""
        known = {f.name: content[f.name] for f in fields(cls) if f.name in content}
        supply = known["supply"]
        columns = tuple(ReplyColumn(**c) for c in known["columns"])
        return cls(**{**known, "columns": columns, "supply": None if supply is None else tuple(supply)})


class Reply(NamedTuple):
    """What came back from one servo, stamped when it was there."""

    id: int
    time: float
    values: tuple[float, ...]
    """In the order of the servo's columns."""
    alarm: str = ""
    """What the servo says is wrong with it."""


class Bus(ABC):
    """Servos that answer. Times are `time.monotonic()`, angles [rad] from each servo's own zero."""

    name: str = ""
    """As the command line has it."""
    switched: float = 0.0
    """When the torque was last switched."""
    has_watchdog: bool = False
    """Whether its servos stop by themselves when nobody talks to them."""

    takes: ClassVar[tuple[str, ...]] = ("baud",)
    """Arguments of `connect` that its constructor has, beside the port."""

    @classmethod
    def connect(
        cls,
        port: str,
        baud: int | None = None,
        interface: str = "socketcan",
        gains: Sequence[float] = (10.0, 0.5),
    ) -> Bus:
        """A bus by all that may be asked for.

        Args:
            port: A serial port, or a channel of python-can.
            baud: Bits per second of a serial port; its usual number where none is given.
            interface: The driver of python-can.
            gains: What motors on CAN are told: stiffness [N m/rad] and damping [N m s/rad] at the output.

        Returns:
            The bus, not yet open.
        """
        asked: dict[str, Any] = {"baud": baud, "interface": interface, "gains": gains}
        return cls(port, **{name: asked[name] for name in cls.takes})  # type: ignore[call-arg]  # as `takes` says

    @abstractmethod
    def open(self) -> None:
        """Take the port; an error says which ports there are, or who may use it."""

    @abstractmethod
    def close(self) -> None:
        """Give the port back, if it was taken."""

    @abstractmethod
    def scan(self) -> list[int]:
        """Ids that answer."""

    @abstractmethod
    def survey(self, ids: Sequence[int]) -> dict[int, BusServo]:
        """What each servo is; one that does not answer is not there."""

    def prepare(self, ids: Sequence[int], silence: float) -> None:  # noqa: B027  # not every bus has to
        """Set what lets a goal be followed as it is, and arm the servo's own watchdog, where it has one, to
        stop it after a silence [s]."""

    def restore(self) -> None:  # noqa: B027  # where nothing was prepared
        """Undo what `prepare` set."""

    @abstractmethod
    def sample(self, ids: Sequence[int]) -> list[Reply]:
        """Every number of every servo at once; what is lost is not there."""

    @abstractmethod
    def ask(self, goals: Mapping[int, float]) -> float:
        """Give goals; the time at which they were sent."""

    @abstractmethod
    def torque(self, ids: Iterable[int], on: bool) -> list[int]:
        """Switch the torque; the ids that did not confirm it."""

    def is_on(self, id: int) -> bool | None:
        """Whether a servo's torque is on, asked by itself; None where every reply says so, or none does."""
        return None

    def reached_goal(self, id: int, goal: float) -> float:
        """The goal that a servo gets for one that it is given: a whole count, where it counts."""
        return goal

    def elsewhere(self, ids: Sequence[int]) -> str:
        """Where servos answer instead, in words; empty where nobody looked."""
        return ""

    def talk(self) -> int:
        """Bytes that came without being asked for: another master's."""
        return 0


try:
    from termios import error as termios_error
except ImportError:  # Windows
    termios_error = OSError
GONE = (OSError, TypeError, AttributeError, termios_error)
"""What pyserial raises when a port is pulled, and when it is closed under it."""


@contextlib.contextmanager
def package(name: str, extra: str) -> Iterator[None]:
    """Around the import of a maker's package: a sentence on how to get it, where it is not there."""
    try:
        yield
    except ImportError:
        raise NotAvailable(
            f"this bus needs the package {name}, which is not installed; pip install 'backemf[{extra}]'"
        ) from None


def port_names() -> list[str]:
    """Names of the serial ports of this machine."""
    from serial.tools import list_ports

    return sorted(port.device for port in list_ports.comports())


def port_refusal(port: str, error: BaseException) -> BusError:
    """Why a port cannot be opened, and what to do."""
    code = getattr(error, "errno", None)
    if code == errno.ENOENT or not os.path.exists(port):
        there = ", ".join(port_names()) or "none: is the adapter plugged in, and its driver loaded?"
        return BusError(f"there is no port {port!r}; the serial ports of this machine: {there}")
    if code in (errno.EACCES, errno.EPERM):
        return BusError(f"you may not use {port!r}; {_group(port)}")
    if code in (errno.EAGAIN, errno.EWOULDBLOCK, errno.EBUSY) or "lock" in str(error):
        return BusError(f"{port!r} is in use by another program; end it first: two masters garble the bus")
    return BusError(f"{port!r} cannot be opened as a serial port: {error}; expected one such as /dev/ttyUSB0")


def _group(port: str) -> str:
    try:
        import grp

        group = grp.getgrgid(os.stat(port).st_gid).gr_name
    except (ImportError, KeyError, OSError):
        return "give your user the right to use serial ports"
    return f"it belongs to the group {group!r}: sudo usermod -aG {group} $USER, then log in again"


@contextlib.contextmanager
def port_loss(port: str) -> Iterator[None]:
    """What the operating system says of a port that is no longer there."""
    try:
        yield
    except GONE as error:
        raise PortGone(f"the port {port} is gone ({error}); plug it in again") from None
