/* SPDX-License-Identifier: Apache-2.0 */
/* robot_env.h - what the files of environment robot share: its instance, its controls and numbers, the terms
 * of its loss, episodes side by side. */
#ifndef DS_ENVS_ROBOT_ENV_H
#define DS_ENVS_ROBOT_ENV_H

#include "engines/kit/bundled.h"
#include "engines/kit/lanes.h"
#include "engines/physics/articulated/motion_lanes.h"
#include "engines/physics/articulated/task.h"

enum { RUNNING = 1, FINAL = 2 }; /* terms of a control step, terms of the end */
enum { MOST_KEPT = 1 << 21 };    /* numbers of an episode: more would leave the caches */

/* Episodes side by side (motion_lanes.h): number k of the robot in lane i is [k * width + i]. */
typedef struct robot_lanes {
    const motion_lanes *kernel; /* NULL: episodes are simulated one by one */
    void *room;
    double *q, *v;                 /* states after every simulation step, and the start */
    double *last_q[2], *last_v[2]; /* the last two of them, where no gradient is wanted */
    double *u;                     /* controls with their noise */
    double *number[LANES_MOST];    /* of the model in each lane, without gaps */
    double *tau, *target, *tau_bar, *target_bar, *number_bar, *q_bar, *v_bar, *x_bar;
    int bad[LANES_MOST]; /* the episode in this lane diverged */
} robot_lanes;

typedef struct robot_env {
    ds_env_kit kit; /* first */
    task k;
    motion *motion;
    tree_work *work;
    double *q, *v;       /* states after every simulation step, and the start */
    double *number;      /* of the model without variables */
    double (*weight)[4]; /* for each simulation step of a control step: of the controls p - 1 .. p + 2 */
    double *rest_target; /* of joints whose controller has no variable */
    double *tau, *target, *tau_bar, *target_bar, *number_bar, *q_bar, *v_bar;
    double *x, *x_bar;  /* controls of an episode */
    int joints, *joint; /* links with one position */
    double *shake;      /* noise of the controls */
    uint64_t key;       /* of the noise of the episode */
    const double *net;  /* parameters of the networks, and where their derivatives are added to */
    double *net_bar;
    double *net_in, *net_out, *net_in_bar, *net_out_bar, *tape;
    double *kept;    /* of each simulation step: motion_keep(); NULL: too many */
    size_t each;     /* numbers of a step there */
    int keeps;       /* this episode is kept */
    double *running; /* loss of the control steps up to each one, in stepwise control */
    int64_t bad;     /* first control step with a state that is not finite, or -1 */
    int stopped, last_taken;
    char (*names)[TREE_NAME + 16]; /* of the bodies of the scene */
    int *drawn;                    /* shapes of the bodies */
    uint64_t first_target;
    robot_lanes lanes;
    int placed;              /* state of the last tree_place() for the scene */
    double *seen_q, *seen_v; /* of a lane */
    double *unit;            /* zeros of a state; then a row of a state and controls */
    int residuals;           /* their number */
    double *row;             /* derivatives of one: by state, numbers and controls, then its unit vector */
} robot_env;

static inline const double *state_q(const robot_env *e, int step)
{
    return e->q + (size_t)step * (size_t)e->k.robot.tree->nq;
}

static inline const double *state_v(const robot_env *e, int step)
{
    return e->v + (size_t)step * (size_t)e->k.robot.tree->nv;
}

static inline size_t numbers_of_controls(const robot_env *e)
{
    return (size_t)e->k.pieces * (size_t)e->k.controls;
}

/* Controls that are variables. */
static inline size_t decided(const robot_env *e)
{
    return e->k.known != NULL ? 0 : numbers_of_controls(e);
}

/* Control step piece + k - 1, or the nearest one that exists. */
static inline int neighbour(const robot_env *e, int piece, int k)
{
    int p = piece + k - 1;
    return p < 0 ? 0 : p >= e->k.pieces ? e->k.pieces - 1 : p;
}

static inline int should_stop(robot_env *e)
{
    e->stopped = e->stopped || e->kit.host->should_stop(e->kit.host) != 0;
    return e->stopped;
}

/* Where derivatives by a state and by the numbers of the model go. */
static inline tree_bar state_bar(robot_env *e)
{
    return (tree_bar){.q = e->q_bar, .v = e->v_bar, .number = e->k.variables > 0 ? e->number_bar : NULL};
}

/* ---- controls and numbers (robot_controls.c) ---- */

/* Forces and targets in simulation step s of a control step, for the controls x of all control steps. */
void robot_inputs(robot_env *e, const double *x, int piece, int s);
/* Adds the derivatives by the controls and clears the ones by the inputs. */
void robot_inputs_bar(robot_env *e, int piece, int s, double *x_bar);
/* The change of the inputs along the change x_dot of the controls. */
void robot_inputs_dot(robot_env *e, int piece, int s, const double *x_dot);
/* The numbers of the model and the start for these values of the variables. */
void robot_set_variables(robot_env *e, const double *x);
/* Noise of an episode with this key, after robot_set_variables(); key 0: none. */
void robot_set_noise(robot_env *e, uint64_t key);
/* Derivatives by the variables from those by the numbers and the start. */
void robot_variables_bar(robot_env *e, const double *x, double *grad);
/* The change of the numbers and of the start along the change x_dot of the variables. */
void robot_variables_dot(const robot_env *e, const double *x, const double *x_dot);

/* ---- loss (robot_loss.c) ---- */

/* The terms that count after control step p of an episode. */
static inline int robot_terms_at(const robot_env *e, int p)
{
    return p == e->k.pieces - 1 ? RUNNING | FINAL : RUNNING;
}

/* The weight of a term after control step p, 0: it does not count. */
double robot_term_weight(const robot_env *e, const task_term *term, int which, int p);
/* Whether any term counts after control step p. */
int robot_terms_count(const robot_env *e, int which, int p);
/* Numbers of a term minus their targets, of the last placement; returns how many. */
int robot_errors(robot_env *e, const task_term *term, int p, const double *q, const double *v,
                 const double *x, double *out);
/* Adds the derivatives of a term by what it is of, in x_bar (NULL: none) by the controls of the control step;
 * out_bar by robot_errors(). */
void robot_errors_bar(robot_env *e, const task_term *term, const double *out_bar, const tree_bar *bar,
                      double *x_bar);
/* The terms of `which` in the state after control step p. With `bar`, adds `scale` times their derivatives.
 */
double robot_score(robot_env *e, int which, int p, const double *q, const double *v, const double *x,
                   double scale, const tree_bar *bar, double *x_bar);

/* ---- residuals: the square roots of a loss that is a sum of squares (robot_residuals.c) ---- */

/* Counts them, 0 unless they are the whole loss, and makes room. */
void robot_residuals_allocate(robot_env *e);
/* Residuals of the state after control step p: their number; out = themselves; returns their number. */
int robot_residuals_at(const robot_env *e, int p);
int robot_residuals(robot_env *e, int p, double *out);
/* Adds the derivatives of w . r for these residuals r; x_bar: by the controls of the control step. */
void robot_residuals_bar(robot_env *e, int p, const double *w, const tree_bar *bar, double *x_bar);
/* out = their change along the changes q_bar, v_bar and number_bar, and x_dot of all controls. */
void robot_residuals_dot(robot_env *e, int p, const double *x_dot, double *out);

/* ---- episodes side by side (robot_lanes.c) ---- */

/* Makes room, where episodes of this task can be side by side; sets kit.max_rows. */
void robot_lanes_allocate(robot_env *e);
/* ds_env_table.rows */
ds_status robot_lanes_rows(void *self, uint64_t count, ds_eval *const *io);

#endif
