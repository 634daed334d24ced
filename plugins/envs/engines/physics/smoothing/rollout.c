/* SPDX-License-Identifier: Apache-2.0 */
/* rollout.c - episodes with quadratic cost and their reverse sweep; the environments of all controls (open
 * loop) and of a noisy linear policy with its score (see rollout.h). */
#include "rollout.h"

#include "engines/kit/lanes.h"

#include <math.h>
#include <string.h>

/* Takes memory for episodes of `steps` steps; arrays are 0. A failure is noted in `m`. */
static void rollout_open(rollout *r, ds_memory *m, const rollout_system *system, const void *self,
                         uint64_t steps)
{
    const size_t ns = system->states, nu = system->controls;
    *r = (rollout){.system = system, .self = self, .steps = steps};
    ds_memory_each(m, ns, (double **const[]){&r->start, &r->goal, &r->q, &r->qd, &r->bar, &r->x_bar, NULL});
    ds_memory_each(m, nu, (double **const[]){&r->r, &r->u_bar, NULL});
    r->x = ds_memory_doubles(m, (steps + 1) * ns);
    r->u = ds_memory_doubles(m, steps * nu);
}

/* Polls the stop flag about every 2^20 operations. */
static int stops(rollout *r, uint64_t t)
{
    const uint64_t work = r->system->states * r->system->controls + 64 + r->work;
    if (r->host != NULL && t % (((uint64_t)1 << 20) / work + 1) == 0 && r->host->should_stop(r->host)) {
        r->stopped = 1;
    }
    return r->stopped;
}

/* Sum of weight (v - from)^2; from may be NULL (zeros). */
static double squares(uint64_t n, const double *weight, const double *v, const double *from)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        const double d = from != NULL ? v[i] - from[i] : v[i];
        sum += weight[i] * d * d;
    }
    return sum;
}

double rollout_cost(const rollout *r, uint64_t t)
{
    const uint64_t ns = r->system->states, nu = r->system->controls;
    return t < r->steps ? squares(ns, r->q, r->x + t * ns, r->goal) + squares(nu, r->r, r->u + t * nu, NULL)
                        : squares(ns, r->qd, r->x + t * ns, r->goal);
}

void rollout_acting(const rollout *r, uint64_t t, const double **x, const double **u)
{
    *x = r->x + t * r->system->states;
    *u = r->u + t * r->system->controls;
    if (r->net.hybrid != NULL) {
        state_net_act(&r->net, x, u);
    }
}

/* Performs step t with the control in r->u and returns its cost. */
static double advance(rollout *r, uint64_t t)
{
    const double *x, *u;
    rollout_acting(r, t, &x, &u);
    r->system->step(r->self, x, u, r->x + (t + 1) * r->system->states);
    return rollout_cost(r, t);
}

/* Adds the product of next_bar with the derivative of step t to x_bar and u_bar. */
static void step_back(rollout *r, uint64_t t, const double *next_bar, double *x_bar, double *u_bar)
{
    const double *x, *u;
    rollout_acting(r, t, &x, &u);
    if (r->net.hybrid == NULL) {
        r->system->back(r->self, x, u, next_bar, x_bar, u_bar);
    } else {
        r->system->back(r->self, x, u, next_bar, r->net.x_bar, r->net.u_bar);
        state_net_back(&r->net, x_bar, u_bar);
    }
}

void rollout_begin(rollout *r)
{
    r->stopped = 0;
    memcpy(r->x, r->start, r->system->states * sizeof *r->x);
}

double rollout_advance(rollout *r, uint64_t t, const double *u)
{
    memcpy(r->u + t * r->system->controls, u, r->system->controls * sizeof *r->u);
    return advance(r, t);
}

double rollout_simulate(rollout *r, const double *u)
{
    double cost = 0;
    rollout_begin(r);
    memcpy(r->u, u, r->steps * r->system->controls * sizeof *r->u);
    for (uint64_t t = 0; t < r->steps && !stops(r, t); t++) {
        cost += advance(r, t);
    }
    return cost + rollout_cost(r, r->steps);
}

static void begin_back(rollout *r, const double *more)
{
    const uint64_t ns = r->system->states;
    const double *last = r->x + r->steps * ns;
    for (uint64_t i = 0; i < ns; i++) {
        r->bar[i] = 2 * r->qd[i] * (last[i] - r->goal[i]) + (more != NULL ? more[r->steps * ns + i] : 0);
    }
}

/* Reverse of step t: r->bar (after it) to r->x_bar (before it). Sets u_bar, the derivatives by its control,
 * including its cost, times `weight`. */
static void back(rollout *r, uint64_t t, double weight, double *u_bar)
{
    const uint64_t ns = r->system->states, nu = r->system->controls;
    const double *x = r->x + t * ns, *u = r->u + t * nu;
    for (uint64_t i = 0; i < ns; i++) {
        r->x_bar[i] = weight * 2 * r->q[i] * (x[i] - r->goal[i]);
    }
    for (uint64_t i = 0; i < nu; i++) {
        u_bar[i] = weight * 2 * r->r[i] * u[i];
    }
    step_back(r, t, r->bar, r->x_bar, u_bar);
}

static void turn(rollout *r)
{
    double *swapped = r->bar;
    r->bar = r->x_bar;
    r->x_bar = swapped;
}

void rollout_back_step(rollout *r, uint64_t t, double weight, double *u_bar)
{
    back(r, t, weight, u_bar);
    turn(r);
}

void rollout_back(rollout *r, const double *more, double *u_bar)
{
    const uint64_t ns = r->system->states;
    begin_back(r, more);
    for (uint64_t t = r->steps; t-- > 0 && !stops(r, t);) {
        back(r, t, 1, u_bar + t * r->system->controls);
        for (uint64_t i = 0; more != NULL && i < ns; i++) {
            r->x_bar[i] += more[t * ns + i];
        }
        turn(r);
    }
}

/* ---- a linear policy ---- */

/* Four partial sums, so that the order does not depend on the machine. */
static double dot(uint64_t n, const double *a, const double *b)
{
    double s[4] = {0, 0, 0, 0};
    uint64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        for (int k = 0; k < 4; k++) {
            s[k] += a[i + (uint64_t)k] * b[i + (uint64_t)k];
        }
    }
    for (; i < n; i++) {
        s[0] += a[i] * b[i];
    }
    return (s[0] + s[1]) + (s[2] + s[3]);
}

static void add_multiple(uint64_t n, double factor, const double *restrict a, double *restrict out)
{
    for (uint64_t i = 0; i < n; i++) {
        out[i] += factor * a[i];
    }
}

/* Simulates with u_t = K x_t + w_t and returns the cost. K: controls x states, row by row; w of all steps,
 * NULL = none. */
static double rollout_follow(rollout *r, const double *gain, const double *noise)
{
    const uint64_t ns = r->system->states, nu = r->system->controls;
    double cost = 0;
    r->stopped = 0;
    memcpy(r->x, r->start, ns * sizeof *r->x);
    for (uint64_t t = 0; t < r->steps && !stops(r, t); t++) {
        for (uint64_t i = 0; i < nu; i++) {
            r->u[t * nu + i] =
                dot(ns, gain + i * ns, r->x + t * ns) + (noise != NULL ? noise[t * nu + i] : 0);
        }
        cost += advance(r, t);
    }
    return cost + rollout_cost(r, r->steps);
}

static void rollout_follow_back(rollout *r, const double *gain, double *gain_bar)
{
    const uint64_t ns = r->system->states, nu = r->system->controls;
    memset(gain_bar, 0, ns * nu * sizeof *gain_bar);
    begin_back(r, NULL);
    for (uint64_t t = r->steps; t-- > 0 && !stops(r, t);) {
        back(r, t, 1, r->u_bar);
        for (uint64_t i = 0; i < nu; i++) {
            add_multiple(ns, r->u_bar[i], r->x + t * ns, gain_bar + i * ns);
            add_multiple(ns, r->u_bar[i], gain + i * ns, r->x_bar);
        }
        turn(r);
    }
}

/* Writes the sum over t of the outer product of w_t and x_t, laid out as K, of the last episode. */
static void rollout_score(const rollout *r, const double *noise, double *score)
{
    const uint64_t ns = r->system->states, nu = r->system->controls;
    memset(score, 0, ns * nu * sizeof *score);
    for (uint64_t t = 0; t < r->steps; t++) {
        for (uint64_t i = 0; i < nu; i++) {
            add_multiple(ns, noise[t * nu + i], r->x + t * ns, score + i * ns);
        }
    }
}

/* ---- networks ---- */

/* Opens the networks of an environment, whose forces act for r->kick. */
static void rollout_wire(rollout *r, ds_env_kit *kit)
{
    const rollout_system *system = r->system;
    r->net = (state_net){.states = system->states,
                         .controls = system->controls,
                         .forces = system->forces,
                         .pushed = system->pushed,
                         .kick = r->kick};
    state_net_open(&r->net, &kit->memory, &kit->hybrid);
    kit->max_rows = kit->hybrid.nets > 0 ? 1 : kit->max_rows;
}

/* The parameters of the networks in an evaluation, and where their derivatives go; n: variables without
 * them. */
static void rollout_weights(rollout *r, uint64_t n, const ds_eval *io)
{
    r->net.w = io->x + n;
    r->net.w_bar = NULL;
    if (io->want & DS_WANT_GRAD) {
        r->net.w_bar = io->grad + n;
        memset(r->net.w_bar, 0, (io->n - n) * sizeof *r->net.w_bar);
    }
}

static uint64_t rollout_hooks(const rollout *r, ds_hook *out, const char *unit, const char *doc)
{
    return state_net_hooks(out, r->system->states, r->system->controls, r->system->forces, unit, doc);
}

/* Returns the first step after which the state of the last episode is not finite, or -1. */
static int64_t rollout_bad_step(const rollout *r)
{
    const uint64_t ns = r->system->states;
    for (uint64_t k = ns; k < (r->steps + 1) * ns; k++) {
        if (!isfinite(r->x[k])) {
            return (int64_t)(k / ns) - 1;
        }
    }
    return -1;
}

/* ---- open-loop environments ---- */

void open_loop_read(open_loop *o, ds_param_reader *in, const rollout_system *system,
                    const open_loop_usual *usual)
{
    const uint64_t ns = system->states, nu = system->controls;
    const uint64_t steps = (uint64_t)ds_param_int(in, "steps");
    o->h = usual->h;
    ds_param_values(in, "h", 1, &o->h);
    o->limit = ds_param_real(in, "limit");
    o->guess = usual->guess;
    ds_param_values(in, "guess", 1, &o->guess);
    rollout *r = &o->roll;
    rollout_open(r, &o->kit.memory, system, o, steps > 0 ? steps : usual->steps);
    r->host = in->host;
    o->kit.steps = r->steps;
    o->kit.n = r->steps * nu;
    o->kit.dt = o->kit.control_dt = o->h;
    o->kit.horizon = r->steps;
    o->kit.n_obs = ns;
    o->model = ds_memory_doubles(&o->kit.memory, ns * (ns + nu));
    o->kit.lanes = ds_env_kit_lanes_of((r->steps + 1) * (ns + nu) * sizeof *r->x);
    o->episode = ds_memory_take(&o->kit.memory, o->kit.lanes, sizeof *o->episode);
    for (uint64_t lane = 0; o->episode != NULL && lane < o->kit.lanes; lane++) {
        open_episode *ep = &o->episode[lane];
        ep->x = lane == 0 ? r->x : ds_memory_doubles(&o->kit.memory, (r->steps + 1) * ns);
        ep->u = lane == 0 ? r->u : ds_memory_doubles(&o->kit.memory, r->steps * nu);
    }
    if (in->status != DS_OK || o->kit.memory.failed) {
        return;
    }
    memcpy(r->start, usual->start, ns * sizeof *r->start);
    memcpy(r->goal, usual->goal, ns * sizeof *r->goal);
    memcpy(r->q, usual->q, ns * sizeof *r->q);
    memcpy(r->qd, usual->qd, ns * sizeof *r->qd);
    memcpy(r->r, usual->r, nu * sizeof *r->r);
    ds_param_values(in, "start", ns, r->start);
    ds_param_values(in, "goal", ns, r->goal);
    ds_param_values(in, "q", ns, r->q);
    ds_param_values(in, "qd", ns, r->qd);
    ds_param_values(in, "r", nu, r->r);
}

void open_loop_range(const void *self, uint64_t i, double *lower, double *upper, double *start)
{
    const open_loop *o = self;
    (void)i;
    *lower = -o->limit;
    *upper = o->limit;
    *start = fmin(fmax(o->guess, -o->limit), o->limit);
}

void open_loop_variable(const void *self, uint64_t i, ds_env_variable *out)
{
    const open_loop *o = self;
    const uint64_t nu = o->roll.system->controls;
    ds_env_variable_put(out->name, "%s.%u", o->names[i % nu], (unsigned)(i / nu));
    ds_env_variable_put(out->unit, "%s", o->unit);
    ds_env_variable_put(out->group, "%s", o->names[i % nu]);
}

uint64_t open_loop_hooks(const void *self, ds_hook *out)
{
    const open_loop *o = self;
    return rollout_hooks(&o->roll, out, o->unit, o->state_doc);
}

ds_status open_loop_allocate(void *self)
{
    open_loop *o = self;
    rollout_wire(&o->roll, &o->kit);
    return DS_OK;
}

ds_status open_loop_simulate(void *self, ds_eval *io)
{
    open_loop *o = self;
    rollout_weights(&o->roll, o->kit.n, io);
    io->loss = rollout_simulate(&o->roll, io->x);
    io->loss += o->term != NULL && !o->roll.stopped ? o->term(o) : 0;
    return o->roll.stopped ? DS_STOPPED : DS_OK;
}

int64_t open_loop_bad_step(void *self, ds_eval *io)
{
    const open_loop *o = self;
    (void)io;
    return rollout_bad_step(&o->roll);
}

ds_status open_loop_adjoint(void *self, ds_eval *io)
{
    open_loop *o = self;
    rollout_back(&o->roll, o->term_back != NULL ? o->term_back(o) : NULL, io->grad);
    return o->roll.stopped ? DS_STOPPED : DS_OK;
}

const double *open_loop_state(const open_loop *o, uint64_t t)
{
    return o->roll.x + t * o->roll.system->states;
}

double open_loop_control(const open_loop *o, uint64_t t, uint64_t i)
{
    return t < o->roll.steps ? o->roll.u[t * o->roll.system->controls + i] : (double)NAN;
}

/* ---- open-loop episodes side by side ---- */

enum { LANES_STEPS = 4096 }; /* longer episodes have no lanes: their tapes would not fit into caches */

void open_loop_lanes(open_loop *o)
{
    const rollout *r = &o->roll;
    o->kit.max_rows = 1;
    if (o->law.system == OPEN_OTHER || r->steps > LANES_STEPS) {
        return;
    }
    o->law.h = o->h;
    o->law.states = r->system->states;
    o->law.steps = r->steps;
    o->law.start = r->start;
    o->law.goal = r->goal;
    o->law.q = r->q;
    o->law.qd = r->qd;
    o->law.r = r->r;
    o->lanes = open_lanes_find();
    o->tape = lanes_memory(&o->kit.memory, (r->steps + 1) * r->system->states, o->lanes->width);
    o->kit.max_rows = 0;
}

ds_status open_loop_rows(void *self, uint64_t count, ds_eval *const *io)
{
    open_loop *o = self;
    const uint64_t width = o->lanes->width;
    for (uint64_t k = 0; k < count; k += width) {
        const lanes_group g = lanes_take(width, count - k, io + k);
        double cost[LANES_MOST];
        o->lanes->simulate(&o->law, g.x, g.graded ? o->tape : NULL, cost);
        for (uint64_t lane = 0; lane < width; lane++) {
            g.io[lane]->loss = cost[lane];
        }
        if (g.graded) {
            o->lanes->adjoint(&o->law, g.x, o->tape, g.grad);
        }
    }
    return DS_OK;
}

/* ---- environments of a linear policy ---- */

const char *const policy_starts[] = {"fixed", "random", NULL};

void policy_read(policy *p, ds_param_reader *in, const rollout_system *system, uint64_t steps, double dt,
                 void (*draw)(const void *self, ds_random *random, double *start))
{
    p->limit = ds_param_real(in, "limit");
    p->sigma = p->sigma_now = ds_param_real(in, "sigma");
    p->random_start = (int)ds_param_int(in, "begin");
    p->draw = draw;
    rollout_open(&p->roll, &p->kit.memory, system, p, steps);
    p->roll.host = in->host;
    p->noise = ds_memory_doubles(&p->kit.memory, steps * system->controls);
    p->usual = ds_memory_doubles(&p->kit.memory, system->states);
    p->kit.n = system->states * system->controls;
    p->kit.steps = steps;
    p->kit.dt = dt;
}

void policy_range(const void *self, uint64_t i, double *lower, double *upper, double *start)
{
    const policy *p = self;
    (void)i;
    *lower = -p->limit;
    *upper = p->limit;
    *start = 0;
}

void policy_variable(const void *self, uint64_t i, ds_env_variable *out)
{
    const policy *p = self;
    const uint64_t ns = p->roll.system->states;
    ds_env_variable_put(out->name, "gain.%u.%u", (unsigned)(i / ns), (unsigned)(i % ns));
    ds_env_variable_put(out->group, "gain");
}

int policy_draw(const policy *p, uint64_t key, double *start, double *noise)
{
    const rollout *r = &p->roll;
    const uint64_t numbers = r->steps * r->system->controls;
    memcpy(start, p->usual, r->system->states * sizeof *start);
    if (key == 0) {
        return 0;
    }
    ds_random random = ds_random_open(key, "action", 0), begin = ds_random_open(key, "start", 0);
    for (uint64_t i = 0; i < numbers; i++) {
        noise[i] = p->sigma_now * ds_random_normal(&random);
    }
    if (p->random_start) {
        p->draw(p, &begin, start);
    }
    return 1;
}

/* Draws the next episode and returns its noise, or NULL. */
static const double *draw(policy *p, uint64_t key)
{
    return policy_draw(p, key, p->roll.start, p->noise) ? p->noise : NULL;
}

uint64_t policy_hooks(const void *self, ds_hook *out)
{
    const policy *p = self;
    return rollout_hooks(&p->roll, out, "", "Of the system before the step.");
}

ds_status policy_allocate(void *self)
{
    policy *p = self;
    rollout_wire(&p->roll, &p->kit);
    return DS_OK;
}

ds_status policy_simulate(void *self, ds_eval *io)
{
    policy *p = self;
    rollout_weights(&p->roll, p->kit.n, io);
    const double *noise = draw(p, io->noise_key);
    io->loss = rollout_follow(&p->roll, io->x, noise);
    return p->roll.stopped ? DS_STOPPED : DS_OK;
}

int64_t policy_bad_step(void *self, ds_eval *io)
{
    const policy *p = self;
    (void)io;
    return rollout_bad_step(&p->roll);
}

ds_status policy_adjoint(void *self, ds_eval *io)
{
    policy *p = self;
    rollout_follow_back(&p->roll, io->x, io->grad);
    return p->roll.stopped ? DS_STOPPED : DS_OK;
}

/* ---- score ---- */

static ds_status score_info(void *self, ds_score_info *out)
{
    const policy *p = self;
    out->noise = p->roll.steps * p->roll.system->controls;
    out->action = p->roll.system->controls;
    out->sigma = p->sigma;
    return DS_OK;
}

/* The loss from the same start without noise. */
static double baseline(policy *p, const ds_eval *io)
{
    draw(p, io->noise_key);
    const double loss = rollout_follow(&p->roll, io->x, NULL);
    return isfinite(loss) ? loss : (double)INFINITY;
}

/* One episode; `io` is its row. */
static ds_status score_episode(void *self, ds_eval *io, ds_score *request)
{
    policy *p = self;
    const uint64_t numbers = p->roll.steps * p->roll.system->controls;
    if (!(request->sigma >= 0 && isfinite(request->sigma))) {
        return ds_host_fail(p->kit.host, DS_E_ARG,
                            "score: sigma = %g; give a positive number, or 0 for the parameter's value",
                            request->sigma);
    }
    const int twice = (request->flags & DS_SCORE_BASELINE) != 0;
    request->baseline = twice ? baseline(p, io) : (double)NAN;
    if (twice && p->roll.stopped) {
        return DS_STOPPED;
    }
    p->sigma_now = request->sigma > 0 ? request->sigma : p->sigma;
    const ds_status status = ds_env_kit_evaluate(p->kit.env, self, io);
    p->sigma_now = p->sigma;
    io->cost_steps += twice ? p->roll.steps : 0;
    memset(request->score, 0, p->kit.n * sizeof *request->score);
    if (request->noise != NULL) {
        memset(request->noise, 0, numbers * sizeof *request->noise);
    }
    if (status == DS_OK && io->noise_key != 0 && io->outcome <= DS_EVAL_BAD_GRAD) {
        rollout_score(&p->roll, p->noise, request->score);
        if (request->noise != NULL) {
            memcpy(request->noise, p->noise, numbers * sizeof *request->noise);
        }
    }
    return status;
}

static ds_status score_evaluate(void *self, const ds_rows *rows, const ds_results *results, ds_score *request)
{
    ds_eval_query query[DS_MAX_QUERIES], *list[DS_MAX_QUERIES];
    ds_eval io = ds_eval_row(rows, results, 0, query, list);
    const ds_status status = score_episode(self, &io, request);
    ds_eval_store(&io, results, 0);
    return status;
}

static const ds_env_score score = {
    .struct_size = sizeof score, .info = score_info, .evaluate = score_evaluate};

/* Networks change the system, not the probability of its controls: their parameters have no score. */
const void *policy_extension(const void *self, const char *id)
{
    const policy *p = self;
    return p->kit.hybrid.nets == 0 && strcmp(id, DS_EXT_SCORE) == 0 ? &score : NULL;
}
