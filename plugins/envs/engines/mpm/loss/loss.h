/* SPDX-License-Identifier: Apache-2.0 */
/* How far a state is from the target: mass density, distance field and contact losses of PlasticineLab, their
 * adjoint, and the quantities reported beside them. */
#ifndef MPM_LOSS_H
#define MPM_LOSS_H

#include "common/memory.h"
#include "engines/mpm/sim/sim.h"

typedef struct mpm_objective {
    double weight_density, weight_sdf, weight_contact;
    bool soft_contact;          /* else the nearest particle alone counts */
    bool contact_all_particles; /* hard contact: hand the adjoint to every particle, as the original's
                                   compiler did */
    double *target;             /* mass per node */
    double *distance;           /* of a node to the target */
    double *mass;               /* work: mass of the present state per node */
    double *mass_bar;
    double target_sum, target_max;
    memory memory; /* of the arrays */
} mpm_objective;

/* The unweighted measures of one state. */
typedef struct mpm_measure {
    double density;      /* sum over nodes |M - T| */
    double sdf;          /* sum over nodes distance M */
    double contact_soft; /* sum over moved tools (weighted mean distance of the particles)^2 */
    double contact_hard; /* sum over moved tools (distance of the nearest particle)^2 */
    double iou;          /* soft intersection over union of M and T */
    double com[3];
    double sum_sq; /* of all particle coordinates */
    double det_f_mean;
} mpm_measure;

/* Copies the target (n^3 masses) into an objective without one and computes its distance field. */
mpm_result mpm_objective_init(mpm_objective *o, int n, const double *target);
void mpm_objective_free(mpm_objective *o);

/* poses: one per tool. Positions must be valid (inside the domain, finite), else MPM_DIVERGED. */
mpm_result mpm_measure_state(mpm_objective *o, const mpm_sim *sim, const mpm_particle *particles,
                             const mpm_pose *poses, mpm_measure *out);

double mpm_loss(const mpm_objective *o, const mpm_measure *m);

/* Adds the adjoint of mpm_loss() of this state (times 1) to the particles' and the poses' adjoints. */
void mpm_loss_adjoint(mpm_objective *o, const mpm_sim *sim, const mpm_particle *particles,
                      const mpm_pose *poses, mpm_particle *bar, mpm_pose *poses_bar);

#endif
