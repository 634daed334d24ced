/* SPDX-License-Identifier: Apache-2.0 */
/* lift.h - a cloth that lies on a table is lifted by a gripper along a recorded path; its corners are
 * compared with those recorded. 68 variables in [-1, 1]: width, length, mass, friction, stiffness of 8
 * x 8 patches. */
#ifndef DS_ENGINES_CLOTH_LIFT_H
#define DS_ENGINES_CLOTH_LIFT_H

#include "seen.h"
#include "sheet.h"
#include "trajectory.h"

/* Seed of the cloth in the recording that comes with the plugin, data/cloth.lift. */
enum { LIFT_OWN_SEED = 1 };
enum { LIFT_CELLS = 8, LIFT_VARIABLES = 4 + LIFT_CELLS * LIFT_CELLS, LIFT_MAX_STEPS = 200000 };

typedef struct lift {
    cloth c;
    sheet s;
    trajectory data;
    cloth_seen *seen;              /* the loss is what it sees; NULL: that of the corners */
    int squared;                   /* loss: mean squared distance instead of mean distance */
    uint64_t steps, every, frames; /* `every` steps make an output step */
    double centre[2], along[2],
        across[2]; /* in the plane (x, z): middle of the sheet, directions of width and length */
    double size[2], mass, friction, patch[LIFT_CELLS * LIFT_CELLS], patch_bar[LIFT_CELLS * LIFT_CELLS];
    uint32_t corner[4];
    uint64_t fitted; /* rows that the loss counts, the first ones: the others are held out */
    uint64_t fitted_steps, fitted_frames; /* steps and output steps up to the last of them */
    double *fitted_frame; /* positions at those, the last at step `fitted_steps`, which may lie between two of
                             all the output steps */
    uint64_t known;       /* last output step that lift_go_on() has got to */
    uint64_t pairs;       /* samples of corners that were seen in them */
    uint64_t *sample_step; /* per row: the step it is compared with */
    uint64_t next;         /* row to be reached next, forward or backward */
    double *corners;       /* per row: simulated corners, 12 numbers */
    double *grip;          /* per step: velocity of the gripper, m/s */
    double *frame;         /* positions at every output step */
    const double *weight;  /* of the residuals, while their product is made; else NULL */
} lift;

/* Its arrays are of `room`, the rows stay those of the data, of which the first `fitted` are compared. 0
 * where there is no memory. The time of the last row is at most LIFT_MAX_STEPS h. */
int lift_open(lift *l, ds_memory *room, const trajectory *data, uint64_t fitted, double h,
              const ds_host *host);

/* Warns where h is too long for the lightest and stiffest cloth. */
ds_status lift_check_step(lift *l, const char *cure);

/* Runs an episode up to the last row that is compared; as cloth_simulate(). */
ds_status lift_simulate(lift *l, const double *u, int64_t *bad);
/* Goes on through the rows that are held out, where these are to be shown, as far as states are finite: up to
 * output step `known`. Loss and derivatives stay as they are. */
ds_status lift_go_on(lift *l);
double lift_loss(const lift *l);
/* Derivatives of the loss of the last episode. */
ds_status lift_gradient(lift *l, double *grad);

/* Residuals of the last episode, 12 per row that is compared: errors of the corners over sqrt(pairs), 0 where
 * one was not seen. Their squares add up to the mean squared distance. `weight` times them:
 * its derivatives. */
uint64_t lift_residual_count(const lift *l);
void lift_residuals(const lift *l, double *out);
ds_status lift_residual_gradient(lift *l, const double *weight, double *grad);

/* Variables of the hidden cloth of a synthetic recording, uniform in [-0.8, 0.8]. */
void lift_hidden(uint64_t seed, double u[LIFT_VARIABLES]);

/* Position of the gripper at a time, and of corner c = 0 .. 3: NAN where it was not seen before or behind. */
void lift_gripper(const trajectory *t, double time, double out[3]);
void lift_corner(const trajectory *t, double time, size_t c, double out[3]);

/* Root of the mean squared distance of the corners that were seen, m, over rows `from` .. `to` - 1 of the
 * last episode, which has got there; NAN where there are none. */
double lift_rms(const lift *l, uint64_t from, uint64_t to);

#endif
