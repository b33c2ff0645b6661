"""Commands: values, jumps, words and back."""

from __future__ import annotations

import numpy as np
import pytest

import backemf as be
from backemf.errors import BackemfError
from backemf.signal import Command, words

ONE_OF_EACH = [
    be.signal.constant(12.0),
    be.signal.step(1.5, at=0.1, start=-0.5),
    be.signal.ramp(2.0, at=0.5, until=1.0),
    be.signal.sine(6.0, 2.0, phase=0.3, offset=1.0),
    be.signal.chirp(1.0, 0.1, 5.0, 10.0),
    be.signal.square(np.pi / 2, 0.5, duty=0.25, offset=np.pi / 2, at=0.5015946),
    be.signal.random_binary(3.0, 0.05, seed=3, offset=0.1),
]


@pytest.mark.parametrize("command", ONE_OF_EACH, ids=lambda c: c.name)
def test_words_are_read_back_exactly(command):
    assert be.signal.read(str(command)) == command
    assert hash(be.signal.read(str(command))) == hash(command)
    assert eval(repr(command), vars(be.signal))(1.234) == pytest.approx(command(1.234), rel=1e-4)  # 6 digits


def test_what_a_person_writes():
    told = be.signal.read("square from=0deg to=180 deg, period=2s at=501.5946ms")
    assert told.fields == pytest.approx(
        {"amplitude": np.pi / 2, "frequency": 0.5, "duty": 0.5, "offset": np.pi / 2, "at": 0.5015946}
    )
    assert told.unit == "rad"
    assert be.signal.read("Random_Binary amplitude=3V hold=50ms seed=3") == be.signal.read(
        "random-binary amplitude=3V hold=0.05s seed=3"
    )
    assert be.signal.read("step to=90deg").fields["size"] == pytest.approx(np.pi / 2)
    assert be.signal.read("ramp rate=60rpm").unit == "rad"
    assert be.signal.read("ramp rate=60rpm").fields["rate"] == pytest.approx(2 * np.pi)
    assert be.signal.read("sine amplitude=30rpm period=0.5").unit == "rad/s"
    assert be.signal.read("step size=2", "V").unit == "V"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sqare amplitude=1", "unknown command 'sqare'; did you mean 'square'?"),
        ("square amplitud=1", "unknown word of square 'amplitud'; did you mean 'amplitude'?"),
        ("square amplitude=1", "square needs frequency or period"),
        ("square frequency=1", r"square needs amplitude \(or from and to\)"),
        ("square amplitude=1 period=2 frequency=3", "both period and frequency; expected one"),
        ("square from=0 to=1 amplitude=2 period=2", "both from/to and amplitude; expected one"),
        ("square amplitude=1V offset=1A period=2", "offset of square is '1A', which is not a voltage"),
        ("square amplitude=1 period=-2", "period of square is '-2'; expected more than 0"),
        ("square amplitude=1 period=2 duty=1.5", "square duty is 1.5; expected a share from 0 to 1"),
        ("sine amplitude=1 frequency=60rpm", "which is not a frequency"),
        ("step size=", "has nothing behind size="),
        ("step size=one", "'one' is no number with a unit"),
        ("step size=1 size=2", "gives size twice"),
        ("", "does not begin with one name"),
        ("chirp amplitude=1 low=1 high=2 duration=0", "chirp duration is 0 s; expected more than 0"),
    ],
)
def test_what_cannot_be_understood(text, said):
    with pytest.raises(BackemfError, match=said):
        be.signal.read(text)


def test_words_may_stand_apart_in_several_ways():
    apart = ("pendulum", {"mass": "0.535 +- 0.002 kg", "length": "0.1 m"})
    assert words("pendulum mass=0.535 +- 0.002 kg length=0.1 m") == apart
    assert words("Pendulum,mass = 0.535 +- 0.002 kg, length=0.1 m,") == apart


@pytest.mark.parametrize("command", [c for c in ONE_OF_EACH if c.constant], ids=lambda c: c.name)
def test_between_jumps_nothing_changes_and_at_a_jump_the_new_value_holds(command: Command):
    jumps = command.jumps(0.0, 9.0)
    fine = np.linspace(0.0, 9.0, 90_001)
    seen = fine[1:][np.diff(command(fine)) != 0]
    assert len(jumps) == len(seen)
    assert np.all((jumps <= seen + 1e-9) & (jumps > seen - 1e-4 - 1e-9))  # within the step that sees it
    assert np.all(command(jumps) != command(jumps - 1e-7))
    assert np.array_equal(command(jumps), command(jumps + 1e-7))
    times, values = command.sample(0.0, 9.0)
    assert np.array_equal(times, [0.0, *jumps])
    off = fine + 3e-5  # not at a jump itself, where rounding decides
    assert np.array_equal(be.signal.held(times, values)(off), command(off))


def test_jumps_are_those_of_the_interval():
    square = be.signal.square(1.0, 0.5, at=0.5)
    assert square.jumps(0.5, 2.5) == pytest.approx([1.5, 2.5])
    assert len(be.signal.square(1.0, 0.5, duty=1.0).jumps(0.0, 9.0)) == 0


def test_a_smooth_command_is_held_at_the_middle_of_short_steps():
    sine = be.signal.sine(1.0, 5.0)
    times, values = sine.sample(0.0, 1.0)
    assert np.max(np.diff(times)) <= 2e-3 * (1 + 1e-9)
    middle = times + 1e-3
    assert values == pytest.approx(sine(middle), abs=1e-12)
    times, _ = be.signal.sine(1.0, 100.0).sample(0.0, 1.0)
    assert np.max(np.diff(times)) <= 0.025 / 100 * (1 + 1e-9)  # forty steps a period
    assert {0.25, 0.75} <= set(be.signal.ramp(1.0, at=0.25, until=0.75).sample(0.0, 1.0)[0])


def test_the_articles_square_wave():
    """The SG90 article's y = A [((t - t_0) f) mod 1 < w] + b."""
    A, f, w, b, t_0 = np.pi, 0.5, 0.3, 0.2, 0.5015946
    t = np.random.default_rng(0).uniform(0, 9, 1000)
    article = A * (((t - t_0) * f) % 1 < w) + b
    assert be.signal.square(A / 2, f, duty=w, offset=b + A / 2, at=t_0)(t) == pytest.approx(article)


def test_what_is_no_command_is_refused():
    with pytest.raises(BackemfError, match="amplitude of square is '1'; expected a number"):
        be.signal.square("1", 1.0)  # type: ignore[arg-type]  # what must be refused
    with pytest.raises(BackemfError, match=r"seed is 1\.5; expected a whole number"):
        be.signal.read("random-binary amplitude=1 hold=1 seed=1.5")
    with pytest.raises(BackemfError, match="would jump up to 1e\\+300 times"):
        be.signal.random_binary(1.0, 1e-300, seed=1)(1.0)
    with pytest.raises(BackemfError, match="would jump up to 2e\\+09 times"):
        be.signal.square(1.0, 1e9).jumps(0.0, 1.0)
    with pytest.raises(BackemfError, match="square frequency is 0 Hz"):
        be.signal.square(1.0, 0.0)
