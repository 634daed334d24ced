/* SPDX-License-Identifier: Apache-2.0 */
/* open_loop.h - environments whose variables are the controls of all steps of a rollout, time-major. The
 * instance begins with an open_loop; its file gives the system, the usual numbers and a scene. */
#ifndef DS_ENGINES_OPEN_LOOP_H
#define DS_ENGINES_OPEN_LOOP_H

#include "rollout.h"

#include <diffsim/helper/env_kit.h>

enum { OPEN_LOOP_STATES = 5, OPEN_LOOP_CONTROLS = 2 };

/* What parameters that are left empty or 0 stand for. */
typedef struct open_loop_usual {
    uint64_t steps;
    double h;
    double start[OPEN_LOOP_STATES], goal[OPEN_LOOP_STATES], q[OPEN_LOOP_STATES], qd[OPEN_LOOP_STATES];
    double r[OPEN_LOOP_CONTROLS];
    double guess; /* of all controls, at the start of a search */
} open_loop_usual;

typedef struct open_loop {
    ds_env_kit kit; /* first */
    rollout roll;
    double h, limit, guess;
    const char *const *names; /* of the controls, and their unit */
    const char *unit;
} open_loop;

/* Parameters of all of them. states_: how many numbers a state has. */
#define OPEN_LOOP_PARAMS(states_, state_doc_)                                                                \
    DS_INT("steps", "0", 0, 100000, "", "Steps T of an episode; 0 = the usual number, see above.",           \
           .flags = DS_PARAM_SHAPE),                                                                         \
        DS_LIST("h", "", 1e-9, 1, 1, "s", "Time step; empty = the usual one."),                              \
        DS_LIST("start", "", -1e6, 1e6, states_, "",                                                         \
                "State at the start: " state_doc_ "; empty = the usual one.", .flags = DS_PARAM_ADVANCED),   \
        DS_LIST("goal", "", -1e6, 1e6, states_, "", "State that costs are counted from.",                    \
                .flags = DS_PARAM_ADVANCED),                                                                 \
        DS_LIST("q", "", 0, 1e6, states_, "", "Weights Q of the squared state of each step.",                \
                .flags = DS_PARAM_ADVANCED),                                                                 \
        DS_LIST("qd", "", 0, 1e6, states_, "", "Weights Qd of the squared state at the end.",                \
                .flags = DS_PARAM_ADVANCED),                                                                 \
        DS_LIST("r", "", 0, 1e6, 2, "", "Weight R of the squared controls.", .flags = DS_PARAM_ADVANCED),    \
        DS_REAL("limit", "10", 1e-6, 1e6, "",                                                                \
                "Controls lie in [-limit, limit]; bounds are not of the paper."),                            \
        DS_LIST("guess", "", -1e6, 1e6, 1, "",                                                               \
                "Controls at which a search starts, all the same; empty = the usual one.",                   \
                .flags = DS_PARAM_ADVANCED)

/* In read(): reads these parameters and sets the kit. `self` is given to the system. */
void open_loop_read(open_loop *o, ds_param_reader *in, const rollout_system *system,
                    const open_loop_usual *usual);

/* Functions of the table. */
void open_loop_range(const void *self, uint64_t i, double *lower, double *upper, double *start);
void open_loop_variable(const void *self, uint64_t i, ds_env_variable *out);
ds_status open_loop_simulate(void *self, ds_eval *io);
int64_t open_loop_bad_step(void *self, ds_eval *io);
ds_status open_loop_adjoint(void *self, ds_eval *io);

#define OPEN_LOOP_ADVICE "reduce parameter steps"
#define OPEN_LOOP_TABLE                                                                                      \
    .advice = OPEN_LOOP_ADVICE, .range = open_loop_range, .variable = open_loop_variable,                    \
    .bad_step = open_loop_bad_step, .passes = 1

/* State t of the last episode; the control of step t, NaN behind the last one. */
const double *open_loop_state(const open_loop *o, uint64_t t);
double open_loop_control(const open_loop *o, uint64_t t, uint64_t i);

#endif
