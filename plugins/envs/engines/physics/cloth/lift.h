/* SPDX-License-Identifier: Apache-2.0 */
/* lift.h - a gripper lifts a cloth from a table along a recorded path; the loss compares the simulated
 * corners with the recorded ones. 68 variables in [-1, 1]: width, length, mass, friction, stiffness of 8 x 8
 * patches. R. Antonova et al., CoRL 2022, section 5.2. */
#ifndef DS_ENGINES_CLOTH_LIFT_H
#define DS_ENGINES_CLOTH_LIFT_H

#include "camera.h"
#include "sheet.h"
#include "trajectory.h"
#include "vertex_net.h"

/* Seed of the cloth in the bundled recording, data/cloth.lift. */
enum { LIFT_OWN_SEED = 1 };
enum { LIFT_CELLS = 8, LIFT_VARIABLES = 4 + LIFT_CELLS * LIFT_CELLS, LIFT_MAX_STEPS = 200000 };

typedef struct lift {
    cloth c;
    sheet s;
    trajectory data;
    cloth_camera *seen;            /* cameras whose images give the loss; NULL: the corners give it */
    int squared;                   /* 1: mean squared distance instead of mean distance */
    uint64_t steps, every, frames; /* `every` steps make an output step */
    double centre[2], along[2],
        across[2]; /* in the plane (x, z): middle of the sheet, directions of width and length */
    double mass_middle, mass_ratio;        /* kg; largest over smallest mass */
    double stiffness_low, stiffness_ratio; /* N/m */
    double size[2], mass, friction, patch[LIFT_CELLS * LIFT_CELLS], patch_bar[LIFT_CELLS * LIFT_CELLS];
    uint32_t corner[4];
    uint64_t fitted; /* number of first rows that the loss uses; the others are held out */
    uint64_t fitted_steps, fitted_frames; /* steps and output steps up to the last fitted row */
    /* positions at these output steps; the last one is step `fitted_steps`, which may lie between two output
     * steps of the whole episode */
    double *fitted_frame;
    uint64_t known;        /* last output step that lift_go_on() reached */
    uint64_t pairs;        /* recorded corners in the fitted rows */
    uint64_t *sample_step; /* per row: the step that it is compared with */
    uint64_t next;         /* next row, forward or backward */
    double *corners;       /* per row: simulated corners, 12 numbers */
    double *grip;          /* per step: velocity of the gripper, m/s */
    double *frame;         /* positions at every output step */
    vertex_net net;        /* see lift_wire() */
    const double *weight;  /* weights of the residuals, during lift_residual_gradient(); else NULL */
} lift;

/* Opens *l with arrays from `room`. The rows stay owned by `data`; the first `fitted` are compared. The time
 * of the last row must be at most LIFT_MAX_STEPS h. Returns 0 without memory. */
int lift_open(lift *l, ds_memory *room, const trajectory *data, uint64_t fitted, double h,
              const ds_host *host);

/* Smallest and largest mass, kg, and stiffness of a patch, N/m, instead of 0.01 to 0.1 and 10 to 200; NULL
 * leaves them. */
void lift_set_ranges(lift *l, const double mass[2], const double stiffness[2]);

/* Those of the bundled recording of stiff paper, data/paper.lift. */
enum { LIFT_PAPER_SEED = 2 };
static const double lift_paper_mass[2] = {0.01, 0.1}, lift_paper_stiffness[2] = {60, 600};

/* Adds forces of networks on the vertices; net.w and net.w_bar are set for each episode. */
void lift_wire(lift *l, ds_memory *room, const ds_hybrid *hybrid);

/* Warns if h is too long for the lightest and stiffest cloth. */
ds_status lift_check_step(lift *l, const char *cure);

/* Runs an episode up to the last fitted row; returns as cloth_simulate(). */
ds_status lift_simulate(lift *l, const double *u, int64_t *bad);
/* Continues through the held-out rows to show them, while states are finite, up to output step `known`. Loss
 * and derivatives do not change. */
ds_status lift_go_on(lift *l);
double lift_loss(const lift *l);
/* Derivatives of the loss of the last episode. */
ds_status lift_gradient(lift *l, double *grad);

/* Residuals of the last episode, 12 per fitted row: errors of the corners / sqrt(pairs), 0 for a corner
 * missing in the recording. Their squares sum to the mean squared distance. lift_residual_gradient():
 * derivatives of weight . residuals. */
uint64_t lift_residual_count(const lift *l);
void lift_residuals(const lift *l, double *out);
ds_status lift_residual_gradient(lift *l, const double *weight, double *grad);

/* Variables of the hidden cloth of a synthetic recording, uniform in [-0.8, 0.8]. */
void lift_hidden(uint64_t seed, double u[LIFT_VARIABLES]);

/* Position of the gripper at a time, and of corner c = 0 .. 3: NAN if the row before or after lacks it. */
void lift_gripper(const trajectory *t, double time, double out[3]);
void lift_corner(const trajectory *t, double time, size_t c, double out[3]);

/* Root mean squared distance, m, of the recorded corners of rows `from` .. `to` - 1, which the last episode
 * must have reached; NAN if there are none. */
double lift_rms(const lift *l, uint64_t from, uint64_t to);

#endif
