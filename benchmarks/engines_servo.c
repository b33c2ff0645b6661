/* One fixed model written by hand: a position-controlled servo with load-dependent friction on a pendulum.

   The same scheme as backemf's native step, with its derivatives taken on paper, as one would write it for this model
   alone. It shows what a compiler can reach at best; benchmarks/engines.py compares. */

#include <math.h>
#include <stddef.h>

typedef struct {
    double R, K, J_r, N, B, tau_c, tau_s, w_s, K_l, K_ls, V, k_p, k_d, m, l, m_a, g;
} Servo;

static double clip(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

/* Dry friction at carried torque c, with s = 1 at rest and 0 at speed. */
static double level(const Servo *p, double c, double s) {
    return p->tau_c + p->K_l * fabs(c) + s * (p->tau_s - p->tau_c + p->K_ls * fabs(c));
}

/* (exp(y) - 1) / y, in Pade form. */
static double growth(double y) { return (1 - y / 6) / (1 - y * (2.0 / 3 - y / 6)); }

/* states: n + 1 rows of position and velocity, the first one given. */
void run(const Servo *p, size_t n, const double *target, const double *dt, double *states) {
    const double J = (p->m + p->m_a / 3) * p->l * p->l + p->N * p->N * p->J_r, per_J = 1 / J;
    const double per_ampere = p->N * p->K, per_R = 1 / p->R, moment = (p->m + 0.5 * p->m_a) * p->g * p->l, per_w_s = 1 / p->w_s;
    double q = states[0], v = states[1];
    for (size_t k = 0; k < n; k++) {
        const double h = dt[k], half = 0.5 * h;
        /* torques at the mean velocity v, and their slopes in it */
        const double q_mid = q + half * v;
        const double wanted = p->k_p * (target[k] - q_mid) - p->k_d * v;
        const double volts = clip(wanted, -p->V, p->V);
        const double dvolts = fabs(wanted) < p->V ? -(p->k_p * half + p->k_d) : 0;
        const double t_m = per_ampere * per_R * (volts - per_ampere * v), dt_m = per_ampere * per_R * (dvolts - per_ampere);
        const double t_e = -moment * sin(q_mid), dt_e = -moment * cos(q_mid) * half;
        const double drag = p->B * v, x = fabs(v) * per_w_s, s = exp(-x * x), ds = -2 * s * v * per_w_s * per_w_s;
        const double c = t_m - t_e, dc = c > 0 ? dt_m - dt_e : c < 0 ? dt_e - dt_m : 0;
        const double f = level(p, c, s), df = p->K_l * dc + s * p->K_ls * dc + ds * (p->tau_s - p->tau_c + p->K_ls * fabs(c));
        const double free = t_m + t_e - drag, dfree = dt_m + dt_e - p->B;
        /* the direction of motion, or of the push that starts it */
        const double d = v > 0 || (v == 0 && free > f) ? 1 : v < 0 || (v == 0 && free < -f) ? -1 : 0;
        const double a = d == 0 ? 0 : (free - d * f) * per_J, y = d == 0 ? 0 : h * (dfree - d * df) * per_J;
        double v1 = v + h * a * growth(y), w;
        if ((v > 0 && v1 < 0) || (v < 0 && v1 > 0)) { /* it stops on the way and goes on from rest */
            const double share = v / (v - v1), t_m0 = t_m - v * dt_m, t_e0 = t_e - v * dt_e;
            const double free0 = t_m0 + t_e0, f0 = level(p, t_m0 - t_e0, 1), left = (1 - share) * h * per_J;
            v1 = left * growth(left * dfree) * (free0 > f0 ? free0 - f0 : free0 < -f0 ? free0 + f0 : 0);
            w = 0.5 * (share * v + (1 - share) * v1);
        } else {
            w = 0.5 * (v + v1);
        }
        q += h * w;
        v = v1;
        states[2 * k + 2] = q;
        states[2 * k + 3] = v;
    }
}
