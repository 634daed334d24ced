/* SPDX-License-Identifier: Apache-2.0 */
/* env_grow - an environment that uses every struct of an environment: a ball that is pushed towards a goal,
 * `horizon` pushes of two numbers. grow.sh compiles it with the public headers, and with a copy of them whose
 * structs are longer. */
#include <diffsim/ext/channel.h>
#include <diffsim/ext/scene.h>
#include <diffsim/ext/steps.h>
#include <diffsim/ext/variables.h>
#include <diffsim/helper/eval.h>
#include <diffsim/plugin.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AXES = 2, MOST = 32 /* pushes */, LANES = 2, ROWS = 16 };

typedef struct ball {
    const ds_host *host;
    int64_t horizon, forward, floor;
    double gain, start[AXES], goal[AXES];
    double track[MOST + 1][AXES], distance[MOST + 1]; /* of the episode that is kept */
    int kept;
    double at[LANES][AXES]; /* of the episodes that are stepped through */
    int64_t step[LANES];    /* -1 = none is open */
    char name[16];
} ball;

static const char *const modes[] = {"adjoint", "forward", NULL};
static const ds_param *const params[] = {
    DS_INT("horizon", "4", 1, MOST, "", "Number of pushes.", .flags = DS_PARAM_SHAPE),
    DS_REAL("gain", "0.25", 0.01, 1, "m", "How far a push of 1 moves the ball.", .flags = DS_PARAM_LOG),
    DS_BOOL("floor", "true", "Is the loss known to be at least 0?"),
    DS_ENUM("mode", "adjoint", modes, "What the gradient calls itself.", .flags = DS_PARAM_ADVANCED),
    DS_TEXT("label", "ball", "What the log calls it."),
    DS_PATH("file", "", "A file that nothing is done with."),
    DS_LIST("goal", "0.6 -0.3", -2, 2, AXES, "m", "Where the ball is to come to rest."),
    DS_ARRAY("start", "", "Where it begins: two numbers; empty = in the middle."),
    NULL};

static double loss_at(const ball *b, const double *at)
{
    double x = at[0] - b->goal[0], y = at[1] - b->goal[1];
    return x * x + y * y;
}

/* ---- an instance ---- */

static ds_status read_params(const ds_host *host, ball *b)
{
    const double *list = NULL, *data = NULL;
    uint64_t count = 0, ndim = 0, shape[8];
    const char *label = "", *file = "";
    char line[200];
    if (host->get_int(host, "horizon", &b->horizon) != DS_OK ||
        host->get_real(host, "gain", &b->gain) != DS_OK || host->get_int(host, "floor", &b->floor) != DS_OK ||
        host->get_int(host, "mode", &b->forward) != DS_OK || host->get_text(host, "label", &label) != DS_OK ||
        host->get_text(host, "file", &file) != DS_OK ||
        host->get_list(host, "goal", &list, &count) != DS_OK || count != AXES ||
        host->get_array(host, "start", &data, &ndim, shape) != DS_OK ||
        (data != NULL && (ndim != 1 || shape[0] != AXES))) {
        host->error(host, DS_E_PARAM, "goal must have two numbers, start two or none");
        return DS_E_PARAM;
    }
    for (int i = 0; i < AXES; i++) {
        b->goal[i] = list[i];
        b->start[i] = data != NULL ? data[i] : 0;
    }
    snprintf(line, sizeof line, "%s on %s %s with %u threads", label, host->name, host->version,
             host->threads);
    host->log(host, DS_LOG_DEBUG, line);
    return DS_OK;
}

static void close_lanes(ball *b)
{
    for (int lane = 0; lane < LANES; lane++) {
        b->step[lane] = -1;
    }
}

static ds_status create(const ds_host *host, void **out)
{
    ball *b = calloc(1, sizeof *b);
    ds_status status = b != NULL ? read_params(host, b) : DS_E_NOMEM;
    if (status != DS_OK) {
        free(b);
        return status;
    }
    b->host = host;
    close_lanes(b);
    *out = b;
    return DS_OK;
}

static ds_status info(void *self, ds_env_info *out)
{
    const ball *b = self;
    out->flags = 0;
    out->n = AXES * (uint64_t)b->horizon;
    out->steps = (uint64_t)b->horizon;
    out->dt = 0.1;
    out->loss_floor = b->floor ? 0 : -INFINITY;
    out->tolerance = 0;
    out->max_rows = ROWS;
    out->good_rows = ROWS / 2;
    return DS_OK;
}

static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    (void)self;
    for (uint64_t i = 0; i < n; i++) {
        lower[i] = -1;
        upper[i] = 1;
        if (x0 != NULL) {
            x0[i] = 0.125;
        }
    }
    return DS_OK;
}

/* ---- channel 0: where the ball is at the end, less the goal, so that the loss is its sum of squares ---- */

static void answer(const ball *b, const double *end, uint64_t n, ds_eval_query *query)
{
    double *out = query->out;
    query->kind = query->op == DS_QUERY_VALUE ? DS_GRAD_NONE : DS_GRAD_ADJOINT;
    if (query->op == DS_QUERY_VALUE) {
        out[0] = end[0] - b->goal[0];
        out[1] = end[1] - b->goal[1];
    } else if (query->op == DS_QUERY_JV) {
        out[0] = out[1] = 0;
        for (uint64_t i = 0; i < n; i++) {
            out[i % AXES] += b->gain * query->v[i];
        }
    } else if (query->op == DS_QUERY_JTV) {
        for (uint64_t i = 0; i < n; i++) {
            out[i] = b->gain * query->v[i % AXES];
        }
    }
}

static ds_status channel_count(void *self, uint64_t *count)
{
    (void)self;
    *count = 1;
    return DS_OK;
}

static ds_status describe_channel(void *self, uint64_t i, ds_channel *out)
{
    (void)self;
    if (i != 0) {
        return DS_E_ARG;
    }
    out->role = DS_CHANNEL_RESIDUAL;
    out->type = DS_TYPE_F64;
    out->ops = DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV);
    out->ndim = 1;
    out->shape[0] = AXES;
    out->name = "error";
    out->unit = "m";
    out->doc = "Where the ball is at the end, less the goal.";
    return DS_OK;
}

static const ds_env_channels channels = {
    .struct_size = sizeof channels, .count = channel_count, .describe = describe_channel};

/* ---- evaluation ---- */

static ds_status evaluate(void *self, ds_eval *io)
{
    ball *b = self;
    double at[AXES] = {b->start[0], b->start[1]};
    close_lanes(b);
    b->kept = (io->want & DS_WANT_SCENE) != 0;
    for (int64_t t = 0; t <= b->horizon; t++) {
        for (int i = 0; i < AXES && t > 0; i++) {
            at[i] += b->gain * io->x[AXES * (t - 1) + i];
        }
        if (b->kept) {
            memcpy(b->track[t], at, sizeof at);
            b->distance[t] = sqrt(loss_at(b, at));
        }
    }
    io->loss = loss_at(b, at);
    io->outcome = isfinite(io->loss) ? DS_EVAL_OK : DS_EVAL_INFEASIBLE;
    io->loss = isfinite(io->loss) ? io->loss : INFINITY;
    io->bad_step = -1;
    io->cost_steps = (uint64_t)b->horizon;
    for (uint64_t i = 0; (io->want & DS_WANT_GRAD) != 0 && i < io->n; i++) {
        io->grad[i] = 2 * b->gain * (at[i % AXES] - b->goal[i % AXES]);
        io->grad_kind = b->forward ? DS_GRAD_FORWARD : DS_GRAD_ADJOINT;
    }
    for (uint64_t k = 0; k < io->queries; k++) {
        answer(b, at, io->n, io->query[k]);
    }
    return b->host->should_stop(b->host) ? DS_STOPPED : DS_OK;
}

static ds_status evaluate_rows(void *self, const ds_rows *rows, const ds_results *results)
{
    return ds_eval_each(self, rows, results, evaluate);
}

/* ---- stepwise control ---- */

static ds_status steps_info(void *self, ds_steps_info *out)
{
    out->flags = 0;
    out->horizon = (uint64_t)((const ball *)self)->horizon;
    out->n_act = AXES;
    out->n_obs = 2 * AXES;
    out->dt = 0.1;
    out->max_lanes = LANES;
    return DS_OK;
}

static void observe(const ball *b, uint64_t lane, double *obs)
{
    for (int i = 0; i < AXES; i++) {
        obs[i] = b->at[lane][i];
        obs[AXES + i] = b->goal[i];
    }
}

static ds_status begin(void *self, uint64_t lane, uint64_t noise_key, double *obs)
{
    ball *b = self;
    (void)noise_key;
    memcpy(b->at[lane], b->start, sizeof b->start);
    b->step[lane] = 0;
    observe(b, lane, obs);
    return DS_OK;
}

static ds_status step(void *self, uint64_t lane, ds_step *io)
{
    ball *b = self;
    if (b->step[lane] < 0) {
        b->host->error(b->host, DS_E_STATE, "no episode is open");
        return DS_E_STATE;
    }
    double before = loss_at(b, b->at[lane]);
    for (int i = 0; i < AXES; i++) {
        b->at[lane][i] += b->gain * io->action[i];
    }
    observe(b, lane, io->obs);
    b->step[lane]++;
    io->ended = b->step[lane] == b->horizon ? DS_STEPS_TERMINATED : DS_STEPS_CONTINUES;
    io->loss = loss_at(b, b->at[lane]);
    io->reward = before - io->loss;
    io->cost_steps = 1;
    b->step[lane] = io->ended ? -1 : b->step[lane];
    return DS_OK;
}

static ds_status begin_rows(void *self, const ds_step_rows *rows, const ds_step_results *results)
{
    return ds_step_begin_each(self, rows, results, 2 * AXES, begin);
}

static ds_status step_rows(void *self, const ds_step_rows *rows, const ds_step_results *results)
{
    return ds_step_each(self, rows, results, AXES, 2 * AXES, step);
}

static const ds_env_steps steps = {
    .struct_size = sizeof steps, .info = steps_info, .begin = begin_rows, .step = step_rows};

/* ---- scene ---- */

static ds_status scene_info(void *self, ds_scene_info *out)
{
    static const double box[6] = {-2, -2, -0.2, 2, 2, 0.2};
    const ball *b = self;
    if (!b->kept) {
        b->host->error(b->host, DS_E_STATE, "the last evaluation kept no scene");
        return DS_E_STATE;
    }
    out->flat = 0;
    out->frames = (uint64_t)b->horizon + 1;
    out->bodies = 2;
    out->metrics = 1;
    out->dt = 0.1;
    memcpy(out->box, box, sizeof box);
    out->ground = -INFINITY;
    return DS_OK;
}

static ds_status scene_body(void *self, uint64_t i, ds_scene_body *out)
{
    (void)self;
    if (i > 1) {
        return DS_E_ARG;
    }
    out->shape = DS_BODY_SPHERE;
    out->role = i == 0 ? DS_ROLE_MATERIAL : DS_ROLE_TARGET;
    out->variety = 0;
    out->count = 1;
    out->size[0] = 0.1;
    out->name = i == 0 ? "ball" : "goal";
    out->index = NULL;
    out->index_count = 0;
    return DS_OK;
}

static ds_status scene_frame(void *self, uint64_t k, uint64_t i, uint64_t capacity, double *out)
{
    const ball *b = self;
    if (capacity < 7 || i > 1 || k > (uint64_t)b->horizon) {
        return DS_E_ARG;
    }
    const double *at = i == 0 ? b->track[k] : b->goal;
    const double pose[7] = {at[0], at[1], 0, 1, 0, 0, 0};
    memcpy(out, pose, sizeof pose);
    return DS_OK;
}

static ds_status scene_metric(void *self, uint64_t m, ds_scene_metric *out)
{
    if (m != 0) {
        return DS_E_ARG;
    }
    out->name = "distance";
    out->unit = "m";
    out->values = ((const ball *)self)->distance;
    return DS_OK;
}

static const ds_scene scene = {.struct_size = sizeof scene,
                               .info = scene_info,
                               .body = scene_body,
                               .frame = scene_frame,
                               .metric = scene_metric};

/* ---- variables ---- */

static ds_status describe_variable(void *self, uint64_t i, ds_variable *out)
{
    ball *b = self;
    if (i >= AXES * (uint64_t)b->horizon) {
        return DS_E_ARG;
    }
    snprintf(b->name, sizeof b->name, "push.%c.%d", i % AXES == 0 ? 'x' : 'y', (int)(i / AXES));
    out->flags = 0;
    out->name = b->name;
    out->unit = "";
    out->group = "push";
    return DS_OK;
}

static const ds_env_variables variables = {.struct_size = sizeof variables, .describe = describe_variable};

/* ---- the plugin ---- */

static const void *get_extension(void *self, const char *id)
{
    (void)self;
    return strcmp(id, DS_EXT_CHANNELS) == 0    ? (const void *)&channels
           : strcmp(id, DS_EXT_STEPS) == 0     ? (const void *)&steps
           : strcmp(id, DS_EXT_SCENE) == 0     ? (const void *)&scene
           : strcmp(id, DS_EXT_VARIABLES) == 0 ? (const void *)&variables
                                               : NULL;
}

static const char *const extensions[] = {DS_EXT_CHANNELS, DS_EXT_STEPS, DS_EXT_SCENE, DS_EXT_VARIABLES, NULL};
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
                             .id = "env_grow",
                             .version = "1",
                             .license = "Apache-2.0",
                             .summary = "Environment with longer structs.",
                             .description = "A ball is pushed towards a goal.",
                             .citation = "",
                             .params = params,
                             .extensions = extensions};
DS_DEFINE_ENV(desc, vtable)
