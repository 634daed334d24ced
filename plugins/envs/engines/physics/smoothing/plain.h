/* SPDX-License-Identifier: Apache-2.0 */
/* plain.h - environments that are functions of a few variables in a cube, without motion; the papers of the
 * environments of smoothing/; distance to a box. The instance starts with a struct plain. */
#ifndef DS_ENGINES_PLAIN_H
#define DS_ENGINES_PLAIN_H

#include <diffsim/helper/env_kit.h>

#include <math.h>

typedef struct plain {
    ds_env_kit kit; /* must be first */
    double lower, upper, guess;
    const char *name, *unit; /* of the variables; "" = a pure number */
} plain;

/* Bounds and start of every variable. */
#define PLAIN_PARAMS(lower_, upper_, guess_, unit_)                                                          \
    DS_REAL("lower", lower_, -1e6, 1e6, unit_, "Lower bound of each variable."),                             \
        DS_REAL("upper", upper_, -1e6, 1e6, unit_, "Upper bound of each variable."),                         \
        DS_REAL("guess", guess_, -1e6, 1e6, unit_, "Where a search starts; clamped to the bounds.")
#define PLAIN_DIM_PARAM(dim_)                                                                                \
    DS_INT("dim", dim_, 1, 1000000, "", "Number of variables.", .flags = DS_PARAM_SHAPE)

/* Reads these parameters for n variables; refuses lower >= upper. */
void plain_read(plain *p, ds_param_reader *in, uint64_t n, const char *name, const char *unit);

void plain_range(const void *self, uint64_t i, double *lower, double *upper, double *start);
void plain_variable(const void *self, uint64_t i, ds_env_variable *out); /* "name.i"; "name" if n = 1 */

#define PLAIN_TABLE .range = plain_range, .variable = plain_variable
#define PLAIN_DIM_TABLE .advice = "reduce parameter dim", PLAIN_TABLE

/* ---- papers ---- */

#define SMOOTHING_SUH                                                                                        \
    "H. J. T. Suh, M. Simchowitz, K. Zhang, R. Tedrake: Do differentiable simulators give better policy "    \
    "gradients? ICML 2022, arXiv:2202.00817."
#define SMOOTHING_PANG                                                                                       \
    "T. Pang, H. J. T. Suh, L. Yang, R. Tedrake: Global planning for contact-rich manipulation via local "   \
    "smoothing of quasi-dynamic contact models. IEEE Transactions on Robotics 2023, arXiv:2206.10787."
#define SMOOTHING_HUANG                                                                                      \
    "Z. Huang, Y. Hu, T. Du, S. Zhou, H. Su, J. B. Tenenbaum, C. Gan: PlasticineLab: A soft-body "           \
    "manipulation benchmark with differentiable physics. ICLR 2021, arXiv:2104.03311."
#define SMOOTHING_ELANDT                                                                                     \
    "R. Elandt, E. Drumwright, M. Sherman, A. Ruina: A pressure field model for fast, robust approximation " \
    "of net contact force and moment between nominally rigid objects. IROS 2019, arXiv:1904.11433."

/* ---- distance to a box ---- */

/* Distance of a point to a box in the plane, negative inside; unit normal n (the derivative of the distance);
 * dn = curvature (I - n n') dp. */
typedef struct rounded {
    double distance, n[2], curvature;
} rounded;

/* p is relative to the middle of the box, which has half sizes a, b and is grown by `radius` on all sides:
 * with round corners, or as a larger box. */
static inline rounded rounded_box(const double p[2], double a, double b, double radius, int round)
{
    const double x = fabs(p[0]) - a, y = fabs(p[1]) - b, sx = copysign(1, p[0]), sy = copysign(1, p[1]);
    if (round && x > 0 && y > 0) {
        const double far = hypot(x, y);
        return (rounded){far - radius, {sx * x / far, sy * y / far}, 1 / far};
    }
    return x > y ? (rounded){x - radius, {sx, 0}, 0} : (rounded){y - radius, {0, sy}, 0};
}

#endif
