"""Serial ports: which there are, and in words why one cannot be opened."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

from ....errors import NotAvailable
from .bus import BusError, PortGone

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
