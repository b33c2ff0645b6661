"""Motor, gears and driver in one sheet: its vocabulary, its interfaces, and that nothing printed is lost."""

from __future__ import annotations

import math

import pytest

import backemf as be
from backemf.datasheets.datasheet import ENTRIES, canonical
from backemf.datasheets.parts import part
from backemf.identify.plants.bench_plant import with_registers
from backemf.physics import steady

HEAD = 'name = "a"\nmaker = "b"\nkind = "{kind}"\n{more}voltage = "24 V"\nsource = "made up for a test"\n'
JOINT = """[entries]
gear_ratio = "9"
gear_efficiency = "90 %"
torque_constant = { value = "0.0910 N m/A", side = "rotor", convention = "rms" }
resistance = { value = "0.170 ohm", convention = "phase" }
inductance = { value = "57 uH", convention = "line" }
reflected_inertia = "4.92e-3 kg m^2"
no_load_current = "0.8 A"
nominal_torque = "9 N m"
peak_torque = "18 N m"
peak_time = "10 s"
backlash = "9 arcmin"
viscous_quadratic = "1e-4 N m s^2/rad^2"
viscous_cubic = { value = "2e-9 N m s^3/rad^3", side = "rotor" }
iron_loss = "1e-6 W s^2/rad^2"
cogging_percent = "2 %"
cogging_periods = "252"
thermal_resistance = "2 K/W"
thermal_capacitance = "100 J/K"
magnet_coefficient = "0.1 %/K"
derating_start = "80 degC"
derating_end = "110 degC"
safe_current = "2 A"
mass = "485 g"

[firmware]
stiffness = "60 N m/rad"
damping = "1.5 N m s/rad"
stiffness_max = "500 N m/rad"
torque_bandwidth = "1 kHz"
velocity_gain = "2 N m s/rad"
"""


def actuator_sheet(body: str = JOINT, kind: str = "actuator", more: str = "") -> be.Datasheet:
    return be.Datasheet.parse(HEAD.format(kind=kind, more=more) + body)


def test_every_printed_number_arrives():
    joint = actuator_sheet().actuator()
    p, eta, N = joint.parameters, 0.9, 9.0
    assert (p["gearbox.ratio"], p["gearbox.efficiency"]) == pytest.approx((N, eta))
    K = 0.091 / math.sqrt(1.5)  # per RMS ampere of a phase -> per ampere of the equivalent DC motor
    assert p["motor.torque_constant"] == pytest.approx(K, rel=1e-6)
    assert p["motor.resistance"] == pytest.approx(2 * 0.17, rel=1e-6)  # two phases in series
    assert p["motor.rotor_inertia"] == pytest.approx(4.92e-3 / N**2, rel=1e-6)
    assert p["gearbox.backlash"] == pytest.approx(math.radians(9 / 60))
    assert p["friction.viscous_quadratic"] == pytest.approx(1e-4)
    assert p["friction.viscous_cubic"] == pytest.approx(eta * N**4 * 2e-9)
    assert p["motor.iron_loss"] == pytest.approx(1e-6)
    assert p["motor.cogging.amplitude"] == pytest.approx(0.02 * 9 / (N * eta))
    assert p["motor.cogging.periods"] == 252
    assert p["motor.thermal.magnet_coefficient"] == pytest.approx(-1e-3)
    assert p["motor.limits.derating_end"] == 110
    assert p["motor.limits.peak_time"] == 10
    # A torque at the output becomes the current that leaves it there, friction and gears taken off.
    assert p["motor.limits.peak_current"] == pytest.approx(18 / (N * eta * K) + 0.8, rel=1e-3)
    assert p["motor.limits.continuous_current"] == pytest.approx(9 / (N * eta * K) + 0.8, rel=1e-3)
    voltage = actuator_sheet().actuator(control="voltage")
    assert steady.stall_torque(voltage, 24.0) == pytest.approx(18.0, rel=1e-6)
    assert actuator_sheet().reconciled.derived["stall_torque"].value == pytest.approx(18.0, rel=1e-6)


def test_what_the_model_does_not_use_is_listed():
    solved = actuator_sheet().reconciled
    assert solved.unused == (
        "mass 485 g",
        "firmware stiffness max 500 N m/rad",
        "firmware velocity gain 2 N m s/rad (of another law: velocity)",
    )
    (teeth,) = [text for text in solved.assumed if "play" in text]
    assert "neither is printed" in teeth
    bare = actuator_sheet(JOINT.replace('reflected_inertia = "4.92e-3 kg m^2"\n', "")).reconciled
    assert "backlash 9 arcmin (play needs a rotor inertia, which is not printed)" in bare.unused


@pytest.mark.parametrize(
    ("control", "drive", "target"),
    [
        (None, be.drive.Impedance, "position_target"),
        ("impedance", be.drive.Impedance, "position_target"),
        ("torque", be.drive.Impedance, "torque_target"),
        ("velocity", be.drive.Velocity, "velocity_target"),
        ("current", be.drive.Current, "current_target"),
        ("voltage", be.drive.Voltage, "voltage_target"),
        ("position", be.drive.Impedance, "position_target"),
    ],
)
def test_every_interface(control, drive, target):
    sheet = actuator_sheet()
    joint = sheet.actuator(control=control)
    made, p = joint.drive, joint.parameters
    assert isinstance(made, drive)
    assert made.followed == target
    if target == "position_target":
        assert p["drive.newton_metres_per_radian"] == 60.0
        assert p["drive.newton_metre_seconds_per_radian"] == 1.5
        assert p["drive.bandwidth"] == pytest.approx(2 * math.pi * 1000)
    if control == "velocity":  # 2 N m per rad/s at the output, in volts
        K = 9 * 0.091 / math.sqrt(1.5)
        assert p["drive.volt_seconds_per_radian"] == pytest.approx(2 * 0.34 / K, rel=1e-6)
    assert made.supply == 24.0


def test_a_sheet_may_name_its_interface():
    assert actuator_sheet(more='control = "torque"\n').actuator().drive.followed == "torque_target"
    motor = 'side = "rotor"\ncontrol = "velocity"\n'
    body = '[entries]\nresistance = "2 ohm"\ntorque_constant = "20 mN m/A"\n'
    sheet = actuator_sheet(body, "motor", motor)
    drive = sheet.actuator().drive
    assert isinstance(drive, be.drive.Velocity)
    assert any("velocity gain" in text for text in sheet.reconciled.assumed)
    with pytest.raises(be.BackemfError, match="unknown control 'speed'"):
        sheet.actuator(control="speed")


def test_a_torque_interface_gives_its_torque():
    """3 N m asked for against a locked output: 3 N m of the motors, as far as the current reaches."""
    joint = actuator_sheet(JOINT.replace('backlash = "9 arcmin"\n', "")).actuator(control="torque")
    run = be.simulate(joint, be.bench.Locked(), {"torque_target": 3.0}, duration=0.05, dt=0.001)
    assert run.torque[-1] == pytest.approx(3.0, rel=2e-3)


POINTS = """[entries]
torque_constant = {{ value = "0.700 N m/A", convention = "dc" }}
gear_ratio = "6.33"
{speed}
{points}
"""


def point(torque: float, speed: float, more: str = "") -> str:
    return f'[[entries.torque_speed]]\ntorque = "{torque} N m"\nspeed = "{speed} rad/s"\n{more}'


def test_points_of_the_torque_speed_line_give_the_resistance():
    """R 0.5 ohm, K 0.7 at the output, 1.68 N m of friction: w = (24 - R (tau + 1.68) / K) / K."""
    w = [round((24 - 0.5 * (tau + 1.68) / 0.7) / 0.7, 3) for tau in (0.0, 8.0, 16.0)]
    points = point(8.0, w[1]) + point(16.0, w[2], 'voltage = "24 V"\nkind = "peak"\n')
    # What heat allows lies below the line and says nothing about it.
    points += point(2.0, w[1], 'kind = "continuous"\n')
    for body in (
        POINTS.format(speed="", points=points),
        POINTS.format(speed=f'no_load_speed = "{w[0]} rad/s"', points=point(16.0, w[2])),
    ):
        sheet = actuator_sheet(body)
        R = sheet.reconciled.constants["R"]
        assert R.value == pytest.approx(0.5, rel=0.1)  # the friction is a guess, here and there
        assert abs(R.value - 0.5) < 2 * R.error
        assert sheet.actuator(control="torque").motor.resistance == R.value


def test_a_sheet_that_tells_no_resistance_says_what_would():
    with pytest.raises(be.BackemfError, match="points of its torque-speed line"):
        actuator_sheet('[entries]\ntorque_constant = "1 N m/A"\n').actuator()
    with pytest.raises(be.BackemfError, match="line 7: torque_speed has no speed"):
        actuator_sheet('[entries]\n[[entries.torque_speed]]\ntorque = "1 N m"\n')


def test_a_convention_that_is_not_said_is_a_finding():
    plain = JOINT.replace(', convention = "rms"', "").replace(', convention = "phase"', "")
    (told,) = [f for f in actuator_sheet(plain).reconciled.findings if f.code == "convention_not_said"]
    assert "torque_constant 0.0910 N m/A is taken as per DC ampere (if rms, it is 0.816 times)" in told.text
    assert "resistance 0.170 ohm is taken as line to line (if phase, it is 2 times)" in told.text
    assert told.numbers["factor"] == pytest.approx(2.0)
    assert "convention_not_said" not in [f.code for f in actuator_sheet().reconciled.findings]


def test_limits_without_a_time_or_a_peak_are_said():
    peak = actuator_sheet(JOINT.replace('peak_time = "10 s"\n', ""))
    assert peak.actuator().motor.limits.peak_current is None
    assert peak.actuator().motor.limits.current == pytest.approx(
        18 / (8.1 * 0.091 / 1.5**0.5) + 0.8, rel=1e-3
    )
    assert any("no peak time is printed" in text for text in peak.reconciled.assumed)
    rated = actuator_sheet(JOINT.replace('peak_torque = "18 N m"\n', "").replace('peak_time = "10 s"\n', ""))
    assert rated.actuator().motor.limits is None
    assert any("carries for ever, not a limit" in text for text in rated.reconciled.assumed)


SYMBOLS = {
    "R": "resistance",
    "K_t": "torque_constant",
    "K_e": "back_emf_constant",
    "K_v": "speed_constant",
    "kn": "speed_constant",
    "Kn": "speed_constant",
    "n_N": "nominal_speed",
    "n_0": "no_load_speed",
    "\u03c9_0": "no_load_speed",
    "M_H": "stall_torque",
    "\u03c4_0": "stall_torque",
    "I_A": "stall_current",
    "I_c": "nominal_current",
    "IpK": "peak_current",
    "T_f": "coulomb_torque",
    "C_v": "viscous_friction",
    "J_r": "rotor_inertia",
    "\u03b7": "gear_efficiency",
    "N_p": "cogging_periods",
    "M_N": "nominal_torque",
    "T_c": "nominal_torque",
    "I_0": "no_load_current",
    "\u0394n/\u0394M": "speed_torque_gradient",
    "\u03c4_m": "mechanical_time_constant",
    "\u03c4_e": "electrical_time_constant",
    "R_T": "thermal_resistance",
    "C_{th}": "thermal_capacitance",
    "\u03c4_{th}": "thermal_time_constant",
    "T_{ref}": "reference_temperature",
    "T_ref": "reference_temperature",
    "T_0": "reference_temperature",
    "T_a": "ambient_temperature",
    "T_{max}": "max_winding_temperature",
    "\u03b1_{Cu}": "resistance_coefficient",
}
"""As table 19 of MuJoCo's DC-motor note prints them."""


@pytest.mark.parametrize(("symbol", "name"), SYMBOLS.items())
def test_symbols_of_the_note(symbol, name):
    assert canonical(symbol) == name


def test_no_symbol_stands_for_two_entries():
    owners: dict[str, str] = {}
    for name, kind in ENTRIES.items():
        for alias in (name, *kind.aliases):
            bare = alias.replace("_", "")
            assert owners.setdefault(bare, name) == name, alias


def test_the_firmware_integral_is_carried():
    servo = """[entries]
stall_torque = "3 N m"
stall_current = "2 A"
no_load_speed = "5 rad/s"
[firmware]
error_gain = "0.1 1/rad"
proportional = "32"
integral = "4"
"""
    head = 'side = "output"\n'
    carried = (
        actuator_sheet(servo + 'integral_gain = "0.02 1/(rad s)"\n', "servo", head).actuator().parameters
    )
    assert (carried["drive.integral"], carried["drive.firmware_integral_gain"]) == (4.0, 0.02)
    clocked = actuator_sheet(servo + 'sampling_period = "2 ms"\n', "servo", head)
    assert clocked.actuator().parameters["drive.period"] == 0.002
    assert "drive.period" not in clocked.actuator(control="voltage").parameters
    spread = servo + 'derivative = "32"\nderivative_filter = "12 ms"\n'
    on_error = actuator_sheet(spread + 'derivative_gain = "0.5 ms/rad"\n', "servo", head)
    assert on_error.actuator().parameters["drive.derivative_filter"] == pytest.approx(0.012)
    assert on_error.actuator().drive.without_push == {"derivative_filter": None}
    unknown = actuator_sheet(spread, "servo", head)
    assert "drive.derivative_filter" not in unknown.actuator().parameters
    assert any(text.startswith("firmware derivative filter 12 ms") for text in unknown.reconciled.unused)
    freed, paths = with_registers(unknown.actuator(), unknown)  # a fit takes over what the sheet states
    assert paths == ["drive.firmware_derivative_gain"]
    assert freed.parameters["drive.derivative_filter"] == pytest.approx(0.012)
    lost = actuator_sheet(servo, "servo", head)
    assert "drive.integral" not in lost.actuator().parameters
    assert any(text.startswith("firmware integral 4") for text in lost.reconciled.unused)


COUNT = 2 * math.pi / 4096


@pytest.mark.parametrize(
    ("name", "numbers"),
    [  # 16 of 1000 of the duty, at 0.166/rad and P 32, is 3.0 mrad; dead zones are one count
        (
            "sts3215-7.4v",
            {"deadband": COUNT, "punch": 0.016 / (0.166 * 32), "count": COUNT, "proportional": 32},
        ),
        ("sts3215-12v", {"deadband": COUNT, "punch": 0.016 / (0.166 * 32), "count": COUNT}),
        ("mx-64", {"count": COUNT, "punch": None, "firmware_derivative_gain": 8 * 0.158 * 4 / 1000}),
        ("mx-106", {"firmware_integral_gain": 8 * 0.158 * 1000 / 2048, "integral": None}),
        ("xm430-w350", {"count": COUNT, "deadband": None, "firmware_derivative_gain": None}),
        ("dm-j4310-2ec", {"count": 25 / 65535}),
        ("robstride-03", {"count": 8 * math.pi / 65535}),
    ],
)
def test_what_a_series_is_shipped_with_is_a_profile(name, numbers):
    drive = part(name, firmware="factory").actuator.drive
    for field, value in numbers.items():
        assert getattr(drive, field) == (None if value is None else pytest.approx(value, rel=1e-3)), field
    for field in ("deadband", "punch", "count", "firmware_derivative_gain"):  # numbers of fits stay
        assert getattr(part(name).actuator.drive, field, None) is None


def test_a_sheet_of_ones_own_may_name_its_series():
    sheet = actuator_sheet(more='series = "feetech-sts"\n')
    assert sheet.profiles["factory"]["derivative"].value == 32
    with pytest.raises(be.errors.BackemfError, match="series 'feetech-st'; did you mean 'feetech-sts'"):
        actuator_sheet(more='series = "feetech-st"\n')


def test_a_profile_without_a_gain_is_not_offered():
    (said,) = (f for f in part("sts3250").findings if f.code == "assumed_gain")
    assert "profiles" not in said.remedy
    (said,) = (f for f in part("sts3215-12v").findings if f.code == "assumed_gain")
    assert said.remedy.endswith("profiles: factory, lerobot")


@pytest.mark.parametrize(
    ("name", "control", "said"),
    [("sts3032", None, True), ("sts3215-12v", "position", True), ("sts3032", "voltage", False)],
)
def test_a_d_whose_count_nobody_measured_is_said_where_it_would_act(name, control, said):
    """The STS series comes with D 32, with or without a profile of somebody's firmware."""
    codes = [finding.code for finding in part(name, control=control).findings]
    assert ("derivative_not_known" in codes) == said
    assert "drive.derivative" not in part(name, control=control).actuator.parameters


def test_gear_efficiency_of_a_motor_with_gears_is_carried():
    body = '[entries]\nresistance = "2.00 ohm"\ntorque_constant = "20.0 mN m/A"\nno_load_current = "50 mA"\n'
    body += 'gear_ratio = "10"\ngear_efficiency = "80 %"\n'
    sheet = actuator_sheet(body, "motor", 'side = "rotor"\n')
    joint = sheet.actuator()
    assert (joint.gearbox.ratio, joint.gearbox.efficiency) == pytest.approx((10.0, 0.8))
    expected = 0.8 * 10 * 0.02 * (24 / 2 - 0.05)
    assert steady.stall_torque(joint, 24.0) == pytest.approx(expected, rel=1e-6)
    assert sheet.reconciled.derived["stall_torque"].value == pytest.approx(expected, rel=1e-6)
