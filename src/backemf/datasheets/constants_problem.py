"""A sheet as a problem: what every entry should be for given constants (MuJoCo's DC-motor note, table 19 and
equation 5), how far each printed number is believed, the unknowns, rough values to start from, and what the
sheet leaves open."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Mapping

import numpy as np

from ..analysis.motor_constants import CoordinateSpread, SolvedMinimum, derive, minimise, spread, widening
from ..physics.steady import Line
from .datasheet import ENTRIES, Datasheet, Entry
from .relations import MARGIN

FLOOR = 1e-3
"""Relative error below which no printed number is believed: makers compute sheets from rounded numbers too.
"""
LOOSE = {
    "nominal_torque": 0.1,
    "nominal_speed": 0.3,
    "max_efficiency": 0.05,
    "stall_torque": 0.005,
    "torque_speed": 0.05,
}
"""Entries that makers compute in their own ways (hot winding, friction taken off or not), or read off a
curve: believed no better than this."""
DIRECT = (
    "resistance",
    "inductance",
    "torque_constant",
    "back_emf_constant",
    "speed_constant",
    "rotor_inertia",
    "gear_ratio",
)
"""Constants that are printed themselves: kept where a computed entry would explain a contradiction too."""
MEASURED = ("no_load_current", "coulomb_torque", "viscous_friction", "gear_efficiency", "reflected_inertia")
"""Entries that stand between constants and what is computed from them."""

Constants = Mapping[str, float]


def at_rotor(voltage: float, c: Constants, extra: Mapping[str, float]) -> dict[str, float | None]:
    """Every entry at the rotor for constants c at a voltage; None where no equation says."""
    R, K, tau_c, B = c["R"], c["K"], c["tau_c"], c.get("B", 0.0)
    J, L, N = c.get("J"), c.get("L"), c.get("N", 1.0)
    line = Line(R, c.get("kappa", 1.0) * K, K, voltage, tau_c, B)
    net = line.net_stall_torque
    i_n = extra.get("nominal_current")
    if i_n is None and "nominal_torque" in extra:  # a rated torque at the output, gears and drag taken off
        i_n = line.no_load_current + extra["nominal_torque"] / (N * c.get("eta", 1.0) * line.K_t)
    return {
        "resistance": R,
        "inductance": L,
        "torque_constant": net / line.stall_current if extra.get("torque_constant_at_stall") else line.K_t,
        "back_emf_constant": K,
        "speed_constant": 1.0 / K,
        "no_load_speed": line.no_load_speed,
        "no_load_current": line.no_load_current,
        "stall_torque": net if extra.get("stall_torque_is_net") else line.stall_torque,
        "stall_current": line.stall_current,
        "speed_torque_gradient": line.gradient,
        "mechanical_time_constant": None if J is None else line.time_constant(J),
        "electrical_time_constant": None if L is None else L / R,
        "rotor_inertia": J,
        "reflected_inertia": None if J is None else N * N * J,
        "coulomb_torque": tau_c,
        "viscous_friction": B if B > 0 else None,
        "nominal_torque": None if "nominal_current" not in extra else line.shaft_torque_at(i_n or 0.0),
        "nominal_speed": None if i_n is None else line.speed_at(i_n),
        "max_efficiency": line.best_efficiency,
        "gear_ratio": c.get("N"),
        "gear_efficiency": c.get("eta"),
    }


def at_side(name: str, side: str, value: float | None, c: Constants) -> float | None:
    """A number at the rotor as an entry of a side has it."""
    if value is None or side == "rotor":
        return value
    kind = ENTRIES[name]
    if kind.gear == 0:
        return value
    eta = c.get("eta", 1.0)
    loss = (eta if kind.gear > 0 else 1.0 / eta) if kind.lossy else 1.0
    return value * c.get("N", 1.0) ** kind.gear * loss


def predict(name: str, side: str, voltage: float, c: Constants, extra: Mapping[str, float]) -> float | None:
    """What an entry should be.

    Args:
        name: canonical name of the entry.
        side: of the gears that it is printed for: "rotor" or "output".
        voltage: that it is printed for [V].
        c: constants at the rotor, by the names of `UNKNOWNS`.
        extra: what else the equations need (`_conditions`).

    Returns:
        The value in SI at that side; None where no equation says.
    """
    return at_side(name, side, at_rotor(voltage, c, extra).get(name), c)


def point(entry: Entry, rotor: Mapping[str, float | None], voltage: float, c: Constants) -> float:
    """Share of the torque-speed line that a point uses up, 1 on the line: tau / tau_stall + w / w_0."""
    net = Line(c["R"], c.get("kappa", 1.0) * c["K"], c["K"], voltage, c["tau_c"], c.get("B", 0.0))
    stall = at_side("stall_torque", entry.side, net.net_stall_torque, c)
    top = at_side("no_load_speed", entry.side, rotor["no_load_speed"], c)
    speed = 0.0 if entry.speed is None else entry.speed.value
    return entry.value / max(stall or 0.0, 1e-300) + speed / max(top or 0.0, 1e-300)


def point_torque(entry: Entry, voltage: float, c: Constants, extra: Mapping[str, float]) -> float:
    """Torque of the line at the speed of a printed point; 0 beyond no load."""
    share = point(entry, at_rotor(voltage, c, extra), voltage, c)
    stall = predict("stall_torque", entry.side, voltage, c, {"stall_torque_is_net": 1.0}) or 0.0
    return max(entry.value + (1.0 - share) * stall, 0.0)


def printed_error(entry: Entry, geared: bool = False) -> float:
    """Standard error of an entry's logarithm by what is printed: its tolerance or last digit, its class."""
    sigma = max(math.hypot(entry.half / entry.value, FLOOR), LOOSE.get(entry.name, 0.0))
    if entry.kind == "assumed":  # a hint and no more
        return max(sigma, 0.5)
    # A servo's is its rounded stall torque over its rounded stall current.
    if entry.name == "torque_constant" and entry.side == "output" and geared:
        return max(sigma, 0.02)
    return sigma


def ordinary_error(entry: Entry, sigma: float) -> float:
    """The same where makers computed from rounded numbers: three of it are the ordinary margin."""
    return sigma if entry.name in DIRECT else math.hypot(sigma, MARGIN / 3.0)


UNKNOWNS = {
    "R": "ohm",
    "K": "V s/rad",
    "tau_c": "N m",
    "B": "N m s/rad",
    "J": "kg m^2",
    "L": "H",
    "N": "1",
    "eta": "1",
    "kappa": "1",
}
"""K is the back-EMF constant; kappa, torque constant over back-EMF constant,
is 1 unless the sheet contradicts that."""
GUESSED_DRAG = 0.05
"""Friction where nothing tells it, as a share of the torque that voltage and current limit allow."""


class Solution:
    """Constants that fit a set of entries, and how far every entry is from them."""

    def __init__(
        self, problem: ConstantsProblem, found: SolvedMinimum, ordinary: bool, left_out: frozenset[int]
    ):
        self.problem, self.minimum, self.ordinary, self.left_out = problem, found, ordinary, left_out
        self.constants = problem.constants(found.x)
        self.off = problem.off(self.constants)
        """log(predicted / printed) of every equation."""

    @property
    def agrees(self) -> bool:
        """Whether every entry that was used is within three of its standard errors, and what was guessed is
        no worse than two of its own: neither friction too large nor efficiency too small."""
        guesses = self.minimum.residuals[len(self.off) :]
        return all(guesses <= 2.0) and max(self.excess(), default=0.0) <= 1.0

    def excess(self) -> list[float]:
        """|off| of every used entry over what is allowed; 0 for those left out."""
        p = self.problem
        allowed = [3.0 * (o if self.ordinary else s) for s, o in zip(p.sigma, p.ordinary, strict=True)]
        return [
            0.0 if k in self.left_out else abs(off) / most
            for k, (off, most) in enumerate(zip(self.off, allowed, strict=True))
        ]

    def spread(self) -> CoordinateSpread:
        """Errors of the unknowns; a sheet that contradicts itself is believed less."""
        found = self.minimum
        used = len(self.off) - len(self.left_out)
        return spread(found.slopes, widening(found.cost, used - len(self.problem.names)))


def _counted_teeth(sheet: Datasheet) -> dict[str, float]:
    """The gear ratio as a constant, where one is printed, and without a tolerance."""
    ratios = sheet.all("gear_ratio")
    return {"N": abs(ratios[0].value)} if len(ratios) == 1 and not ratios[0].toleranced else {}


def _tells_efficiency(sheet: Datasheet, has: Collection[str]) -> bool:
    """Whether a sheet tells, or leaves open within its equations, what the gears lose."""
    names = set(has)
    lossy = any(
        e.side == "output" and ENTRIES[e.name].lossy and e.name in LOOSE | dict.fromkeys(DIRECT)
        for e in sheet.entries
    )
    speeds = {"no_load_speed", "back_emf_constant", "speed_constant", "torque_speed"}
    told = bool(names & {"stall_current", "resistance", "torque_constant"}) and bool(names & speeds)
    return "gear_efficiency" in names or (sheet.kind != "motor" and lossy and told)


class ConstantsProblem:
    """Unknowns and equations of a sheet; `apart` keeps torque and back-EMF constant apart, `unlike` does not
    believe the printed gear ratio."""

    def __init__(self, sheet: Datasheet, *, apart: bool = False, unlike: bool = False):
        self.sheet, self.apart, self.unlike = sheet, apart, unlike
        has = {e.name for e in sheet.entries}
        self.geared = sheet.kind != "motor" or bool(has & {"gear_ratio", "gear_efficiency"})
        self.extra = _conditions(sheet, self.geared, self._rough(frozenset()))
        ratio = sheet.get("gear_ratio")
        self.fixed = {} if unlike else _counted_teeth(sheet)
        """Constants that are no unknowns: a ratio counts teeth."""
        efficiency = _tells_efficiency(sheet, has)
        self.inertia = bool(has & {"rotor_inertia", "mechanical_time_constant", "reflected_inertia"})
        self.viscous, self.negative_drag = _viscous(sheet, self._rough(frozenset()))
        optional = {
            "N": ratio is not None and not self.fixed,
            "eta": efficiency,
            "kappa": apart,
            "J": self.inertia,
            "L": bool(has & {"inductance", "electrical_time_constant"}),
            "B": self.viscous,
        }
        self.names = ["R", "K", "tau_c", *(name for name, there in optional.items() if there)]
        self.equations = self._equations()
        self.sigma = [printed_error(e, sheet.kind in ("servo", "gearmotor")) for e in self.equations]
        self.ordinary = [ordinary_error(e, s) for e, s in zip(self.equations, self.sigma, strict=True)]
        self._volts = [e.voltage or sheet.voltage for e in self.equations]
        self._logs = [math.log(e.value) for e in self.equations]

    def constants(self, x: np.ndarray) -> dict[str, float]:
        """Constants of their logarithms, with those that are no unknowns."""
        return {name: math.exp(v) for name, v in zip(self.names, x, strict=True)} | self.fixed

    def predict(self, e: Entry, c: Mapping[str, float]) -> float | None:
        """What an entry of the sheet should be for constants c."""
        V = e.voltage or self.sheet.voltage
        if e.speed is not None:
            return point_torque(e, V, c, self.extra)
        return predict(e.name, e.side, V, c, self.extra)

    def off(self, c: Mapping[str, float]) -> np.ndarray:
        """log(predicted / printed) of every equation, at most a factor of 1000."""
        rotor = {V: at_rotor(V, c, self.extra) for V in set(self._volts)}
        rows = []
        for e, V, log in zip(self.equations, self._volts, self._logs, strict=True):
            if e.speed is not None:
                rows.append(-math.log(min(max(point(e, rotor[V], V, c), 1e-3), 1e3)))
                continue
            value = at_side(e.name, e.side, rotor[V].get(e.name), c)
            rows.append(min(max(math.log(max(value or 0.0, 1e-300)) - log, -7.0), 7.0))
        return np.array(rows)

    def _equations(self) -> list[Entry]:
        """The entries that an equation says something about; exact ones are no equations."""
        c = self.start(frozenset())
        return [
            e
            for e in self.sheet.entries
            if e.value > 0
            and (e.kind != "peak" or e.speed is not None)
            and not (e.kind == "continuous" and e.speed is not None)  # below the line: what heat allows
            and not (e.name == "gear_ratio" and (self.fixed or self.unlike))
            and self.predict(e, c) is not None
        ]

    def solve(
        self, left_out: frozenset[int] = frozenset(), *, ordinary: bool = True, tolerance: float = 1e-6
    ) -> Solution:
        """The constants that suit the equations best.

        Args:
            left_out: equations that do not count, by their place.
            ordinary: whether what makers compute from rounded numbers has an ordinary margin.
            tolerance: the share of the sum of squares that a last step may gain.

        Returns:
            The solution, and how far every equation is from it.
        """
        weight = 1.0 / np.array(self.ordinary if ordinary else self.sigma)
        weight[sorted(left_out)] = 0.0
        used = {e.name for k, e in enumerate(self.equations) if k not in left_out}
        known = bool(used & {"no_load_current", "coulomb_torque"})
        # The stated assumption, within a factor of two; where the drag is printed but doubted, of ten.
        wide = math.log(10.0 if self.drag_known else 2.0)
        eta = self.names.index("eta") if "eta" in self.names else None
        # Where nothing tells the gears' efficiency, any sound one is possible.
        hint = eta if "gear_efficiency" not in used else None

        def residuals(x: np.ndarray) -> np.ndarray:
            c = self.constants(x)
            rows = weight * self.off(c)
            more = [] if hint is None else [(math.log(0.75) - x[hint]) / 0.5]
            if not known:
                more.append(math.log(c["tau_c"] / (GUESSED_DRAG * self.able(c))) / wide)
            return np.concatenate([rows, more])

        start = self.start(left_out)
        x = np.array([math.log(start[name]) for name in self.names])
        high = x + 12.0
        if eta is not None:
            high[eta] = 0.0  # no gearbox gives more than it gets
        return Solution(self, minimise(residuals, x, x - 12.0, high, tolerance), ordinary, left_out)

    def able(self, c: Mapping[str, float]) -> float:
        """Torque at the rotor that voltage, peak current and peak torque allow."""
        line, most = Line(c["R"], c.get("kappa", 1.0) * c["K"], c["K"], self.sheet.voltage), math.inf
        if (current := self.sheet.value("peak_current")) is not None:
            most = line.K_t * current
        if (torque := self.sheet.get("peak_torque")) is not None and torque.side == "output":
            most = min(most, torque.value / (c.get("N", 1.0) * c.get("eta", 1.0)))
        return min(line.stall_torque, most)

    @property
    def drag_known(self) -> bool:
        return any(e.name in ("no_load_current", "coulomb_torque") for e in self.equations)

    def start(self, left_out: Collection[int]) -> dict[str, float]:
        """Rough values of every unknown, from what is printed and not left out."""
        skipped = frozenset(id(self.equations[k]) for k in left_out)
        values = self._rough(skipped)
        return {name: values[name] for name in self.names} | self.fixed

    def _rough(self, skipped: Collection[int]) -> dict[str, float]:
        """Medians of the ways to each constant: one wrong entry does not spoil them."""
        return _RoughValues(self.sheet, skipped).constants()

    def assumptions(self) -> list[str]:
        """What the sheet leaves open, and what would settle it."""
        has = {e.name for e in self.sheet.entries}
        texts = {
            "no gear ratio is printed: motor constants are those of a motor without gears at the output": (
                self.sheet.kind != "motor" and "gear_ratio" not in has
            ),
            "nothing tells the gears' efficiency: it is taken as 1; stall torque and current beside a no-load"
            " speed would tell it": self.geared and "eta" not in self.names,
            "torque and back-EMF constant disagree and are kept apart, as printed; the difference is booked"
            " as a loss": self.apart,
            "all drag at no load is dry friction: a no-load current at a second voltage would split it into"
            " dry and viscous": self.drag_known and not self.viscous,
            "what the no-load current needs beyond the dry friction torque is viscous drag": (
                self.viscous and "viscous_friction" not in has and "coulomb_torque" in has
            ),
            "no no-load current is printed: friction is taken as 5 % of the torque that voltage"
            + (" and peak allow" if has & {"peak_current", "peak_torque"} else " allows at standstill")
            + ", within a factor of 2; a no-load current would settle it": not self.drag_known,
            "no rotor inertia is printed: it is taken as 0; a coast-down or a step response would tell it": (
                not self.inertia
            ),
        }
        return [text for text, holds in texts.items() if holds]


class _RoughValues:
    """Rough constants of a sheet at the rotor, from what is printed and not skipped."""

    def __init__(self, sheet: Datasheet, skipped: Collection[int]):
        self.sheet, self.skipped, self.V = sheet, skipped, sheet.voltage
        self.N = sheet.value("gear_ratio") or 1.0
        self.points = [e for e in sheet.entries if e.speed is not None and id(e) not in skipped]

    def rotor(self, name: str) -> float | None:
        """An entry at the rotor; None where it is not printed or skipped."""
        e = self.sheet.get(name)
        if e is None or id(e) in self.skipped or e.value <= 0:
            return None
        return e.value / self.ratio(e) ** ENTRIES[name].gear

    def ratio(self, e: Entry) -> float:
        return self.N if e.side == "output" else 1.0

    def back_emf(self) -> float:
        k_n, w_0, V = self.rotor("speed_constant"), self.rotor("no_load_speed"), self.V
        by_speed = k_n and derive("K_e", K_v=k_n), w_0 and derive("K_e", V=V, w_0=w_0)
        K = _middle(self.rotor("back_emf_constant"), self.rotor("torque_constant"), *by_speed)
        fast = [e.speed.value * self.ratio(e) for e in self.points if e.speed]
        by_point = (self.points[0].voltage or V) / (2.0 * max(fast)) if fast else None
        return K or by_point or (0.8 * V / w if (w := self.rotor("nominal_speed")) else 0.01)

    def resistance(self, K: float) -> float:
        tau_0, gradient, V = self.rotor("stall_torque"), self.rotor("speed_torque_gradient"), self.V
        stall, by_stall = self.sheet.get("stall_current"), None
        if stall is not None and id(stall) not in self.skipped:
            by_stall = derive("R", V=stall.voltage or V, I_s=stall.value)
        by_torque = tau_0 and K * V / tau_0, gradient and gradient * K * K
        R = _middle(self.rotor("resistance"), by_stall, *by_torque)
        if R is None and self.points:
            first = self.points[0]
            w, out = first.speed.value if first.speed else 0.0, self.ratio(first)
            R = max((first.voltage or V) - K * w * out, 0.1 * V) * K * out / max(first.value, 1e-12)
        if R is None and (tau_n := self.rotor("nominal_torque")):
            R = 0.2 * K * V / tau_n
        return R or 1.0

    def constants(self) -> dict[str, float]:
        N, V, K = self.N, self.V, self.back_emf()
        R = self.resistance(K)
        t_m, t_e = self.rotor("mechanical_time_constant"), self.rotor("electrical_time_constant")
        drag = self.rotor("coulomb_torque") or K * (self.rotor("no_load_current") or 0.05 * V / R)
        reflected = self.rotor("reflected_inertia")
        J = _middle(self.rotor("rotor_inertia"), t_m and t_m * K * K / R, reflected and reflected / N**2)
        return {
            "R": R,
            "K": K,
            "tau_c": min(drag, 0.5 * K * V / R),
            "B": 1e-3 * K * K / R,
            "N": N,
            "eta": 0.75,
            "kappa": 1.0,
            "J": J or 1e-6,
            "L": _middle(self.rotor("inductance"), t_e and t_e * R) or 1e-4,
        }


def _middle(*values: float | None) -> float | None:
    there = [v for v in values if v]
    return statistics.median_low(there) if there else None


def _conditions(sheet: Datasheet, geared: bool, rough: Mapping[str, float]) -> dict[str, float]:
    """What else the equations need: the rated current or torque, and how the maker counts stall torque."""
    rated, torque = sheet.get("nominal_current"), sheet.get("nominal_torque")
    extra: dict[str, float] = {}
    if rated is not None and rated.kind != "peak":
        extra["nominal_current"] = rated.value
    elif torque is not None and torque.kind != "peak" and torque.side == "output":
        extra["nominal_torque"] = torque.value
    if geared or _stall_torque_is_net(sheet, rough):
        extra["stall_torque_is_net"] = 1.0
    names = ("stall_torque", "stall_current", "torque_constant")
    tau, i, K = (sheet.get(name) for name in names)
    if geared and tau and i and K and tau.side == K.side == "output":
        # Makers of servos divide the printed stall torque by the stall current.
        ratio = tau.value / i.value / K.value
        extra |= {"torque_constant_at_stall": 1.0} if abs(math.log(ratio)) < 2 * MARGIN else {}
    return extra


def _stall_torque_is_net(sheet: Datasheet, rough: Mapping[str, float]) -> bool:
    """Some makers of motors print K V / R, others take the friction at no load off:
    whichever the sheet's own numbers are nearer to."""
    names = ("stall_torque", "torque_constant", "no_load_current")
    tau, K, i_0 = (sheet.value(name) for name in names)
    if tau is None or K is None or i_0 is None or not sheet.all("resistance") + sheet.all("stall_current"):
        return False
    K, i = rough["K"], sheet.voltage / rough["R"]
    return abs(tau - K * (i - i_0)) < abs(tau - K * i)


def _viscous(sheet: Datasheet, rough: Mapping[str, float]) -> tuple[bool, tuple[float, float] | None]:
    """(whether there is viscous drag, (dry friction, drag of the no-load current) where the first is more).

    Dry friction and a no-load current together tell it: B = (K I_0 - tau_c) / w_0.
    """
    has = {e.name for e in sheet.entries}
    drags = {e.voltage for e in sheet.entries if e.name == "no_load_current"}
    dry, idle = sheet.get("coulomb_torque"), sheet.get("no_load_current")
    lone = "viscous_friction" in has or len(drags) > 1
    if dry is None or idle is None or dry.value <= 0 or idle.value <= 0:
        return lone, None
    to_rotor = 1.0 / rough["N"] if dry.side == "output" else 1.0
    left = math.log(rough["K"] * idle.value / (dry.value * to_rotor))
    slack = 3.0 * (printed_error(dry) + printed_error(idle)) + FLOOR
    short = left < -slack - MARGIN
    return lone or left > slack, (dry.value * to_rotor, rough["K"] * idle.value) if short else None
