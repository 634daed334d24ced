/* SPDX-License-Identifier: Apache-2.0 */
/* compound.h - a double pendulum of rigid bodies by the constants that its motion depends on, with the
 * derivatives of the whole motion by up to eight variables, for least squares. With absolute angles a, b from
 * the downward vertical, c = cos(a - b), s = sin(a - b),
 *     A a''  + C c b'' = -C s b'^2 - G1 sin a + t1 - t2,    t1 = D1 a'
 *     C c a'' + B b''  =  C s a'^2 - G2 sin b + t2,         t2 = D2 (b' - a').
 * Of masses m, lengths l, distances r of the centres of mass and moments of inertia I about them: A = I1 + m1
 * r1^2 + m2 l1^2, B = I2 + m2 r2^2, C = m2 l1 r2, G1 = (m1 r1 + m2 l1) g, G2 = m2 r2 g. A common factor
 * cancels. The torques t1 and t2 are those of the joints at the pivot and between the bodies. */
#ifndef DS_ENGINES_COMPOUND_H
#define DS_ENGINES_COMPOUND_H

#include "compound_constants.h"

#include <stddef.h>
#include <stdint.h>

/* A state is a, b, a', b'; derivatives of a state by the variables
 * are [COMPOUND_STATES][COMPOUND_VARIABLES]. */
enum { COMPOUND_STATES = 4, COMPOUND_VARIABLES = 8 };
enum { COMPOUND_SLOPES = COMPOUND_STATES * COMPOUND_VARIABLES };

typedef enum compound_method {
    COMPOUND_RK4,          /* the classical method of Runge and Kutta, of order 4 */
    COMPOUND_SEMI_IMPLICIT /* rates first, then angles by the new rates */
} compound_method;

/* Constants and start, with their derivatives by the variables. */
typedef struct compound {
    compound_method method;
    double constant[COMPOUND_CONSTANTS];
    double slope[COMPOUND_CONSTANTS][COMPOUND_VARIABLES]; /* of the constants by the variables */
    double start[COMPOUND_STATES], start_dot[COMPOUND_SLOPES];
} compound;

/* From the start, frame 0, to frame `frames` of `substeps` steps of h seconds each: states of the frames,
 * y[frames + 1][COMPOUND_STATES], and unless it is NULL their derivatives, y_dot[frames +
 * 1][COMPOUND_SLOPES]. Returns -1, or the first frame whose state is not finite; what follows it is
 * not written. */
int64_t compound_run(const compound *p, double h, uint64_t frames, uint64_t substeps, double *y,
                     double *y_dot);

/* Accelerations a'', b'' of a state. */
void compound_acceleration(const compound *p, const double y[COMPOUND_STATES], double out[2]);
/* Kinetic and potential energy, 0 at rest at the height of the pivot; J where the constants are SI. */
double compound_energy(const compound *p, const double y[COMPOUND_STATES]);

#endif
