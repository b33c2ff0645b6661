/* The model of engines_servo.c for many candidates: LANES of them side by side, their errors squared and summed.

   Written by hand as one would for this model alone: flat arrays over lanes, no branches, and gcc's vector forms of
   exp, sin and cos (-O3 -march=native -ffast-math, libmvec). benchmarks/live_population.py compares. */

#include <math.h>
#include <stddef.h>

#define LANES 32
#define N 17
#define QUARTER 1.5707963267948966 /* a cosine beside the sine would keep gcc from using vectors */
enum { R, K, J_R, G, B, TAU_C, TAU_S, W_S, K_L, K_LS, V, K_P, K_D, M, L, M_A, GRAVITY };

/* p: blocks of N rows of LANES; cost: blocks of LANES. */
void score(size_t blocks, const double *p, size_t n, const double *target, const double *measured, double h, double *cost) {
    for (size_t block = 0; block < blocks; block++) {
        const double *P = p + block * N * LANES;
        double q[LANES], v[LANES], sum[LANES], hJ[LANES], per_A[LANES], g[LANES], moment[LANES], per_w[LANES];
        for (int i = 0; i < LANES; i++) {
            const double l = P[L * LANES + i], m = P[M * LANES + i], m_a = P[M_A * LANES + i], N_ = P[G * LANES + i];
            hJ[i] = h / ((m + m_a / 3) * l * l + N_ * N_ * P[J_R * LANES + i]);
            per_A[i] = N_ * P[K * LANES + i];
            g[i] = per_A[i] / P[R * LANES + i];
            moment[i] = (m + 0.5 * m_a) * P[GRAVITY * LANES + i] * l;
            per_w[i] = 1 / P[W_S * LANES + i];
            q[i] = v[i] = sum[i] = 0;
        }
        const double half = 0.5 * h;
        for (size_t k = 0; k < n; k++) {
            const double u = target[k], y = measured[k];
#pragma GCC ivdep
            for (int i = 0; i < LANES; i++) {
                const double error = q[i] - y, q_mid = q[i] + half * v[i];
                const double k_p = P[K_P * LANES + i], k_d = P[K_D * LANES + i], limit = P[V * LANES + i];
                const double tau_c = P[TAU_C * LANES + i], more = P[TAU_S * LANES + i] - tau_c, b = P[B * LANES + i];
                const double k_l = P[K_L * LANES + i], k_ls = P[K_LS * LANES + i];
                sum[i] += error * error;
                const double wanted = k_p * (u - q_mid) - k_d * v[i];
                const double volts = fmin(fmax(wanted, -limit), limit);
                const double dvolts = fabs(wanted) < limit ? -(k_p * half + k_d) : 0;
                const double t_m = g[i] * (volts - per_A[i] * v[i]), dt_m = g[i] * (dvolts - per_A[i]);
                const double t_e = -moment[i] * sin(q_mid), dt_e = -moment[i] * sin(q_mid + QUARTER) * half;
                const double x = v[i] * per_w[i], s = exp(-x * x), ds = -2 * s * x * per_w[i];
                const double c = t_m - t_e, dc = c >= 0 ? dt_m - dt_e : dt_e - dt_m, rest = more + k_ls * fabs(c);
                const double f = tau_c + k_l * fabs(c) + s * rest, df = k_l * dc + s * k_ls * dc + ds * rest;
                const double free = t_m + t_e - b * v[i], dfree = dt_m + dt_e - b;
                const double side = v[i] == 0 ? free : v[i], d = side >= 0 ? 1 : -1;
                const double moves = (v[i] != 0) | (fabs(free) > f) ? 1.0 : 0.0;
                const double Y = hJ[i] * (dfree - d * df);
                const double v1 = moves * (v[i] + hJ[i] * (free - d * f) * (1 - Y / 6) / (1 - Y * (2.0 / 3 - Y / 6)));
                const int stops = v[i] * v1 < 0;
                const double share = v[i] / (stops ? v[i] - v1 : 1), left = 1 - share;
                const double t_m0 = t_m - v[i] * dt_m, t_e0 = t_e - v[i] * dt_e, free0 = t_m0 + t_e0;
                const double f0 = P[TAU_S * LANES + i] + (k_l + k_ls) * fabs(t_m0 - t_e0);
                const double push = free0 > f0 ? free0 - f0 : free0 < -f0 ? free0 + f0 : 0;
                const double Y0 = hJ[i] * left * dfree;
                const double after = left * hJ[i] * push * (1 - Y0 / 6) / (1 - Y0 * (2.0 / 3 - Y0 / 6));
                q[i] += half * (stops ? share * v[i] + left * after : v[i] + v1);
                v[i] = stops ? after : v1;
            }
        }
        for (int i = 0; i < LANES; i++) cost[block * LANES + i] = 0.5 * (sum[i] + (q[i] - measured[n]) * (q[i] - measured[n]));
    }
}
