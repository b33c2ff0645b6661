"""What was recorded: logs, robots they belong to, readers of every format; the help of what reads them."""

BENCH_HELP = (
    'What the output carried: "pendulum mass=0.5kg length=0.1m", "flywheel inertia=2e-4kg*m^2", or a file'
    ' with it (rig.toml); plain numbers are in SI, and "0.5+-0.01 kg" states a tolerance. It comes before'
    " what a log says."
)
MAP_HELP = "How to read a signal: position=motor_pos[deg],-1. May be given several times."
BETWEEN_HELP = "Keep only this part of each recording [s]."
