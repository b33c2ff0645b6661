"""`size` from first to last: choices against full simulations, what a table of parts may say, the shell."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import backemf as be
from backemf.datasheets import parts
from backemf.datasheets.gearhead import Gearhead, PartsTable
from backemf.figure import Table
from backemf.sizing import components
from backemf.sizing.choice import Choice
from backemf.sizing.judge import LIMITS, Judge
from backemf.sizing.robot_power import RobotMotionLoad, run_on_supply
from backemf.sizing.sizing_page import page_of
from backemf.sizing.verification import simulate_choice

from ..cli.runner import runner
from ..robot.known import known_fit
from ..robot.simulated import truth

PICK = "pendulum mass=1.5kg length=0.3m", "trapezoid from=23deg to=100deg time=0.45s dwell=0.55s"
GEARS = """name,kind,ratio,efficiency [%],inertia [g cm^2],peak_torque [N m],continuous_torque [N m],\
input_speed [rpm],mass [g],fits
GP a,planetary,66,70,1,22.5,15,8000,260,maxon-re-25*
GP b,planetary,43,72,15,22.5,15,8000,460,maxon-re-40* maxon-ec*
GP c,spur,12,,15,22.5,15,8000,460,maxon-re-40*
"""


@pytest.fixture
def gears(tmp_path: Path) -> Path:
    path = tmp_path / "gears.csv"
    path.write_text(GEARS)
    return path


def drawn_choices(n: int, seed: int) -> list[tuple[Judge, Choice]]:
    """Motors of the catalogue behind drawn gears at drawn tasks, some too slow or too hot for them."""
    rng, found = np.random.default_rng(seed), []
    motors = [m for m in components.catalogue_motors() if not m.missing and m.numbers["ratio"] == 1.0]
    motors = [m for m in motors if "R_1" in m.numbers]
    while len(found) < n:
        m = motors[rng.integers(len(motors))]
        N, eta = float(np.exp(rng.uniform(np.log(4), np.log(200)))), float(rng.uniform(0.65, 0.95))
        inertia = 0.1 * m.numbers["rotor_inertia"]
        gear = Gearhead(name="drawn", ratio=N, efficiency=eta, inertia=inertia, peak_torque=1e3)
        V = parts.sheet(m.name).voltage
        lasting = m.numbers.get("continuous_current", 0.1)
        moment = rng.uniform(0.2, 1.2) * m.numbers["torque_constant"] * lasting * N * eta
        bench = f"pendulum mass={moment / 0.981}kg length=0.1m"
        move = f"trapezoid from=20deg to={rng.uniform(60, 140)}deg time={rng.uniform(0.3, 1.5)}s dwell=0.5s"
        judge = Judge(
            be.Task.of_bench(bench, move),
            components.motor_columns([m]),
            components.gear_columns([gear]),
            V,
            25.0,
        )
        v = judge.evaluate(np.array([0]), np.array([1]))
        numbers, uses, errors = (
            {k: float(x[0]) for k, x in d.items()} for d in (v.numbers, v.uses, v.errors)
        )
        if uses["voltage"] < 1.5 and math.isfinite(numbers["temperature"]):
            found.append(
                (judge, Choice(part=m, gears=gear, bus=V, numbers=numbers, uses=uses, errors=errors))
            )
    return found


def check_against_simulation(n: int, seed: int, seconds: float) -> None:
    enough = 0
    for judge, choice in drawn_choices(n, seed):
        check = simulate_choice(judge, choice, seconds).check
        assert check is not None
        fast_enough = choice.uses["voltage"] <= 1.0
        short = check.at_limit > 0.01 or check.off > 0.02
        assert fast_enough != short, choice  # the same verdict
        if not fast_enough:
            continue  # what saturates moves otherwise, and has no closed form
        enough += 1
        closed, simulated = check.temperature
        assert simulated == pytest.approx(closed, abs=3.0)
        assert check.voltage[1] == pytest.approx(check.voltage[0], rel=0.03)
        assert check.current_rms[1] == pytest.approx(check.current_rms[0], rel=0.01)  # one physics; samples
    assert enough >= 0.6 * n


def test_closed_forms_are_what_the_simulator_does():
    check_against_simulation(4, seed=3, seconds=60.0)


@pytest.mark.slow
def test_closed_forms_are_what_the_simulator_does_twenty_times():
    check_against_simulation(20, seed=5, seconds=3600.0)


@pytest.mark.parametrize("torque", [2.0, -2.0, -0.5])
@pytest.mark.parametrize("inductance", ["", "0.08"])
def test_a_load_that_drives_back_takes_what_the_simulator_takes(tmp_path, torque, inductance):
    """By hand: I = (T + F) / (eta N K) where the teeth drive, eta (T + F) / (N K) where they are driven;
    F = eta N K I_0 is the rotor's friction behind them."""
    (tmp_path / "m.csv").write_text(
        "name,voltage,R [ohm],Kt [mN m/A],I0 [mA],IN [A],rotor_inertia [g cm^2],mass [g],inductance [mH]\n"
        f"mine,24 V,0.3,30,137,5.5,138,480,{inductance}\n"
    )
    head = "name,kind,ratio,efficiency,inertia [g cm^2],peak_torque [N m],fits\n"
    (tmp_path / "g.csv").write_text(f"{head}G,planetary,132.5,0.72,9,22.5,mine\n")
    t, one = 0.002 * np.arange(1000), np.ones(1000)
    motion = {"time": t, "position": 3.0 * t, "velocity": 3.0 * one, "acceleration": 0.0 * one}
    task, N, eta, K = be.Task(name="x", **motion, torque=torque * one), 132.5, 0.72, 0.03
    own = {"parts": [str(tmp_path / "m.csv"), str(tmp_path / "g.csv")], "only_parts": True}
    (choice,) = [c for c in be.size(task, bus=24.0, verify=9, **own).choices if c.gearhead]
    carried = torque + eta * N * choice.part.numbers["friction"]
    assert choice.check is not None
    assert choice.check.agrees
    by_hand = carried / (N * K) * (1.0 / eta if carried > 0.0 else eta)
    assert choice.check.current_rms == pytest.approx((abs(by_hand),) * 2, rel=2e-3)  # a no-load line's K


def test_choices_of_the_catalogue_and_a_table(gears):
    task = be.Task.of_bench(*PICK)
    sizing = be.size(task, bus=24.0, parts=[str(gears)], verify=2, show=100)
    names = {(c.motor, c.gearhead) for c in sizing.choices}
    assert ("maxon-re-40-24v", "GP b") in names
    assert sizing.not_judged["GP c"] == ("efficiency",)
    assert "rotor_inertia" in sizing.not_judged["sts3250"]
    assert not [n for n in names if n[1] == "GP c" or n[0] == "sts3250"]
    assert sizing.n_feasible + sum(sizing.killed.values()) == sizing.n_combinations
    assert all(c.check.agrees for c in sizing.choices[:2] if c.check)
    known = [c.numbers["mass"] for c in sizing.choices if math.isfinite(c.numbers["mass"])]
    assert known == sorted(known)
    for c in sizing.choices:
        assert all(not use > 1.0 for use in c.uses.values())
    for c in sizing.pareto:
        m, loss = c.numbers["mass"], c.numbers["loss"]
        assert not [o for o in sizing.choices if o.numbers["mass"] < m and o.numbers["loss"] < loss]
    assert "prints no efficiency" in str(sizing)
    figure = sizing.figure()
    assert len(figure.panels) == 2
    page = page_of(sizing)
    tables = [b for s in page.sections if s.key == "choices" for b in s.blocks if isinstance(b, Table)]
    assert [one.filtered for one in tables] == [True]


def test_the_best_is_an_actuator_that_does_the_task(gears):
    sizing = be.size(be.Task.of_bench(*PICK), bus=24.0, parts=[str(gears)], motor="maxon-re-40*", verify=0)
    actuator = sizing.best.actuator()
    assert actuator.gearbox.ratio == 43.0
    assert actuator.motor.rotor_inertia == pytest.approx(
        be.Actuator.read("maxon-re-40-24v").motor.rotor_inertia + 15e-7, rel=1e-9
    )
    assert be.steady.no_load_speed(actuator, 24.0) > be.Task.of_bench(*PICK).top_speed


def test_confidence_keeps_a_distance():
    task = be.Task.of_bench(*PICK)
    loose, sure = (be.size(task, bus=23.0, verify=0, show=100, confidence=c) for c in (None, 0.99999))
    assert 0 < sure.n_feasible < loose.n_feasible
    for c in sure.choices:
        assert all(not chance > 1.1e-5 for chance in c.chances.values())
    assert any(max(c.chances.values(), default=0.0) > 1e-5 for c in loose.choices)


def test_hot_surroundings_and_a_low_bus_leave_less():
    task = be.Task.of_bench(*PICK)
    usual = be.size(task, bus=24.0, verify=0).n_feasible
    assert be.size(task, bus=12.0, verify=0).n_feasible < usual
    warm = be.size(task, bus=24.0, verify=0, motor="mini-cheetah", ambient=100.0)
    assert warm.n_feasible == 0
    assert warm.nearest is not None
    assert warm.nearest.binding == "temperature"
    with pytest.raises(be.BackemfError, match="there is no best"):
        _ = warm.best


def test_what_is_said_of_the_nearest_is_a_sentence(gears):
    """Surroundings warmer than any winding rule all out; a runaway has no temperature."""
    task = be.Task.of_bench(*PICK)
    for how, said in (
        ({"ambient": 200.0}, "the surroundings are warmer than it stands"),
        ({"max_mass": 1e-3}, "% of the mass that is allowed"),
        ({"motor": "maxon-re-25*"}, "warm up without end"),
    ):
        sizing = be.size(task, bus=24.0, verify=0, **how)
        assert sizing.n_feasible == 0
        assert said in sizing.near_miss()
        assert "inf" not in sizing.near_miss()
    warm = be.size(task, bus=24.0, verify=0, ambient=60.0)
    assert "warm_surroundings" in {f.code for f in warm.findings}
    own = {"bus": 24.0, "verify": 0, "parts": [str(gears)], "motor": "maxon-re-40*"}
    (said,) = [f.text for f in be.size(task, **own).findings if f.code == "gears_not_whole"]
    assert "limit of 22.5 N m" in said


def test_nothing_feasible_names_the_nearest():
    sizing = be.size(
        be.Task.of_bench("pendulum mass=15kg length=0.8m", "sine amplitude=60deg period=1s"), bus=24.0
    )
    assert sizing.n_feasible == 0
    assert [f.code for f in sizing.findings] == ["nothing_feasible"]
    assert "needs" in sizing.near_miss()


def test_a_drive_that_moves_only_itself_has_a_task(tmp_path):
    """Bare and without a load, an RE 40 takes its no-load current."""
    path = tmp_path / "own.csv"
    path.write_text("time [s],velocity [rad/s],torque [N m]\n0,90,0\n1,90,0\n2,90,0\n3,90,0\n")
    sizing = be.size(path, bus=24.0, motor="maxon-re-40-24v", verify=1)
    assert [f.code for f in sizing.findings] == ["not_recorded"]
    part, check = sizing.best.part, sizing.best.check
    drag = part.numbers["friction"] + 90.0 * part.numbers["viscous"]
    assert check is not None
    assert check.current_rms == pytest.approx((drag / part.numbers["torque_constant"],) * 2, rel=1e-3)


def test_a_wheel_and_a_hold_are_tasks_too():
    held = be.size(be.Task.of_bench("pendulum mass=0.5kg length=0.2m", "hold at=90deg"), bus=24.0, verify=1)
    assert held.task.rms_torque == pytest.approx(0.5 * 9.80665 * 0.2, rel=1e-12)
    assert held.choices
    wheel = be.Task.of_bench("flywheel inertia=1e-4kg*m^2", "spin-up speed=100rad/s time=1s hold=1s")
    assert wheel.peak_torque == pytest.approx(1e-2, rel=1e-9)


def test_neglect_says_what_it_left_out():
    task = be.Task.of_bench("flywheel inertia=1e-3kg*m^2", "spin speed=200rad/s")
    with pytest.raises(be.BackemfError, match="prints no rotor_inertia"):
        be.size(task, bus=12.0, motor="neo", verify=0)
    sizing = be.size(task, bus=12.0, motor="neo", neglect=("rotor_inertia", "heat"), verify=0)
    assert sizing.n_feasible == 1
    assert "numbers_neglected" in {f.code for f in sizing.findings}


def test_millions_of_combinations():
    """A million at a time in a fifth of what is allowed for 2.6 million; memory does not grow with them."""
    import importlib
    import time

    judge, m, h = importlib.import_module("benchmarks.sizing").drawn_judge(700, 1500)
    begun = time.process_time()
    found = judge.screen(m, h)
    assert time.process_time() - begun < 2.0 * len(m) / 2.6e6 + 0.5  # CPU seconds
    assert len(found.feasible) + sum(found.killed.values()) == len(m)
    some = np.random.default_rng(1).choice(len(m), 300, replace=False)
    one_by_one = judge.evaluate(m[some], h[some])
    ids = set(zip(found.feasible.motor.tolist(), found.feasible.gear.tolist(), strict=True))
    for j, worst in zip(some, one_by_one.worst(), strict=True):
        assert ((int(m[j]), int(h[j])) in ids) == (worst <= 1.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GEARS.replace(",70,", ",0,"), "line 2: efficiency of gearhead GP a is 0; expected more than 0"),
        (GEARS.replace("maxon-re-25*", "foo"), None),
        ("name,ratio\nA,\n", "needs ratio"),
        ("name,ratio,colour\nA,5,red\n", "colour"),
        ("ratio\n5\n", "line of titles with 'name'"),
        ("name,voltage,resistance [ohm]\nM,24 V\n", "2 cells where the titles are 3"),
        ("name,resistance [ohm]\nM,2\n", "needs name and voltage"),
        (
            GEARS.replace("22.5,15,8000,260", "5,15,8000,260"),
            "is 5 N m; expected at least its continuous_torque",
        ),
        (GEARS.replace("GP b", "GP a"), "two gearheads are called GP a"),
        ("name,ratio,price\nA,5,2 EUR\nB,6,3 USD\n", "a price in USD and others are in EUR"),
    ],
)
def test_tables_of_parts_that_are_wrong(tmp_path, text, said):
    path = tmp_path / "parts.csv"
    path.write_text(text)
    task = be.Task.of_bench(*PICK)
    if said is None:  # one of three fits nothing: a finding
        sizing = be.size(task, bus=24.0, parts=[str(path)], verify=0)
        assert "gearhead_fits_none" in {f.code for f in sizing.findings}
        return
    with pytest.raises(be.BackemfError, match=said):
        be.size(task, bus=24.0, parts=[str(path)], verify=0)


def test_gearheads_that_all_fit_nothing_are_refused(tmp_path):
    path = tmp_path / "gears.toml"
    path.write_text('[[gearhead]]\nname = "A"\nratio = 5\nefficiency = "80 %"\nfits = ["nobody"]\n')
    with pytest.raises(be.BackemfError, match="A fits nobody, which is none of"):
        be.size(be.Task.of_bench(*PICK), bus=24.0, parts=[str(path)])


def test_a_row_is_read_as_a_sheet(tmp_path):
    path = tmp_path / "motors.csv"
    path.write_text(
        "name,voltage,R,Kt [mN m/A],I0 [mA],IN,rotor_inertia [g cm^2],mass [g],price,speed_limit [rpm]\n"
        "mine,24 V,0.3 ohm,30,137,5.5 A,138,480,310,9000\n"
    )
    table = PartsTable()
    table.read(path)
    one = components.of_sheet("mine", table.sheets["mine"], table.prices["mine"], table.top_speeds["mine"])
    assert not one.missing
    assert one.numbers["friction"] == pytest.approx(0.03 * 0.137, rel=1e-2)
    assert one.numbers["speed_limit"] == pytest.approx(9000 * math.pi / 30)
    assert one.numbers["price"] == 310.0


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("spell", [str, str.title])
def test_tables_as_people_write_them(tmp_path, mark, spell):
    """Titles in capitals, other marks and decimal commas, a type of motor, a price in a currency."""
    titles = ["name", "type", "ratio", "voltage", "resistance [ohm]", "mass [g]", "price [EUR]"]
    rows = [["G", "planetary", "4.8", "", "", "190", "85.5"], ["M", "bldc", "", "24 V", "0.3", "480", "310"]]
    text = "\n".join(mark.join(cells) for cells in ([*map(spell, titles)], *rows))
    text = text.replace("Eur]", "EUR]").replace("[Ohm]", "[ohm]").replace("[G]", "[g]")
    path, table = tmp_path / "parts.csv", PartsTable()
    path.write_text(text if mark == "," else text.replace("4.8", "4,8").replace("85.5", "85,5"))
    table.read(path)
    (gear,) = table.gearheads
    assert (gear.ratio, gear.mass, gear.price, gear.currency) == (4.8, 0.19, 85.5, "EUR")
    assert table.prices == {"M": (310.0, "EUR")}
    assert table.sheets["M"].motor == "brushless"


def write_mgdb(folder: Path) -> Path:
    """A clone of two motors, one of which contradicts itself, and two gearboxes."""
    (folder / "maxon").mkdir(parents=True)
    head = "key,manufacturer,ID,type,V,k_t,R,L,mass,inertia,omega_nl,I_nl,I_nom,max_int_torque,max_int_speed"
    head += ",Rth1,Rth2\n"
    good = "m1,maxon,1,DC,24,0.0302,0.317,8e-5,0.48,1.38e-5,793.8,0.137,5.77,inf,1256,1.93,4.65\n"
    bad = "m2,maxon,2,DC,24,0.0302,0.317,8e-5,0.48,1.38e-5,79.38,0.137,5.77,inf,1256,1.93,4.65\n"
    (folder / "maxon/maxon_motors.csv").write_text(head + good + bad)
    heads = "key,manufacturer,ID,type,stages,ratio,mass,inertia,efficiency,direction,max_int_torque"
    heads += ",max_cont_torque\n"
    (folder / "maxon/maxon_gearboxes.csv").write_text(
        heads
        + "g10,maxon,10,planetary,2,43,0.46,1.5e-6,0.72,1,22.5,15\ng20,maxon,20,planetary,2,12,0.4,0,,1,9,6\n"
    )
    (folder / "maxon/maxon_compatibility.csv").write_text("m1,g*\nm2,g10\n")
    return folder


def test_a_clone_of_mgdb(tmp_path):
    folder = write_mgdb(tmp_path / "MGDB")
    sizing = be.size(be.Task.of_bench(*PICK), bus=24.0, parts=[str(folder)], only_parts=True, verify=1)
    assert [(c.motor, c.gearhead) for c in sizing.choices] == [("m1", "g10")]
    assert sizing.best.actuator().motor.inductance == 8e-5
    assert set(sizing.not_judged["g20"]) == {"efficiency", "inertia"}
    assert "rows_left_out" in {f.code for f in sizing.findings}


CLEAN = "time [s],velocity [rad/s],torque [N m]\n" + "".join(
    f"{0.01 * k:.2f},{math.sin(0.0628 * k):.6f},{0.5 * math.cos(0.0628 * k):.6f}\n" for k in range(100)
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CLEAN, None),
        (CLEAN.replace("velocity [rad/s]", "position [rad]"), None),
        ("".join(CLEAN.splitlines(True)[:40] + CLEAN.splitlines(True)[60:]), "has a gap at 0.38 s"),
        (CLEAN.replace("velocity [rad/s]", "current [A]"), "neither velocity nor position"),
        (CLEAN.replace("torque [N m]", "voltage [V]"), "has no torque"),
        ("time [s],velocity [rad/s],torque [N m]\n0,0,0\n1,0,0\n2,0,0\n", "nothing but 0 for its torque"),
    ],
)
def test_tables_of_tasks(tmp_path, text, said):
    path = tmp_path / "task.csv"
    path.write_text(text)
    if said is not None:
        with pytest.raises(be.BackemfError, match=said):
            be.size(str(path), bus=24.0)
        return
    task = be.Task.read(path)
    assert task.period == pytest.approx(1.0)
    assert task.rms_torque == pytest.approx(0.5 / math.sqrt(2.0), rel=2e-2)
    assert be.size(task, bus=24.0, verify=1).choices


@pytest.mark.parametrize(
    ("jitter", "every", "said"), [(0.0, 0, 0), (0.1, 0, 0), (0.3, 0, 0), (0.0, 97, 8), (0.3, 97, 8)]
)
def test_positions_at_uneven_times_move_as_they_did(tmp_path, jitter, every, said):
    """sin(pi t) at 200 Hz: 3.14 rad/s and 9.87 rad/s^2, whatever the clock, and without some samples."""
    rng, path = np.random.default_rng(0), tmp_path / "task.csv"
    t = 0.005 * (np.arange(800) + rng.uniform(-jitter, jitter, 800))
    t = np.delete(t, np.arange(every, 800, every)) if every else t
    rows = [f"{x:.6f},{math.sin(math.pi * x):.6f},{2 * math.sin(math.pi * x):.6f}" for x in t]
    path.write_text("time [s],position [rad],torque [N m]\n" + "\n".join(rows))
    task = be.Task.read(path)
    assert task.top_speed == pytest.approx(math.pi, rel=5e-3)  # cubics over a tenth of a second
    assert np.abs(task.acceleration).max() == pytest.approx(math.pi**2, rel=0.1)
    found = [f for f in task.findings if f.code == "samples_missing"]
    assert [f.text.split()[2] for f in found] == [str(said)] * bool(said)


def test_in_the_shell(tmp_path, gears):
    from backemf.apps.cli.size_command import size

    shell = runner(size)
    words = ["--bench", PICK[0], "--move", PICK[1], "--bus", "24V", "--parts", str(gears)]
    told = json.loads(shell(*words, "--json", "--verify", "1", "-o", str(tmp_path / "best.json")))
    assert set(told["choices"][0]["uses"]) == set(LIMITS)
    assert told["choices"][0]["simulated"]["agrees"]
    assert told["options"]["bus"] == 24.0
    best = be.Actuator.read(tmp_path / "best.json")
    assert best.gearbox.ratio == pytest.approx(told["choices"][0]["ratio"])
    page = tmp_path / "pareto.html"
    shown = shell(*words, "--verify", "0", "--gear", "planetary", "--max-mass", "400g", "--plot", str(page))
    assert "Ruled out" in shown
    assert 'class="filter"' in page.read_text()
    shell(*words, "--verify", "0", "--export", "mujoco", "-o", str(tmp_path / "best.xml"))
    assert "<mujoco" in (tmp_path / "best.xml").read_text()
    for wrong, said in (
        (["--bus", "24"], "nothing says what the task is"),
        (["--bench", PICK[0], "--bus", "24"], "--move is missing"),
        ([*words, "--robot", "go2.xml"], "a task is given as words and as robot"),
        ([*words, "--gear", "worm"], "no gearhead is of that sort"),
    ):
        with pytest.raises(be.BackemfError, match=said):
            shell(*wrong)


def write_swing(tmp_path: Path) -> tuple[Path, Path]:
    """A pendulum of MuJoCo that swings freely, and its recording."""
    import mujoco

    xml = tmp_path / "swing.xml"
    xml.write_text(
        '<mujoco model="swing"><worldbody><body><joint name="hinge" axis="0 1 0" range="-170 170"/>'
        '<geom type="capsule" size=".02" fromto="0 0 0 0 0 -.3" mass="1"/></body></worldbody>'
        '<actuator><motor joint="hinge"/></actuator></mujoco>'
    )
    model = mujoco.MjModel.from_xml_path(str(xml))
    data = mujoco.MjData(model)
    data.qpos[0], rows = 1.0, ["time [s],hinge.position [rad]"]
    for k in range(2000):
        if k % 4 == 0:
            rows.append(f"{data.time:.6f},{data.qpos[0]:.9f}")
        mujoco.mj_step(model, data)
    log = tmp_path / "swing.csv"
    log.write_text("\n".join(rows))
    return xml, log


def test_power_takes_fits_actuators_and_their_files_alike(tmp_path):
    xml, log = write_swing(tmp_path)
    battery = be.Supply(voltage=24.0, resistance=0.1)
    actuator = be.Actuator.read("ak80-9")
    file = str(actuator.write(tmp_path / "joint.json") or tmp_path / "joint.json")
    told = [
        be.power(xml, log, battery=battery, **given)
        for given in ({"part": "ak80-9"}, {"part": file}, {"fit": file}, {"fit": actuator})
    ]
    assert [one.energy for one in told] == [told[0].energy] * 4
    fit = known_fit(None, [], [])
    with pytest.raises(be.BackemfError, match="no joint of swing has an actuator"):  # a fit of other joints
        be.power(xml, log, battery=battery, fit=fit)
    with pytest.raises(be.BackemfError, match="fit is 3; expected a fit, an actuator"):
        be.power(xml, log, battery=battery, fit=3)
    with pytest.raises(be.BackemfError, match="is a fit of a robot"):
        be.power(xml, log, battery=battery, part=str(fit.write(tmp_path / "arm.json")))


def test_what_flows_is_compared_with_what_a_part_stands_for_ever(tmp_path):
    """An RE 40 alone, printed at 5.77 A, moves an arm that takes 30 A: by hand, m g l sin(q) over K."""
    t = np.arange(0.0, 1.0, 0.005)
    still = np.zeros((len(t), 1))
    K = be.Actuator.read("maxon-re-40-24v").motor.torque_constant
    load = RobotMotionLoad(t, still, still, still + 30.0 * K)
    for assumed in ((), ("arm",)):
        actuator = {"arm": be.Actuator.read("maxon-re-40-24v")}
        run = run_on_supply(
            "one", actuator, load, be.Supply(voltage=24.0), lasting={"arm": 5.77}, assumed=assumed
        )
        found = {f.code: f.text for f in run.findings}
        assert f"{100 * 30 / 5.77:.0f} %" in found["lasting_current_exceeded"]
        assert f"{100 * 30 / 5.77:.0f}" in run.cells()[1][0]
        assert ("friction_unknown" in found) == bool(assumed)
        assert ("friction" in run.not_judged.get("arm", ())) == bool(assumed)
    xml, log = write_swing(tmp_path)
    said = be.power(xml, log, part="go-m8010-6", battery=be.Supply(voltage=24.0))
    assert [f.code for f in said.findings] == ["friction_unknown"]  # its sheet takes another part's
    assert "nobody can say" in str(said)


def test_a_robots_joint_and_its_battery(tmp_path):
    """A pendulum of MuJoCo that swings freely: its joint needs no torque, and on a battery draws almost
    nothing."""

    from backemf.apps.cli.size_command import power

    xml, log = write_swing(tmp_path)
    task = be.Task.of_robot(str(xml), str(log), "hinge")
    weight = 9.81 * 0.15
    assert task.rms_torque < 0.01 * weight  # smoothed twice-differenced positions
    assert [f.code for f in task.findings] == ["friction_unknown"]
    rubs = be.Task.of_robot(str(xml), str(log), "hinge", friction=be.Actuator.read("mini-cheetah"))
    assert not rubs.findings
    shell = runner(power)
    words = [xml, log, "--part", "mini-cheetah", "--battery", "voc=24V r=0.1ohm capacity=1Ah"]
    told = json.loads(shell(*words, "--json"))
    assert told["findings"] == []
    assert told["joints"][0]["name"] == "hinge"
    book = told["energy"]
    assert sum(v for k, v in book.items() if k != "source") == pytest.approx(book["source"], rel=1e-6)
    supply = be.Supply(voltage=24.0, resistance=0.1, capacity=3600.0)
    robot = be.Robot.read(xml, supply=supply)
    assert be.power(robot, log, part="mini-cheetah").energy == pytest.approx(book, rel=1e-12)
    with pytest.raises(be.BackemfError, match="nothing says what feeds"):
        be.power(xml, log, part="mini-cheetah")
    shell(*words, "--plot", tmp_path / "power.png")
    with pytest.raises(be.BackemfError, match="nothing says what moves"):
        shell(xml, log, "--battery", "voc=24V")
    for ratio, said in (("knee=2", "no joint of the recording"), ("hinge=abc", "expected a number")):
        with pytest.raises(be.BackemfError, match=said):
            shell(*words, "--ratio", ratio)
    with pytest.raises(be.BackemfError, match="knee"):
        be.Task.of_robot(str(xml), str(log), "knee")


def test_a_fit_is_a_part_and_of_a_robots_every_joint(tmp_path):
    """Of the five columns with errors this fit has two; the others were not fitted, and have none."""
    path = known_fit(None, [], []).write(tmp_path / "arm.json")
    heat = "rotor_inertia", "heat"
    task = be.Task.of_bench("pendulum mass=0.05kg length=0.1m", "sine amplitude=0.2rad period=2s")
    how = {"parts": [str(path)], "only_parts": True, "neglect": heat, "verify": 0}
    sizing = be.size(task, bus=12.0, **how)
    assert {c.motor for c in sizing.choices} == {f"arm/{joint}" for joint in truth()}
    part = sizing.choices[0].part
    assert part.errors == {
        "torque_constant": pytest.approx(0.05),  # as `known_fit` has it
        "friction": pytest.approx(0.05),
    }
    (one,) = be.size(task, bus=12.0, motor="*/elbow*", **how).choices
    assert one.actuator().motor == truth()["elbow"].motor


def sampled(rate: int) -> str:
    """One and the same sine, in more or fewer samples."""
    rows = [(k / rate, 2.0 * math.pi * k / rate) for k in range(rate)]
    head = "time [s],velocity [rad/s],torque [N m]\n"
    return head + "".join(f"{t},{math.sin(x)},{0.5 * math.cos(x)}\n" for t, x in rows)


def test_tables_of_one_motion_are_simulated_alike(tmp_path):
    checks = []
    for rate in (50, 100, 1000):
        path = tmp_path / f"sine{rate}.csv"
        path.write_text(sampled(rate))
        (choice,) = be.size(path, bus=24.0, motor="rmd-x4-36", verify=1).choices
        checks.append(choice.check)
    for check in checks:
        assert check.agrees
        assert check.voltage[1] == pytest.approx(checks[-1].voltage[1], rel=2e-3)  # 50 samples for a sine
        assert check.current_rms[1] == pytest.approx(checks[-1].current_rms[1], rel=2e-3)


def test_a_motion_that_does_not_close_begins_anew():
    """A wheel that is brought up to speed: stopping it within a step would take a hundred times the
    voltage."""
    wheel = be.Task.of_bench("flywheel inertia=1e-4kg*m^2", "spin-up speed=100rad/s time=1s hold=1s")
    assert "begins anew" in wheel.summary()
    assert "begins anew" not in be.Task.of_bench(*PICK).summary()
    (choice,) = be.size(wheel, bus=24.0, motor="maxon-re-40-24v", verify=1).choices
    assert choice.check.agrees
    assert choice.check.at_limit == 0.0
