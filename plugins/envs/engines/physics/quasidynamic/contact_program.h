/* SPDX-License-Identifier: Apache-2.0 */
/* contact_program.h - a quasi-dynamic step with contact as a convex program over the displacement d:
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
#ifndef DS_ENGINES_CONTACT_PROGRAM_H
#define DS_ENGINES_CONTACT_PROGRAM_H

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

#endif
