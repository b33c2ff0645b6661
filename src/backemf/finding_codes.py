"""Every code of a finding: what it is about and what it means. docs/findings.md is made of this table.

Codes are stable: programs and stored files name them. Other packages add theirs through the entry points
`backemf.findings`, each a `Code`.
"""

from __future__ import annotations

from typing import NamedTuple

from .registry import Registry


class Code(NamedTuple):
    """A row of the table of codes."""

    about: str
    """What it is found in: a sheet, a log, a fit, ..."""
    meaning: str
    """What is so, in a sentence without numbers."""


_PRINTED = (
    "nominal_voltage voltage_range resistance inductance torque_constant back_emf_constant "
    "speed_constant no_load_speed no_load_current stall_torque stall_current nominal_speed "
    "nominal_torque nominal_current peak_torque peak_current peak_time current_rate saturation_current "
    "torque_speed max_efficiency max_power speed_torque_gradient mechanical_time_constant "
    "electrical_time_constant rotor_inertia reflected_inertia coulomb_torque viscous_friction "
    "stiction_torque stribeck_velocity stribeck_exponent bristle_stiffness bristle_damping "
    "bristle_damping_exponent viscous_quadratic viscous_cubic iron_loss thermal_resistance "
    "thermal_resistance_winding thermal_resistance_housing thermal_time_constant "
    "thermal_time_constant_housing thermal_capacitance ambient_temperature reference_temperature "
    "max_winding_temperature resistance_coefficient magnet_coefficient derating_start derating_end "
    "safe_current gear_ratio gear_efficiency backlash cogging_torque cogging_percent cogging_periods "
    "cogging_phase n_poles n_slots mass standby_current "
)
"""What a datasheet prints, and may print twice."""
_MEANINGS = {
    "datasheet": {
        "assumed_gain": "no sheet prints the gain of the position loop; a usual one is assumed",
        "convention_not_said": "the sheet does not say how it counts, phases or peaks for example",
        "derivative_not_known": "nobody measured what a count of the firmware's D does; it is left out",
        "electrical_time_constant": "the electrical time constant is not L / R",
        "entry_disagrees": "an entry contradicts the others and is left out, or one of several would",
        "gear_efficiency": "torque per ampere falls short of the back-EMF constant by what gears may lose",
        "gradient": "the speed/torque gradient is not R / K^2",
        "implausible_efficiency": "the entries need a gear efficiency that no gears have",
        "mechanical_time_constant": "the mechanical time constant is not R J / K^2",
        "missing": "the sheet has nothing on something that a model needs",
        "negative_viscous_drag": "the no-load current is less than dry friction alone takes",
        "no_load_speed": "the no-load speed is not (V - R I_0) / K",
        "nominal_torque": "the nominal torque is not K times the nominal current",
        "outside_identified_supply": "the part is used at another voltage than it was identified at",
        "peak_as_continuous": "a continuous value is so near the peak that it looks like one",
        "resistance_and_stall_current": "the resistance is not the voltage over the stall current",
        "speed_limited": "electronics hold the no-load speed below what voltage and constants give",
        "stall_torque": "the stall torque is not K times the stall current",
        "torque_and_back_emf_constant": "torque and back-EMF constant, equal by energy, differ",
        "unit_slip": "an entry would agree in another unit",
        **{
            f"{name}_twice": f"{name.replace('_', ' ')} is printed twice and differs"
            for name in _PRINTED.split()
        },
    },
    "conversion": {
        "constants_disagree": "the constants given do not belong to one ideal motor",
        "inertia_low": "the gains give less inertia than the rotors alone have",
        "kV_below_back_emf": "kV is less than the back-EMF of motor and gears alone",
        "stall_torque_differs": "the model stalls at another torque than the sheet prints",
    },
    "reading": {
        "below_zero": "a number that cannot be negative comes out below zero",
        "duty_offset": "the duty's readings fit better with an offset",
        "error_unknown": "there are as many readings as unknowns: nothing is left to tell the error",
        "impossible_value": "the readings give a number that cannot be",
        "load_friction": "static loads fall short of the other routes to the torque constant",
        "not_a_line": "the readings bend away from a line by more than their errors",
        "not_settled": "the recording ends before the value has settled",
        "not_told": "the readings do not tell a number from nothing",
        "outlier": "single readings stand apart from the others",
        "rotor_moved": "the current falls again: the rotor turned and was to be locked",
        "routes_disagree": "two ways to one constant disagree beyond their errors",
        "saturation": "torque grows less and less with the current",
        "second_node": "winding and housing warm at different speeds",
        "too_coarse": "a rise was sampled too coarsely for its time constant",
        "torque_above_back_emf": "torque per ampere exceeds volts per speed, which energy forbids",
        "torque_below_back_emf": "torque per ampere falls short of volts per speed",
        "voltage_drop": "the line of voltage over current misses the origin",
        "voltage_offset": "the line of voltage over speed misses the origin",
    },
    "simulation": {
        "not_finite": "the motion runs away: its states are no finite numbers any more",
        "not_passive": "the friction can feed energy into the joint",
        "tolerance_missed": "the shortest step still misses the tolerance",
        "timestep_too_long": "the drive is stiffer than the model's time step resolves",
    },
    "log": {
        "arm_mass_missing": "the file does not say what the arm weighs: it counts as massless",
        "backward_times": "time runs backwards; those samples are dropped",
        "bench_missing": "the file does not say what it was recorded on",
        "cut_off": "the last line is cut off and left out",
        "cut_off_share": "a joint is at the end of its range of shares, where it is cut off",
        "duplicate_times": "several samples have the same time",
        "empty_episodes": "episodes of a dataset have no rows",
        "ended_early": "the recording ended early, and why",
        "kp_missing": "the file does not state its gain",
        "lost_replies": "replies of a servo are lost",
        "missing_key": "some entries of the file lack a key",
        "not_recorded": "channels are 0 throughout and left out",
        "supply_scaled": "the supply is read in the unit in which it agrees with what is stated",
        "supply_unclear": "the supply's unit cannot be told, and it is left out",
        "torque_off": "the torque is switched off for a part of the samples",
        "unit_assumed": "a channel states no unit and is taken for one in SI",
        "units_understood": "a channel's unit was told from its numbers",
        "vin_missing": "the file does not state its supply voltage",
        "wrapped_position": "the position wraps and was unwrapped",
    },
    "recording": {
        "clock_drift": "command and answer run on clocks of different rates",
        "coarse_command": "the command was logged more coarsely than it was sent",
        "coarse_encoder": "the position comes in coarse steps",
        "coarse_jumps": "the command jumps between samples: when is open",
        "degrees": "a channel is in degrees, not in radians",
        "delay": "the motion answers later or earlier than the model says",
        "duplicates": "the sensor is read faster than it updates",
        "encoder_counts": "a channel is in counts of an encoder, not in radians",
        "gaps": "there are gaps in time",
        "jitter": "the samples are off their step",
        "lost_rows": "rows are lost and the rest was numbered anew",
        "milliradians": "a channel is in milliradians, not in radians",
        "mounting_angle": "the arm does not hang where it was said to",
        "no_motion": "the position hardly moves",
        "no_reversal": "the motion never changes direction: friction looks like a load",
        "one_load": "all logs carry one load: friction that grows with it cannot be told",
        "repeats": "readings failed and repeat the one before",
        "spikes": "samples jump off the motion and back",
        "supply_sag": "the supply sags",
        "temperature_drift": "the motor warms during the log",
        "turns": "a channel is in turns, not in radians",
        "wrapped_counter": "the position jumps as a counter does that wraps",
        "wrong_arm_mass": "the arm's stated mass does not fit the motion",
        "wrong_firmware_gain": "the stated gain of the firmware does not fit the motion",
        "wrong_inertia": "the load's stated inertia does not fit the motion",
        "wrong_length": "the arm's stated length does not fit the motion",
        "wrong_mass": "the stated mass does not fit the motion",
        "wrong_radius": "the drum's stated radius does not fit the motion",
        "wrong_rotor_inertia": "the sheet's rotor inertia does not fit the motion",
        "wrong_sign": "the motion runs against what was asked",
        "wrong_stiffness": "the spring's stated stiffness does not fit the motion",
        "wrong_supply": "the stated supply does not fit the motion",
        "wrong_winding": "the sheet's winding does not fit the motion",
        "zeros": "samples are exactly one value amid motion elsewhere: dropouts",
    },
    "fit": {
        "at_bound": "a number ended at its bound",
        "correlated": "two numbers are known better together than apart",
        "firmware_gain_fitted": "nobody printed the firmware's gain; it was fitted along",
        "interrupted": "the search was interrupted; this is the best so far",
        "model_error": "the errors exceed the noise: the model misses something",
        "new_mounting": "a mounting that was never fitted hangs as those that were, on average",
        "no_band": "the recordings cannot say how far predictions may be off",
        "not_determined": "the logs do not determine a number",
        "not_identifiable": "the logs hardly tell a number",
        "only_in_combination": "the logs tell some numbers only in combination",
        "sheet_disagrees": "the logs and the sheet disagree about a number",
        "worse_held_out": "the error on held-out logs is larger than on the fitted ones",
    },
    "plan": {
        "arm_not_weighed": "nobody says what the arm weighs",
        "less_room": "a joint has less room than the motion wants",
        "posture": "what the other joints do meanwhile",
        "temperature_not_modelled": "the model does not know how the winding warms",
        "untold": "the motions will not tell some numbers",
    },
    "robot": {
        "base_held": "the base floats in the model and is taken to be held still",
        "beyond_range": "a joint is recorded beyond its range",
        "calibrated_range": "a joint was calibrated over another range than its model's",
        "command_of_nobody": "a topic's elements have no names, and no joint follows them",
        "contact": "the robot touches something; those samples are not fitted",
        "fell": "most joints stand far from what was asked: the robot fell, or was off",
        "inertia_not_believed": "free masses take up what the model of the actuators lacks",
        "joint_left_out": "a joint cannot be read and is left out",
        "joints_not_recorded": "joints have no channel and are taken to rest",
        "meshes_missing": "the model names meshes that are not there",
        "not_fitted": "joints move as recorded and are not fitted",
        "not_followed": "a joint is followed much worse than the others, and counts little",
        "order_by_motion": "a topic's elements were named by the joints that follow them",
        "range_assumed": "shares of a range are taken for the model's range",
        "range_by_steps": "shares of a range were told by the encoder's step",
        "scale_borrowed": "some joints borrow from others how strong the motor is",
        "scale_collapse": "equal servos come out with unequal stiffness: the scale is free",
        "scale_open": "no joint tells how strong its motor is",
        "share_of_range": "a joint is recorded as a share of its range",
        "sign_contradicted": "gravity contradicts the sign of a joint",
        "torque_is_law": "a torque target is what the PD law asks for; it is left out",
    },
    "fleet": {
        "broken_log": "a unit's recording cannot be read",
        "drifts": "a unit's number changes with time or temperature",
        "few_units": "few units tell a spread poorly",
        "jumped": "a unit's number jumped after a session",
        "odd_unit": "a unit stands apart from the others",
        "shared_by_joints": "joints of one robot share numbers: units are robots here",
        "spread_in_noise": "a fit's own error is a large part of the spread",
        "unit_failed": "a unit could not be fitted",
        "worker_killed": "the process that fitted a unit was killed",
    },
    "mechanism": {
        "brown_out": "the supply fell so low that controllers cut their outputs",
        "delay_assumed": "ramps alone do not tell the delay; it was assumed",
        "directions_disagree": "the gains forward and in reverse differ",
        "effect_before_cause": "the motion is seen before the input that causes it",
        "hard_stop": "the mechanism ran into a stop; what follows is left out",
        "inverted": "a positive input gives a negative velocity",
        "kV_unexpected": "kV is not what the motors and gears give",
        "negative_gain": "a gain is negative, which no mechanism has",
        "position_inverted": "position falls while velocity is positive",
        "position_missing": "there is no position: the angle of gravity is unknown",
        "repeated_samples": "samples repeat the one before and are left out",
        "resistance_high": "the effective resistance is larger than the motors'",
        "rests_on_model": "kS and kG are told apart only by the model",
        "sides_disagree": "the gains of the left and the right side differ",
        "slow_loop": "the position loop settles slowly",
        "stiction": "a slow test breaks away above the friction in motion",
        "test_direction": "the input has the other sign than the test's name says",
        "too_little_motion": "tests hardly move",
        "too_short": "a test has too little motion in time",
        "unexplained": "an input is left that no gains explain",
        "units_disagree": "position and velocity are in different units",
        "units_suspect": "the travel or the gains suggest another unit",
    },
    "model": {
        "armature_far_from_servos": "the armature is far from that of parts of this kind and torque",
        "armature_not_known": "nobody knows the part's armature",
        "armature_off": "the model's armature is not the part's",
        "bristle_unstable": "the bristle does not settle at this time step",
        "damping_below_back_emf": "the damping is less than back-EMF alone gives",
        "damping_off": "the model's damping is not the part's",
        "friction_off": "the model's dry friction is not the part's",
        "gain_far_from_servos": "the stiffness is far from that of servos of this torque",
        "no_armature": "the rotor has no inertia",
        "no_exact_form": "the actuator does not pass to MuJoCo's newer releases exactly",
        "no_limit": "the actuator has no limit of torque or force",
        "no_part_alike": "no part known is like the actuator; nothing was compared",
        "not_read": "an actuator of the model cannot be read",
        "other_motion": "joint and part move differently, one turns and one slides",
        "step_too_long": "the time step is too long for the actuator",
        "stiffness_not_known": "nobody knows the part's stiffness",
        "stiffness_off": "the model's stiffness is not the part's",
        "torque_beyond_servos": "the torque is beyond that of the strongest part known",
        "torque_limit_off": "the model's limit of torque is not the part's",
        "unequal_constants_merged": "Kt and Ke differ, and the engine uses one for both",
        "velocity_integral": "a velocity loop with an integral holds a position",
    },
    "export": {
        "bam_name_unknown": "BAM has no actuator of this name, and will not load the file",
        "bam_own_firmware": "voltage and gains come from BAM's own code, not from the file",
        "command_scaled": "the same law follows another share of the command in this release",
        "ctrl_kept": "ctrl goes on to mean what it meant in the model, and the drive follows that",
        "ctrl_rescaled": "the actuator had a gear; its ctrl is in the joint's units now",
        "damping_removed": "the joint had damping of its own that the new actuator does not make up for",
        "delay_left_out": "the file carries no delay of commands, and what that costs",
        "drive_without_gain": "the drive has no gains and the joint had no actuator, so its ctrl is a torque",
        "file_changed": "the file is not as it was exported: some of its numbers were changed since",
        "file_loses": "the file is further from the recordings than the fit",
        "integrator_diverges": "the simulator's integrator diverges with this actuator",
        "integrator_far_off": "the simulator's integrator is far off with this actuator",
        "loosely_known": "numbers are known so loosely that draws pile up at the edge",
        "joint_shared": "a joint that was named exactly is moved by a tendon or an equality too",
        "joints_left_alone": "joints that fit a pattern and are driven by something else, or by nothing",
        "kept_from_model": "what the actuator does not know stays as it was in the model",
        "limited_by_joint": "the joint itself allows less effort than the actuator gives",
        "no_binary": "the FMU holds sources only",
        "no_rotor_inertia": "the rotor has no inertia: the joint's own is all there is",
        "overshoots": "a joint overshoots a step clearly more than with its old actuator",
        "replaced": "an actuator of the model is replaced by ours",
        "replay_fails": "the exported file cannot be run",
    },
}
FINDINGS: Registry[Code] = Registry(
    "finding",
    {code: Code(about, meaning) for about, codes in _MEANINGS.items() for code, meaning in codes.items()},
    group="backemf.findings",
    check=lambda code: Code(*code),
)
"""Every code by name, grouped by what it is about."""
