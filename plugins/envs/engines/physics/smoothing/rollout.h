/* SPDX-License-Identifier: Apache-2.0 */
/* rollout.h - an episode of a small system with controls, quadratic cost and reverse sweep:
 *
 *     x_(t+1) = f(x_t, u_t),   J = sum_(t<T) [ |x_t - goal|^2_Q + |u_t|^2_R ] + |x_T - goal|^2_Qd
 *
 * with diagonal weights. Controls are given (open loop) or come from a linear policy u = K x with noise.
 *
 * Source: the example systems of H. J. T. Suh, M. Simchowitz, K. Zhang, R. Tedrake, "Do differentiable
 * simulators give better policy gradients?", ICML 2022. */
#ifndef DS_ENGINES_ROLLOUT_H
#define DS_ENGINES_ROLLOUT_H

#include "open_lanes.h"

#include "engines/kit/state_net.h"

#include <diffsim/ext/draft/score.h>
#include <diffsim/helper/env_kit.h>
#include <diffsim/helper/memory.h>
#include <diffsim/helper/random.h>
#include <diffsim/host.h>

/* A system; states and controls have `states` and `controls` numbers. */
typedef struct rollout_system {
    uint64_t states, controls;
    /* Computes the state after x with control u. */
    void (*step)(const void *self, const double *x, const double *u, double *next);
    /* Adds to x_bar and u_bar the product of next_bar with the derivative of step(). */
    void (*back)(const void *self, const double *x, const double *u, const double *next_bar, double *x_bar,
                 double *u_bar);
    /* The velocities in a state that forces of networks push (engines/kit/state_net.h). */
    uint64_t forces;
    const uint32_t *pushed;
} rollout_system;

typedef struct rollout {
    const rollout_system *system;
    const void *self; /* first argument of its functions */
    uint64_t steps;
    uint64_t work;                 /* more operations of a step than the numbers of system suggest */
    const ds_host *host;           /* its stop flag is polled; may be NULL */
    int stopped;                   /* 1: the last call was stopped and its results are invalid */
    double *start, *goal, *q, *qd; /* `states` numbers each; start: of the next episode */
    double *r;                     /* `controls` numbers */
    double *x, *u;                 /* the last episode: steps + 1 states, steps controls */
    double *bar, *x_bar, *u_bar;   /* for the reverse sweep */
    double kick;                   /* velocity that a unit force of a network adds in a step */
    state_net net;
} rollout;

/* State and control that act in step t of the last episode: with networks not those of r->x and r->u; valid
 * until the next call. */
void rollout_acting(const rollout *r, uint64_t t, const double **x, const double **u);

/* Simulates with controls u of all steps and returns the cost. */
double rollout_simulate(rollout *r, const double *u);

/* The same step by step: begins an episode; performs step t with control u and returns its cost. */
void rollout_begin(rollout *r);
double rollout_advance(rollout *r, uint64_t t, const double *u);

/* Writes the gradient by the controls, steps x controls. `more` (may be NULL): derivatives of further terms
 * of the loss by all states, (steps + 1) x states. */
void rollout_back(rollout *r, const double *more, double *u_bar);

/* A sweep over the steps of an episode, backwards: r->bar is the adjoint of the state after step t, and
 * becomes that of the state before it. The cost of the step has the weight `weight`. Writes the derivatives
 * by its control. */
void rollout_back_step(rollout *r, uint64_t t, double weight, double *u_bar);

/* The cost of step t of the last episode; t = steps: of its last state. */
double rollout_cost(const rollout *r, uint64_t t);

/* ---- open-loop environments ---- */

/* Environments whose variables are the controls of all steps of a rollout, time-major. The instance starts
 * with a struct open_loop; its file provides the system, the defaults and a scene. */

enum { OPEN_LOOP_STATES = 7, OPEN_LOOP_CONTROLS = 4 };

/* Defaults: the values of parameters that are empty or 0. */
typedef struct open_loop_usual {
    uint64_t steps;
    double h;
    double start[OPEN_LOOP_STATES], goal[OPEN_LOOP_STATES], q[OPEN_LOOP_STATES], qd[OPEN_LOOP_STATES];
    double r[OPEN_LOOP_CONTROLS];
    double guess; /* of all controls at the start of a search */
} open_loop_usual;

/* Stepwise control: the episode of a lane. */
typedef struct open_episode {
    double *x, *u;                /* as in a rollout */
    double running;               /* loss so far */
    double end_bar;               /* adjoint of the reward of the last step */
    double bar[OPEN_LOOP_STATES]; /* adjoint of the state */
} open_episode;

typedef struct open_loop {
    ds_env_kit kit; /* must be first */
    rollout roll;
    double h, limit, guess;
    const char *const *names; /* names and unit of the controls */
    const char *unit;
    const char *state_doc;   /* sentence about the state, for hook points */
    open_law law;            /* .system OPEN_OTHER: only one episode at a time */
    const open_lanes *lanes; /* NULL: the same */
    double *tape;            /* of episodes side by side */
    /* A further term of the loss, a function of the last episode, and its derivatives by the states, as
     * `more` of rollout_back(). term NULL: no such term; term_back NULL: no derivatives. */
    double (*term)(void *self);
    const double *(*term_back)(void *self);
    open_episode *episode; /* of each lane */
    double *model;         /* channels: a linear model of one step */
} open_loop;

/* Parameters of all these environments. states_, controls_: numbers in a state, of a control. */
#define OPEN_LOOP_PARAMS(states_, state_doc_) OPEN_LOOP_PARAMS_OF(states_, 2, "10", state_doc_)
#define OPEN_LOOP_PARAMS_OF(states_, controls_, limit_, state_doc_)                                          \
    DS_INT("steps", "0", 0, 100000, "",                                                                      \
           "Steps T of an episode; 0 = the default of the environment, see above.",                          \
           .flags = DS_PARAM_SHAPE),                                                                         \
        DS_LIST("h", "", 1e-9, 1, 1, "s", "Time step; empty = the default of the environment."),             \
        DS_LIST("start", "", -1e6, 1e6, states_, "",                                                         \
                "State at the start: " state_doc_ "; empty = the default of the environment.",               \
                .flags = DS_PARAM_ADVANCED),                                                                 \
        DS_LIST("goal", "", -1e6, 1e6, states_, "", "Goal state of the cost.", .flags = DS_PARAM_ADVANCED),  \
        DS_LIST("q", "", 0, 1e6, states_, "", "Weights Q of the squared state of each step.",                \
                .flags = DS_PARAM_ADVANCED),                                                                 \
        DS_LIST("qd", "", 0, 1e6, states_, "", "Weights Qd of the squared state at the end.",                \
                .flags = DS_PARAM_ADVANCED),                                                                 \
        DS_LIST("r", "", 0, 1e6, controls_, "", "Weight R of the squared controls.",                         \
                .flags = DS_PARAM_ADVANCED),                                                                 \
        DS_REAL("limit", limit_, 1e-6, 1e6, "",                                                              \
                "Controls lie in [-limit, limit]; the paper has no bounds."),                                \
        DS_LIST("guess", "", -1e6, 1e6, 1, "",                                                               \
                "Value of all controls at the start of a search; empty = the default of the environment.",   \
                .flags = DS_PARAM_ADVANCED),                                                                 \
        DS_HYBRID_PARAMS

/* Call in read(): reads these parameters and sets the kit. The system gets `o` as its `self`. */
void open_loop_read(open_loop *o, ds_param_reader *in, const rollout_system *system,
                    const open_loop_usual *usual);

/* Call at the end of read() with o->law filled, of which this function sets the steps and weights: takes
 * memory for episodes side by side. Not at all: the environment must not have OPEN_LOOP_ROWS. */
void open_loop_lanes(open_loop *o);

/* Functions of the environment's table. */
void open_loop_range(const void *self, uint64_t i, double *lower, double *upper, double *start);
void open_loop_variable(const void *self, uint64_t i, ds_env_variable *out);
uint64_t open_loop_hooks(const void *self, ds_hook *out);
ds_status open_loop_allocate(void *self);
ds_status open_loop_simulate(void *self, ds_eval *io);
int64_t open_loop_bad_step(void *self, ds_eval *io);
ds_status open_loop_adjoint(void *self, ds_eval *io);
ds_status open_loop_rows(void *self, uint64_t count, ds_eval *const *io);

/* Stepwise control: the observation is the state, a reward minus the cost of the step, at the end minus that
 * of the last state and `term` too. */
ds_status open_loop_begin(void *self, uint64_t noise_key);
void open_loop_observe(const void *self, double *obs);
ds_status open_loop_act(void *self, uint64_t k, ds_step *io);
int open_loop_differentiable(const void *self); /* where the gradient is exact */
ds_status open_loop_back_begin(void *self, uint64_t last);
ds_status open_loop_back(void *self, ds_back *io);

/* Channels of the linear model (engines/kit/linear_model.h), made by `back` of the system, so of the kind of
 * the gradient. `term` is not part of their cost. */
uint64_t open_loop_channels(const void *self);
void open_loop_channel(const void *self, uint64_t i, ds_channel *out);
ds_status open_loop_answer(void *self, ds_eval *io, ds_eval_query *ask);

#define OPEN_LOOP_ROWS .rows = open_loop_rows, .rows_adjoint = 1
#define OPEN_LOOP_ADVICE "reduce parameter steps"
#define OPEN_LOOP_TABLE                                                                                      \
    .advice = OPEN_LOOP_ADVICE, .hook_points = open_loop_hooks, .allocate = open_loop_allocate,              \
    .range = open_loop_range, .variable = open_loop_variable, .bad_step = open_loop_bad_step, .passes = 1,   \
    .begin = open_loop_begin, .observe = open_loop_observe, .act = open_loop_act,                            \
    .differentiable = open_loop_differentiable, .back_begin = open_loop_back_begin, .back = open_loop_back,  \
    .channels = open_loop_channels, .channel = open_loop_channel, .answer = open_loop_answer

/* State t of the last episode; control i of step t, NaN after the last step. */
const double *open_loop_state(const open_loop *o, uint64_t t);
double open_loop_control(const open_loop *o, uint64_t t, uint64_t i);

/* ---- environments of a linear policy ---- */

/* Environments whose variables are the gains K of a linear policy u = K x, row by row, with noise on the
 * controls and optionally on the start. They offer its score (diffsim/ext/draft/score.h). The instance starts
 * with a struct policy. */

typedef struct policy {
    ds_env_kit kit; /* must be first */
    rollout roll;
    double limit, sigma;
    double sigma_now; /* of the present episode */
    int random_start;
    double *usual; /* start without noise, `states` numbers */
    double *noise; /* noise on the controls of all steps, last episode */
    void (*draw)(const void *self, ds_random *random, double *start);
} policy;

extern const char *const policy_starts[]; /* fixed, random */

#define POLICY_PARAMS(limit_, sigma_)                                                                        \
    DS_REAL("limit", limit_, 1e-9, 1e6, "", "Gains lie in [-limit, limit]; the paper has no bounds."),       \
        DS_REAL("sigma", sigma_, 1e-9, 1e6, "",                                                              \
                "Standard deviation of the noise on each control, in episodes with noise."),                 \
        DS_ENUM("begin", "random", policy_starts,                                                            \
                "Start of episodes with noise: fixed = at `start`, like those without noise; random = "      \
                "drawn for "                                                                                 \
                "each episode, see above."),                                                                 \
        DS_HYBRID_PARAMS

/* Call in read() when `steps` is known: reads these parameters, sets the kit, takes memory. Without memory
 * r->start is NULL. `draw` writes a random start. */
void policy_read(policy *p, ds_param_reader *in, const rollout_system *system, uint64_t steps, double dt,
                 void (*draw)(const void *self, ds_random *random, double *start));

/* Draws the start, `states` numbers, and the noise on the controls, steps x controls, of a noise key. Returns
 * 0 where there is no noise and `noise` is not written: key 0, with the usual start. */
int policy_draw(const policy *p, uint64_t key, double *start, double *noise);

/* Functions of the environment's table. */
void policy_range(const void *self, uint64_t i, double *lower, double *upper, double *start);
void policy_variable(const void *self, uint64_t i, ds_env_variable *out);
uint64_t policy_hooks(const void *self, ds_hook *out);
ds_status policy_allocate(void *self);
ds_status policy_simulate(void *self, ds_eval *io);
int64_t policy_bad_step(void *self, ds_eval *io);
ds_status policy_adjoint(void *self, ds_eval *io);
const void *policy_extension(const void *self, const char *id);

#define POLICY_TABLE                                                                                         \
    .advice = "reduce parameter steps", .hook_points = policy_hooks, .allocate = policy_allocate,            \
    .range = policy_range, .variable = policy_variable, .simulate = policy_simulate,                         \
    .bad_step = policy_bad_step, .adjoint = policy_adjoint, .passes = 1, .extension = policy_extension

#endif
