"""Dry friction in stiff grease: more at rest, fading as one over the speed."""

from backemf.physics.friction import Coulomb
from backemf.physics.maths import Scalar, absolute
from backemf.physics.quantity import part, quantity


@part
class Grease(Coulomb):
    """tau_c + tau_g / (1 + |w| / w_g)."""

    grease: float = quantity("N m", "tau_g", least=0, start=lambda size: 0.5 * size.dry)
    """What the grease adds at rest."""
    grease_velocity: float = quantity("rad/s", "w_g", above=0, start=lambda size: 0.1 * size.speed)

    @property
    def breakaway(self) -> Scalar:
        return self.coulomb + self.grease

    @property
    def fades_at(self) -> float | None:
        return self.grease_velocity

    def stribeck(self, w: Scalar) -> Scalar:
        return 1.0 / (1.0 + absolute(w) / self.grease_velocity)

    def level(self, s: Scalar, t_m: Scalar, t_e: Scalar, direction: Scalar) -> Scalar:
        return self.directional_level(self.coulomb + self.grease * s, direction)
