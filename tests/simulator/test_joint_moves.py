"""When a joint counts as dead: by how far it goes the way it was asked, whichever way that is."""

from __future__ import annotations

import pytest

from backemf.mujoco.joint_moves import JointMove


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_a_joint_is_dead_where_it_does_not_go_the_way_it_was_asked(way):
    def move(there: float, back: float) -> JointMove:
        reach = tuple(sorted((way * there, -way * back)))
        return JointMove("j", "0.3 rad", way * 0.3, way * there, "rad", way * 0.3, reach=reach)

    assert not move(0.29, 0.0).dead
    assert not move(0.29, 0.9).dead, "it swings, and is not dead"
    assert move(0.02, 0.0).dead
    assert move(0.0, 0.29).dead, "the other way is none"
