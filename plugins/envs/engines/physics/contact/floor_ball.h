/* SPDX-License-Identifier: Apache-2.0 */
/* floor_ball.h - a ball in the plane that bounces off the floor y = 0 without loss: roll-out in equal steps,
 * adjoint, tangent (gradSim's two-dimensional bounce; Jatavallabhula et al., ICLR 2021).
 *
 * A step of h moves by v h / 2, adds gravity and moves by v h / 2 again. A step that would end below the
 * floor ends at the impact instead: after t = (r - y) / v_y, clipped to 0 .. h, the ball is at y = r with
 * velocity -(v_y + g t), and the rest of the step is dropped. Derivatives include the change of t. */
#ifndef DS_ENGINES_FLOOR_BALL_H
#define DS_ENGINES_FLOOR_BALL_H

#include "engines/kit/state_net.h"

#include <diffsim/helper/memory.h>

enum { FLOOR_BALL_STATE = 4 }; /* x, y, v_x, v_y; SI units */

typedef struct floor_ball floor_ball;

/* Takes memory from `m` for roll-outs of up to `steps` steps; NULL without memory. */
floor_ball *floor_ball_create(ds_memory *m, uint64_t steps);

/* Networks that push the ball before each step from now on; NULL = none. */
void floor_ball_networks(floor_ball *b, const state_net *net);

/* Simulates `steps` steps under `gravity` (negative: downward) and keeps all states. Returns -1, or the first
 * step after which the state is not finite; the roll-out then ends before that step. */
int64_t floor_ball_simulate(floor_ball *b, double radius, double gravity, double h,
                            const double start[FLOOR_BALL_STATE], uint64_t steps);

/* State before step t (t = steps: the final state). */
const double *floor_ball_at(const floor_ball *b, uint64_t t);

/* Reverse sweep over steps from .. to - 1. `bar`, in: derivatives of a loss by state `to`; out: by state
 * `from`. Adds to gravity_bar. */
void floor_ball_adjoint(const floor_ball *b, uint64_t from, uint64_t to, double bar[FLOOR_BALL_STATE],
                        double *gravity_bar);

/* Forward sweep. `dot`, in: direction of state `from`; out: of state `to`. */
void floor_ball_tangent(const floor_ball *b, uint64_t from, uint64_t to, double dot[FLOOR_BALL_STATE],
                        double gravity_dot);

#endif
