/* SPDX-License-Identifier: Apache-2.0 */
/* channels.c - an environment with channels of every role and type, for tests of the host and of the
 * conformance kit. The loss is sum (x_i - 0.3)^2 + (sin(x_0) / 2 + noise)^2. On request it fails for a share
 * of the points. */
#include <diffsim/ext/channel.h>
#include <diffsim/helper/eval.h>
#include <diffsim/plugin.h>

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *const faults[] = {"none",      "value",   "product",  "crash", "error",
                                     "unwritten", "diverge", "describe", NULL};
enum { F_NONE, F_VALUE, F_PRODUCT, F_CRASH, F_ERROR, F_UNWRITTEN, F_DIVERGE, F_DESCRIBE };

static const ds_param *const params[] = {
    DS_INT("n", "3", 1, 1000, "", "Decision variables."),
    DS_REAL("noise", "0", 0, 1, "", "Amplitude of noise by the noise key."),
    DS_ENUM("fault", "none", faults, "What goes wrong where something is asked."),
    DS_REAL("share", "1", 0, 1, "", "Share of the points (chosen by a hash of x) where it does."),
    DS_REAL("work", "0", 0, 10, "s", "Time of one evaluation, which sleeps."),
    DS_BOOL("later", "false", "List a channel of a role that is not known."),
    NULL};

typedef struct env {
    const ds_host *host;
    int64_t n, fault, later;
    double noise, share, work;
} env;

enum { ERROR, LIMIT, PHOTO, THUMB, PATH, COST, LATER, CHANNELS };
enum { HIGH = 4, WIDE = 5, POINTS = 7 };

static const double CENTRE = 0.3;
static volatile double *volatile nowhere = (volatile double *)64; /* no page is mapped there */

/* A number in [0, 1) that is the same for the same x. */
static double hash_of(const double *x, uint64_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof(bits));
        h = (h ^ bits) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return (double)(h >> 11) * 0x1p-53;
}

static ds_status create(const ds_host *host, void **out)
{
    env *e = calloc(1, sizeof(*e));
    if (e == NULL) {
        host->error(host, DS_E_NOMEM, "out of memory");
        return DS_E_NOMEM;
    }
    e->host = host;
    if (host->get_int(host, "n", &e->n) != DS_OK || host->get_real(host, "noise", &e->noise) != DS_OK ||
        host->get_int(host, "fault", &e->fault) != DS_OK ||
        host->get_real(host, "share", &e->share) != DS_OK ||
        host->get_real(host, "work", &e->work) != DS_OK || host->get_int(host, "later", &e->later) != DS_OK) {
        free(e);
        return DS_E_PARAM;
    }
    *out = e;
    return DS_OK;
}

static ds_status info(void *self, ds_env_info *out)
{
    out->n = (uint64_t)((const env *)self)->n;
    out->steps = 0;
    out->dt = 0;
    out->loss_floor = 0;
    return DS_OK;
}

static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    (void)self;
    for (uint64_t i = 0; i < n; i++) {
        lower[i] = -1;
        upper[i] = 1 + 0.25 * (double)(i % 3);
        if (x0 != NULL) {
            x0[i] = -0.5;
        }
    }
    return DS_OK;
}

/* ---- the list ---- */

static ds_status count_channels(void *self, uint64_t *count)
{
    *count = ((const env *)self)->later ? CHANNELS : CHANNELS - 1;
    return DS_OK;
}

static ds_status describe(void *self, uint64_t i, ds_channel *out)
{
    const env *e = self;
    if (e->fault == F_DESCRIBE) {
        e->host->error(e->host, DS_E_IO, "there is no such camera");
        return DS_E_IO;
    }
    enum {
        VALUE = DS_CAN(DS_QUERY_VALUE),
        JV = DS_CAN(DS_QUERY_JV),
        JTV = DS_CAN(DS_QUERY_JTV),
        HV = DS_CAN(DS_QUERY_HV)
    };
    const struct {
        const char *name;
        uint32_t role, type, ops, ndim;
        uint64_t shape[3];
    } all[CHANNELS] = {{"error",
                        DS_CHANNEL_RESIDUAL,
                        DS_TYPE_F64,
                        VALUE | JV | JTV | HV,
                        1,
                        {(uint64_t)((const env *)self)->n + 1}},
                       {"limit", DS_CHANNEL_CONSTRAINT, DS_TYPE_F64, VALUE | JV | JTV, 0, {0}},
                       {"photo", DS_CHANNEL_IMAGE, DS_TYPE_F32, VALUE | JTV, 3, {HIGH, WIDE, 3}},
                       {"thumb", DS_CHANNEL_IMAGE, DS_TYPE_U8, VALUE, 2, {3, WIDE}},
                       {"path", DS_CHANNEL_STATE, DS_TYPE_F64, VALUE | JV, 2, {POINTS, 2}},
                       {"cost", DS_CHANNEL_LOSS, DS_TYPE_F64, VALUE | JV | JTV | HV, 0, {0}},
                       {"later", 99, DS_TYPE_F64, VALUE, 0, {0}}};
    out->name = all[i].name;
    out->role = all[i].role;
    out->type = all[i].type;
    out->ops = all[i].ops;
    out->ndim = all[i].ndim;
    memcpy(out->shape, all[i].shape, sizeof(all[i].shape));
    out->upper = i == LIMIT ? 0.5 : out->upper;
    out->unit = i == PATH ? "m" : "";
    out->doc = "For tests.";
    return DS_OK;
}

/* ---- results ---- */

/* Element k of a channel, its derivative by the variable that it depends on, and which that is. */
static double wave(uint64_t k, const double *x, uint64_t n, double size, double *slope, uint64_t *variable)
{
    *variable = k % n;
    *slope = size * cos((double)k * 0.7 + x[*variable]);
    return size * sin((double)k * 0.7 + x[*variable]);
}

static void answer_waves(const ds_eval *io, const ds_eval_query *q, uint64_t elements, double size)
{
    double *out = q->out, slope;
    uint64_t i;
    memset(q->out, 0, q->bytes);
    for (uint64_t k = 0; k < elements; k++) {
        double v = wave(k, io->x, io->n, size, &slope, &i);
        if (q->op == DS_QUERY_JTV) {
            out[i] += slope * q->v[k];
        } else if (q->op == DS_QUERY_JV) {
            out[k] = slope * q->v[i];
        } else if (q->channel == PATH) {
            out[k] = v;
        } else if (q->channel == PHOTO) {
            ((float *)q->out)[k] = (float)(0.5 + v);
        } else {
            ((uint8_t *)q->out)[k] = (uint8_t)lround(127 + v);
        }
    }
}

static void answer_error(const ds_eval *io, const ds_eval_query *q, double last)
{
    double *out = q->out, slope = 0.5 * cos(io->x[0]);
    const uint64_t n = io->n;
    for (uint64_t i = 0; i < n; i++) {
        out[i] = q->op == DS_QUERY_VALUE ? io->x[i] - CENTRE : q->op == DS_QUERY_HV ? 0 : q->v[i];
    }
    if (q->op == DS_QUERY_VALUE) {
        out[n] = last;
    } else if (q->op == DS_QUERY_JV) {
        out[n] = slope * q->v[0];
    } else if (q->op == DS_QUERY_JTV) {
        out[0] += slope * q->v[n];
    } else {
        out[0] = (q->w != NULL ? q->w[n] : 1) * -0.5 * sin(io->x[0]) * q->v[0];
    }
}

static double slope_of_loss(const ds_eval *io, uint64_t i, double last)
{
    return 2 * (io->x[i] - CENTRE) + (i == 0 ? last * cos(io->x[0]) : 0);
}

static void answer_cost(const ds_eval *io, const ds_eval_query *q, double last)
{
    double *out = q->out, along = 0, c = cos(io->x[0]);
    for (uint64_t i = 0; q->op != DS_QUERY_VALUE && i < io->n; i++) {
        double curve = 2 + (i == 0 ? 0.5 * c * c - last * sin(io->x[0]) : 0);
        if (q->op == DS_QUERY_JV) {
            along += slope_of_loss(io, i, last) * q->v[i];
        } else if (q->op == DS_QUERY_JTV) {
            out[i] = slope_of_loss(io, i, last) * q->v[0];
        } else {
            out[i] = (q->w != NULL ? q->w[0] : 1) * curve * q->v[i];
        }
    }
    if (q->op == DS_QUERY_VALUE || q->op == DS_QUERY_JV) {
        out[0] = q->op == DS_QUERY_VALUE ? io->loss : along;
    }
}

static void answer_limit(const ds_eval *io, const ds_eval_query *q)
{
    double *out = q->out, sum = 0;
    for (uint64_t i = 0; i < io->n; i++) {
        sum += q->op == DS_QUERY_VALUE ? io->x[i] : q->op == DS_QUERY_JV ? q->v[i] : 0;
        if (q->op == DS_QUERY_JTV) {
            out[i] = q->v[0];
        }
    }
    if (q->op != DS_QUERY_JTV) {
        out[0] = sum;
    }
}

static void answer(const ds_eval *io, ds_eval_query *q, double last)
{
    q->kind = q->op == DS_QUERY_VALUE ? DS_GRAD_NONE
              : q->op == DS_QUERY_JV  ? DS_GRAD_FORWARD
                                      : DS_GRAD_ADJOINT;
    switch (q->channel) {
    case ERROR:
        answer_error(io, q, last);
        break;
    case LIMIT:
        answer_limit(io, q);
        break;
    case PHOTO:
        answer_waves(io, q, (uint64_t)HIGH * WIDE * 3, 0.4);
        break;
    case THUMB:
        answer_waves(io, q, 3 * (uint64_t)WIDE, 100);
        break;
    case PATH:
        answer_waves(io, q, 2 * (uint64_t)POINTS, 2);
        break;
    default:
        answer_cost(io, q, last);
        break;
    }
}

/* Spoils one result. */
static void spoil(const ds_eval_query *q, int64_t fault)
{
    int product = q->op != DS_QUERY_VALUE;
    if ((fault == F_PRODUCT && product) ||
        (fault == F_VALUE && (q->channel == ERROR || q->channel == PATH))) {
        ((double *)q->out)[0] = NAN;
    } else if (fault == F_VALUE && q->channel == PHOTO) {
        ((float *)q->out)[2] = (float)INFINITY;
    }
}

/* Dies as if memory had run out, once for each byte of the file that CHANNELS_KILLS names. */
static void maybe_die(void)
{
    const char *path = getenv("CHANNELS_KILLS");
    struct stat st;
    if (path != NULL && stat(path, &st) == 0 && st.st_size > 0 && truncate(path, st.st_size - 1) == 0) {
        raise(SIGKILL);
    }
}

static ds_status evaluate(void *self, ds_eval *io)
{
    maybe_die();
    const env *e = self;
    int64_t fault = io->queries > 0 && hash_of(io->x, io->n) < e->share ? e->fault : F_NONE;
    double last = 0.5 * sin(io->x[0]) + e->noise * (double)(io->noise_key >> 12) * 0x1p-52;
    if (e->work > 0) {
        const struct timespec nap = {(time_t)e->work, (long)(1e9 * fmod(e->work, 1))};
        nanosleep(&nap, NULL);
    }
    io->loss = last * last;
    for (uint64_t i = 0; i < io->n; i++) {
        io->loss += (io->x[i] - CENTRE) * (io->x[i] - CENTRE);
    }
    for (uint64_t i = 0; (io->want & DS_WANT_GRAD) != 0 && i < io->n; i++) {
        io->grad[i] = slope_of_loss(io, i, last);
        io->grad_kind = DS_GRAD_ADJOINT;
    }
    io->outcome = DS_EVAL_OK;
    io->cost_steps = 10 + io->queries;
    if (!isfinite(io->loss)) {
        io->loss = INFINITY;
        io->outcome = DS_EVAL_INFEASIBLE;
        return DS_OK;
    }
    if (fault == F_CRASH) {
        *nowhere = 1;
    } else if (fault == F_ERROR) {
        e->host->error(e->host, DS_E_NUMERIC, "the renderer has failed");
        return DS_E_NUMERIC;
    }
    for (uint64_t k = 0; fault != F_UNWRITTEN && k < io->queries; k++) {
        answer(io, io->query[k], last);
        spoil(io->query[k], fault);
    }
    if (fault == F_DIVERGE) {
        io->loss = INFINITY;
        io->outcome = DS_EVAL_DIVERGED;
    }
    return DS_OK;
}

static ds_status evaluate_rows(void *self, const ds_rows *rows, const ds_results *results)
{
    return ds_eval_each(self, rows, results, evaluate);
}

static const void *get_extension(void *self, const char *id)
{
    static const ds_env_channels channels = {
        .struct_size = sizeof(channels), .count = count_channels, .describe = describe};
    (void)self;
    return strcmp(id, DS_EXT_CHANNELS) == 0 ? &channels : NULL;
}

static const char *const extensions[] = {DS_EXT_CHANNELS, NULL};

static const ds_desc desc = {
    .struct_size = sizeof(ds_desc),
    .kind = DS_KIND_ENV,
    .flags = DS_ENV_GRADIENT | DS_ENV_STOCHASTIC,
    .id = "channels",
    .version = "1",
    .license = "Apache-2.0",
    .summary = "An environment with channels of every role and type.",
    .description = "",
    .citation = "",
    .params = params,
    .extensions = extensions,
};

static const ds_env_vtable vtable = {
    .struct_size = sizeof(ds_env_vtable),
    .create = create,
    .destroy = free,
    .info = info,
    .bounds = bounds,
    .evaluate = evaluate_rows,
    .get_extension = get_extension,
};

DS_DEFINE_ENV(desc, vtable)
