"""Playbacks as the programs read them that people look at them with: Rerun's own reader, rosbags, MCAP's own
decoder of ROS 2 messages, and our reader, from whose log the same fit comes."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import backemf as be
from backemf.apps.cli import exports, identify, simulate_command
from backemf.apps.playback.playback import PLAYBACKS, JointTrack, Playback, of_prediction, write_playbacks
from backemf.errors import BackemfError, NotAvailable

from ..cli.runner import runner
from ..identify.recordings import clean
from ..robot.arms import ARM
from ..robot.known import known_fit
from ..robot.simulated import recording

SINGLE = 2e-7
"""Relative: what is predicted is written into MCAP in float32."""
NANO = 2e-9
"""[s]: stamps are whole nanoseconds."""


@pytest.fixture(scope="module")
def motion(tmp_path_factory):
    """A recording of a simulated arm and its prediction, of the arm's own truth."""
    path = tmp_path_factory.mktemp("arm") / "arm.xml"
    path.write_text(ARM)
    logs = [recording(be.Robot.read(path), k, 4.0) for k in (1, 2)]
    return known_fit(logs[0].robot, logs[:1], logs[1:]).predict(logs[1])


def rerun_columns(path):
    """Entity -> component -> (times [s], values), as Rerun's own reader finds them."""
    import rerun

    columns: dict = {}
    for chunk in rerun.chunk.RrdReader(path).store().stream():
        table = chunk.to_record_batch()
        if chunk.is_static:
            continue
        time = np.array(table.column("time").cast("int64")) * 1e-9
        for name in table.schema.names:
            if ":" in name and not name.endswith("_frame"):
                values = np.array(table.column(name).to_pylist(), float).reshape(len(time), -1)
                columns.setdefault(chunk.entity_path, {})[name.rpartition(":")[2]] = (time, values)
    return columns


def ros_messages(path):
    """Topic -> (stamps [s], messages), as rosbags reads them."""
    from rosbags.highlevel import AnyReader

    topics: dict = {}
    with AnyReader([path]) as bag:
        for connection, stamp, content in bag.messages():
            message = bag.deserialize(content, connection.msgtype)
            stamps, messages = topics.setdefault(connection.topic, ([], []))
            stamps.append(1e-9 * stamp)
            messages.append(message)
    return topics


def test_rerun_reads_the_numbers_and_where_the_links_are(motion, tmp_path):
    mujoco = pytest.importorskip("mujoco")
    pytest.importorskip("rerun")
    columns = rerun_columns(be.playback(motion).write(tmp_path / "run.rrd"))
    for entity, values in {
        "/elbow/position/recorded": motion.recorded["elbow"],
        "/elbow/position/model": motion.positions["elbow"],
        "/elbow/residual/residual": motion.recorded["elbow"] - motion.positions["elbow"],
        "/elbow/position/command": motion.asked["elbow"],
    }.items():
        time, found = columns[entity]["scalars"]
        np.testing.assert_allclose(time, motion.time, atol=NANO)
        np.testing.assert_array_equal(found[:, 0], values)
    assert "/elbow/current/model" in columns
    model = mujoco.MjModel.from_xml_string(ARM)
    data = mujoco.MjData(model)
    for origin, positions in (("recorded", motion.recorded), ("model", motion.positions)):
        for k in (0, len(motion.time) // 2):
            for joint, q in positions.items():
                data.joint(joint).qpos = q[k]
            mujoco.mj_forward(model, data)
            for body in range(1, model.nbody):
                place = columns[f"/robot/{origin}/{model.body(body).name}"]
                at, turned = place["translation"][1][k], place["quaternion"][1][k]
                np.testing.assert_allclose(at, data.xpos[body], atol=1e-6)  # float32 of a metre
                np.testing.assert_allclose(turned, data.xquat[body][[1, 2, 3, 0]], atol=1e-6)


LINK = """<link name="{}"><inertial><mass value="0.5"/><inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0"
 ixz="0" iyz="0"/></inertial><visual><geometry>{}</geometry></visual></link>"""
TURN = """<joint name="knee" type="revolute"><parent link="thigh"/><child link="shin"/><origin xyz="0 0 0.2"/>
 <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="5" velocity="5"/></joint>"""


def test_a_urdf_is_drawn_as_it_is_with_or_without_its_meshes(tmp_path):
    pytest.importorskip("rerun")
    shapes = ("thigh", '<box size="0.1 0.1 0.1"/>'), ("shin", '<mesh filename="not_here.stl"/>')
    text = f"<robot name='leg'>{''.join(LINK.format(*one) for one in shapes)}{TURN}</robot>"
    (tmp_path / "leg.urdf").write_text(text)
    clock = np.array([0.0, 1.0])
    knee = {"knee": np.array([0.0, 2.5])}  # beyond its range: recorded all the same
    track = JointTrack("knee", "position", "recorded", be.Signal(time=clock, values=knee["knee"]))
    robot = be.Robot.read(tmp_path / "leg.urdf")
    shown = Playback(name="leg", tracks=(track,), robot=robot, poses={"recorded": knee}, clock=clock)
    turned = rerun_columns(shown.write(tmp_path / "leg.rrd"))["/recorded/joints/knee"]
    np.testing.assert_allclose(turned["translation"][1], [[0, 0, 0.2]] * 2, atol=1e-7)
    expected = [[0, 0, 0, 1], [0, np.sin(1.25), 0, np.cos(1.25)]]  # half the angle, about y
    np.testing.assert_allclose(turned["quaternion"][1], expected, atol=1e-7)


def test_ros_reads_joint_states_and_our_reader_is_not_confused(motion, tmp_path):
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    path = be.playback(motion).write(tmp_path / "run.mcap")
    topics = ros_messages(path)
    joints = list(motion.joints)
    for topic, of in (("/joint_states", motion.recorded), ("/model/joint_states", motion.positions)):
        stamps, messages = topics[topic]
        assert messages[0].name == joints
        found = np.array([m.position for m in messages])
        np.testing.assert_allclose(found, np.stack([of[j] for j in joints], axis=1), rtol=SINGLE)
        np.testing.assert_allclose(np.array(stamps) - 1.0, motion.time - motion.time[0], atol=NANO)
        own = [m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in messages]
        np.testing.assert_allclose(own, stamps, atol=NANO)
    with path.open("rb") as file:
        decoded = make_reader(file, decoder_factories=[DecoderFactory()]).iter_decoded_messages(
            ["/joint_states"]
        )
        states = [list(one.decoded_message.position) for one in decoded]
    ours = np.array([m.position for m in topics["/joint_states"][1]])
    np.testing.assert_array_equal(states, ours)
    (again,) = be.read(path, bench=motion.fit.robot)
    for joint in joints:
        for signal in ("position", "position_target"):
            here, there = again.joints[joint].signals[signal], motion.log.joints[joint].signals[signal]
            np.testing.assert_array_equal(here.values, there.values)
            np.testing.assert_allclose(here.time, there.time - motion.time[0], atol=NANO)
    assert motion.fit.predict(again).rms() == pytest.approx(motion.rms(), rel=1e-6)  # stamps are rounded


def test_a_fit_of_what_is_read_back_is_the_fit(tmp_path):
    log = clean(0)[0]
    start = be.Actuator.read("sts3215-12v")
    how = {"inspect": False, "n_starts": 1, "free_paths": ["friction.viscous", "friction.coulomb"]}
    fit = be.fit(start, [log], **how)
    path = be.playback(fit.predict(log)).write(tmp_path / "run.mcap")
    (again,) = be.read(path, bench=log.bench, settings=log.settings)
    assert set(again.signals) == set(log.signals)
    other = be.fit(start, [again], **how)
    for name, number in fit.parameters.items():  # stamps are rounded by 1e-15 s here
        assert other.parameters[name].value == pytest.approx(number.value, abs=1e-6 * number.error)


def test_a_run_of_a_voltage_and_its_current_are_read_back(tmp_path):
    bench = be.bench.Flywheel(inertia=2e-3)
    motor = be.Actuator.read("mx-106/m6").replace()
    motor = be.Actuator(motor=motor.motor, gearbox=motor.gearbox, drive=be.drive.Voltage())
    run = be.simulate(motor, bench, be.signal.step(6.0), duration=0.2)
    (again,) = be.read(be.playback(run).write(tmp_path / "run.mcap"), bench=bench)
    for signal in ("voltage_target", "position", "velocity", "current"):
        np.testing.assert_allclose(again[signal], run[signal], rtol=SINGLE, atol=1e-30)


def test_files_are_small_and_fast(tmp_path):
    import time

    from backemf.logs.log import Signal

    clock, noise = np.arange(6000) / 100, np.random.default_rng(0)
    tracks = [
        JointTrack(f"joint_{k}", "position", origin, Signal(time=clock, values=np.sin(clock + k) + spread))
        for k in range(6)
        for origin, spread in (("recorded", 1e-3 * noise.standard_normal(6000)), ("model", 0.0))
    ]
    shown = Playback(name="minute", tracks=tuple(tracks))
    for kind, most in (("rerun", 1.8e6), ("mcap", 1.0e6)):  # 72,000 values: 25 bytes each, and 14
        place = tmp_path / f"run{PLAYBACKS[kind].SUFFIX}"
        began = time.process_time()
        write_playbacks([shown], {kind: place})
        assert time.process_time() - began < 2.0  # 0.05 s, and imports; row by row 4 s
        assert place.stat().st_size < most


def test_nothing_of_the_user_s_is_overwritten_or_left_half_done(motion, tmp_path, monkeypatch):
    kept = tmp_path / "run-two.mcap"
    kept.write_text("mine")
    shown = of_prediction(motion)
    both = [shown, shown.__class__(**{**vars(shown), "name": "two"})]
    places = {"rerun": tmp_path / "run.rrd", "mcap": tmp_path / "run.mcap"}
    with pytest.raises(BackemfError, match=r"run-two.mcap exists"):
        write_playbacks(both, places)
    assert [p.name for p in tmp_path.iterdir()] == ["run-two.mcap"]
    assert kept.read_text() == "mine"
    written = write_playbacks(both, places, force=True)
    assert len(written) == 4
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(p.name for p in written)
    with pytest.raises(BackemfError, match=r"--to-mcap is 'run.bag'; expected a file that ends in \.mcap"):
        write_playbacks([shown], {"mcap": PLAYBACKS["mcap"] and kept.__class__("run.bag")})
    for module, kind, extra in (("rerun", "rerun", "rerun"), ("rosbags.rosbag2", "mcap", "logs")):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(NotAvailable, match=rf'pip install "backemf\[{extra}\]"'):
            PLAYBACKS[kind].check()


def test_the_shell_from_a_recording_of_the_so101(motion, shared_data, tmp_path, monkeypatch):
    """The fit is a stand-in; recording, robot and files are real."""
    from dataclasses import replace

    monkeypatch.chdir(tmp_path)
    robot = be.Robot.read(shared_data / "so101" / "so101.xml")
    (log,) = be.read(shared_data / "so101" / "hover_positions.csv", bench=robot)
    servo = be.Actuator.read("sts3215-12v")
    one = next(iter(motion.fit.joints.values()))
    joints = {n: replace(one, actuator=servo, bench=()) for n in robot.names if n != "gripper"}
    fit = replace(motion.fit, robot=robot, joints=joints, actuator=servo, logs=(), bench=())
    fit.write("fit.json")
    words = ("fit.json", log.source, "--to-rerun", "run.rrd", "--to-mcap", "run.mcap")
    said = runner(exports.replay)(*words)
    assert "so101, 5 joints together" in said
    (again,) = be.read("run.mcap", bench=robot)
    assert set(again.joints) == set(log.joints)
    for joint in log.joints:
        np.testing.assert_array_equal(again[f"{joint}.position"], log[f"{joint}.position"])
    columns = rerun_columns(tmp_path / "run.rrd")
    np.testing.assert_array_equal(
        columns["/elbow_flex/position/recorded"]["scalars"][1][:, 0], log["elbow_flex.position"]
    )
    assert sum(name.startswith("/robot/recorded/") for name in columns) >= 6
    with pytest.raises(BackemfError, match=r"run\.rrd exists"):
        runner(exports.replay)(*words)


def test_a_robot_is_simulated_from_commands_in_words(motion, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    motion.fit.write("arm.json")
    words = ("--command", "elbow=step size=0.3rad", "--duration", "2", "--timestep", "0.01")
    run = runner(simulate_command.simulate)
    assert "arm, 3 joints together" in run(
        "arm.json", *words, "--to-rerun", "run.rrd", "--to-mcap", "run.mcap"
    )
    columns = rerun_columns(tmp_path / "run.rrd")
    elbow = columns["/elbow/position/model"]["scalars"][1][:, 0]
    assert elbow[0] == pytest.approx(0.0, abs=1e-9)  # where the command is before it begins
    assert elbow[-1] == pytest.approx(0.3, abs=0.05)
    assert not any("recorded" in name or "residual" in name for name in columns)
    (log,) = be.read("run.mcap", bench=motion.fit.robot)
    np.testing.assert_allclose(log["elbow.position"], elbow, rtol=SINGLE, atol=1e-12)
    with pytest.raises(BackemfError, match="expected JOINT=COMMAND for joints of the robot"):
        run("arm.json", "--command", "step size=0.3rad")
    with pytest.raises(BackemfError, match=r"--vary is given, and arm\.json is of a robot"):
        run("arm.json", *words, "--vary", "bench.mass=1,2")


@pytest.mark.slow
def test_the_other_verbs_write_them_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bench = ("--bench", "pendulum mass=1kg length=0.15m")
    step = ("--command", "step size=90deg", "--timestep", "0.01", "--vary", "bench.mass=0.5,1")
    runner(simulate_command.simulate)("mx-106/m6", *bench, *step, "--to-mcap", "sim.mcap")
    (heavy,) = be.read("sim-bench.mass-1.mcap", bench=be.bench.Pendulum(mass=1.0, length=0.15))
    assert heavy["position"][-1] == pytest.approx(np.pi / 2, abs=0.05)  # it has arrived
    log = ("sim-bench.mass-0.5.mcap", "--bench", "pendulum mass=0.5kg length=0.15m")
    how = ("--start", "mx-106/m6", "--only", "friction.viscous", "--starts", "1")
    runner(identify.fit)(*log, *how, "--to-rerun", "fit.rrd", "-o", "fit.json")
    columns = rerun_columns(tmp_path / "fit.rrd")
    assert np.abs(columns["/joint/residual/residual"]["scalars"][1]).max() < 2e-3
    runner(exports.replay)("fit.json", log[0], "--to-rerun", "file.rrd")
    file, ours = (rerun_columns("file.rrd")[f"/joint/position/{n}"]["scalars"][1] for n in ("file", "model"))
    assert 0.0 < np.abs(file - ours).max() < 0.1  # MuJoCo's <dcmotor> beside backemf
