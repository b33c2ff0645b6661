"""Conversions between the numbers people write for one motor or servo: `be.convert`.

Each is one call and answers with its numbers, their units and formulas, what it assumed and what was lost.
"""

from .conversion_table import Conversion as Conversion, Number as Number
from .feedforward import Gains as Gains, Load as Load, gains as gains, load as load
from .isaac_lab import (
    FromIsaac as FromIsaac,
    Isaac as Isaac,
    from_isaac as from_isaac,
    isaac as isaac,
    isaac_constants as isaac_constants,
)
from .servo_constants import (
    Constants as Constants,
    Gain as Gain,
    PositionActuator as PositionActuator,
    ServoModel as ServoModel,
    constants as constants,
    constants_of as constants_of,
    gain as gain,
    servo as servo,
    servo_actuator as servo_actuator,
)
