/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/lib/environment.h - the environments inside another program: losses, gradients, pictures'
 * numbers and steps of a simulation as plain function calls, for optimizers that are no diffsim plugins.
 *
 *     ds_environment_options o = {.struct_size = sizeof o, .settings = "preset = small", .jobs = 8};
 *     ds_environment *e = ds_environment_open("torus", &o, why, sizeof why);
 *     ds_environment_evaluate(e, x, 0, &loss, grad, NULL);
 *     ds_environment_close(e);
 *
 * Link with the flags of `pkg-config --cflags --libs libdiffsim`. Evaluations happen in worker processes
 * (dshost-worker, found beside the library, where diffsim was installed, or on PATH): a plugin that
 * crashes, hangs or takes all memory costs one evaluation, never the program. With DS_ISOLATE_NONE they
 * happen in the program itself: that saves some microseconds for each, and protects from nothing; an
 * environment that wants a process for each instance (DS_ENV_OWN_PROCESS) is refused.
 *
 * Shapes: n variables; `count` points are count x n numbers, one point after the other. Units are those
 * of the environment. Ownership: what goes in is the program's and needed during the call only; what
 * comes out behind pointers belongs to the environment, for as long as the comment says. Threads: an
 * environment is used by one thread at a time, which may change; different ones may be used at once. Only
 * ds_environment_stop() may be called at any time. No function touches signal handlers; worker processes
 * are children of the program: one that waits for children of its own does that by their numbers.
 *
 * Functions return DS_OK; DS_STOPPED after ds_environment_stop(); DS_E_ARG where an argument is NULL that
 * must not be, a struct_size is too small, or a number is out of its range; DS_E_UNSUPPORTED where the
 * environment does not offer what is asked; and another negative status where it is broken for good: its
 * workers cannot be started any more. ds_environment_message() has the line for people.
 */
#ifndef DIFFSIM_ENVIRONMENT_H
#define DIFFSIM_ENVIRONMENT_H

#include <diffsim/base.h>
#include <diffsim/ext/channel.h>
#include <diffsim/ext/rl.h>
#include <diffsim/ext/variables.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ds_environment ds_environment;

/* ---- open and close ---- */

/* Where evaluations happen. */
enum {
    DS_ISOLATE_PROCESS = 0, /* in worker processes */
    DS_ISOLATE_NONE = 1     /* in this process, one after the other; no limits of time and memory */
};

/* How an environment is made. All of it is copied; a field that is 0 has the value named first. */
typedef struct ds_environment_options {
    uint32_t struct_size; /* sizeof(ds_environment_options) */
    uint32_t isolation;   /* DS_ISOLATE_* */
    const char *settings; /* NULL = defaults; "key = value" lines as in section [env] of an .ini file */
    uint64_t seed;        /* of ds_environment_noise_key() */
    uint32_t jobs;        /* 0 = one per processor; worker processes, at most 1024. They start when needed */
    uint32_t threads;     /* 0 = 1; that one evaluation may use, at most 1024 */
    double timeout_s;     /* 0 = no limit; seconds of one evaluation, for worker processes */
    uint64_t memory_mb;   /* 0 = no limit; MiB that a worker may take beyond its start */
    /* Called some 20 times a second by the thread that waits for worker processes, in the "C" locale; nonzero
     * ends the call as ds_environment_stop() does. What is answered at once never calls it. For programs
     * that can look after their signals in their own code only, such as interpreters. NULL = not called. */
    uint32_t(DS_CALL *waiting)(void *ctx);
    void *ctx;
} ds_environment_options;

/* Opens an environment: an id ("torus"), found where dshost finds it, or the path of a .so. `options` may
 * be NULL: all zeros. Returns NULL after writing one line to `why` (at most `size` bytes with the final
 * NUL; may be NULL): what is wrong, where, and what to do. */
ds_environment *ds_environment_open(const char *environment, const ds_environment_options *options, char *why,
                                    uint64_t size);

/* Ends the workers and releases everything; accepts NULL. */
void ds_environment_close(ds_environment *environment);

/* [any] Ends what is under way: it returns DS_STOPPED within about a second, as do all later evaluations and
 * steps. What is left to do then is ds_environment_close(). Safe in a signal handler. */
void ds_environment_stop(ds_environment *environment);

/* The search problem, and what else the environment offers; the arrays have n values and belong to it. */
typedef struct ds_environment_box {
    uint32_t struct_size; /* in: sizeof(ds_environment_box) */
    uint32_t has_gradient;
    uint64_t n;
    const double *lower, *upper; /* bounds */
    const double *x0;            /* a start point inside them */
    double loss_floor;           /* proven lower bound of the loss, or -INFINITY */
    uint32_t stochastic;         /* 1 where the loss may depend on the noise key */
    uint32_t stepwise;           /* 1 where ds_environment_reset() and ds_environment_step() work */
    uint64_t steps;              /* output steps of one episode */
    double dt;                   /* seconds per output step; 0 where time has no meaning */
} ds_environment_box;

/* Fills *box. */
ds_status ds_environment_describe(const ds_environment *environment, ds_environment_box *box);

/* Name, unit and group of variable i = 0 .. n - 1; the texts belong to the environment. DS_E_UNSUPPORTED
 * where its variables have no names. */
ds_status ds_environment_variable(const ds_environment *environment, uint64_t i, ds_variable *out);

/* Why the last call failed, or its first row that has no loss; "" where there is nothing to say. Valid
 * until the next call. NULL gives "". Functions that take a const environment only look and leave the line as
 * it is: their status says all, DS_E_ARG (no such number, a struct_size), DS_E_STATE (no scene is kept) or
 * DS_E_UNSUPPORTED. */
const char *ds_environment_message(const ds_environment *environment);

/* ---- losses and gradients ---- */

/* Evaluates x (n values inside the bounds). *loss is finite, or +INFINITY where there is none; grad (n
 * values) may be NULL, and is zero where there is none; *outcome (may be NULL) is DS_EVAL_*. Equal noise
 * keys give equal noise where the environment has any, 0 = none. DS_OK also for failed simulations and
 * crashes: look at the outcome, and at ds_environment_message() for the reason. */
ds_status ds_environment_evaluate(ds_environment *environment, const double *x, uint64_t noise_key,
                                  double *loss, double *grad, uint32_t *outcome);

/* Points that are evaluated together. Arrays are the program's; those of answers may be NULL, except for
 * loss. */
typedef struct ds_environment_batch {
    uint32_t struct_size;      /* in: sizeof(ds_environment_batch) */
    uint32_t reserved;         /* in: 0 */
    uint64_t count;            /* in: points, at least 1 */
    const double *x;           /* in: count x n, every value inside the bounds */
    const uint64_t *noise_key; /* in: count; NULL = all 0 */
    double *loss;              /* out: count; +INFINITY where there is none */
    double *grad;              /* out: count x n, zeros where there is none; NULL = not wanted */
    uint32_t *outcome;         /* out: count, DS_EVAL_* */
    uint32_t *grad_kind;       /* out: count, DS_GRAD_* */
    uint64_t *cost_steps;      /* out: count; simulation steps spent */
    double *seconds;           /* out: count; wall time inside the plugin */
    uint64_t done;             /* out: rows answered, from the first on: all of them where DS_OK */
    /* in: what else is asked about every row, of the channels below: see ds_ask in diffsim/base.h, whose
     * v, w and out hold those of row 0, of row 1, and so on. Any number of values, at most DS_MAX_ASKS
     * questions, and one product (JV, JTV, HV) where grad is NULL. Rows without an answer get zeros. 0
     * and NULL = nothing. */
    uint64_t asks;
    ds_ask *const *ask;
} ds_environment_batch;

/* Evaluates all rows, in parallel where there are workers. Each row has the answer that it would have
 * alone, for any number of jobs. */
ds_status ds_environment_evaluate_many(ds_environment *environment, ds_environment_batch *batch);

/* How many channels the environment has, numbered from 0: residuals, constraints, images, states. */
uint64_t ds_environment_channels(const ds_environment *environment);

/* What channel i is: fills the fields that fit into out->struct_size. Its texts belong to the environment. */
ds_status ds_environment_channel(const ds_environment *environment, uint64_t i, ds_channel *out);

/* Why row i of the last ds_environment_evaluate_many() has no loss or no gradient; "" where it has them.
 * Valid until the next call that evaluates. */
const char *ds_environment_message_of(const ds_environment *environment, uint64_t row);

/* The noise key that evaluation `number` (1, 2, ...) of a run of dshost with the seed of the options
 * gets; 0 for an environment without noise. */
uint64_t ds_environment_noise_key(const ds_environment *environment, uint64_t number);

/* ---- what an episode looked like: metrics, and frames of the scene ---- */

/* Frames whose positions are kept. */
enum {
    DS_FRAMES_ALL = 0,
    DS_FRAMES_FEW = 1, /* those of a picture: first, middle and last one; of a flat scene up to 200 */
    DS_FRAMES_NONE = 2 /* metrics only */
};

/* Simulates x (NULL: the point and noise key evaluated last) once more and keeps what it looked like,
 * until the next such call. `loss` and `outcome` may be NULL. Where there is no loss there is no scene:
 * DS_OK, and the three functions below return DS_E_STATE. DS_E_STATE also where x is NULL and nothing was
 * evaluated; DS_E_UNSUPPORTED: the environment has no scene; DS_E_DATA: it tells a scene that contradicts
 * itself. */
ds_status ds_environment_simulate(ds_environment *environment, const double *x, uint64_t noise_key,
                                  uint32_t frames, double *loss, uint32_t *outcome);

/* The scene; see diffsim/ext/scene.h for what the numbers mean. */
typedef struct ds_scene_view {
    uint32_t struct_size;  /* in: sizeof(ds_scene_view) */
    uint32_t flat;         /* 1 = a 2-D scene in the x-y plane */
    uint64_t frames;       /* of the episode: metrics have as many values */
    uint64_t kept;         /* frames whose positions are here */
    const uint64_t *frame; /* kept numbers, ascending */
    uint64_t bodies, metrics;
    double dt;     /* seconds between frames */
    double box[6]; /* lower x y z, upper x y z of what is worth seeing, in metres; y is up */
    double ground; /* height of the floor, or -INFINITY for none */
} ds_scene_view;
ds_status ds_environment_scene(const ds_environment *environment, ds_scene_view *out);

/* Body b = 0 .. bodies - 1 of it. */
typedef struct ds_body_view {
    uint32_t struct_size; /* in: sizeof(ds_body_view) */
    uint32_t shape;       /* DS_BODY_* */
    uint32_t role;        /* DS_ROLE_* */
    uint32_t variety;     /* bodies of one role and different variety get different colours */
    uint32_t width;       /* numbers of one element: 3, or 7 for a pose */
    uint32_t reserved;
    uint64_t count; /* elements: particles, vertices, rigid copies */
    double size[4]; /* metres; see DS_BODY_* */
    const char *name;
    const uint32_t *index; /* vertex numbers of triangles or segments; NULL where index_count is 0 */
    uint64_t index_count;
    const double *data; /* kept x count x width numbers; may be not finite */
} ds_body_view;
ds_status ds_environment_body(const ds_environment *environment, uint64_t b, ds_body_view *out);

/* Metric m = 0 .. metrics - 1 of it. */
typedef struct ds_metric_view {
    uint32_t struct_size; /* in: sizeof(ds_metric_view) */
    uint32_t reserved;
    const char *name, *unit; /* unit "" = none */
    const double *values;    /* one for each frame of the episode; NaN where undefined */
    uint64_t count;
} ds_metric_view;
ds_status ds_environment_metric(const ds_environment *environment, uint64_t m, ds_metric_view *out);

/* ---- stepwise control ---- */

/* What an episode is: fills the fields that fit into out->struct_size. DS_E_UNSUPPORTED where there are
 * none. */
ds_status ds_environment_episodes(const ds_environment *environment, ds_rl_info *out);

/* Begins an episode in each of the lanes that `rows` names (different numbers below DS_MAX_LANES),
 * whatever was open there, and writes the first observations. noise_key has a key for each row (0 = no
 * noise), NULL = all 0. Of `rows`, count, lane and obs are read, and outcome where it is not NULL. An
 * episode that cannot begin has an outcome that is not DS_EVAL_OK and a lane that is not open. */
ds_status ds_environment_reset(ds_environment *environment, ds_episode_rows *rows, const uint64_t *noise_key);

/* Takes one step in each of the lanes, in parallel where there are workers: action, obs, reward, ended,
 * loss and outcome as diffsim/ext/rl.h says for optimizers; tag and group are ignored. The actions of all
 * steps are the x of ds_environment_evaluate(). DS_E_STATE where a lane holds no open episode. */
ds_status ds_environment_step(ds_environment *environment, ds_episode_rows *rows);

#ifdef __cplusplus
}
#endif
#endif
