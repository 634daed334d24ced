/* SPDX-License-Identifier: Apache-2.0 */
/* How far a state is from the target: mass density, distance field and contact losses of PlasticineLab, their
 * adjoint, and the quantities reported beside them. */
#ifndef MPM_LOSS_H
#define MPM_LOSS_H

#include "engines/physics/mpm/sim/sim.h"

#include <diffsim/helper/memory.h>

/* Grid nodes lower .. upper - 1 along each axis. */
typedef struct mpm_nodes_box {
    int lower[3], upper[3];
} mpm_nodes_box;

typedef struct mpm_objective {
    double weight_density, weight_sdf, weight_contact;
    bool soft_contact;          /* else the nearest particle alone counts */
    bool contact_all_particles; /* hard contact: hand the adjoint to every particle, as the original's
                                   compiler did */
    double *target;             /* mass per node */
    double *distance;           /* of a node to the target; NULL until it is needed */
    double *mass;               /* work: mass of the present state per node, 0 outside its nodes */
    double *mass_bar;           /* work, at its nodes */
    double *gap;                /* work: distance of each particle to a tool; NULL until it is needed */
    double target_sum, target_max;
    mpm_nodes_box target_nodes, mass_nodes; /* that hold all that is not 0 */
    ds_memory memory;                       /* of the arrays */
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

/* Copies the target (n^3 masses) into an objective without one. Its distance field, which takes longer than
 * that of one evaluation of the small preset, is computed when it is first needed. */
mpm_result mpm_objective_init(mpm_objective *o, int n, const double *target);
void mpm_objective_free(mpm_objective *o);

/* poses: one per tool. Positions must be valid (inside the domain, finite), else MPM_DIVERGED. */
mpm_result mpm_measure_state(mpm_objective *o, const mpm_sim *sim, const mpm_particle *particles,
                             const mpm_pose *poses, mpm_measure *out);

double mpm_loss(const mpm_objective *o, const mpm_measure *m);

/* mpm_loss() of what mpm_measure_state() finds, without the rest of that. */
mpm_result mpm_loss_of_state(mpm_objective *o, const mpm_sim *sim, const mpm_particle *particles,
                             const mpm_pose *poses, double *loss);

/* Adds the adjoint of mpm_loss() of this state, times `scale`, to the particles' and the poses' adjoints. */
mpm_result mpm_loss_adjoint(mpm_objective *o, const mpm_sim *sim, const mpm_particle *particles,
                            const mpm_pose *poses, double scale, mpm_particle *bar, mpm_pose *poses_bar);

#endif
