"""What the servo torque model, the gearbox equations and the DC-motor note have: sections, equations, tables,
figures."""

from __future__ import annotations

SERVO_TORQUE_MODEL = [
    "Actuator Torque Model Parameters",
    "tau_m = a u_i + b_1 l_i + b_2 l'_i",
    "(1) k_p = a, k_p = -b_1, k_v = -b_2",
    "motor model calculation script",
    "(2) tau_m = K_m i_a",
    "| L di_a/dt + R i_a = V - V_b",
    "(3) i_a = (V - V_b - L di_a/dt) / R",
    "| tau_m = K_m (V - V_b - L di_a/dt) / R",
    "(4) tau_m = K_m (V - V_b) / R",
    "(5) V_b = K_b theta'",
    "(6) V = G_p (180 / pi) (theta_d - theta)",
    "| tau_m = K_m (G_p (180 / pi) (theta_d - theta) - K_b theta') / R",
    "(7) tau_m = (180 K_m G_p / (pi R)) theta_d - (180 K_m G_p / (pi R)) theta - (K_m K_b / R) theta'",
    "| k_p = a = -b_1 = 180 K_m G_p / (pi R)",
    "| k_v = -b_2 = -K_m K_b / R",
]
"""One heading; seven numbered equations and the others in their order; its script."""

_ALPHA = "(tau_sm n G^2 / J) sgn(omega_g)"
GEARBOX_SYSID = {
    "## 1. Torque Equation": [
        *(f"| {symbol} |" for symbol in ("tau_m", "V_m", "I_m", "K_t", "K_v", "tau_sm", "omega_m")),
        *(f"| {symbol} |" for symbol in ("G", "n", "tau_G", "omega_G")),
        "| tau_g = n G tau_m |",
        "| tau_m = tau_g / (n G) |",
        "| omega_g = omega_m / G |",
        "| omega_m = G omega_g |",
        "| tau_m = K_t I_m - tau_sm sgn(omega_m) |",
        "| tau_g / (n G) = K_t I_m - tau_sm sgn(G omega_g) |",
        "| tau_g / (n G) = K_t I_m - tau_sm G sgn(omega_g) |",
        "| tau_g = n G K_t I_m - tau_sm n G^2 sgn(omega_g) |",
    ],
    "## 2. Angular Acceleration Equation": [
        "| J |",
        "| alpha_g |",
        "| tau_g = J alpha_g |",
        "| J alpha_g = n G K_t I_m - tau_sm n G^2 sgn(omega_g) |",
        f"| alpha_g = (n G K_t / J) I_m - {_ALPHA} |",
    ],
    "## 3. System Characterization Model (SysId)": [
        *(f"| {symbol} |" for symbol in ("k_s", "k_v", "k_a", "x", "x'", "x''", "u")),
        "| u = k_s sgn(x') + k_v x' + k_a x'' |",
        "| k_a x'' = -k_v x' + u - k_s sgn(x') |",
        "| x'' = -(k_v / k_a) x' + (1 / k_a) u - (k_s / k_a) sgn(x') |",
    ],
    "## 4. Current Control Model": [
        "| x' = omega_g, x'' = alpha_g, u = I_m |",
        "| alpha_g = -(k_v / k_a) omega_g + (1 / k_a) I_m - (k_s / k_a) sgn(omega_g) |",
        "| -k_v / k_a = 0, k_v = 0 |",
        "| 1 / k_a = n G K_t / J, k_a = J / (n G K_t) |",
        "| k_s / k_a = tau_sm n G^2 / J |",
        "| k_s (1 / k_a) = k_s n G K_t / J = tau_sm n G^2 / J |",
        "| k_s = (J / (n G K_t)) (tau_sm n G^2 / J) |",
        "| k_s = tau_sm G / K_t |",
    ],
    "## 5. Voltage Control Model": [
        f"| alpha_g = (n G K_t / J) I_m - {_ALPHA} |",
        "| I_m = V_m / R - omega_m / (R K_v) |",
        f"| alpha_g = (n G K_t / J) (V_m / R - omega_m / (R K_v)) - {_ALPHA} |",
        f"| alpha_g = (n G K_t / (R J)) V_m - (n G K_t / (R J K_v)) omega_m - {_ALPHA} |",
        f"| alpha_g = (n G K_t / (R J)) V_m - (n G K_t / (R J K_v)) G omega_g - {_ALPHA} |",
        f"| alpha_g = (n G K_t / (R J)) V_m - (n G^2 K_t / (R J K_v)) omega_g - {_ALPHA} |",
        "| x'' = -(k_v / k_a) x' + (1 / k_a) u - (k_s / k_a) sgn(x') |",
        "| x' = omega_g, x'' = alpha_g, u = V_m |",
        "| alpha_g = -(k_v / k_a) omega_g + (1 / k_a) V_m - (k_s / k_a) sgn(omega_g) |",
        "| 1 / k_a = n G K_t / (R J) |",
        "| k_a = R J / (n G K_t) |",
        "| k_v / k_a = n G^2 K_t / (R J K_v) |",
        "| k_v (1 / k_a) = n G^2 K_t / (R J K_v) |",
        "| k_v n G K_t / (R J) = n G^2 K_t / (R J K_v) |",
        "| k_v = G / K_v |",
        "| k_s / k_a = tau_sm n G^2 / J |",
        "| k_s (1 / k_a) = k_s n G K_t / (R J) = tau_sm n G^2 / J |",
        "| k_s = (R J / (n G K_t)) (tau_sm n G^2 / J) |",
        "| k_s = tau_sm R G / K_t |",
    ],
}
"""Its five sections, and in each the variables and equations in their order; none is numbered."""


def numbered(kind: str, numbers: str) -> list[str]:
    """ "Eq.", "1a 1b 2-4" -> Eq. 1a, Eq. 1b, Eq. 2, Eq. 3, Eq. 4."""
    found = []
    for word in numbers.split():
        first, _, last = word.partition("-")
        found += [word] if not last else [str(n) for n in range(int(first), int(last) + 1)]
    return [f"{kind} {number}".strip() for number in found]


DC_MOTOR_NOTE = [
    *numbered("", "1 1.1 1.1.1 1.2 1.3 1.3.1 1.3.2 1.3.3 1.3.4 1.3.5 1.4 1.4.1 1.4.2 1.4.3"),
    *numbered("", "2 2.1 2.2 2.3 2.4 2.5 2.5.1 2.5.2 2.5.3 2.5.4 2.5.5 2.6 3"),
    *numbered("Eq.", "1a 1b 2-8 9a 9b 10-13"),
    *numbered("Table", "1-19"),
    *numbered("Figure", "1-7"),
    *("K_e = K_t", "limit on di/dt", "Coulomb friction", "viscous drag", "tau_net", "J_eff = J_r N^2"),
    *("backlash", "R_th1, R_th2", "linearised", "passivity", "inertia, gearing", "gearbox efficiency"),
    *("computed parameters", "di/dt clipped", "explicit Euler", "runtime mutability", "References"),
]
"""Sections, numbered equations, tables and figures of MuJoCo's DC-motor note, and what it has without a
number: definitions and passages with a formula of their own."""
