"""Signals end a recording, also those that come when Python has nobody to tell."""

from __future__ import annotations

import os
import signal
import time

import pytest

from backemf.kits.recorder.partner import SignalInterrupt, signals_as_interruptions


class Dropping:
    """An object in whose destructor a signal comes: what its handler raises is dropped."""

    def __init__(self, number: int):
        self.number = number

    def __del__(self):
        os.kill(os.getpid(), self.number)
        time.sleep(0.01)


@pytest.fixture
def answered():
    """SIGINT is not ignored, however these tests were started."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("number", "kind"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SignalInterrupt)]
)
def test_a_signal_in_a_destructor_is_raised_again(number, kind, answered):
    before = signal.getsignal(number)
    with signals_as_interruptions() as again:
        again()  # nothing has come
        one = Dropping(number)
        del one
        with pytest.raises(kind):
            again()
    assert signal.getsignal(number) is before


def test_a_keyboard_that_is_nobodys_is_left_ignored(answered):
    """A shell starts what runs in its background so."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with signals_as_interruptions() as again:
        os.kill(os.getpid(), signal.SIGINT)
        again()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
