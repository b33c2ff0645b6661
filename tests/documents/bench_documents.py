"""What the documents about servos and their benches have, in their own order: sections, equations, tables,
figures."""

from __future__ import annotations

DYNAMIXEL = [
    *(f"| {symbols} |" for symbols in ("V, I", "k_t", "omega", "R", "k_p", "f_s", "f_v", "H", "G")),
    "## The table of values",
    *(f"| {symbol} |" for symbol in ("R", "k_t", "f_s", "f_v", "H")),
    "## Equations",
    "### Motor equations",
    "| `tau = k_t I` |",
    "| `omega = V / k_t - R / k_t I` |",
    "| `omega = V / k_t - R / k_t^2 tau` |",
    "| `tau = k_t / R V - k_t^2 / R omega` |",
    "### Motor reduction ratio",
    "`tau = G tau_m`",
    "`omega = omega_m / G`",
    "`k_t = G k_tm`",
    "| `omega_m = V / k_tm - R / k_tm^2 tau_m` |",
    "| `G omega = G V / k_t - G R / k_t^2 tau` |",
    "| `omega = V / k_t - R / k_t^2 tau` |",
    "### Control equation",
    "`V = V_in H k_p (theta_d - theta)`",
    "### Values to MuJoCo",
    "`kp = k_t k_p H V_in / R`",
    "`damping = k_t^2 / R + f_v`",
    "`frictionloss = f_s`",
    *("## Measuring f_s", "`f_s = m g l cos(theta)`", "### f_s of the MX-64", "### f_s of the MX-106"),
    *("## Measuring R", "### R of the MX-64", "### R of the MX-106"),
    "## Measuring k_t",
    *("`tau_load = f_s + tau`", "`tau = k_t / R V`", "`k_t = (tau_load - f_s) R / V`"),
    *("### k_t of the MX-64", "### k_t of the MX-106"),
    "## No-load speed vs voltage",
    *("## Measuring H", "### H of the MX-64", "0.15941036", "### H of the MX-106", "0.15754579"),
    *("`mx106_h.png`", "`mx64_h.png`"),
]
"""Its symbols, its table, its sections with their equations, and its two figures; none is numbered."""

SG90 = [
    "`servo-fitting.mp4`",
    *("## Introduction", "## Steps", "## Part 5: MuJoCo-based model"),
    "`square(t, A, f, w, b, t_0)`",
    "### Motor Modeling",
    *(
        "| `t_motor = t_output / G` |",
        "| `R = V_nom / i_stall` |",
        "| `k_t = t_stall / i_stall`, `k_e = k_t` |",
    ),
    *("| `k_v = V_nom / omega_NL` |", "| `omega_NL = G 0.66 deg/ms` |", "| `b = k_t i_NL / omega_NL` |"),
    *("`servo_data_collection.yml`", "`(214,)`", "`(214, 1)`", "`7.122644 30.04502260677355`"),
    *("### The XML", "time step", "cylinder", "rotor's inertia", "small cylinder", "one actuator"),
    *("### The controller", *(f"| {k}. " for k in range(1, 7))),
    "`tau = G (k_t (V - k_e G omega) / R - b_act G omega)`",
    *("| 7. ", "`output_27_0.png`", "`output1.mp4`", "3.057"),
    *("## Discussion", "`output_29_0.png`", "`output_31_0.png`"),
    *("## Part 6: parameter identification", "`fun([15, b])`", "bounds", "tolerances"),
    *("72 evaluations", "8.895", "1.404e-6", "1.4357", "37 iterations"),
    *("`output_43_0.png`", "`output.mp4`"),
    *("## Conclusions", "electrical power", "Mechanical power", "## External references"),
]
"""Its sections, equations, printed numbers, figures and films, in their order."""
