"""One codec for every noun: what is written is what is read, and what is not understood is
refused by name."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest

import backemf as be
from backemf import codec, store
from backemf.findings import Finding
from backemf.kits.frc.characterization import Feedback, FeedforwardGain, PredictedSegment
from backemf.kits.frc.trials import Segment, Trial
from backemf.logs.robot import Coupling, Ground, Joint, Robot
from backemf.planning.motions import Motion, Motions, SafetyLimits, Track
from backemf.results.fit_result import Fit, FittedLog, FittedParameter, LadderRung, Score, Start
from backemf.results.population import Common, Population
from backemf.results.variation import DrawnNumber, ExpectedError, Variation

from ..model.variants import BACKLASH, DRIVES, FRICTIONS, LIMITED, RICH

ACTUATORS = [
    be.Actuator(motor=motor, friction=friction, drive=drive, gearbox=BACKLASH)
    for motor, friction, (drive, _) in zip(
        [RICH, LIMITED] * 20, [*FRICTIONS.values()] * 2, [*DRIVES.values()] * 2, strict=False
    )
]
FOUND = Finding(code="missing", text="something is odd.", remedy="look", numbers={"size": 0.5})
FITTED = FittedParameter(
    path="motor.resistance", value=2.0, error=0.1, low=1.8, high=2.2, unit="ohm", start=1.0, prior=(2.1, 0.3)
)
FIT = Fit(
    actuator=ACTUATORS[3],
    parameters={"motor.resistance": FITTED},
    training={"a": 0.001},
    held_out={},
    noise_floor=0.0008,
    findings=(FOUND,),
    starts=(
        Start(cost=math.nan, mae=0.1, ended="gave up", n_evaluations=3, parameters={"motor.resistance": 2.0}),
    ),
    correlation=np.eye(1),
    substeps=2,
    seed=0,
    cpu_s=0.5,
    friction="m4",
    logs=(
        FittedLog(
            name="a",
            source="a.csv",
            bench=be.bench.Pendulum(mass=0.5, length=0.1),
            settings={"drive.proportional": 8.0},
            duration=1.0,
            rate=None,
            n_samples=100,
        ),
    ),
    rungs=(
        LadderRung(
            friction="m4",
            n_parameters=4,
            training_mae=0.1,
            held_out_mae=None,
            standard_error=0.0,
            chosen=True,
        ),
    ),
)
TRIAL = Trial(
    test="dynamic-forward",
    time=np.arange(3.0),
    input=np.ones(3),
    velocity_time=np.arange(3.0),
    velocity=np.array([0.0, math.nan, 2.0]),
    position_time=np.empty(0),
    position=np.empty(0),
)


@pytest.mark.parametrize("actuator", ACTUATORS, ids=lambda a: f"{a.friction.kind} {a.drive.kind}")
def test_an_actuator_comes_back(actuator, tmp_path):
    actuator.write(tmp_path / "a.json")
    assert be.Actuator.read(tmp_path / "a.json") == actuator


def test_a_fit_comes_back_and_is_a_source_of_its_actuator(tmp_path):
    FIT.write(tmp_path / "fit.json")
    back = Fit.read(tmp_path / "fit.json")
    assert codec.plain(back) == codec.plain(FIT)
    assert back.parameters["motor.resistance"].prior == (2.1, 0.3)
    assert math.isnan(back.starts[0].cost)
    assert be.Actuator.read(tmp_path / "fit.json") == FIT.actuator
    content = json.loads((tmp_path / "fit.json").read_text())
    assert content["training_mae"] == 0.001  # shown beside what is stored, and read again from that


DRAWN = DrawnNumber(path="motor.resistance", joints=("lift",), x=0.7, knee=0.1)


def test_every_noun_comes_back():
    kinds = {f.name: f for f in dataclasses.fields(Segment)}
    arrays = {n: np.arange(2.0) for n, f in kinds.items() if "ndarray" in str(f.type)}
    segment = Segment(
        **arrays, run=TRIAL, rests=True, onset=0.1, start_position=0.0, noise_velocity=0.1, noise_position=0.0
    )
    nouns = [
        FeedforwardGain(value=None, low=None, high=None, unit="V"),
        Feedback(
            loop="velocity",
            kP=1.0,
            kD=0.0,
            volts_per_error=1.0,
            volts_per_rate=0.0,
            period=0.02,
            delay=0.0,
            design="regulator",
        ),
        PredictedSegment(segment=segment, velocity=np.arange(2.0), position=np.arange(2.0)),
        be.Spread(
            errors={"motor.resistance": 0.1}, correlation=np.eye(1), units={("friction.coulomb",): 0.2}
        ),
        FITTED,
        FIT,
        Ground(height=-0.05, x_slope=0.01, error=0.002),
        Robot(name="arm", joints=(Joint(name="lift", low=-1.0, high=1.0),), model="<mujoco/>"),
        Motions(
            motions=(
                Motion(name="up", duration=2.0, tracks={"*": Track(times=(0.0, 1.0), positions=(0.0, 0.5))}),
            ),
            limits=SafetyLimits(current=1.0),
        ),
        Population(
            name="line",
            actuator=ACTUATORS[3],
            parameters={
                "motor.resistance": Common(
                    value=2.0,
                    error=0.1,
                    x=0.7,
                    spread=0.05,
                    spread_error=0.01,
                    spread_low=0.03,
                    spread_high=0.07,
                    unit="ohm",
                )
            },
            correlation=np.eye(1),
            correlation_error=np.zeros((1, 1)),
            n_units=30,
        ),
        Score(rms=0.01, rms_free=0.005, held_out=True, joints={"lift": 0.01}, logs={"run": 0.01}),
        DRAWN,
        Coupling(joints=("a", "b"), motors=("m", "n"), matrix=((1.0, 0.5), (0.0, -1.0)), at_motors=True),
        ExpectedError(mae=0.01, rms=0.02, joints={"lift": 0.01}),
        Variation(
            numbers=(DRAWN,),
            members=np.array([[0.1], [-0.2]]),
            floor={"": 0.001},
            factor=1.7,
            usual=1.6,
            mean_absolute=0.8,
            root_mean_square=1.1,
            left_out="3 rigs, one at a time",
            slow=0.2,
        ),
    ]
    for noun in nouns:
        content = json.loads(json.dumps(codec.plain(noun)))
        back = codec.load(content)
        assert type(back) is type(noun)
        assert codec.plain(back) == codec.plain(noun)
    missing = {name for name in codec.NOUNS if name not in {n.stored_as for n in nouns}}
    assert missing <= {
        "BenchNumber",
        "Common",
        "Asked",
        "Joint",
        "Motion",
        "Track",
        "SafetyLimits",
        "Characterization",
        "Segment",
        "Trial",
        "Start",
        "FittedLog",
        "Tried",
        "Log",
        "Signal",
    }


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c.pop("noise_floor"), "fit.json: Fit needs noise_floor"),
        (lambda c: c.update(noise=1), "unknown field of Fit 'noise'; did you mean 'noise_floor'"),
        (lambda c: c.update(substeps="two"), "fit.json, substeps is 'two'; expected a whole number"),
        (lambda c: c.update(noise_floor=True), "fit.json, noise_floor is True; expected a number"),
        (lambda c: c.update(correlation=[[1.0, 0.0]]), "correlation has the shape (1, 2)"),
        (lambda c: c["actuator"].update(part="Actuatr"), "fit.json, actuator: unknown part 'Actuatr'"),
        (
            lambda c: c.update(actuator={"part": "Coulomb", "coulomb": 1.0}),
            "fit.json, actuator holds a Coulomb",
        ),
        (lambda c: c["actuator"]["motor"].update(resistance=-1), "motor.resistance is -1 ohm; expected more"),
        (lambda c: c["actuator"]["motor"].update(resistence=1), "unknown field of Motor 'resistence'"),
        (lambda c: c["actuator"]["motor"].pop("resistance"), "Motor needs resistance (in ohm)"),
        (lambda c: c["logs"][0].update(bench=[]), "fit.json, logs 0, bench"),
        (lambda c: c.update(findings=[{"code": "x"}]), "findings 0: Finding needs text"),
        (lambda c: c.update(parameters=[1]), "fit.json, parameters is [1]; expected a Mapping"),
        (lambda c: c.update(backemf=1), "version 1; this release reads version 2"),
    ],
)
def test_a_changed_file_is_refused_with_the_place(change, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FIT.write("fit.json")
    content = json.loads((tmp_path / "fit.json").read_text())
    change(content)
    (tmp_path / "fit.json").write_text(json.dumps(content))
    with pytest.raises(store.StoreError) as caught:
        Fit.read("fit.json")
    assert said in str(caught.value)


def test_what_holds_no_actuator_says_what_it_holds(tmp_path):
    path = tmp_path / "x.json"
    store.write(be.bench.Pendulum(mass=1.0, length=0.1), path)
    with pytest.raises(
        store.StoreError, match="holds a Pendulum; expected an Actuator, a Fit or a Population"
    ):
        be.Actuator.read(path)
    path.write_text('{"backemf": 2, "map": {}}')
    with pytest.raises(store.StoreError, match="the key 'part' or 'noun', got an object with the keys map"):
        be.Actuator.read(path)
