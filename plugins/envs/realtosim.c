/* SPDX-License-Identifier: Apache-2.0 */
/* realtosim - the properties of a cloth are to be found from a recording of its corners while a gripper lifts
 * it: the decision variables are size, mass, friction and the stiffness of 64 patches. */
#include <diffsim/ext/residuals.h>
#include <diffsim/plugin.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engines/cloth/lift.h"
#include "engines/scene/scene_kit.h"
#include "engines/scene/settings.h"

enum { CLOTH, GRIPPER, TARGET };
enum { M_X, M_Y, M_Z, M_STRETCH, M_GRIPPER_Y };

static const char *const norms[] = {"l2", "sq", NULL};

static const ds_param *const params[] = {
    &(const ds_param){
        sizeof(ds_param), DS_PARAM_PATH, 0, 0, 0, 0, "data", "", "",
        "Recorded lift, a text file of format ds-cloth-1; empty = a synthetic one that comes with the "
        "plugin.",
        NULL},
    DS_ENUM(
        "r2s_norm", "l2", norms,
        "Loss over all corners seen at all samples: l2 = mean distance, sq = mean squared distance (a sum of "
        "squares: for lm and pbh)."),
    DS_BOOL("toi", "true",
            "Continuous time of impact: a vertex moves on until it meets the table. Without it the vertex "
            "loses its "
            "velocity at the begin of the step."),
    DS_REAL("h", "2e-4", 1e-6, 0.1, "s", "Time step."), NULL};

static const double ground = -0.003; /* m, of the table as it is drawn */

typedef struct realtosim {
    scene_kit scene; /* first: see scene_kit.h */
    lift l;
    double view[6];
    double *side; /* two more sets of residuals */
} realtosim;

/* ---- set-up ---- */

static ds_status read_data(const ds_host *host, double h, trajectory *t)
{
    const char *path = NULL;
    char buffer[4096], error[512];
    ds_status s = host->get_text(host, "data", &path);
    if (s == DS_OK && !*path) {
        s = host->resource(host, "data/cloth.lift", buffer, sizeof buffer);
        path = buffer;
        if (s != DS_OK) {
            host->error(host, s,
                        "data/cloth.lift is not beside the plugin: install it, or set parameter data");
        }
    }
    if (s != DS_OK) {
        return s;
    }
    int failed = trajectory_read(t, path, error);
    if (failed) {
        char line[1024];
        s = failed == 3 ? DS_E_IO : failed == 2 ? DS_E_NOMEM : DS_E_DATA;
        snprintf(line, sizeof line, "parameter data: %.300s: %.200s", path, error);
        host->error(host, s, line);
        return s;
    }
    double last = t->row[TRAJECTORY_COLUMNS * (t->rows - 1)];
    if (last / h > LIFT_MAX_STEPS) {
        trajectory_free(t);
        return setting_bad(
            host, "the recording lasts %g s, with h = %g more than %d steps: raise parameter h or shorten it",
            last, h, LIFT_MAX_STEPS);
    }
    return DS_OK;
}

static const double *frame_of(const realtosim *e, uint64_t k)
{
    return e->l.frame + k * 3 * e->l.c.mesh.stride;
}

static double time_of(const realtosim *e, uint64_t k)
{
    uint64_t step = k * e->l.every < e->l.steps ? k * e->l.every : e->l.steps;
    return (double)step * e->l.c.h;
}

static void place(const void *self, uint64_t k, uint64_t b, double *out)
{
    const realtosim *e = self;
    const cloth_mesh *m = &e->l.c.mesh;
    const trajectory *t = &e->l.data;
    const double *x = frame_of(e, k);
    if (b == CLOTH) {
        for (size_t v = 0; v < m->vertices; v++) {
            for (size_t i = 0; i < 3; i++) {
                out[3 * v + i] = x[i * m->stride + v];
            }
        }
    } else if (b == GRIPPER) {
        double at[3];
        lift_gripper(t, time_of(e, k), at);
        scene_kit_pose(at[0], at[1], at[2], 0, out);
    } else { /* where each corner was seen last */
        for (uint64_t c = 0; c < 4; c++) {
            const double *seen = t->row + TRAJECTORY_COLUMNS * (t->rows - 1) + 4 + 3 * c;
            while (isnan(*seen)) {
                seen -= TRAJECTORY_COLUMNS;
            }
            scene_kit_pose(seen[0], seen[1], seen[2], 0, out + 7 * c);
        }
    }
}

static int set_scene(realtosim *e)
{
    scene_kit *s = &e->scene;
    const trajectory *t = &e->l.data;
    scene_kit_open(s, e->l.frames, e->l.c.h * (double)e->l.every, place);
    scene_kit_body(s, "cloth", DS_BODY_MESH, DS_ROLE_MATERIAL, e->l.c.mesh.vertices, (double[4]){0, 0, 0, 0});
    s->body[CLOTH].index = e->l.s.triangle;
    s->body[CLOTH].index_count = 6 * LIFT_CELLS * LIFT_CELLS;
    scene_kit_body(s, "gripper", DS_BODY_SPHERE, DS_ROLE_TOOL, 1, (double[4]){0.012, 0, 0, 0});
    scene_kit_body(s, "target", DS_BODY_SPHERE, DS_ROLE_TARGET, 4, (double[4]){0.008, 0, 0, 0});
    for (uint64_t r = 0; r < t->rows; r++) {
        const double *row = t->row + TRAJECTORY_COLUMNS * r;
        for (int p = 1; p < TRAJECTORY_COLUMNS; p += 3) {
            if (!isnan(row[p])) {
                scene_kit_include(s, row[p], row[p + 1], row[p + 2], 0.02);
            }
        }
    }
    /* Drawn a little lower: a cloth without thickness would lie in the very plane of the table. */
    s->info.box[1] = ground;
    s->info.ground = ground;
    memcpy(e->view, s->info.box, sizeof e->view);
    scene_kit_metric(s, "x", "m");
    scene_kit_metric(s, "y", "m");
    scene_kit_metric(s, "z", "m");
    scene_kit_metric(s, "stretch", "");
    scene_kit_metric(s, "gripper_y", "m");
    return scene_kit_ready(s);
}

static void destroy(void *self)
{
    realtosim *e = self;
    if (e) {
        scene_kit_close(&e->scene);
        lift_close(&e->l);
        free(e->side);
        free(e);
    }
}

static ds_status create(const ds_host *host, void **out)
{
    realtosim *e = calloc(1, sizeof *e);
    trajectory data = {{0, 0}, 0, 0, NULL};
    double h = 0;
    int64_t norm = 0, toi = 0;
    ds_status status = e ? DS_OK : DS_E_NOMEM;
    setting_real(&status, host, "h", &h);
    setting_int(&status, host, "r2s_norm", &norm);
    setting_int(&status, host, "toi", &toi);
    status = status == DS_OK ? read_data(host, h, &data) : status;
    if (status == DS_OK && !lift_open(&e->l, &data, h, host)) {
        status = DS_E_NOMEM;
    }
    if (status == DS_OK) {
        e->l.squared = norm == 1;
        e->l.c.floor.toi = (int)toi;
        e->side = malloc(2 * lift_residual_count(&e->l) * sizeof *e->side);
        status = e->side && set_scene(e) ? DS_OK : DS_E_NOMEM;
    }
    if (status == DS_E_NOMEM) {
        host->error(host, status, "out of memory: raise parameter h or shorten the recording");
    }
    if (status != DS_OK) {
        destroy(e);
        return status;
    }
    *out = e;
    return DS_OK;
}

static ds_status info(void *self, ds_env_info *out)
{
    const realtosim *e = self;
    out->n = LIFT_VARIABLES;
    out->steps = e->l.frames;
    out->dt = e->l.c.h * (double)e->l.every;
    out->loss_floor = 0;
    return DS_OK;
}

static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    (void)self;
    for (uint64_t i = 0; i < n; i++) {
        lower[i] = -1;
        upper[i] = 1;
        if (x0) {
            x0[i] = 0;
        }
    }
    return DS_OK;
}

/* ---- episode ---- */

static void keep_scene(realtosim *e)
{
    scene_kit *s = &e->scene;
    const cloth_mesh *m = &e->l.c.mesh;
    memcpy(s->info.box, e->view, sizeof e->view);
    for (uint64_t k = 0; k <= e->l.frames; k++) {
        const double *x = frame_of(e, k);
        double at[3], grip[3];
        for (size_t i = 0; i < 3; i++) {
            at[i] = 0;
            for (size_t v = 0; v < m->vertices; v++) {
                at[i] += x[i * m->stride + v] / (double)m->vertices;
            }
            scene_kit_values(s, M_X + (uint64_t)i)[k] = at[i];
        }
        scene_kit_include(s, at[0], at[1], at[2], 0.02);
        lift_gripper(&e->l.data, time_of(e, k), grip);
        scene_kit_values(s, M_STRETCH)[k] = sheet_stretch(&e->l.s, m, x);
        scene_kit_values(s, M_GRIPPER_Y)[k] = grip[1];
    }
    s->info.box[1] = ground;
    s->kept = 1;
}

static ds_status diverged(const realtosim *e, ds_eval *io, int64_t step)
{
    io->outcome = DS_EVAL_DIVERGED;
    io->loss = INFINITY;
    io->bad_step = step / (int64_t)e->l.every;
    if (io->want & DS_WANT_GRAD) {
        memset(io->grad, 0, LIFT_VARIABLES * sizeof *io->grad);
    }
    return DS_OK;
}

static ds_status evaluate(void *self, ds_eval *io)
{
    realtosim *e = self;
    int64_t bad = -1;
    e->scene.kept = 0;
    io->outcome = DS_EVAL_OK;
    io->grad_kind = DS_GRAD_NONE;
    io->bad_step = -1;
    io->cost_steps = e->l.steps;
    ds_status status = lift_simulate(&e->l, io->x, &bad);
    if (status != DS_OK) {
        return status;
    }
    io->loss = bad >= 0 ? (double)INFINITY : lift_loss(&e->l);
    if (!isfinite(io->loss)) {
        return diverged(e, io, bad >= 0 ? bad : (int64_t)e->l.steps - 1);
    }
    if (io->want & DS_WANT_GRAD) {
        double sum = 0;
        status = lift_gradient(&e->l, io->grad);
        if (status != DS_OK) {
            return status;
        }
        io->grad_kind = DS_GRAD_ADJOINT;
        io->cost_steps += 2 * e->l.steps; /* again from the checkpoints, and backward */
        for (uint64_t i = 0; i < LIFT_VARIABLES; i++) {
            sum += fabs(io->grad[i]);
        }
        if (!isfinite(sum)) {
            memset(io->grad, 0, LIFT_VARIABLES * sizeof *io->grad);
            io->outcome = DS_EVAL_BAD_GRAD;
        }
    }
    if (io->want & DS_WANT_SCENE) {
        keep_scene(e);
    }
    return DS_OK;
}

/* ---- residuals: r2s_norm = sq ---- */

static ds_status residual_count(void *self, uint64_t *m)
{
    const realtosim *e = self;
    *m = lift_residual_count(&e->l);
    return DS_OK;
}

/* Residuals at x + t v; *bad where there are none. */
static ds_status residuals_at(realtosim *e, const double *x, const double *v, double t, double *out, int *bad)
{
    double u[LIFT_VARIABLES];
    int64_t step = -1;
    for (uint64_t i = 0; i < LIFT_VARIABLES; i++) {
        u[i] = x[i] + t * v[i];
    }
    ds_status status = lift_simulate(&e->l, u, &step);
    *bad = *bad || step >= 0;
    if (status == DS_OK) {
        lift_residuals(&e->l, out);
    }
    return status;
}

/* J v by differences of second order, central where both sides lie in the box: the engine has no forward
 * mode. The step is short because contacts begin and end everywhere. */
static ds_status product(realtosim *e, ds_residual_eval *io)
{
    double largest = 0, past = 1;
    double *plus = e->side, *minus = e->side + io->m;
    int bad = 0;
    for (uint64_t i = 0; i < io->n; i++) {
        largest = fmax(largest, fabs(io->v[i]));
    }
    double t = largest > 0 ? 1e-8 / largest : 0;
    for (uint64_t i = 0; i < io->n; i++) {
        past = fmin(past, 1 - fabs(io->x[i] - t * io->v[i]));
    }
    int central = past >= 0;
    lift_residuals(&e->l, io->out); /* at x */
    ds_status status = residuals_at(e, io->x, io->v, t, plus, &bad);
    status = status == DS_OK ? residuals_at(e, io->x, io->v, central ? -t : 2 * t, minus, &bad) : status;
    for (uint64_t k = 0; status == DS_OK && k < io->m; k++) {
        double d = central ? plus[k] - minus[k] : 4 * plus[k] - 3 * io->out[k] - minus[k];
        io->out[k] = t > 0 ? d / (2 * t) : 0;
    }
    io->outcome = bad ? DS_EVAL_BAD_GRAD : DS_EVAL_OK;
    io->grad_kind = DS_GRAD_FD;
    io->cost_steps += 2 * e->l.steps;
    return status;
}

static ds_status evaluate_residuals(void *self, ds_residual_eval *io)
{
    realtosim *e = self;
    ds_eval plain = {.struct_size = sizeof plain, .n = io->n, .x = io->x};
    ds_status status = evaluate(e, &plain);
    io->loss = plain.loss;
    io->outcome = plain.outcome;
    io->bad_step = plain.bad_step;
    io->cost_steps = plain.cost_steps;
    io->grad_kind = DS_GRAD_NONE;
    if (status != DS_OK || plain.outcome != DS_EVAL_OK) {
        return status;
    }
    if (io->kind == DS_RESIDUALS_VALUE) {
        lift_residuals(&e->l, io->out);
        return DS_OK;
    }
    if (io->kind == DS_RESIDUALS_JV) {
        return product(e, io);
    }
    io->grad_kind = DS_GRAD_ADJOINT;
    io->cost_steps += 2 * e->l.steps;
    return lift_residual_gradient(&e->l, io->v, io->out);
}

static const ds_residuals residuals = {sizeof(ds_residuals), 0, residual_count, evaluate_residuals};

static const void *get_extension(void *self, const char *id)
{
    const realtosim *e = self;
    if (strcmp(id, DS_EXT_RESIDUALS) == 0) {
        return e->l.squared ? &residuals : NULL;
    }
    return strcmp(id, DS_EXT_SCENE) == 0 ? &scene_kit_table : NULL;
}

static const ds_env_vtable vtable = {sizeof(ds_env_vtable), 0, create, destroy, info, bounds, evaluate,
                                     get_extension};

static const char *const extensions[] = {DS_EXT_SCENE, DS_EXT_RESIDUALS, NULL};

static const ds_desc desc = {
    sizeof(ds_desc),
    DS_KIND_ENV,
    DS_ENV_GRADIENT,
    "realtosim",
    "1",
    "Apache-2.0",
    "Find size, mass, friction and stiffness of a cloth from a recording of a lift.",
    "Variables, each in [-1, 1]: width and length (0.5 to 1.5 times nominal), mass (0.01 to 0.1 kg, "
    "logarithmic), friction (0 to 1), then the stiffness of 8 x 8 patches (10 to 200 N/m, logarithmic). "
    "The cloth lies on a table; vertices near the gripper follow its path. Loss: mean distance of "
    "simulated corners to those recorded.\n"
    "With r2s_norm = sq the loss is a sum of squares and its residuals are offered; their products J v are "
    "made by differences, J^T v by the adjoint.\n"
    "The gripper holds every vertex within 2 cm, at least one: the loss jumps where size changes which "
    "they are.\n"
    "No stepwise control: the variables are constants of an episode, not actions in it.\n"
    "Metrics: x, y, z of the centre of mass, largest stretch of a spring, height of the gripper.",
    "R. Antonova, J. Yang, K. Jatavallabhula, J. Bohg: Rethinking optimization with differentiable "
    "simulation from a global perspective. CoRL 2022, arXiv:2207.00167.",
    params,
    extensions,
};

DS_DEFINE_ENV(desc, vtable)
