"""A bench as a MuJoCo scene to look at: the model solid, the recording a translucent rim around it;
only drawn, never stepped."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...physics.bench import Bench, Elevator, Pendulum

MODEL, GHOST = "0.824 0.384 0.165", "0.122 0.373 0.659"
"""Colours of the model and of the recording: those of every other figure."""
STEEL = 7850.0
"""Density of what is drawn for a mass [kg/m^3]; it sizes pictures, nothing else."""
BODIES = ("model", "ghost")


@dataclass(frozen=True, kw_only=True)
class FilmScene:
    """MJCF to draw, and how far each of its joints goes per unit of position."""

    xml: str
    joints: dict[str, tuple[float, float]]
    """Joint name without its owner -> (coordinate at position 0, coordinate per radian or metre)."""
    wide: bool
    """Better drawn above its plot than beside it."""
    reach: float
    """Half the height that must be seen [m]."""
    breadth: float
    """Half the width that must be seen [m]."""
    centre: tuple[float, float] = (0.0, 0.0)
    """What the camera looks at: x and z [m]."""

    def coordinates(self, owner: str, position: float) -> dict[str, float]:
        """Joint coordinates of 'model' or 'ghost' at a position."""
        return {f"{owner}_{name}": zero + slope * position for name, (zero, slope) in self.joints.items()}


def scene(bench: Bench, motion: str, low: float, high: float) -> FilmScene:
    """The scene of a bench whose positions run from low to high.
    A pendulum is seen in the plane it swings in, whatever its tilt.

    Args:
        bench: What the output carried.
        motion: 'rotary' or 'linear'.
        low: Smallest position [rad or m].
        high: Greatest position [rad or m].

    Returns:
        MJCF to draw, and how its joints follow a position.
    """
    kinds = type(bench).__mro__
    draw = next(SCENES[cls, motion] for cls in kinds if (cls, motion) in SCENES)
    return draw(bench, low, high)


def _v(*numbers: float) -> str:
    return " ".join(f"{n:.9g}" for n in numbers)


def _geom(kind: str, material: str, name: str = "", **places: tuple[float, ...]) -> str:
    """A geom, its places (`pos`, `size`, `fromto`, `euler`) in metres and degrees."""
    called = f' name="{name}"' if name else ""
    numbers = " ".join(f'{key}="{_v(*place)}"' for key, place in places.items())
    return f'\n   <geom{called} type="{kind}" {numbers} material="{material}"/>'


def _rod(material: str, radius: float, ends: tuple[float, float], x: float = 0.0, z: float = 0.0) -> str:
    """A cylinder that looks at the camera, from one depth to another."""
    return _geom("cylinder", material, fromto=(x, ends[0], z, x, ends[1], z), size=(radius,))


def _moving(name: str, joint: str, axis: str, content: str, pos: tuple[float, ...] = (0.0, 0.0, 0.0)) -> str:
    """A body on one joint, a hinge that turns or a slide along an axis."""
    kind = "hinge" if joint.endswith("_turn") else "slide"
    return f'''
  <body name="{name}" pos="{_v(*pos)}">
   <joint name="{joint}" type="{kind}" axis="{axis}"/>{content}
  </body>'''


def _grow(owner: str, rim: float, behind: float) -> tuple[float, float]:
    """(how much larger than the model, how far behind it): the ghost shows as a rim where both agree."""
    return (0.0, 0.0) if owner == "model" else (rim, behind)


TURNS = "0 -1 0"
"""The axis of everything that turns: towards the camera."""


def _pendulum(bench: Pendulum, low: float, high: float) -> FilmScene:
    l = bench.length
    radius = min(max((3.0 * (bench.mass + 1e-6) / (4.0 * math.pi * STEEL)) ** (1 / 3), 0.1 * l), 0.24 * l)
    zero = 0.0 if bench.hanging is None else -bench.hanging
    content, thick = "", 0.09 * l
    for owner in BODIES:
        grow, y = _grow(owner, 0.035 * l, 0.6 * thick)
        size = (0.034 * l + 0.6 * grow, 0.3 * thick, 0.5 * l)
        arm = _geom("box", owner, f"{owner}_arm", pos=(0, y, -0.5 * l), size=size)
        along = (0, y - 0.5 * thick, -l, 0, y + 0.5 * thick, -l)
        end = _geom("cylinder", owner, f"{owner}_end", fromto=along, size=(radius + grow,))
        content += _moving(owner, f"{owner}_turn", TURNS, arm + end)
    content += _dial(1.42 * l, 0.45 * l)
    content += _geom("box", "housing", pos=(0, 0.3 * l, 0), size=(0.13 * l, 0.15 * l, 0.21 * l))
    content += _rod("metal", 0.085 * l, (0.16 * l, -0.05 * l))
    content += _rod("housing", 0.04 * l, (-0.045 * l, -0.075 * l))
    reach = 1.32 * l + 0.24 * l
    xml, joints = _world(content, reach, 0.45 * l), {"turn": (zero, 1.0)}
    return FilmScene(xml=xml, joints=joints, wide=False, reach=reach, breadth=reach)


def _disc(bench: Bench, low: float, high: float) -> FilmScene:
    """A wheel with a hand: flywheels, springs, shafts, and loads that are only recorded."""
    inertia = 0.0 if bench.series else bench.inertia_at({})
    # A steel disc, a fifth of its radius thick.
    r = max((inertia / (0.5 * math.pi * STEEL * 0.2)) ** 0.2, 0.01)
    wheel = _geom("cylinder", "metal", "wheel", fromto=(0, 0.1 * r, 0, 0, -0.1 * r, 0), size=(r,))
    for k in range(-2, 3):
        x, z = 0.58 * r * math.sin(math.pi / 3 * k), 0.58 * r * math.cos(math.pi / 3 * k)
        wheel += _rod("groove", 0.13 * r, (-0.08 * r, -0.108 * r), x, z)
    wheel += _rod("housing", 0.12 * r, (0, -0.2 * r))
    content = ""
    for owner in BODIES:
        grow, back = _grow(owner, 0.035 * r, 0.035 * r)
        y = back - 0.19 * r
        size = (0.04 * r + 0.8 * grow, 0.03 * r, 0.4 * r)
        arm = _geom("box", owner, f"{owner}_arm", pos=(0, y, -0.4 * r), size=size)
        along = (0, y - 0.03 * r, -0.8 * r, 0, y + 0.03 * r, -0.8 * r)
        end = _geom("cylinder", owner, f"{owner}_end", fromto=along, size=(0.1 * r + grow,))
        content += _moving(owner, f"{owner}_turn", TURNS, arm + end + wheel * (owner == "model"))
    content += _dial(1.3 * r, 0.5 * r) + _rod("housing", 0.35 * r, (0.46 * r, 0.1 * r))
    xml, joints = _world(content, 1.48 * r, 0.5 * r), {"turn": (0.0, 1.0)}
    return FilmScene(xml=xml, joints=joints, wide=False, reach=1.48 * r, breadth=1.48 * r)


def _rail(bench: Bench, low: float, high: float) -> FilmScene:
    """A carriage on a level rail, drawn about the middle of its travel."""
    travel = max(high - low, 1e-3)
    middle, size = 0.5 * (low + high), 0.14 * travel
    reach, half_width = 0.75 * size + 0.2 * travel, 0.5 * travel + 2.0 * size
    carriages = _carriages(travel, size, 0.0)
    xml = _world(carriages, reach, 0.9 * size, half_width=half_width, floor=-1.6 * size)
    breadth = 0.5 * travel + 1.6 * size
    return FilmScene(xml=xml, joints={"slide": (-middle, 1.0)}, wide=True, reach=reach, breadth=breadth)


def _elevator(bench: Elevator, low: float, high: float) -> FilmScene:
    """A carriage on its incline; a drum turns at the top where there is one,
    and a counterweight goes the other way."""
    r = bench.drum_radius or 1.0
    angle = math.pi / 2 if bench.incline is None else bench.incline
    travel = max(r * (high - low), 1e-3, 0.5 * r if bench.drum_radius else 0.0)
    middle, size = 0.5 * r * (low + high), 0.12 * travel
    joints = {"slide": (-middle, r)}
    drum = min(bench.drum_radius or 0.0, 0.2 * travel)
    if bench.drum_radius:
        joints["turn"] = (0.0, 1.0)
    if bench.counterweight > 0:
        joints["weight"] = (middle, -r)
    content = _carriages(travel, size, angle, drum=drum, weight=bench.counterweight > 0)
    half, up = 0.5 * travel + 1.3 * size + 1.1 * drum, 1.1 * drum
    tall, wide = half * abs(math.sin(angle)) + 1.3 * size, half * abs(math.cos(angle)) + 1.3 * size
    floor = up * math.sin(angle) - 1.02 * tall
    return FilmScene(
        xml=_world(content, tall, 1.2 * size, half_width=wide, floor=floor),
        joints=joints,
        wide=wide > 1.5 * tall,
        reach=1.05 * tall,
        breadth=wide,
        centre=(up * math.cos(angle), up * math.sin(angle)),
    )


def _carriages(travel: float, size: float, angle: float, drum: float = 0.0, weight: bool = False) -> str:
    """Both carriages on one rail through the origin, with marks every tenth of the travel."""
    c, s = math.cos(angle), math.sin(angle)
    axis, turn = _v(c, 0, s), (0, -math.degrees(angle), 0)
    half = 0.5 * travel + 1.2 * size
    rail = _geom("box", "metal", pos=(0, 0.42 * size, 0), size=(half, 0.12 * size, 0.16 * size))
    for end in (-half, half):
        stop = (0.09 * size, 0.3 * size, 0.55 * size)
        rail += _geom("box", "housing", pos=(end, 0.42 * size, 0), size=stop)
    for k in range(11):
        tall = 0.1 * size if k % 5 == 0 else 0.06 * size
        place = ((k / 10 - 0.5) * travel, 0.3 * size, tall - 0.16 * size)
        rail += _geom("box", "housing", pos=place, size=(0.022 * size, 0.004 * size, tall))
    text = f'\n  <body name="rail" euler="{_v(*turn)}">{rail}\n  </body>'
    for owner in BODIES:
        grow, back = _grow(owner, 0.09 * size, 0.2 * size)
        box = (0.55 * size + grow, 0.3 * size + grow, 0.5 * size + grow)
        carriage = _geom("box", owner, f"{owner}_end", pos=(0, back, 0), euler=turn, size=box)
        text += _moving(owner, f"{owner}_slide", axis, carriage)
        if weight:
            box = (0.4 * size + grow, 0.25 * size + grow, 0.3 * size + grow)
            block = _geom("box", owner, pos=(0, back, 0), euler=turn, size=box)
            beside = (-1.5 * size * s, 0, 1.5 * size * c)
            text += _moving(f"{owner}_counterweight", f"{owner}_weight", axis, block, beside)
        if drum > 0:
            at, y = half + 1.15 * drum, 0.3 * back - 0.45 * size
            hand = (0, y, 0, 0, y, 0.75 * drum)
            turning = _geom("capsule", owner, fromto=hand, size=(0.09 * drum + 0.3 * grow,))
            if owner == "model":
                turning += _rod("metal", drum, (0.35 * size, -0.35 * size))
            text += _moving(f"{owner}_drum", f"{owner}_turn", TURNS, turning, (at * c, 0, at * s))
    return text


def _dial(radius: float, wall: float) -> str:
    """Marks on the wall every 15 degrees, long ones every 90."""
    marks = ""
    for k in range(24):
        a, long = math.radians(15 * k), 0.075 if k % 6 == 0 else 0.05 if k % 2 == 0 else 0.028
        middle = radius * (1 - 0.5 * long)
        place = (middle * math.sin(a), 1.04 * wall, middle * math.cos(a))
        size = (0.006 * radius, 0.002 * radius, 0.5 * long * radius)
        marks += _geom("box", "tick", pos=place, euler=(0, 15 * k, 0), size=size)
    return marks


def _world(
    content: str, reach: float, wall: float, half_width: float = 0.0, floor: float | None = None
) -> str:
    """A light studio: a wall behind, a floor below, one lamp that casts a shadow."""
    floor = -1.02 * reach if floor is None else floor
    far = 6.0 * max(reach, half_width)
    lamp = _v(-1.1 * reach, -3.2 * reach - wall, 2.6 * reach)
    return f"""<mujoco model="bench">
 <compiler angle="degree"/>
 <statistic center="0 0 0" extent="{_v(2.0 * max(reach, half_width))}"/>
 <visual>
  <global fovy="24"/>
  <quality shadowsize="2048" offsamples="4" numslices="64"/>
  <headlight ambient="0.55 0.55 0.55" diffuse="0.2 0.2 0.2" specular="0 0 0"/>
  <map znear="0.02" zfar="40" shadowclip="0.9"/>
 </visual>
 <asset>
  <material name="wall" rgba="0.93 0.94 0.95 1" specular="0" shininess="0"/>
  <material name="floor" rgba="0.97 0.98 0.99 1" specular="0" shininess="0"/>
  <material name="tick" rgba="0.62 0.65 0.69 1" specular="0"/>
  <material name="housing" rgba="0.2 0.22 0.25 1" specular="0.35" shininess="0.4"/>
  <material name="groove" rgba="0.5 0.53 0.57 1" specular="0.2"/>
  <material name="metal" rgba="0.72 0.74 0.77 1" specular="0.5" shininess="0.6"/>
  <material name="model" rgba="{MODEL} 1" specular="0.3" shininess="0.5"/>
  <material name="ghost" rgba="{GHOST} 0.5" specular="0.2" shininess="0.3"/>
 </asset>
 <default><geom contype="0" conaffinity="0" mass="0.001"/></default>
 <worldbody>
  <light pos="{lamp}" dir="0.3 0.87 -0.6" directional="true" diffuse="0.33 0.33 0.33"
    specular="0.25 0.25 0.25" castshadow="true"/>
  <geom name="wall" type="plane" pos="{_v(0, 1.04 * wall, 0)}" zaxis="0 -1 0" size="{_v(far, far, 1)}"
    material="wall"/>
  <geom name="floor" type="plane" pos="{_v(0, 0, floor)}" size="{_v(far, far, 1)}" material="floor"/>{content}
 </worldbody>
</mujoco>"""


SCENES: dict[tuple[type[Bench], str], Callable[[Any, float, float], FilmScene]] = {
    (Pendulum, "rotary"): _pendulum,
    (Elevator, "rotary"): _elevator,
    (Elevator, "linear"): _elevator,
    (Bench, "rotary"): _disc,
    (Bench, "linear"): _rail,
}
"""(bench, motion) -> its scene for positions from low to high."""
