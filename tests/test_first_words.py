"""What somebody gets who calls a verb for the first time and has its arguments the wrong way round."""

from __future__ import annotations

import numpy as np
import pytest

import backemf as be

MOTOR = be.motor.Motor(resistance=2.0, torque_constant=0.5, rotor_inertia=2e-3)
SERVO = be.Actuator(motor=MOTOR, drive=be.drive.Position(volts_per_radian=30.0, supply=12.0))
TIME = np.arange(0, 1, 0.01)
LOG = be.log(
    "one", TIME, position=np.sin(TIME), position_target=np.sin(TIME), bench=be.bench.Flywheel(inertia=0.01)
)


@pytest.mark.parametrize("verb", [be.check, be.fit, be.ladder], ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (([LOG], SERVO), "was given the logs first; expected {}(actuator, logs)"),
        ((LOG, SERVO), "was given the logs first"),
        ((SERVO, []), "was given no logs; expected at least one"),
        ((SERVO, ["one.csv"]), "was given a str among the logs; expected Logs, as be.read(...) gives"),
        (
            (be.Datasheet.read("mx-106"), [LOG]),
            "was given a Datasheet first; expected an Actuator: its .actuator() is one",
        ),
        (("mx-106", [LOG]), "was given a str first; expected an Actuator"),
        ((None, [LOG]), "was given a NoneType first; expected an Actuator"),
    ],
)
def test_a_verb_says_what_it_wants(verb, given, said):
    with pytest.raises(be.BackemfError) as caught:
        verb(*given)
    assert said.format(verb.__name__) in str(caught.value)
    assert str(caught.value).startswith(verb.__name__)


def test_simulate_and_parts_say_what_they_want():
    with pytest.raises(
        be.BackemfError, match=r"given a Flywheel and a Actuator; expected simulate\(actuator, bench"
    ):
        # on purpose
        be.simulate(be.bench.Flywheel(inertia=1.0), SERVO, 0.1, duration=1.0)  # type: ignore[arg-type]
    with pytest.raises(be.BackemfError, match=r"drive is None; expected a part of be\.drive"):
        be.Actuator(motor=MOTOR, drive=None)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(be.BackemfError, match=r"motor is 'mx-106'; expected a part of be\.motor"):
        be.Actuator(motor="mx-106")  # type: ignore[arg-type]  # on purpose


def test_read_takes_a_list(tmp_path):
    for name in ("a.csv", "b.csv"):
        rows = "\n".join(f"{t},{np.sin(t)}" for t in TIME)
        (tmp_path / name).write_text(f"time [s],position [rad]\n{rows}\n")
    assert [log.name for log in be.read([tmp_path / "a.csv", tmp_path / "b.csv"])] == ["a", "b"]
