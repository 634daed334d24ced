/* SPDX-License-Identifier: Apache-2.0 */
/* chain - a function of a library of one's own, for the environment `ffi`: the energy of a chain of masses
 * that hangs between two hooks. It knows nothing of diffsim; chain.ini says how it is called. */
#include <math.h>
#include <stddef.h>

static const double mass = 0.05, stiffness = 40, length = 0.1, gravity = 9.81; /* kg, N/m, m, m/s^2 */

double chain_energy(int n, const double *x, double *gradient);

/* x holds the positions (across, up) of n/2 masses; the hooks are at (0, 0) and (1, 0). Gradient
 * where not NULL. */
double chain_energy(int n, const double *x, double *gradient)
{
    double energy = 0;
    for (int i = 0; i < n; i += 2) {
        energy += mass * gravity * x[i + 1];
        if (gradient != NULL) {
            gradient[i] = 0;
            gradient[i + 1] = mass * gravity;
        }
    }
    for (int i = 0; i <= n; i += 2) { /* the spring before mass i, and the last one */
        double dx = (i < n ? x[i] : 1) - (i > 0 ? x[i - 2] : 0);
        double dy = (i < n ? x[i + 1] : 0) - (i > 0 ? x[i - 1] : 0);
        double now = sqrt(dx * dx + dy * dy), pull = stiffness * (now - length);
        energy += 0.5 * pull * (now - length);
        if (gradient != NULL && now > 0) {
            if (i < n) {
                gradient[i] += pull * dx / now;
                gradient[i + 1] += pull * dy / now;
            }
            if (i > 0) {
                gradient[i - 2] -= pull * dx / now;
                gradient[i - 1] -= pull * dy / now;
            }
        }
    }
    return energy;
}
