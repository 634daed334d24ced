/* SPDX-License-Identifier: Apache-2.0 */
/* loss.h - how far a state is from the target: mass density, distance field and contact losses of
 * PlasticineLab, their adjoint, and reported measures. */
#ifndef MPM_LOSS_H
#define MPM_LOSS_H

#include "engines/physics/mpm/sim/sim.h"

#include <diffsim/helper/memory.h>
#include <stdbool.h>

/* Grid nodes lower .. upper - 1 along each axis. */
typedef struct mpm_nodes_box {
    int lower[3], upper[3];
} mpm_nodes_box;

typedef struct mpm_objective {
    double weight_density, weight_sdf, weight_contact;
    bool soft_contact; /* else only the nearest particle counts */
    /* hard contact: gives the adjoint to every particle, as PlasticineLab's compiler did */
    bool contact_all_particles;
    double *target;   /* mass per node */
    double *distance; /* of a node to the target; NULL until needed */
    double *mass;     /* scratch: mass of the present state per node, 0 outside its nodes */
    double *mass_bar; /* scratch, at its nodes */
    double *gap;      /* scratch: distance of each particle to a tool; NULL until needed */
    double target_sum, target_max;
    mpm_nodes_box target_nodes, mass_nodes; /* boxes of all nodes that are not 0 */
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

/* Copies the target (n^3 masses) into an objective without one. Its distance field, which takes longer to
 * compute than an evaluation of the small preset, is computed when first needed. */
mpm_result mpm_objective_init(mpm_objective *o, int n, const double *target);
void mpm_objective_free(mpm_objective *o);

/* poses: one per tool. Returns MPM_DIVERGED if a position is invalid (outside the domain or not finite). */
mpm_result mpm_measure_state(mpm_objective *o, const mpm_sim *sim, const mpm_particle *particles,
                             const mpm_pose *poses, mpm_measure *out);

double mpm_loss(const mpm_objective *o, const mpm_measure *m);

/* mpm_loss() of the results of mpm_measure_state(), without its other results. */
mpm_result mpm_loss_of_state(mpm_objective *o, const mpm_sim *sim, const mpm_particle *particles,
                             const mpm_pose *poses, double *loss);

/* Adds the adjoint of mpm_loss() of this state, times `scale`, to the adjoints of the particles and the
 * poses. */
mpm_result mpm_loss_adjoint(mpm_objective *o, const mpm_sim *sim, const mpm_particle *particles,
                            const mpm_pose *poses, double scale, mpm_particle *bar, mpm_pose *poses_bar);

/* ---- distance to the target ----
 *
 * The distance of every grid node to the target shape, as PlasticineLab approximates it. */

/* A node belongs to the target if its density (mass) exceeds this. */
#define MPM_TARGET_CELL 1e-4

/* density, distance: n^3 values, index (i n + j) n + k. distance in units of the domain, 1000 without a
 * target. Returns false without memory. */
bool mpm_distance_field(int n, const double *density, double *distance);

#endif
