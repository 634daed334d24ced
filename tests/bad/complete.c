/* SPDX-License-Identifier: Apache-2.0 */
/* complete - an environment with all that an instance can be asked: gradient, many rows, channels with
 * products, steps, sweeps, points without a loss. The environment variable FAULT names the one thing that
 * is wrong with it; the list below says what. */
#include <diffsim/diffsim.h>
#include <diffsim/ext/channel.h>
#include <diffsim/ext/draft/steps_gradient.h>
#include <diffsim/helper/eval.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rows_base.h"

#define FAULTS(X)                                                                                            \
    /* many rows in one call */                                                                              \
    X(BATCH_REMAINDER)   /* what is left behind a multiple of 4 has the last place of its loss wrong */      \
    X(BATCH_SEVEN)       /* calls of 7 points */                                                             \
    X(BATCH_33)          /* the last of 33 points */                                                         \
    X(BATCH_63_GRADIENT) /* the gradient of row 62 */                                                        \
    X(BATCH_NO_GRADIENT) /* the loss where no gradient is wanted, from 9 points on */                        \
    X(BATCH_VALUES)      /* values of row 0 in all rows */                                                   \
    X(BATCH_VALUES_LAST) /* values of the last row are not written */                                        \
    X(BATCH_PRODUCT)     /* J v with the direction of the row before */                                      \
    X(BATCH_BACK)        /* J' v where the gradient is wanted, too */                                        \
    X(BATCH_POISONED)    /* the row behind one that has failed */                                            \
    X(BATCH_STEPS)       /* cost_steps are those of all rows */                                              \
    X(BATCH_PAIRS)       /* the same point twice in a row */                                                 \
    X(BATCH_CALLS)       /* the 40th call */                                                                 \
    X(BATCH_STRIDE)      /* points are read as if there were nothing between them */                         \
    X(BATCH_GAP)         /* a number is written after the gradient of a row */                               \
    /* state outside of the instance */                                                                      \
    X(STATIC_EPISODE)   /* the state of the episode is static */                                             \
    X(STATIC_TIME)      /* the number of the step alone is static */                                         \
    X(STATIC_TRACE)     /* what a sweep needs is static */                                                   \
    X(STATIC_PARAMETER) /* a parameter is static: another instance changes it */                             \
    X(STATIC_DIRECTION) /* the direction of J v is copied into a static buffer */                            \
    X(STATIC_ADJOINT)   /* the adjoint of a sweep is static */                                               \
    /* process, time, calls */                                                                               \
    X(MESSAGE_PROCESS)   /* the message of a failure has the process id in it */                             \
    X(MESSAGE_ADDRESS)   /* ... an address */                                                                \
    X(MESSAGE_CALLS)     /* ... a number of calls */                                                         \
    X(BAD_STEP_PROCESS)  /* bad_step is shifted by it, where it is odd */                                    \
    X(COST_PROCESS)      /* cost_steps have a remainder of the process id in it */                           \
    X(COST_ADDRESS)      /* ... of an address */                                                             \
    X(COST_CALLS)        /* ... grow with the calls */                                                       \
    X(COST_TIME)         /* ... of the clock */                                                              \
    X(COST_STEP_PROCESS) /* the same of a step */                                                            \
    X(OBSERVED_PROCESS)  /* an observation */                                                                \
    X(PRODUCT_PROCESS)   /* J' v */                                                                          \
    X(SWEEP_PROCESS)     /* a sweep */                                                                       \
    /* many calls, order */                                                                                  \
    X(STEP_CALLS)          /* the 2000th step */                                                             \
    X(EPISODE_CALLS)       /* the 200th episode */                                                           \
    X(SWEEP_CALLS)         /* the 300th sweep */                                                             \
    X(PRODUCT_CALLS)       /* the 1000th product */                                                          \
    X(VALUES_CALLS)        /* the 90th question for values */                                                \
    X(ORDER_PRODUCT)       /* J' v behind J v */                                                             \
    X(RESET_FORGETS)       /* begin() leaves the speed */                                                    \
    X(EPISODE_AFTER_SWEEP) /* an episode behind a sweep begins elsewhere */                                  \
    X(KEEPS_ACTION)        /* a sweep reads the action where step() found it */                              \
    X(KEEPS_POINT)         /* what was computed for x is used again where x lies at the same place */        \
    /* sweeps */                                                                                             \
    X(OBS_LAST)           /* adjoints of observations count behind the last step only */                     \
    X(OBS_FIRST)          /* ... are lost behind the first step */                                           \
    X(OBS_SIGN)           /* ... have the wrong sign in the middle */                                        \
    X(OBS_SECOND)         /* one number of the observation has no adjoint */                                 \
    X(OBS_OPEN)           /* ... are lost while the episode is open */                                       \
    X(SWEEP_OPEN)         /* a sweep of an open episode forgets its last step */                             \
    X(SWEEP_SECOND)       /* a second sweep goes on with the adjoint of the first */                         \
    X(SWEEP_PART)         /* the same where the first one ended before step 0 */                             \
    X(SWEEP_CHANGES)      /* a sweep leaves the state of the step where it ends */                           \
    X(SWEEP_CHANGES_TIME) /* ... the reward of the next step */                                              \
    X(SWEEP_EVALUATE)     /* evaluate() behind a sweep */                                                    \
    X(SWEEP_SHORT)        /* a sweep that begins before the last step taken uses the state of that step */   \
    X(REWARD_UNIT)        /* reward_bar counts as -1 unless it is 0 */                                       \
    X(REWARD_SIGN)        /* ... by its size */                                                              \
    X(REWARD_LAST)        /* ... of the last step for all */                                                 \
    X(REWARD_SMALL)       /* ... below 0.2 is taken for 0 */                                                 \
    X(SWEEP_CUBE)         /* large adjoints are cut */                                                       \
    X(SWEEP_ALWAYS)       /* a sweep may begin behind more steps than were taken */                          \
    X(SWEEP_ANY_STEP)     /* steps may be left out */                                                        \
    /* products */                                                                                           \
    X(JV_UNIT)          /* J v of unit vectors is off by a thousandth */                                     \
    X(JV_UNIT_ONE)      /* ... of one of them */                                                             \
    X(JV_UNIT_ZERO)     /* ... is 0 */                                                                       \
    X(JV_SPARSE)        /* of vectors with fewer than 4 numbers */                                           \
    X(JV_SIGN)          /* negative directions count as positive ones */                                     \
    X(JV_SIZE)          /* long directions are cut */                                                        \
    X(JV_SMALL)         /* short ones are 0 */                                                               \
    X(JV_ZERO)          /* a direction of 0 gives 1e-3 */                                                    \
    X(JV_NORMALISED)    /* directions are made one long */                                                   \
    X(JV_SQUARE)        /* a small term of second order */                                                   \
    X(JTV_UNIT)         /* J' of one element */                                                              \
    X(JTV_SIGN)         /* weights count by their size where they are below -0.9 */                          \
    X(JTV_SIZE)         /* large weights are cut */                                                          \
    X(JTV_GRADIENT)     /* J' v where the gradient is wanted, too */                                         \
    X(JTV_VALUES)       /* ... where values are asked for, too */                                            \
    X(JV_GRADIENT)      /* J v where the gradient is wanted, too */                                          \
    X(GRADIENT_PRODUCT) /* the gradient where a product is asked for, too */                                 \
    X(VALUES_GRADIENT)  /* values where the gradient is wanted, too */

#define VALUE(name) name,
#define TEXT(name) #name,
enum fault { NONE, FAULTS(VALUE) COUNT };
static const char *const fault_name[] = {"NONE", FAULTS(TEXT)};
#define F (s->fault)

enum { H = 6, ACT = 2, OBS = 3, N = H * ACT, M = 2 * H };
#define DT 0.2
#define EFFORT 0.31622776601683794 /* sqrt(0.1) */

typedef struct state {
    double p, v;
} state;

typedef struct instance {
    const ds_host *host;
    enum fault fault;
    double pull, limit;
    state s;           /* of the open episode */
    state path[H + 1]; /* before each step, of the episode or the evaluation */
    double act[N];
    const double *act_at[H];
    uint64_t t, good, next; /* steps taken; with a loss; what the sweep goes back over next, + 1 */
    int open, stepped, sweeping;
    double loss, gp, gv;
    uint64_t swept, key;
    unsigned calls[6];
    const double *last_x;
    double last_loss;
    double odd; /* what some faults leave behind */
} instance;

static instance shared; /* of the faults with static state */
static double static_pull, static_v[N], static_gp, static_gv;
static unsigned static_calls;

static const ds_param *const params[] = {DS_REAL("pull", "1", 0.5, 2, "", "How strong the spring is."),
                                         DS_REAL("limit", "1.6", 1.2, 3, "m", "Where an episode fails."),
                                         NULL};

static ds_status create(const ds_host *host, void **out)
{
    instance *s = calloc(1, sizeof *s);
    if (s == NULL || host->get_real(host, "pull", &s->pull) != DS_OK ||
        host->get_real(host, "limit", &s->limit) != DS_OK) {
        host->error(host, DS_E_GENERIC, "no memory or no parameter");
        free(s);
        return DS_E_GENERIC;
    }
    const char *chosen = getenv("FAULT");
    while (chosen != NULL && s->fault + 1 < COUNT && strcmp(chosen, fault_name[s->fault]) != 0) {
        s->fault++;
    }
    s->host = host;
    static_pull = s->pull;
    *out = s;
    return DS_OK;
}

static ds_status info(void *self, ds_env_info *out)
{
    (void)self;
    out->n = N;
    out->steps = H;
    out->dt = DT;
    out->loss_floor = 0;
    out->max_rows = MOST_ROWS;
    return DS_OK;
}

static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    (void)self;
    for (uint64_t i = 0; i < n; i++) {
        lower[i] = -2;
        upper[i] = 2;
        if (x0 != NULL) {
            x0[i] = 0.25;
        }
    }
    return DS_OK;
}

static double pull_of(const instance *s)
{
    return F == STATIC_PARAMETER ? static_pull : s->pull;
}

static state start(uint64_t key)
{
    (void)key;
    return (state){0.7, -0.2};
}

static state advance(const instance *s, state q, const double *a)
{
    state r;
    r.v = q.v + DT * (a[0] - pull_of(s) * sin(q.p) + 0.3 * a[1] * q.p);
    r.p = q.p + DT * r.v;
    return r;
}

/* The adjoint of the state before a step, from that behind it in gp, gv; `a` gets that of the action. */
static void retreat(const instance *s, state q, const double *a, double *gp, double *gv, double *bar)
{
    const double v = *gv + DT * *gp; /* of the new speed */
    bar[0] = DT * v;
    bar[1] = DT * 0.3 * q.p * v;
    *gv = v;
    *gp = *gp + DT * v * (-pull_of(s) * cos(q.p) + 0.3 * a[1]);
}

static double term(state q, const double *a)
{
    return q.p * q.p + EFFORT * a[0] * (EFFORT * a[0]);
}

static void observe(const instance *s, state q, double *obs)
{
    obs[0] = q.p;
    obs[1] = q.v;
    obs[2] = q.p * q.v;
    if (F == OBSERVED_PROCESS && getpid() % 2 != 0) {
        obs[1] += 1e-12;
    }
}

static uint64_t by_process(void)
{
    return (uint64_t)(getpid() % 3);
}

static int64_t fail_at(const instance *s, uint64_t t)
{
    char text[120] = "it left the track";
    if (F == MESSAGE_PROCESS) {
        snprintf(text, sizeof text, "it left the track in process %d", (int)getpid());
    } else if (F == MESSAGE_ADDRESS) {
        snprintf(text, sizeof text, "it left the track at %p", (const void *)s);
    } else if (F == MESSAGE_CALLS) {
        snprintf(text, sizeof text, "it left the track in call %u", static_calls++);
    }
    s->host->error(s->host, DS_E_NUMERIC, text);
    return (int64_t)t + (F == BAD_STEP_PROCESS && getpid() % 2 != 0 ? 1 : 0);
}

/* ---- channels ---- */

static ds_status channel_count(void *self, uint64_t *count)
{
    (void)self;
    *count = 1;
    return DS_OK;
}

static ds_status channel_describe(void *self, uint64_t i, ds_channel *out)
{
    (void)self;
    (void)i;
    out->role = DS_CHANNEL_RESIDUAL;
    out->type = DS_TYPE_F64;
    out->ops = DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV);
    out->ndim = 1;
    out->shape[0] = M;
    out->name = "error";
    out->unit = "m";
    out->doc = "Places, and what was done for them.";
    return DS_OK;
}

static const ds_env_channels channels = {
    .struct_size = sizeof channels, .count = channel_count, .describe = channel_describe};

static void forward(instance *s, const double *x, const double *v, double *out, uint32_t want)
{
    double dp = 0, dv = 0, size = 0, few = 0, d[N], cut = 1;
    uint64_t one = N;
    for (uint64_t i = 0; i < N; i++) {
        size += v[i] * v[i];
        few += v[i] != 0;
        one = v[i] != 0 ? i : one;
        d[i] = F == JV_SIGN && i == 3 ? fabs(v[i]) : v[i];
    }
    if (F == STATIC_DIRECTION) {
        memcpy(static_v, d, sizeof d);
    }
    for (uint64_t t = 0; t < H; t++) {
        const double *a = x + ACT * t, *b = F == STATIC_DIRECTION ? static_v + ACT * t : d + ACT * t;
        const state q = s->path[t];
        const double nv = dv + DT * (b[0] - pull_of(s) * cos(q.p) * dp + 0.3 * (b[1] * q.p + a[1] * dp));
        dv = nv;
        dp += DT * dv;
        out[t] = dp;
        out[H + t] = EFFORT * b[0];
    }
    cut = F == JV_SIZE && size > 1e4                              ? 1e2 / sqrt(size)
          : F == JV_SMALL && size < 1e-12                         ? 0
          : F == JV_NORMALISED && size > 0 && size < 1            ? 1 / sqrt(size)
          : F == JV_UNIT && few == 1 && size == 1                 ? 1.001
          : F == JV_UNIT_ONE && few == 1 && size == 1 && one == 5 ? 1.001
          : F == JV_UNIT_ZERO && few == 1 && size == 1 && one > 7 ? 0
          : F == JV_SPARSE && few < 4                             ? 1.0001
          : F == JV_GRADIENT && (want & DS_WANT_GRAD)             ? 1.00001
          : F == PRODUCT_CALLS && s->calls[3] > 1000              ? 1.001
                                                                  : 1;
    for (uint64_t k = 0; k < M; k++) {
        out[k] *= cut;
        out[k] += F == JV_SQUARE ? 1e-6 * size : F == JV_ZERO && size == 0 ? 1e-3 : 0;
    }
}

static void backward(instance *s, const double *x, const double *w, double *out, uint32_t want, int values)
{
    double gp = 0, gv = 0, few = 0;
    for (uint64_t k = 0; k < M; k++) {
        few += w[k] != 0;
    }
    for (uint64_t t = H; t-- > 0;) {
        double u = w[t];
        u = F == JTV_SIGN && u < -0.9 ? -u : F == JTV_SIZE && u > 100 ? 100 : u;
        gp += u;
        retreat(s, s->path[t], x + ACT * t, &gp, &gv, out + ACT * t);
        out[ACT * t] += EFFORT * w[H + t];
    }
    const int wrong = (F == JTV_GRADIENT && (want & DS_WANT_GRAD)) || (F == JTV_VALUES && values) ||
                      (F == JTV_UNIT && few == 1) || (F == PRODUCT_PROCESS && getpid() % 2 != 0) ||
                      (F == ORDER_PRODUCT && s->odd == DS_QUERY_JV);
    out[N - 2] *= wrong ? 1 + 1e-9 * (F == JTV_UNIT ? 1e5 : 1) : 1;
}

static void answer(instance *s, const ds_eval *io, const ds_eval_query *q, int values)
{
    double *out = q->out;
    if (q->op == DS_QUERY_JV) {
        s->calls[3]++;
        forward(s, io->x, q->v, out, io->want);
        s->odd = DS_QUERY_JV;
        return;
    }
    if (q->op == DS_QUERY_JTV) {
        s->calls[3]++;
        backward(s, io->x, q->v, out, io->want, values);
        s->odd = DS_QUERY_JTV;
        return;
    }
    s->calls[4]++;
    for (uint64_t t = 0; t < H; t++) {
        out[t] = s->path[t + 1].p;
        out[H + t] = EFFORT * io->x[ACT * t];
    }
    out[0] += (F == VALUES_GRADIENT && (io->want & DS_WANT_GRAD)) || (F == VALUES_CALLS && s->calls[4] > 90)
                  ? 1e-12
                  : 0;
}

static void answer_all(instance *s, ds_eval *io)
{
    int values = 0;
    for (uint64_t k = 0; k < io->queries; k++) {
        values |= io->query[k]->op == DS_QUERY_VALUE;
    }
    for (uint64_t k = 0; k < io->queries; k++) {
        ds_eval_query *q = io->query[k];
        q->kind = q->op == DS_QUERY_VALUE ? DS_GRAD_NONE
                  : q->op == DS_QUERY_JV  ? DS_GRAD_FORWARD
                                          : DS_GRAD_ADJOINT;
        answer(s, io, q, values);
        if (F == GRADIENT_PRODUCT && q->op != DS_QUERY_VALUE && (io->want & DS_WANT_GRAD)) {
            io->grad[0] *= 1 + 1e-12;
        }
    }
}

/* ---- evaluations ---- */

static ds_status evaluate(void *self, ds_eval *io)
{
    instance *s = self;
    const int same =
        F == KEEPS_POINT && s->last_x == io->x && (io->want & DS_WANT_GRAD) == 0 && io->queries == 0;
    s->open = 0;
    s->good = 0;
    s->sweeping = 0;
    io->loss = 0;
    io->outcome = DS_EVAL_OK;
    io->grad_kind = DS_GRAD_ADJOINT;
    io->bad_step = -1;
    io->cost_steps = H;
    s->path[0] = start(io->noise_key);
    for (uint64_t t = 0; t < H && io->outcome == DS_EVAL_OK; t++) {
        s->path[t + 1] = advance(s, s->path[t], io->x + ACT * t);
        io->loss += term(s->path[t + 1], io->x + ACT * t);
        if (!(fabs(s->path[t + 1].p) <= s->limit)) {
            io->outcome = DS_EVAL_DIVERGED;
            io->bad_step = fail_at(s, t);
            io->loss = INFINITY;
        }
    }
    io->cost_steps += F == COST_PROCESS   ? by_process()
                      : F == COST_ADDRESS ? ((uintptr_t)s >> 12) % 16
                      : F == COST_CALLS   ? s->calls[5]++ / 8
                      : F == COST_TIME    ? (uint64_t)clock() % 16
                                          : 0;
    if (io->outcome != DS_EVAL_OK) {
        return DS_OK;
    }
    if (io->want & DS_WANT_GRAD) {
        double gp = 0, gv = 0;
        for (uint64_t t = H; t-- > 0;) {
            gp += 2 * s->path[t + 1].p;
            retreat(s, s->path[t], io->x + ACT * t, &gp, &gv, io->grad + ACT * t);
            io->grad[ACT * t] += 2 * EFFORT * EFFORT * io->x[ACT * t];
        }
    }
    answer_all(s, io);
    if (F == SWEEP_EVALUATE && s->swept > 0) {
        io->loss *= 1 + 1e-12;
        s->swept = 0;
    }
    io->loss = same ? s->last_loss : io->loss;
    s->last_x = io->x;
    s->last_loss = io->loss;
    return DS_OK;
}

static ds_status many(void *self, uint64_t count, ds_eval *const *io)
{
    instance *s = self;
    const unsigned call = s->calls[0]++;
    for (uint64_t k = 0; k < count; k++) {
        ds_eval_query *query = io[k]->queries > 0 ? io[k]->query[0] : NULL;
        const double *v = query != NULL ? query->v : NULL;
        if (F == BATCH_PRODUCT && k > 0 && query != NULL && query->op == DS_QUERY_JV) {
            query->v = io[k - 1]->query[0]->v;
        }
        if (F == BATCH_STRIDE) {
            io[k]->x = io[0]->x + k * N;
        }
        const ds_status status = evaluate(self, io[k]);
        if (query != NULL) {
            query->v = v;
        }
        if (status != DS_OK) {
            return status;
        }
        const int grad = (io[k]->want & DS_WANT_GRAD) != 0, good = io[k]->outcome == DS_EVAL_OK;
        const int wrong = (F == BATCH_REMAINDER && k >= count / 4 * 4 && count % 4 == 3) ||
                          (F == BATCH_SEVEN && count == 7) || (F == BATCH_33 && count == 33 && k == 32) ||
                          (F == BATCH_NO_GRADIENT && !grad && count > 8) ||
                          (F == BATCH_POISONED && k > 0 && io[k - 1]->outcome != DS_EVAL_OK) ||
                          (F == BATCH_PAIRS && k > 0 && memcmp(io[k]->x, io[k - 1]->x, N * 8) == 0) ||
                          (F == BATCH_CALLS && call == 40);
        io[k]->loss *= wrong && good ? 1 + 1e-15 : 1;
        if (F == BATCH_63_GRADIENT && k == 62 && grad && good) {
            io[k]->grad[0] *= 1 + 1e-12;
        }
        if (F == BATCH_GAP && grad && k + 1 < count) {
            io[k]->grad[N] = 1;
        }
        for (uint64_t j = 0; good && j < io[k]->queries; j++) {
            ds_eval_query *q = io[k]->query[j], *first = io[0]->query[j];
            if (F == BATCH_VALUES && q->op == DS_QUERY_VALUE && io[0]->outcome == DS_EVAL_OK) {
                memcpy(q->out, first->out, q->bytes);
            } else if (F == BATCH_VALUES_LAST && q->op == DS_QUERY_VALUE && k + 1 == count && count > 1) {
                ((double *)q->out)[M - 1] = 0;
            } else if (F == BATCH_BACK && q->op == DS_QUERY_JTV && grad && count > 1) {
                ((double *)q->out)[0] *= 1 + 1e-12;
            }
        }
    }
    for (uint64_t k = 0; F == BATCH_STEPS && k < count; k++) {
        io[k]->cost_steps = H * count;
    }
    return DS_OK;
}

static ds_status evaluate_rows(void *self, const ds_rows *rows, const ds_results *results)
{
    return rows->count > 1 ? all_rows(self, rows, results, many)
                           : ds_eval_each(self, rows, results, evaluate);
}

/* ---- steps ---- */

static instance *episode_of(void *self)
{
    instance *s = self;
    if (F == STATIC_EPISODE) {
        shared.fault = F;
        shared.host = s->host;
        shared.pull = s->pull;
        shared.limit = s->limit;
        return &shared;
    }
    return s;
}

static uint64_t *time_of(instance *s)
{
    return F == STATIC_TIME ? &shared.t : &s->t;
}

static ds_status steps_info(void *self, ds_steps_info *out)
{
    (void)self;
    out->horizon = H;
    out->n_act = ACT;
    out->n_obs = OBS;
    out->dt = DT;
    return DS_OK;
}

static ds_status begin(void *self, uint64_t lane, uint64_t noise_key, double *obs)
{
    instance *s = episode_of(self);
    (void)lane;
    const state old = s->s;
    s->s = start(noise_key);
    if (F == RESET_FORGETS && s->t > 0 && s->t < H) {
        s->s.v = old.v;
    }
    s->s.p += F == EPISODE_AFTER_SWEEP && s->swept > 0 ? 1e-12 : 0;
    s->s.p += F == EPISODE_CALLS && s->calls[1] > 200 ? 1e-12 : 0;
    s->calls[1]++;
    s->swept = 0;
    *time_of(s) = s->good = 0;
    s->loss = 0;
    s->open = 1;
    ((instance *)self)->open = 1;
    s->sweeping = 0;
    s->path[0] = s->s;
    observe(s, s->s, obs);
    return DS_OK;
}

static state *path_of(instance *s)
{
    return F == STATIC_TRACE ? shared.path : s->path;
}

static ds_status step(void *self, uint64_t lane, ds_step *io)
{
    instance *s = episode_of(self);
    (void)lane;
    uint64_t *t = time_of(s);
    if (!s->open || *t >= H || !((instance *)self)->open) {
        return DS_E_STATE;
    }
    path_of(s)[*t] = s->s;
    memcpy(s->act + ACT * *t, io->action, ACT * sizeof(double));
    s->act_at[*t] = io->action;
    s->s = advance(s, s->s, io->action);
    s->calls[2]++;
    s->s.p += F == STEP_CALLS && s->calls[2] == 2000 ? 1e-9 : 0;
    const double cost = term(s->s, io->action);
    io->cost_steps = 1 + (F == COST_STEP_PROCESS ? by_process() : 0);
    s->loss += cost;
    s->sweeping = 0;
    ++*t;
    s->path[*t] = s->s;
    path_of(s)[*t] = s->s;
    io->reward = -cost + (F == SWEEP_CHANGES_TIME && s->swept > 0 && *t > 1 ? 1e-12 : 0);
    s->swept = F == SWEEP_CHANGES_TIME ? 0 : s->swept;
    io->outcome = fabs(s->s.p) <= s->limit ? DS_EVAL_OK : DS_EVAL_DIVERGED;
    if (io->outcome != DS_EVAL_OK) {
        fail_at(s, *t - 1);
        s->open = 0;
        io->ended = DS_STEPS_TERMINATED;
        io->loss = INFINITY;
        return DS_OK;
    }
    s->good = *t;
    io->ended = *t == H ? DS_STEPS_TERMINATED : DS_STEPS_CONTINUES;
    io->loss = s->loss;
    s->open = *t < H;
    observe(s, s->s, io->obs);
    return DS_OK;
}

static ds_status begin_rows(void *self, const ds_step_rows *rows, const ds_step_results *results)
{
    return ds_step_begin_each(self, rows, results, OBS, begin);
}

static ds_status step_rows(void *self, const ds_step_rows *rows, const ds_step_results *results)
{
    return ds_step_each(self, rows, results, ACT, OBS, step);
}

static const ds_env_steps steps = {
    .struct_size = sizeof steps, .info = steps_info, .begin = begin_rows, .step = step_rows};

/* ---- sweeps ---- */

static double *gp_of(instance *s)
{
    return F == STATIC_ADJOINT ? &static_gp : &s->gp;
}

static double *gv_of(instance *s)
{
    return F == STATIC_ADJOINT ? &static_gv : &s->gv;
}

static ds_status begin_sweep(instance *s, uint64_t last)
{
    if (last < 1 || (last > s->good && F != SWEEP_ALWAYS) || last > H) {
        return DS_E_STATE;
    }
    const int carries =
        (F == SWEEP_SECOND && s->swept > 0) || (F == SWEEP_PART && s->sweeping && s->next > 0);
    if (!carries) {
        *gp_of(s) = *gv_of(s) = 0;
    }
    s->next = last;
    s->sweeping = 1;
    s->calls[5]++;
    if (F == SWEEP_OPEN && s->open) {
        s->path[last] = s->path[last - 1];
    }
    if (F == SWEEP_SHORT && last < s->good) {
        s->odd = 1;
    } else {
        s->odd = 0;
    }
    return DS_OK;
}

static ds_status back(void *self, uint64_t lane, ds_back *io)
{
    instance *s = episode_of(self);
    const uint64_t t = io->step;
    (void)lane;
    if (io->begins && begin_sweep(s, t + 1) != DS_OK) {
        return DS_E_STATE;
    }
    if (!s->sweeping || (t + 1 != s->next && !(F == SWEEP_ANY_STEP && t < s->next))) {
        return DS_E_STATE;
    }
    state *path = path_of(s);
    const double *a = F == KEEPS_ACTION ? s->act_at[t] : s->act + ACT * t;
    const state q = F == SWEEP_SHORT && s->odd > 0 && t + 1 == s->next ? s->s : path[t + 1];
    double o[OBS], r = io->reward_bar, *gp = gp_of(s), *gv = gv_of(s);
    memcpy(o, io->obs_bar, sizeof o);
    const int lost =
        (F == OBS_LAST && t + 1 < s->good) || (F == OBS_FIRST && t == 0) || (F == OBS_OPEN && s->open);
    for (int i = 0; i < OBS; i++) {
        o[i] *= lost ? 0 : F == OBS_SIGN && t > 0 && t + 1 < H ? -1 : 1;
    }
    o[1] = F == OBS_SECOND && t + 1 < H ? 0 : o[1];
    r = F == REWARD_UNIT && r != 0            ? -1
        : F == REWARD_SIGN                    ? -fabs(r)
        : F == REWARD_SMALL && fabs(r) < 0.2  ? 0
        : F == REWARD_LAST && t + 1 < s->good ? s->last_loss
                                              : r;
    if (F == REWARD_LAST && t + 1 >= s->good) {
        s->last_loss = r;
    }
    const double c = -r; /* adjoint of the cost */
    *gp += 2 * q.p * c + o[0] + o[2] * q.v;
    *gv += o[1] + o[2] * q.p;
    *gp = F == SWEEP_CUBE ? fmin(fmax(*gp, -20), 20) : *gp;
    retreat(s, path[t], a, gp, gv, io->action_bar);
    io->action_bar[0] += 2 * EFFORT * EFFORT * a[0] * c;
    io->action_bar[1] *=
        (F == SWEEP_PROCESS && getpid() % 2 != 0) || (F == SWEEP_CALLS && s->calls[5] > 300) ? 1 + 1e-9 : 1;
    io->cost_steps = 1;
    s->next = t;
    s->swept = 1;
    if (F == SWEEP_CHANGES) {
        s->s = path[t];
    }
    return DS_OK;
}

static ds_status back_rows(void *self, const ds_back_rows *rows, const ds_back_results *results)
{
    return ds_back_each(self, rows, results, ACT, OBS, back);
}

static const ds_env_steps_gradient gradient = {.struct_size = sizeof gradient, .back = back_rows};

/* ---- plugin ---- */

static const void *get_extension(void *self, const char *id)
{
    (void)self;
    return strcmp(id, DS_EXT_CHANNELS) == 0         ? (const void *)&channels
           : strcmp(id, DS_EXT_STEPS) == 0          ? (const void *)&steps
           : strcmp(id, DS_EXT_STEPS_GRADIENT) == 0 ? (const void *)&gradient
                                                    : NULL;
}

static const char *const extensions[] = {DS_EXT_CHANNELS, DS_EXT_STEPS, DS_EXT_STEPS_GRADIENT, NULL};
static const ds_env_vtable vtable = {.struct_size = sizeof vtable,
                                     .create = create,
                                     .destroy = free,
                                     .info = info,
                                     .bounds = bounds,
                                     .evaluate = evaluate_rows,
                                     .get_extension = get_extension};
static const ds_desc desc = {.struct_size = sizeof desc,
                             .kind = DS_KIND_ENV,
                             .flags = DS_ENV_GRADIENT,
                             .id = "complete",
                             .version = "1",
                             .license = "Apache-2.0",
                             .summary = "An environment with one fault.",
                             .description = "",
                             .citation = "",
                             .params = params,
                             .extensions = extensions};

DS_DEFINE_ENV(desc, vtable)
