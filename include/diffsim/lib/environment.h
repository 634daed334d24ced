/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/lib/environment.h - the environments inside another program: losses, gradients, channels, scenes
 * and control steps of a simulation as function calls, for optimizers that are not plugins of diffsim.
 *
 *     ds_environment_options o = {.struct_size = sizeof o, .settings = "preset = small", .jobs = 8};
 *     ds_environment *e = ds_environment_open("torus", &o, why, sizeof why);
 *     ds_environment_evaluate(e, x, 0, &loss, grad, NULL);
 *     ds_environment_close(e);
 *
 * Many points at once, in the tables of diffsim/base.h:
 *
 *     const ds_rows rows = {.struct_size = sizeof rows, .want = DS_WANT_GRAD, .count = 100, .n = n,
 *                           .stride = n, .x = x};
 *     const ds_results results = {.struct_size = sizeof results, .stride = n, .loss = losses, .grad = grads,
 *                                 .outcome = outcomes};
 *     ds_environment_evaluate_many(e, &rows, &results, NULL, NULL);
 *
 * Link with the flags of `pkg-config --cflags --libs libdiffsim`. Evaluations run in worker processes
 * (dshost-worker, found next to the library, in the installation, or on PATH): a plugin that crashes, hangs
 * or takes all memory costs one evaluation, never the program. DS_ISOLATE_NONE evaluates in the program: that
 * saves some microseconds per evaluation and isolates nothing; it refuses an environment that needs a process
 * for each instance (DS_ENV_OWN_PROCESS).
 *
 * Shapes: n variables; the points of a table are rows of n numbers. Units are those of the environment.
 * Ownership: arguments belong to the program and are used during the call only; data behind pointers that a
 * function returns belong to the environment for as long as its comment says. Threads: one thread at a time
 * uses an environment, and the thread may change; several threads may use different environments at once.
 * Only ds_environment_stop() may be called at any time. No function changes signal handlers. Worker processes
 * are children of the program: a program that waits for its own children waits for them by their ids.
 *
 * Functions return DS_OK; DS_STOPPED after ds_environment_stop(); DS_E_ARG where an argument is NULL that
 * must not be, a struct_size is too small, or a number is out of its range; DS_E_UNSUPPORTED where the
 * environment does not offer the feature; another negative status where the environment cannot be used any
 * more, because its workers do not start. ds_environment_message() has a line for people.
 */
#ifndef DIFFSIM_ENVIRONMENT_H
#define DIFFSIM_ENVIRONMENT_H

#include <diffsim/base.h>
#include <diffsim/ext/channel.h>
#include <diffsim/ext/steps.h>
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

/* Options of an environment. ds_environment_open() copies all of it; 0 = the default that a comment names
 * first. */
typedef struct ds_environment_options {
    uint32_t struct_size; /* sizeof(ds_environment_options) */
    uint32_t isolation;   /* DS_ISOLATE_* */
    const char *settings; /* NULL = defaults; "key = value" lines as in section [env] of an .ini file */
    uint64_t seed;        /* of ds_environment_noise_key() */
    uint32_t jobs;        /* 0 = one per processor; worker processes, at most 1024, started when needed */
    uint32_t threads;     /* 0 = 1; threads of one evaluation, at most 1024 */
    double timeout_s;     /* 0 = no limit; seconds of one evaluation in a worker process */
    uint64_t memory_mb;   /* 0 = no limit; MiB that a worker may take after its start */
    /* The thread that waits for worker processes calls it about 20 times a second, in the "C" locale; nonzero
     * ends the call as ds_environment_stop() does. A call that does not wait never calls it. For programs
     * that handle signals in their own code only, such as interpreters. NULL = not called. */
    uint32_t(DS_CALL *waiting)(void *ctx);
    void *ctx;
} ds_environment_options;

/* Opens an environment: an id ("torus") on the plugin path of dshost, or the path of a .so. `options` may be
 * NULL: all zeros. On an error it returns NULL and writes one line to `why` (at most `size` bytes with the
 * final NUL; may be NULL): what is wrong, where, and what to do. */
ds_environment *ds_environment_open(const char *environment, const ds_environment_options *options, char *why,
                                    uint64_t size);

/* Ends the workers and releases everything; accepts NULL. */
void ds_environment_close(ds_environment *environment);

/* [any] Ends the call in progress: it returns DS_STOPPED within about a second, as all later evaluations and
 * steps do. Call ds_environment_close() then. Safe in a signal handler. */
void ds_environment_stop(ds_environment *environment);

/* The search problem, and what the environment offers; the arrays have n values and belong to it. */
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

/* Gets name, unit and group of variable i = 0 .. n - 1; the texts belong to the environment. DS_E_UNSUPPORTED
 * where the variables have no names. */
ds_status ds_environment_variable(const ds_environment *environment, uint64_t i, ds_variable *out);

/* Reason why the last call failed, or why its first row without a loss has none; "" where there is none.
 * Valid until the next call. NULL gives "". Functions that take a const environment do not change the line:
 * their status is enough, DS_E_ARG (no such number, a struct_size), DS_E_STATE (no scene is kept) or
 * DS_E_UNSUPPORTED. */
const char *ds_environment_message(const ds_environment *environment);

/* ---- losses and gradients ---- */

/* Evaluates x (n values inside the bounds). *loss is finite, or +INFINITY where the evaluation failed; grad
 * (n values; may be NULL) is zero where there is no gradient; *outcome (may be NULL) is DS_EVAL_*. Equal
 * noise keys give equal noise in a stochastic environment, 0 = no noise. Returns DS_OK also for failed
 * simulations and crashes: see the outcome, and ds_environment_message() for the reason. */
ds_status ds_environment_evaluate(ds_environment *environment, const double *x, uint64_t noise_key,
                                  double *loss, double *grad, uint32_t *outcome);

/* Evaluates all rows of a table, in parallel in the workers. `rows` has the points (rows->n = n, every x
 * inside the bounds), noise keys, DS_WANT_GRAD, and queries about channels: any number of values, and one
 * product where no gradient is wanted. All arrays of `results` but loss may be NULL. `seconds` (count values;
 * may be NULL) gets the wall time of each row inside the plugin. *done (may be NULL) gets the number of rows
 * that have results, from the first on: all of them with DS_OK. A row has the same results as alone, for any
 * number of jobs. A failed row has the loss +INFINITY and zeros for all else. */
ds_status ds_environment_evaluate_many(ds_environment *environment, const ds_rows *rows,
                                       const ds_results *results, double *seconds, uint64_t *done);

/* Number of channels (residuals, constraints, images, states), which count from 0. */
uint64_t ds_environment_channels(const ds_environment *environment);

/* Fills the fields of channel i that fit into out->struct_size. Its texts belong to the environment. */
ds_status ds_environment_channel(const ds_environment *environment, uint64_t i, ds_channel *out);

/* Reason why a row of the last ds_environment_evaluate_many() has no loss or no gradient; "" where it has
 * them. Valid until the next call that evaluates. */
const char *ds_environment_message_of(const ds_environment *environment, uint64_t row);

/* The noise key of evaluation `number` (1, 2, ...) in a run of dshost with the seed of the options; 0 for an
 * environment without noise. */
uint64_t ds_environment_noise_key(const ds_environment *environment, uint64_t number);

/* ---- metrics and frames of an episode ---- */

/* Frames whose positions ds_environment_simulate() keeps. */
enum {
    DS_FRAMES_ALL = 0,
    DS_FRAMES_FEW = 1, /* those of an image: first, middle and last one; up to 200 of a flat scene */
    DS_FRAMES_NONE = 2 /* metrics only */
};

/* Simulates x (NULL: the point and noise key evaluated last) and keeps its scene until the next such call.
 * `loss` and `outcome` may be NULL. A failed simulation has no scene: the call returns DS_OK, and the three
 * functions below return DS_E_STATE. Returns DS_E_STATE where x is NULL and no point was evaluated before;
 * DS_E_UNSUPPORTED where the environment has no scene; DS_E_DATA where its scene is inconsistent. */
ds_status ds_environment_simulate(ds_environment *environment, const double *x, uint64_t noise_key,
                                  uint32_t frames, double *loss, uint32_t *outcome);

/* The scene; see diffsim/ext/scene.h for the meaning of the numbers. */
typedef struct ds_scene_view {
    uint32_t struct_size;  /* in: sizeof(ds_scene_view) */
    uint32_t flat;         /* 1 = a 2-D scene in the x-y plane */
    uint64_t frames;       /* of the episode: metrics have as many values */
    uint64_t kept;         /* frames whose positions are kept */
    const uint64_t *frame; /* kept numbers, ascending */
    uint64_t bodies, metrics;
    double dt;     /* seconds between frames */
    double box[6]; /* visible box: lower x y z, upper x y z, metres; y is up */
    double ground; /* height of the floor, or -INFINITY for none */
} ds_scene_view;
ds_status ds_environment_scene(const ds_environment *environment, ds_scene_view *out);

/* Body b = 0 .. bodies - 1 of the scene. */
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

/* Metric m = 0 .. metrics - 1 of the scene. */
typedef struct ds_metric_view {
    uint32_t struct_size; /* in: sizeof(ds_metric_view) */
    uint32_t reserved;
    const char *name, *unit; /* unit "" = none */
    const double *values;    /* one for each frame of the episode; NaN where undefined */
    uint64_t count;
} ds_metric_view;
ds_status ds_environment_metric(const ds_environment *environment, uint64_t m, ds_metric_view *out);

/* ---- stepwise control ---- */

/* Fills the fields of *out (horizon, sizes of actions and observations) that fit into out->struct_size.
 * DS_E_UNSUPPORTED where the environment has no stepwise control. */
ds_status ds_environment_episodes(const ds_environment *environment, ds_steps_info *out);

/* Number of lanes; each holds at most one open episode, and lanes count from 0. Returns 0 where the
 * environment has no stepwise control. */
uint64_t ds_environment_lanes(const ds_environment *environment);

/* Begins an episode in each of the lanes of `rows`, whatever is open there, with its noise key. Writes the
 * first observations to results->obs, and outcome and cost_steps where they are not NULL. An episode that
 * cannot begin has another outcome than DS_EVAL_OK, and its lane stays free. *done (may be NULL) gets the
 * number of rows that have results: all, or 0 with a negative status. */
ds_status ds_environment_reset(ds_environment *environment, const ds_step_rows *rows,
                               const ds_step_results *results, uint64_t *done);

/* Takes one step in each of the lanes, in parallel in the workers, with the rules of diffsim/ext/steps.h. The
 * actions of all steps, one after the other, are the x of ds_environment_evaluate(). DS_E_STATE where a lane
 * holds no open episode. */
ds_status ds_environment_step(ds_environment *environment, const ds_step_rows *rows,
                              const ds_step_results *results, uint64_t *done);

#ifdef __cplusplus
}
#endif
#endif
