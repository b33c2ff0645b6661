"""When a joint counts as dead: by how far it goes the way it was asked, whichever way that is."""

from __future__ import annotations

import math

import pytest

from backemf.errors import InvalidValue
from backemf.mujoco.arrays import installed_era
from backemf.mujoco.joint_interface import read_joint
from backemf.mujoco.joint_moves import JointMove, check_moves, compare_moves
from backemf.mujoco.models import LoadedModel

mujoco = pytest.importorskip("mujoco")


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_a_joint_is_dead_where_it_does_not_go_the_way_it_was_asked(way):
    def move(there: float, back: float) -> JointMove:
        reach = tuple(sorted((way * there, -way * back)))
        return JointMove("j", "0.3 rad", way * 0.3, way * there, "rad", way * 0.3, reach=reach)

    assert not move(0.29, 0.0).dead
    assert not move(0.29, 0.9).dead, "it swings, and is not dead"
    assert move(0.02, 0.0).dead
    assert move(0.0, 0.29).dead, "the other way is none"


SAID = [(0.3, 0.3, 0.312, None), (0.3, 0.3, 0.318, "overshoots"),  # from a twentieth on
        (0.3, 0.33, 0.342, None), (0.3, 0.33, 0.348, "overshoots"),  # and from half as much again
        (-0.3, -0.3, -0.318, "overshoots"), (None, 0.3, 3.0, None), (0.3, 0.0, 0.4, None),
        (0.3, 0.3, 0.033, None), (0.3, 0.3, 0.027, "dead"),  # less than a tenth
        (-0.3, -0.3, 0.3, "dead"), (None, 0.5, 0.045, "dead"), (None, 0.0, 0.0, None)]  # fmt: skip


@pytest.mark.parametrize(("step", "before", "after", "code"), SAID)
def test_what_is_said_of_a_move(step, before, after, code):
    move = JointMove("j", "0.3 rad", before, after, "rad", step)
    if code == "dead":
        with pytest.raises(InvalidValue, match="no longer follows"):
            check_moves([move], 0.002)
    else:
        assert [f.code for f in check_moves([move], 0.002)] == [code] * (code is not None)


SLIDE = """<mujoco><option timestep="0.001" gravity="9 0 0"/><worldbody><body>
<joint name="j" type="slide" axis="1 0 0" {joint}/><geom size=".1" mass="2" pos="0 0 {low}"/></body>
<geom type="plane" size="1 1 1"/></worldbody><actuator><{actuator} joint="j"/></actuator>{more}</mujoco>"""
LATE = 0.2 * (1.0 - math.exp(-5.0))
OVER = 1 + math.exp(-0.4 * math.pi / math.sqrt(1 - 0.4**2))


PD = 'position kp="50" kv="8"'
MOVES = [
    # a force of 0.3 of what may be asked, for 0.2 s: F t^2 / 2 m; a velocity for 1 s, with the lag of m / kv
    ('motor gear="2" ctrlrange="-3 2"', "", "ctrl 0.9", 2 * 0.9 / 2 * 0.02, None),
    ('motor gear="2" forcerange="-1 1"', "", "ctrl 0.3", 2 * 0.3 / 2 * 0.02, None),
    ("motor", "", "ctrl 0.3", 0.3 / 2 * 0.02, None),
    ('velocity kv="10"', "", "ctrl 1", 1.0 - LATE, None),
    # an oscillator of 5 rad/s, 0.4 damped, to 0.3 m or 0.8 of the room on the wider side
    (PD, "", "0.3 m", 0.3 * OVER, 0.3),
    ('position gear="-2" kp="12.5" kv="2"', "", "ctrl -0.6", 0.3 * OVER, 0.3),
    (PD, 'range="-.1 .25"', "0.2 m", 0.2 * OVER, 0.2),
    (PD, 'range="-.2 .1"', "-0.16 m", -0.16 * OVER, -0.16),
    (PD, 'range="-1 .4"', "-0.3 m", -0.3 * OVER, -0.3),
]


@pytest.mark.parametrize(("actuator", "joint", "asked", "far", "step"), MOVES)
@pytest.mark.parametrize("begins", [0.0, 0.07])
def test_a_joint_moves_as_far_as_its_equation_says(actuator, joint, asked, far, step, begins):
    """Without gravity and what it touches, from the first keyframe; a range is measured from there."""
    more = f'<keyframe><key qpos="{begins}"/></keyframe>' if begins and not joint else ""
    xml = SLIDE.format(joint=joint, low=0.05, actuator=actuator, more=more)
    model = mujoco.MjModel.from_xml_string(xml)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_LIMIT)
    one = read_joint(LoadedModel(model, installed_era()), "j")
    (found,) = compare_moves(model, model, [(one, one)])
    assert (found.asked, found.unit, found.diverges, found.stable_step) == (asked, "m", False, None)
    assert found.step == (step and pytest.approx(step))
    assert (found.before, found.after) == pytest.approx((far, far), rel=8e-3)
    assert found.reach[far > 0] == found.after
    assert check_moves([found], 0.001) == []
    assert model.opt.disableflags == int(mujoco.mjtDisableBit.mjDSBL_LIMIT)


def test_the_step_with_which_a_stiff_joint_holds_is_told():
    """Steps h of an undamped oscillator grow from w h = 2 on: 0.5 ms where w is 4,000 rad/s."""
    old, new = (
        mujoco.MjModel.from_xml_string(
            SLIDE.format(joint="", low=0.5, actuator=f'position kp="{kp}"', more="")
        )
        for kp in (50.0, 3.2e7)
    )
    before, after = (read_joint(LoadedModel(m, installed_era()), "j") for m in (old, new))
    (found,) = compare_moves(old, new, [(before, after)])
    assert found.diverges
    assert found.stable_step == pytest.approx(0.00025)
    assert new.opt.timestep == 0.001
    with pytest.raises(InvalidValue, match=r"diverges at the model's time step of 1 ms: .* to 0\.25 ms"):
        check_moves([found], 0.001)
