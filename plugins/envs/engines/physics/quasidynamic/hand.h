/* SPDX-License-Identifier: Apache-2.0 */
/* hand.h - a planar hand: two fingers of two links move a disc on a table, by quasi-dynamic steps
 * (contact_program, below).
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

#include <stdint.h>

/* ---- the program of a step ---- */

/* A quasi-dynamic step with contact as a convex program over the displacement d:
 *
 *     hard      minimise d'Q d/2 + b'd            subject to s = J d + gap >= 0
 *     smooth    minimise d'Q d/2 + b'd - (1/kappa) sum of log s_i
 *
 * Its condition is Q d + b = J'f with forces f >= 0: complementary to s when hard (f s = 0), f = 1/(kappa s)
 * when smooth, so that bodies act at a distance. A contact with friction mu has the rows n'd + gap +- mu t'd
 * (M. Anitescu, "Optimization-based simulation of nonsmooth rigid multibody dynamics", Mathematical
 * Programming 105, 2006). Source: T. Pang, H. J. T. Suh, L. Yang, R. Tedrake, "Global planning for
 * contact-rich manipulation via local smoothing of quasi-dynamic contact models" (IEEE Transactions on
 * Robotics 2023, arXiv:2206.10787). */

enum { PROGRAM_DOF = 8, PROGRAM_ROWS = 16 }; /* at most */

/* With h the step: Q and b are impulses per displacement and impulses, N s/m and N s (N m s per rad and N m s
 * for angles). */
typedef struct contact_program {
    int n, m;              /* displacements, rows */
    double q[PROGRAM_DOF]; /* diagonal of Q, positive */
    double b[PROGRAM_DOF];
    double J[PROGRAM_ROWS][PROGRAM_DOF];
    double gap[PROGRAM_ROWS]; /* m */
    double kappa;             /* 1/(N m s); 0 = hard */
} contact_program;

typedef struct contact_solution {
    double d[PROGRAM_DOF];
    double force[PROGRAM_ROWS]; /* impulse f, N s; 0 = the row does not act */
    double s[PROGRAM_ROWS];
    int act[PROGRAM_ROWS], count; /* hard: rows that act; their Jacobian has full rank */
} contact_solution;

/* Solves the program. Hard: by the dual active-set method of D. Goldfarb and A. Idnani (Mathematical
 * Programming 27, 1983), exact up to rounding. Smooth: by Newton's method from a hard solution with a margin.
 * Returns 0 where no displacement satisfies the rows, as when a body is wedged in, and where they are not
 * numbers. */
int contact_program_solve(const contact_program *p, contact_solution *out);

/* Derivatives by b, J and gap of a function of the solution, from those by d (n values). Hard: with the rows
 * that act fixed. */
typedef struct contact_adjoint {
    double b[PROGRAM_DOF], J[PROGRAM_ROWS][PROGRAM_DOF], gap[PROGRAM_ROWS];
} contact_adjoint;
void contact_program_back(const contact_program *p, const contact_solution *at, const double *d_bar,
                          contact_adjoint *out);

/* ---- the hand ---- */

enum { HAND_STATES = 7, HAND_CONTROLS = 4, HAND_FINGERS = 2, HAND_LINKS = 4, HAND_NOISE = 11 };

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
    /* draws > 0: a step is the mean of steps with noise on state and control, and so are its derivatives
     * (randomized smoothing, as in the source). noise: draws x HAND_NOISE numbers, each used with both signs.
     * Draws in which the disc is wedged in are left out. */
    uint64_t draws;
    const double *noise;
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
