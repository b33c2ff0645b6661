"""The virtual servo, found and driven by the makers' own packages."""

from __future__ import annotations

import math
import time

import pytest

import backemf as be
from backemf.kits.recorder.virtual.plants import Faults

from .rig import Patient, until, virtual

COUNT = 2 * math.pi / 4096
LEFT = 0.31 / 8.4 / COUNT + 2
"""0.1 + 0.21 N m over 12 V 0.166/rad P 16 2.37 N m/A 0.495 / 4.46 ohm = 8.4 N m/rad; rounding [counts]."""


def feetech(port, baud=1_000_000):
    import scservo_sdk

    handler = scservo_sdk.PortHandler(port)
    handler.baudrate = baud
    assert handler.openPort()
    return handler, Patient(handler, scservo_sdk.PacketHandler(0))


@pytest.fixture(scope="module")
def six():
    with virtual("--id", "1-6", "--noise", "0") as port:
        yield port


def test_the_makers_package_finds_six_feetech_servos(six):
    import scservo_sdk

    port, packets = feetech(six)
    try:
        for id in range(1, 7):
            assert packets.ping(port, id)[:2] == (777, 0)
        assert packets.packets.ping(port, 7)[1] == scservo_sdk.COMM_RX_TIMEOUT
        read = scservo_sdk.GroupSyncRead(port, packets.packets, 56, 15)
        for id in range(1, 7):
            assert read.addParam(id)
        until(lambda: read.txRxPacket() == 0, "an answer of all six")
        assert [read.getData(id, 56, 2) for id in range(1, 7)] == [2048] * 6
        assert read.getData(3, 62, 1) == 120, "12 V in tenths"
    finally:
        port.closePort()


def test_a_goal_is_reached_and_torque_off_lets_the_pendulum_hang(six):
    port, packets = feetech(six)

    def position() -> int:
        return packets.read2ByteTxRx(port, 2, 56)[0]

    try:
        packets.write2ByteTxRx(port, 2, 42, 2048 + 400)
        assert position() == 2048, "without torque nothing moves"
        packets.write1ByteTxRx(port, 2, 40, 1)
        # a P law leaves at most (gravity + friction) over its stiffness, the gears' losses included
        until(lambda: abs(position() - 2448) < LEFT, "the goal")
        load = packets.read2ByteTxRx(port, 2, 60)[0]
        assert load & 1023 > 0
        assert not load >> 10, "it pushes forwards against gravity"
        assert packets.read2ByteTxRx(port, 2, 69)[0] < 1 << 15, "and so does its current"
        packets.write2ByteTxRx(port, 2, 42, 2048 - 400)
        until(lambda: abs(position() - 1648) < LEFT, "the goal on the other side")
        assert packets.read2ByteTxRx(port, 2, 60)[0] >> 10, "backwards: the sign is bit 10"
        packets.write1ByteTxRx(port, 2, 40, 0)
        assert packets.read2ByteTxRx(port, 2, 60)[0] == 0
    finally:
        port.closePort()


def test_a_gain_that_is_written_acts(six):
    port, packets = feetech(six)
    try:
        packets.write1ByteTxRx(port, 3, 21, 1)
        packets.write2ByteTxRx(port, 3, 42, 2048 + 40)
        packets.write1ByteTxRx(port, 3, 40, 1)
        time.sleep(0.2)
        # 0.061 rad at P 1 is 0.074 N m, below the friction of 0.21 N m: it sticks
        assert packets.read2ByteTxRx(port, 3, 56)[0] == 2048
        packets.write1ByteTxRx(port, 3, 21, 200)
        until(lambda: packets.read2ByteTxRx(port, 3, 56)[0] > 2048 + 30, "a stiffer servo moves")
    finally:
        packets.write1ByteTxRx(port, 3, 40, 0)
        port.closePort()


def test_what_a_register_cannot_do_is_said():
    servo = be.virtual("sts3215-12v", protocol="feetech", firmware="lerobot")
    port, packets = feetech(servo.port)
    try:
        until(lambda: packets.packets.write1ByteTxRx(port, 1, 22, 100)[0] == 0, "an answer")
    finally:
        port.closePort()
    with pytest.warns(be.errors.BackemfWarning, match="derivative 100 does nothing here") as said:
        servo.stop()
    assert len(said) == 1


def test_at_another_baud_rate_nobody_answers(six):
    port, packets = feetech(six, baud=500_000)
    try:
        assert packets.packets.ping(port, 1)[1] != 0
    finally:
        port.closePort()
    port, packets = feetech(six)
    try:
        assert packets.ping(port, 1)[1] == 0
    finally:
        port.closePort()


def dynamixel(port, version):
    import dynamixel_sdk

    handler = dynamixel_sdk.PortHandler(port)
    assert handler.openPort()
    handler.setBaudRate(1_000_000)
    return handler, Patient(handler, dynamixel_sdk.PacketHandler(version))


def test_dynamixel_protocol_two_with_its_bus_watchdog():
    with virtual("xm430-w350", "--protocol", "dynamixel", "--id", "1,4", "--noise", "0") as name:
        port, packets = dynamixel(name, 2.0)
        try:
            found = until(lambda: packets.packets.broadcastPing(port)[0], "an answer")
            assert set(found) <= {1, 4}
            assert {model for model, _ in found.values()} == {1020}
            assert packets.read4ByteTxRx(port, 4, 132)[0] == 2048
            packets.write1ByteTxRx(port, 4, 98, 50)  # 1 s
            packets.write1ByteTxRx(port, 4, 64, 1)
            packets.write4ByteTxRx(port, 4, 116, 2200)
            until(lambda: packets.read4ByteTxRx(port, 4, 132)[0] > 2150, "it follows while it is talked to")
            time.sleep(1.5)
            assert packets.read1ByteTxRx(port, 4, 64)[0] == 0, "silence has stopped it"
        finally:
            port.closePort()


def test_dynamixel_protocol_one_counts_its_current_from_the_middle():
    with virtual("mx-106", "--protocol", "dynamixel1", "--noise", "0") as name:
        port, packets = dynamixel(name, 1.0)
        try:
            assert packets.ping(port, 1)[0] == 320
            assert packets.read2ByteTxRx(port, 1, 68)[0] == 2048, "no current"
            packets.write1ByteTxRx(port, 1, 24, 1)
            packets.write2ByteTxRx(port, 1, 30, 1500)
            until(lambda: packets.read2ByteTxRx(port, 1, 36)[0] < 1540, "it goes backwards")
            assert packets.read2ByteTxRx(port, 1, 68)[0] < 2048, "holding there takes a negative current"
        finally:
            port.closePort()


def test_a_stuck_joint_is_switched_off_as_overloaded():
    words = ("--fault", "stuck=0.1", "--register", "protection_time=10", "--noise", "0")
    with virtual(*words) as name:
        port, packets = feetech(name)
        try:
            packets.write1ByteTxRx(port, 1, 40, 1)
            time.sleep(0.2)
            packets.write2ByteTxRx(port, 1, 42, 4000)
            until(lambda: packets.read1ByteTxRx(port, 1, 40)[0] == 0, "its own protection")
            assert packets.read1ByteTxRx(port, 1, 65)[0] >> 5 & 1, "overload is bit 5 of the status"
        finally:
            port.closePort()


class Retry:
    """A controller of rustypot that asks again where an answer is late."""

    def __init__(self, controller):
        self.controller = controller

    def __getattr__(self, name):
        def ask(*given):
            for _ in range(20):
                try:
                    return getattr(self.controller, name)(*given)
                except RuntimeError as error:  # nothing came, or what is left of a late answer
                    last = error
                    time.sleep(0.1)
            raise last

        return ask


def test_rustypot_sets_a_feetech_up_and_moves_it():
    """It sets the rate as a number (BOTHER); a servo at another rate, with another id, is looked for as its
    tools do."""
    rustypot = pytest.importorskip("rustypot", reason="rustypot is one of the peers")
    with virtual("--ids", "9", "--baud", "115200", "--noise", "0") as port:
        servo = Retry(rustypot.Sts3215PyController(port, 1_000_000, 0.5))
        assert not servo.controller.ping(9)
        servo.set_baudrate(115_200)
        assert until(lambda: servo.controller.ping(9), "an answer at its rate")
        servo.write_lock(9, False)
        servo.write_id(9, 2)
        servo.write_baud_rate(2, 0)
        servo.set_baudrate(1_000_000)
        assert until(lambda: servo.controller.ping(2), "an answer at the new rate")
        assert servo.read_present_position(2) == pytest.approx([0.0], abs=COUNT)
        servo.sync_write_torque_enable([2], [True])
        servo.sync_write_goal_position([2], [0.4])
        until(lambda: abs(servo.read_present_position(2)[0] - 0.4) < LEFT * COUNT, "the goal")
        until(lambda: servo.read_moving(2) == [False], "its rest")
        servo.reboot(2)
        assert servo.read_torque_enable(2) == [False]
        assert servo.read_id(2) == [2]


@pytest.mark.parametrize(
    ("part", "protocol", "name"),
    [("xl430-w250", "dynamixel", "Xl430PyController"), ("mx-106", "dynamixel1", "MxPyController")],
)
def test_rustypot_talks_to_dynamixels(part, protocol, name):
    rustypot = pytest.importorskip("rustypot", reason="rustypot is one of the peers")
    with virtual(part, "--protocol", protocol, "--noise", "0") as port:
        servo = Retry(getattr(rustypot, name)(port, 1_000_000, 0.5))
        assert until(lambda: servo.controller.ping(1), "an answer")
        before = servo.read_raw_data(1, *((132, 4) if protocol == "dynamixel" else (36, 2)))
        assert int.from_bytes(bytes(before), "little") == 2048
        servo.write_torque_enable(1, True)
        refused = servo.write_raw_data_with_error(1, 7 if protocol == "dynamixel" else 3, [5])
        assert refused == (7 if protocol == "dynamixel" else 8), "an id is not changed while it holds"


def test_the_makers_package_reads_in_bulk_and_is_told_what_protocol_one_refuses():
    with virtual("mx-106", "--protocol", "dynamixel1", "--ids", "1,2", "--noise", "0") as name:
        port, packets = dynamixel(name, 1.0)
        try:
            # its group of bulk reads calls this with an argument too many in protocol 1
            def bulk_read():
                port.ser.reset_input_buffer()
                packets.packets.bulkReadTx(port, [2, 1, 36, 1, 2, 42], 6)
                heard = [packets.packets.rxPacket(port) for _ in range(2)]
                return [bytes(packet[2:-1]) for packet, result in heard if result == 0]

            expected = [bytes([1, 4, 0, 0, 8]), bytes([2, 3, 0, 120])]
            until(lambda: bulk_read() == expected, "2048 of the first, 12 V of the second")
            assert packets.write2ByteTxRx(port, 1, 30, 5000)[-1] == 1 << 1, "an angle beyond the limits"
            packets.packets.regWriteTxRx(port, 2, 25, 1, [1])
            packets.packets.action(port, 254)
            assert packets.read1ByteTxRx(port, 2, 25)[0] == 1
        finally:
            port.closePort()


def test_the_makers_package_reads_in_bulk_and_is_told_what_protocol_two_refuses():
    import dynamixel_sdk
    from dynamixel_sdk.protocol2_packet_handler import ERRNUM_ACCESS, ERRNUM_DATA_RANGE

    with virtual("xm430-w350", "--protocol", "dynamixel", "--ids", "1,2", "--noise", "0") as name:
        port, packets = dynamixel(name, 2.0)
        try:
            bulk = dynamixel_sdk.GroupBulkWrite(port, packets.packets)
            assert bulk.addParam(1, 112, 4, [20, 0, 0, 0])
            assert bulk.addParam(2, 24, 4, [7, 0, 0, 0])
            assert bulk.txPacket() == 0
            group = dynamixel_sdk.GroupBulkRead(port, packets.packets)
            assert group.addParam(1, 112, 4)
            assert group.addParam(2, 24, 4)
            until(lambda: group.txRxPacket() == 0, "an answer of both")
            assert (group.getData(1, 112, 4), group.getData(2, 24, 4)) == (20, 7)
            assert packets.write1ByteTxRx(port, 1, 11, 7)[-1] == ERRNUM_DATA_RANGE
            packets.write1ByteTxRx(port, 1, 64, 1)
            assert packets.write1ByteTxRx(port, 1, 7, 3)[-1] == ERRNUM_ACCESS
            packets.reboot(port, 1)
            assert packets.read1ByteTxRx(port, 1, 64)[0] == 0
            assert packets.factoryReset(port, 2, 0x02)[-1] == 0
            assert packets.read4ByteTxRx(port, 2, 24)[0] == 10
        finally:
            port.closePort()


ARM = """<mujoco><compiler angle="radian"/><worldbody><body name="upper">
<joint name="shoulder" axis="0 1 0" range="-1 1"/>
<inertial pos="0 0 -0.1" mass="0.3" diaginertia="1e-3 1e-3 1e-4"/>
<body name="lower" pos="0 0 -0.2"><joint name="elbow" axis="0 1 0" range="-1.5 1.5"/>
<inertial pos="0 0 -0.08" mass="0.2" diaginertia="5e-4 5e-4 1e-4"/>
</body></body></worldbody></mujoco>"""


def test_a_whole_robot_moves_together(tmp_path):
    """Two joints of one arm: the elbow lifts, the shoulder holds, and is pulled out of its place."""
    from backemf.datasheets import parts
    from backemf.kits.recorder.virtual.plants import VirtualRobot

    (tmp_path / "arm.xml").write_text(ARM)
    robot = be.Robot.read(tmp_path / "arm.xml")
    servo = parts.part("sts3215-7.4v/m1").actuator
    plant = VirtualRobot(servo, robot, robot.names, Faults())
    plant.advance(0.2)
    assert plant.sensor_values(1)["position"] == pytest.approx(0.0, abs=1e-3)
    for k in (0, 1):
        plant.enable(k, True)
    plant.ask(1, "position_target", 1.0)
    plant.advance(2.0)
    lifted = plant.sensor_values(1)
    # what holds the lower arm: 0.2 kg at 0.08 m, a radian out of the vertical, less what friction holds
    torque = 0.2 * 9.81 * 0.08 * math.sin(1.0)
    assert lifted["position"] == pytest.approx(1.0, abs=0.05)
    assert lifted["torque"] == pytest.approx(torque, abs=0.06)
    assert abs(plant.sensor_values(0)["position"]) < 0.1
    plant.enable(1, False)
    plant.advance(5.0)
    assert plant.sensor_values(1)["position"] < 0.7
    assert plant.sensor_values(1)["current"] == 0.0
    with pytest.raises(be.BackemfError, match="follow positions"):
        VirtualRobot(parts.part("neo", control="voltage").actuator, robot, robot.names, Faults())
