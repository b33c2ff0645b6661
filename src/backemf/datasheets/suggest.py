"""From a sheet's constants, or from identified parameters, to an actuator: what of a sheet becomes which
part, what is assumed for that, and what nothing uses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..errors import InvalidValue, MissingValue, UnknownName
from ..physics.actuator import Actuator
from ..physics.drive import Servo
from ..physics.friction import FRICTIONS, Coulomb, Dahl, LuGre, Stribeck
from ..physics.gearbox import Gearbox
from ..physics.motor import Cogging, Limits, Motor
from ..physics.quantity import parameters
from ..physics.steady import Line
from ..physics.thermal import Heat, Thermal, TwoNodeThermal
from .datasheet import ENTRIES, Datasheet, Entry, PublishedParameters, Reconciliation
from .interface import STIFF, default_control, drive_of, has_gain, unused_settings
from .toml import CONTROLS

BITE = 0.1
"""Without a stiffness of the teeth, stall torque bends them by this share of the play; said likewise."""
NEEDED = {
    "R": "a resistance; it needs a resistance, a stall current, a stall torque with a speed, or points of its"
    " torque-speed line (torque_speed)",
    "K": "a motor constant; it needs a torque constant, a speed constant, or a no-load speed",
}
"""Constants without which there is no actuator, and what would tell them."""
CONDITIONS = ("nominal_voltage", "nominal_current", "nominal_torque")
"""Entries that say under what conditions others hold, or that the equations take as given."""


class PartPlan(NamedTuple):
    """The parts that a sheet tells beside its constants, what was assumed for them, and what is left over."""

    motor: Mapping[str, Any]
    """What the motor has beside its constants, by field."""
    gearbox: Gearbox
    friction: Coulomb
    assumed: tuple[str, ...]
    unused: tuple[str, ...]


def plan(sheet: Datasheet, solved: Reconciliation) -> PartPlan:
    """Every part that the sheet tells, and what of it no part uses."""
    return _Planner(sheet, solved).plan()


def largest_current(sheet: Datasheet, solved: Reconciliation) -> float:
    """The most current that the sheet's limits allow [A]; infinite where there is none."""
    limits = _Planner(sheet, solved).limits(None)
    return math.inf if limits is None or limits.largest_current is None else limits.largest_current


def lasting_current(sheet: Datasheet, solved: Reconciliation) -> float | None:
    """The current that the sheet says may flow for ever, or that its rated torque takes [A]; None: neither is
    printed."""
    rated = sheet.get("nominal_current")
    if rated is not None and rated.kind != "peak":
        return rated.value
    return _Planner(sheet, solved).current_for("nominal_torque")


def lost_at_stall(sheet: Datasheet, solved: Reconciliation) -> Callable[[float], float]:
    """Stall current -> what friction at rest and a saturated core take from the output, beyond the friction
    in motion [N m]."""
    planner, c = _Planner(sheet, solved), solved.values
    gearbox = planner.gearbox()
    level = gearbox.reflect(planner.friction())
    K_t = c.get("kappa", 1.0) * c["K"]
    core = Motor(
        resistance=c["R"], torque_constant=K_t, saturation_current=planner.take("saturation_current")
    )

    def loss(i: float) -> float:
        saturated = gearbox.output_torque(K_t * i - core.torque_at(i, None)) * (gearbox.efficiency or 1.0)
        return float(abs(saturated) + level.breakaway - level.moving)

    return loss


class _Planner:
    """Reads a sheet part by part and keeps account of what it used."""

    def __init__(self, sheet: Datasheet, solved: Reconciliation):
        self.sheet, self.solved, self.c = sheet, solved, solved.values
        self.used: set[str] = {r.entry.name for r in solved.residuals} | {*CONDITIONS}
        self.assumed: list[str] = []
        self.reasons: dict[str, str] = {}

    def take(self, name: str) -> float | None:
        """An entry at the rotor; taken is used."""
        e = self.sheet.get(name)
        if e is None:
            return None
        self.used.add(name)
        return self.at_rotor(e)

    def at_rotor(self, e: Entry) -> float:
        kind = ENTRIES[e.name]
        if e.side == "rotor" or not kind.gear:
            return e.value
        loss = self.c.get("eta", 1.0) if kind.lossy else 1.0
        return e.value / (self.c.get("N", 1.0) ** kind.gear * loss)

    def plan(self) -> PartPlan:
        thermal = self.thermal()
        motor = {"thermal": thermal, "limits": self.limits(thermal), "cogging": self.cogging()}
        motor |= {name: self.take(name) for name in ("iron_loss", "saturation_current")}
        gearbox, friction = self.gearbox(), self.friction()
        self.interface()
        entries = [e for e in self.sheet.entries if e.name not in self.used]
        texts = [f"{e.name.replace('_', ' ')} {e.printed.text}" for e in entries]
        reasons = [self.reasons.get(e.name, "") for e in entries]
        unused = [f"{text} ({why})" if why else text for text, why in zip(texts, reasons, strict=True)]
        unused += unused_settings(self.sheet)
        return PartPlan(motor, gearbox, friction, tuple(self.assumed), tuple(unused))

    def thermal(self) -> Heat | None:
        names = (
            "ambient_temperature",
            "reference_temperature",
            "resistance_coefficient",
            "magnet_coefficient",
            "max_winding_temperature",
        )
        if not self.solved.thermal:
            for name in (*names, "derating_start", "derating_end", "safe_current"):
                self.reasons[name] = "nothing is printed on heating"
            for name in ENTRIES:
                if name.startswith("thermal_"):
                    self.reasons[name] = (
                        "a thermal resistance and a time constant or heat capacity are needed"
                    )
            return None
        self.used |= {name for name in ENTRIES if name.startswith("thermal_")}
        fields = ("ambient", "reference", "resistance_coefficient", "magnet_coefficient", "max_temperature")
        printed = {field: self.take(name) for field, name in zip(fields, names, strict=True)}
        if printed["magnet_coefficient"] is not None:  # sheets print its size; flux falls with heat
            printed["magnet_coefficient"] = -abs(printed["magnet_coefficient"])
        model = TwoNodeThermal if "winding_resistance" in self.solved.thermal else Thermal
        return model(**self.solved.thermal, **{k: v for k, v in printed.items() if v is not None})

    def limits(self, thermal: Heat | None) -> Limits | None:
        """Nominal current is the continuous one, peak current lasts for the peak time; torques count where no
        current is printed."""
        rated = self.sheet.get("nominal_current")
        most, time = self.take("peak_current"), self.take("peak_time")
        is_peak = rated is not None and rated.kind == "peak"
        lasting = None if rated is None or is_peak else rated.value
        most = rated.value if rated is not None and is_peak and most is None else most
        most = self._lower_peak(most)
        lasting = lasting or self.current_for("nominal_torque")
        if most is None:
            return self._without_peak(lasting)
        fields: dict[str, Any] = {"current": most}
        if time is not None and lasting is not None and lasting < most:
            fields = {"continuous_current": lasting, "peak_current": most, "peak_time": time}
        else:
            lacks = "no peak time" if time is None else "no continuous current below it"
            self.assumed.append(
                f"the peak of {most:.3g} A is kept as the limit for any time: {lacks} is printed"
            )
            self.used -= {"peak_time"} if time is not None else set()
        fields["current_rate"] = self.take("current_rate")
        if thermal is not None:
            fields |= self._derating()
        return Limits(**fields)

    def _derating(self) -> dict[str, float | None]:
        """How the limit falls with heat, where all of it is printed."""
        names = ("derating_start", "derating_end", "safe_current")
        if all(self.sheet.value(name) is not None for name in names):
            return {name: self.take(name) for name in names}
        self.reasons |= dict.fromkeys(names, "derating needs derating_start, derating_end and safe_current")
        return {}

    def _lower_peak(self, most: float | None) -> float | None:
        """The lower of the printed peak current and the current of the peak torque."""
        by_torque = self.current_for("peak_torque")
        if by_torque is not None and most is not None and most < by_torque:
            self.used -= {"peak_torque"}
            self.reasons["peak_torque"] = "the peak current is the lower limit"
        elif by_torque is not None and most is not None:
            self.assumed.append(
                f"the peak torque is the limit: it takes {by_torque:.3g} A, less than the peak current"
                f" of {most:.3g} A"
            )
        return min((i for i in (most, by_torque) if i is not None), default=None)

    def _without_peak(self, lasting: float | None) -> Limits | None:
        """Limits where no peak is printed."""
        self.reasons["peak_time"] = "no peak current or torque is printed"
        self.used -= {"peak_time"}
        if lasting is not None:
            self.assumed.append(
                f"{lasting:.3g} A is what it carries for ever, not a limit: nothing is printed on how"
                " much more may flow, and for how long (peak_current, peak_time)"
            )
        rate = self.take("current_rate")
        return None if rate is None else Limits(current_rate=rate)

    def current_for(self, name: str) -> float | None:
        """The current behind a printed torque, gears and friction taken off."""
        e = self.sheet.get(name)
        if e is None or (name == "nominal_torque" and e.kind == "peak"):
            return None
        torque = self.take(name) or 0.0
        K = self.c["K"]
        line = Line(self.c["R"], self.c.get("kappa", 1.0) * K, K, self.sheet.voltage, self.c["tau_c"])
        return torque / line.K_t + line.no_load_current

    def cogging(self) -> Cogging | None:
        poles, slots = self.sheet.value("n_poles"), self.sheet.value("n_slots")
        periods = self.sheet.value("cogging_periods")
        if periods is None and poles is not None and slots is not None:
            periods = float(math.lcm(round(poles), round(slots)))
        printed, share = self.sheet.get("cogging_torque"), self.sheet.get("cogging_percent")
        if periods is None or (printed is None and share is None):
            for name in ("cogging_torque", "cogging_percent"):
                self.reasons[name] = "its periods per turn, or poles and slots, are not printed"
            for name in ("cogging_periods", "cogging_phase", "n_poles", "n_slots"):
                self.reasons[name] = "no cogging torque is printed"
            return None
        self.used |= {"cogging_periods", "n_poles", "n_slots"}
        amplitude = self.take("cogging_torque") if printed is not None else self._cogging_share(share)
        if amplitude is None:
            return None
        return Cogging(amplitude=amplitude, periods=periods, phase=self.take("cogging_phase") or 0.0)

    def _cogging_share(self, share: Entry | None) -> float | None:
        """Cogging that is printed as a share of a torque."""
        base = next((n for n in ("nominal_torque", "peak_torque") if self.sheet.get(n)), None)
        entry = None if base is None else self.sheet.get(base)
        if base is None or entry is None or share is None:
            self.reasons["cogging_percent"] = "no nominal or peak torque is printed that it is a share of"
            return None
        self.assumed.append(f"cogging of {share.printed.text} is counted of the {base.replace('_', ' ')}")
        return (self.take("cogging_percent") or 0.0) * self.at_rotor(entry)

    def gearbox(self) -> Gearbox:
        c, ratio = self.solved.constants, self.sheet.value("gear_ratio")
        N = math.copysign(c["N"].value if "N" in c else 1.0, ratio or 1.0)
        eta = min(c["eta"].value, 1.0) if "eta" in c else None
        play, J = self.sheet.value("backlash"), c["J"].value if "J" in c else 0.0
        stall = self.solved.derived.get("stall_torque")
        if not play or not J or stall is None:
            self.reasons["backlash"] = "play needs a rotor inertia, which is not printed"
            return Gearbox(ratio=N, efficiency=eta)
        self.take("backlash")
        stiffness = stall.value / (BITE * play)
        self.assumed.append(
            f"with the play of {play:.3g} rad the teeth have {stiffness:.3g} N m/rad, so that stall torque"
            f" bends them by {BITE:g} of it, and half of critical damping: neither is printed"
        )
        damping = math.sqrt(stiffness * N * N * J)
        return Gearbox(
            ratio=N, efficiency=eta, backlash=play, contact_stiffness=stiffness, contact_damping=damping
        )

    def friction(self) -> Coulomb:
        """At the rotor. The drag is what the motor feels; behind the gears, that much less is friction."""
        eta = self.c.get("eta", 1.0)
        c = {name: constant.value for name, constant in self.solved.constants.items()}
        higher = {name: self.take(name) for name in ("viscous_quadratic", "viscous_cubic")}
        level = Coulomb(
            coulomb=eta * c.get("tau_c", 0.0),
            viscous=eta * c.get("B", 0.0),
            **{name: eta * value for name, value in higher.items() if value is not None},
        )
        return self.bristle(self.stribeck(level))

    def stribeck(self, level: Coulomb) -> Coulomb:
        """With more friction at rest than in motion, where both the torque and the speed are printed."""
        names = ("stiction_torque", "stribeck_velocity", "stribeck_exponent")
        rest, speed = (self.sheet.get(name) for name in names[:2])
        if rest is None or speed is None or not level.coulomb > 0:
            for name in names:
                self.reasons[name] = "stiction needs a torque, a speed over which it fades, and dry friction"
            return level
        static = self.c.get("eta", 1.0) * self.at_rotor(rest)
        if static < level.coulomb:
            self.reasons |= dict.fromkeys(names, "it is less than the dry friction in motion")
            return level
        self.take(names[0])
        return Stribeck(
            **parameters(level),
            static=static,
            stribeck_velocity=self.take(names[1]) or 0.0,
            stribeck_exponent=self.take(names[2]),
        )

    def bristle(self, level: Coulomb) -> Coulomb:
        """With the spring of a contact that does not slide yet."""
        eta, names = self.c.get("eta", 1.0), ("bristle_damping", "bristle_damping_exponent")
        stiffness = self.sheet.get("bristle_stiffness")
        if stiffness is None or not level.coulomb > 0:
            self.reasons["bristle_stiffness"] = "no dry friction is printed for it to slide at"
            self.reasons |= dict.fromkeys(names, "no bristle stiffness is printed")
            return level
        sigma_0 = eta * (self.take("bristle_stiffness") or 0.0)
        if level.fades_at is None:
            self.reasons |= dict.fromkeys(names, "without stiction the contact is Dahl's, which has none")
            return Dahl(**parameters(level), stiffness=sigma_0)
        return LuGre(
            **parameters(level),
            stiffness=sigma_0,
            damping=eta * (self.take(names[0]) or 0.0),
            damping_exponent=self.take(names[1]),
        )

    def interface(self) -> None:
        """What is assumed of the sheet's own interface."""
        control, f = default_control(self.sheet), self.sheet.firmware
        texts = {
            "position": (
                not has_gain(self.sheet),
                "no firmware gain is printed: the position loop is taken to reach full voltage at"
                f" {1 / STIFF:g} rad of error; a log, or the maker's number, would tell it",
            ),
            "velocity": (
                "velocity_gain" not in f,
                f"no velocity gain is printed: full voltage is taken at {1 / STIFF:g} of the no-load speed",
            ),
            "impedance": (
                "stiffness" not in f,
                "no stiffness is printed: its gains are 0 unless they come with the command, and it then"
                " follows torque_target",
            ),
        }
        lacks, text = texts.get(control, (False, ""))
        if lacks:
            self.assumed.append(text)


def actuator(sheet: Datasheet, *, voltage: float | None = None, control: str | None = None) -> Actuator:
    """The actuator a sheet describes.

    Args:
        sheet: as printed.
        voltage: the supply [V]; None: the sheet's own.
        control: the interface, one of `CONTROLS`; None: the sheet's own.

    Returns:
        The actuator with the constants that the sheet determines.

    Raises:
        UnknownName: there is no such interface.
        InvalidValue: the voltage is not above 0.
        MissingValue: the sheet determines no resistance or no motor constant.
    """
    if control is not None and control not in CONTROLS:
        raise UnknownName("control", control, CONTROLS)
    V = sheet.voltage if voltage is None else voltage
    if not (V > 0 and math.isfinite(V)):
        raise InvalidValue(f"voltage is {V!r}; expected volts above 0")
    solved = sheet.reconciled
    for name, lacks in NEEDED.items():
        if name not in solved.constants:
            raise MissingValue(f"the sheet of {sheet.name} does not determine {lacks}")
    part_plan, c = plan(sheet, solved), {name: constant.value for name, constant in solved.constants.items()}
    motor = Motor(
        resistance=c["R"],
        torque_constant=c.get("kappa", 1.0) * c["K"],
        back_emf_constant=c["K"] if "kappa" in c else None,
        rotor_inertia=c.get("J", 0.0),
        inductance=c.get("L"),
        **part_plan.motor,
    )
    return Actuator(
        motor=motor,
        gearbox=part_plan.gearbox,
        friction=part_plan.gearbox.reflect(part_plan.friction),
        drive=drive_of(sheet, V, control, motor, part_plan.gearbox),
    )


def from_identified(
    sheet: Datasheet, published: PublishedParameters, voltage: float | None = None
) -> Actuator:
    """The actuator of a published parameter set: at the output where it has no gears.

    Args:
        sheet: of the part; its firmware counts where the set has no drive of its own.
        published: parameters in SI, by path.
        voltage: the supply [V]; None: the sheet's own.

    Returns:
        The actuator.

    Raises:
        UnknownName: the set names a friction law or a part that does not exist.
    """
    if published.friction not in FRICTIONS:
        raise UnknownName("friction", published.friction, FRICTIONS)
    fields: dict[str, dict[str, Any]] = {"motor": {}, "friction": {}, "gearbox": {}, "drive": {}}
    for path, value in published.parameters.items():
        part, _, name = path.partition(".")
        if part not in fields:
            raise UnknownName("part of an identified set", part, fields)
        fields[part][name] = value
    motor, gearbox = Motor(**fields["motor"]), Gearbox(**fields["gearbox"])
    V = sheet.voltage if voltage is None else voltage
    own = fields["drive"]
    drive = Servo(supply=V, **own) if own else drive_of(sheet, V, None, motor, gearbox)
    friction = FRICTIONS[published.friction](**fields["friction"])
    return Actuator(motor=motor, gearbox=gearbox, friction=friction, drive=drive)
