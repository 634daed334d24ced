/* SPDX-License-Identifier: Apache-2.0 */
/* floor_ball.h - a ball in the plane over a floor y = 0 that throws it back without loss: a roll-out of
 * equal steps, its adjoint and its tangent (gradSim's two-dimensional bounce; Jatavallabhula et al., ICLR
 * 2021).
 *
 * A step of h moves by v h / 2, adds gravity and moves by v h / 2 again. One that would end below the
 * floor ends at the impact instead: after t = (r - y) / v_y, clipped to 0 .. h, the ball is at y = r with
 * -(v_y + g t); the rest of the step is dropped. Derivatives go through t. */
#ifndef DS_ENGINES_FLOOR_BALL_H
#define DS_ENGINES_FLOOR_BALL_H

#include <diffsim/helper/memory.h>

enum { FLOOR_BALL_STATE = 4 }; /* x, y, v_x, v_y; SI units */

typedef struct floor_ball floor_ball;

/* Memory for roll-outs of up to `steps` steps, taken of `m`; NULL where there is none. */
floor_ball *floor_ball_create(ds_memory *m, uint64_t steps);

/* Simulates `steps` steps under `gravity` (negative: downward) and keeps all states. Returns -1, or the
 * first step after which the state is not finite: the roll-out ends before it. */
int64_t floor_ball_simulate(floor_ball *b, double radius, double gravity, double h,
                            const double start[FLOOR_BALL_STATE], uint64_t steps);

/* State before step t; t = steps: the final one. */
const double *floor_ball_at(const floor_ball *b, uint64_t t);

/* Reverse sweep over steps from .. to - 1. In: the derivatives of a loss by state `to`. Out: by state
 * `from`. Adds to gravity_bar. */
void floor_ball_adjoint(const floor_ball *b, uint64_t from, uint64_t to, double bar[FLOOR_BALL_STATE],
                        double *gravity_bar);

/* Forward sweep: `dot`, in: the direction of state `from`, out: of state `to`. */
void floor_ball_tangent(const floor_ball *b, uint64_t from, uint64_t to, double dot[FLOOR_BALL_STATE],
                        double gravity_dot);

#endif
