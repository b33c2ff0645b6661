"""`backemf measure`: bench arithmetic with honest errors."""

from __future__ import annotations

import typer

from . import arms, electrical, motion, several, torque

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Bench arithmetic with honest errors: value, error, what was assumed, what would sharpen it.",
)
for commands in (
    (arms.fall, arms.slip),
    (electrical.resistance, electrical.current_step, electrical.impedance, electrical.back_emf),
    (torque.torque_constant, torque.no_load, torque.no_load_current, electrical.firmware_gain),
    (motion.coast_down, motion.inertia, motion.run_up, motion.acceleration, motion.inverse_dynamics),
    (motion.thermal, motion.backlash, several.constants),
):
    for command in commands:
        app.command(command.__name__.replace("_", "-"))(command)
