/* SPDX-License-Identifier: Apache-2.0 */
/* hand.h - a planar hand: two fingers of two links move a disc on a table, by quasi-dynamic steps
 * (contact_program.h).
 *
 * State (7): x, y, angle of the disc; the two joint angles of the left, then of the right finger. Link 1 has
 * the angle of joint 1 to the x axis, link 2 the sum of both. Control (4): by how much the commanded joint
 * angles are ahead of the joints. A step of h seconds moves the joints with stiffness K and the disc against
 * viscous drag c, without inertia:
 *
 *     Q = (c, c, c r^2/2, h K, ...)     b = (0, 0, 0, -h K u)     next = q + d
 *
 * In the paper the disc has a regularising mass in place of the drag. Every link, a capsule, may touch the
 * disc. */
#ifndef DS_ENGINES_HAND_H
#define DS_ENGINES_HAND_H

#include "contact_program.h"

enum { HAND_STATES = 7, HAND_CONTROLS = 4, HAND_FINGERS = 2, HAND_LINKS = 4 };

typedef struct hand {
    double base[HAND_FINGERS][2]; /* of joint 1, m */
    double length[2], thickness;  /* of link 1, link 2; half width of a link; m */
    double radius;                /* of the disc, m */
    double friction;              /* mu */
    double h;                     /* s */
    double drag, stiffness;       /* c in N s/m, K in N m/rad */
    double kappa;                 /* of the barrier, 1/(N m s); 0 = hard contact */
    unsigned links;               /* bit l: link l can touch the disc; links 0, 1 are the left finger */
    double shift[HAND_LINKS];     /* added to the gap of each link, m */
} hand;

/* Where joint 2 and the tip of finger f are. */
void hand_finger(const hand *h, const double *q, int f, double *joint, double *tip);

/* Gap between link l and the disc, m. */
double hand_gap(const hand *h, const double *q, int l);

/* The state after q with control u. `force` (HAND_LINKS values; may be NULL) gets the mean normal force of
 * each link in the step, N. Returns 0, and NaNs, where the disc is wedged in. */
int hand_step(const hand *h, const double *q, const double *u, double *next, double *force);

/* Adds the products of next_bar with the derivatives of hand_step() to q_bar and u_bar. */
void hand_back(const hand *h, const double *q, const double *u, const double *next_bar, double *q_bar,
               double *u_bar);

/* A = d next / d q and B = d next / d u. */
void hand_linearise(const hand *h, const double *q, const double *u, double A[HAND_STATES][HAND_STATES],
                    double B[HAND_STATES][HAND_CONTROLS]);

#endif
