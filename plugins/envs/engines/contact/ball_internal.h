/* SPDX-License-Identifier: Apache-2.0 */
/* ball_internal.h - what the files of ball.h share: its memory, and the force of bodies that the ball does not touch. */
#ifndef DS_ENGINES_BALL_INTERNAL_H
#define DS_ENGINES_BALL_INTERNAL_H

#include "ball.h"

/* Softened contact (ball_far.c): the force of all bodies on a ball at q with velocity v, and its reverse: adds to the
 * derivatives by q, v and the angles. The latter is of softened contact, or of what acts at a distance. */
void ball_far_force(const ball *b, const double q[2], const double v[2], double force[2]);
void ball_far_reverse(const ball *b, const double q[2], const double v[2], const double force_bar[2],
                      double q_bar[2], double v_bar[2], double *angle_bar);

/* Memory shared by ball.c, ball_far.c and ball_adjoint.c. */
struct ball {
    ball_params p;
    uint64_t n, steps, events, contacts, approximate;
    shape_box *box;
    double *state;     /* (steps + 1) x 4 */
    ball_event *event; /* in sequential order one per contact */
    impact_contact *contact;
    double *tape, *w_bar; /* of networks: one tape; see ball_weights() */
    const double *w;
    int stopped;
};

#endif
