/* SPDX-License-Identifier: Apache-2.0 */
/* swing - a cloth held at two corners is swung and let go, and is to lie on the floor like a target: the
 * decision variables are the stiffness of its patches or its initial velocity, and if wanted its size. */
#include <diffsim/plugin.h>

#include <stdlib.h>
#include <string.h>

#include "engines/cloth/sheet.h"
#include "engines/scene/scene_kit.h"
#include "engines/scene/settings.h"

enum { STIFFNESS = 0, VELOCITY = 1 };
enum { SINGLE = 0, CORNER = 1, MESH = 2 };
enum { CLOTH, TARGET };
enum { M_X, M_Y, M_Z, M_LOWEST, M_STRETCH, M_DISTANCE };
enum { SEGMENT = 100 }; /* steps between checkpoints */

static const char *const variables[] = {"stiffness", "velocity", NULL};
static const char *const losses[] = {"single", "corner", "mesh", NULL};

static const ds_param *const params[] = {
    &(const ds_param){
        sizeof(ds_param), DS_PARAM_ENUM, DS_PARAM_SHAPE, 0, 0, 0, "variables", "stiffness", "",
        "stiffness: one variable in [-1, 1] per patch, the logarithm of its stiffness. velocity: the "
        "initial velocity (x, y, z), each in [-1, 1] m/s.",
        variables},
    &(const ds_param){sizeof(ds_param), DS_PARAM_BOOL, DS_PARAM_SHAPE, 0, 0, 1, "size", "false", "",
                      "Two more variables: width and length of the cloth, in [0.1, 0.3] m.", NULL},
    &(const ds_param){sizeof(ds_param), DS_PARAM_LIST, DS_PARAM_SHAPE, 2, 1, 64, "patches", "4", "",
                      "Patches along the width and along the length: one number for both, or two.", NULL},
    DS_ENUM("loss", "mesh", losses,
            "single: distance of the centre of mass to that of the target. corner, mesh: mean distance of "
            "the corners, of "
            "all vertices, to those of the target."),
    DS_BOOL("toi", "true",
            "Continuous time of impact: a vertex moves on until it meets the floor. Without it the vertex "
            "loses its "
            "velocity at the begin of the step."),
    DS_REAL("mu", "0", 0, 100, "", "Coulomb friction of the floor."),
    DS_REAL("floor", "0", -1e6, 0.05, "m", "Height of the floor; far below, there is no contact."),
    DS_LIST("stiffness_range", "20,200", 1e-6, 1e4, 2, "N/m", "Stiffness at -1 and at 1."),
    DS_REAL("stiffness", "80", 0, 1e4, "N/m", "Stiffness where it is no variable, and of the target."),
    DS_LIST("velocity", "0,-0.4,0.6", -100, 100, 3, "m/s",
            "Initial velocity where it is no variable, and of the target."),
    DS_LIST("target_stiffness", "", 0, 1e4, 4096, "N/m",
            "Stiffness of the target, one value or one per patch; empty = parameter stiffness."),
    DS_LIST("target_velocity", "", -100, 100, 3, "m/s",
            "Velocity of the target; empty = parameter velocity."),
    DS_REAL("width", "0.2", 1e-3, 10, "m", "Width of the cloth where it is no variable, and of the target."),
    DS_REAL("length", "0.2", 1e-3, 10, "m",
            "Length of the cloth where it is no variable, and of the target."),
    DS_REAL("height", "0.3", 0.05, 100, "m", "Height of the anchored edge at the start."),
    DS_INT("cells", "16", 2, 64, "", "Cells of the cloth along each direction."),
    DS_REAL("h", "2e-4", 1e-7, 0.1, "s", "Time step."),
    DS_REAL("duration", "1", 1e-7, 100, "s", "Length of an episode."),
    DS_REAL("hold", "0.4", 0, 100, "s", "How long the two anchored corners keep the initial velocity."),
    DS_REAL("mass", "0.02", 1e-9, 1e6, "kg", "Mass of the cloth."),
    DS_REAL("damping", "0.002", 0, 1e3, "N s/m", "Damping along each spring."),
    DS_REAL("drag", "1", 0, 1e3, "1/s", "Rate at which velocities decay."),
    DS_REAL("gravity", "9.81", -1e3, 1e3, "m/s^2", "Gravity, downward."),
    NULL};

typedef struct swing {
    scene_kit scene; /* first: see scene_kit.h */
    const ds_host *host;
    cloth c;
    sheet s;
    int64_t variables, loss, size;
    uint64_t n, patches, steps, hold, every, frames; /* `every` steps make an output step */
    double range[2], fixed_k, fixed_v[3], fixed_size[2], height;
    double *k, *k_bar;             /* per patch: N/m */
    double v[3], v_bar[3], dim[2]; /* of the present episode: velocity, width and length */
    uint32_t corner[4];
    double *target, *goal; /* final positions of the target; its centre of mass, in the form of one vertex */
    double *frame;         /* positions at every output step */
    double view[6];
} swing;

/* ---- what happens in an episode ---- */

static int anchor(void *self, uint64_t step, double velocity[3])
{
    const swing *e = self;
    memcpy(velocity, e->v, sizeof e->v);
    return step < e->hold;
}

static void anchor_bar(void *self, uint64_t step, const double bar[3])
{
    swing *e = self;
    (void)step;
    for (int i = 0; i < 3; i++) {
        e->v_bar[i] += bar[i];
    }
}

static double *frame_of(const swing *e, uint64_t k)
{
    return e->frame + k * 3 * e->c.mesh.stride;
}

static void state(void *self, uint64_t k, const double *x, const double *v)
{
    swing *e = self;
    (void)v;
    if (k % e->every == 0 || k == e->steps) {
        memcpy(frame_of(e, (k + e->every - 1) / e->every), x, 3 * e->c.mesh.stride * sizeof *x);
    }
}

/* ---- loss ---- */

static void centre(const swing *e, const double *x, double out[3])
{
    const cloth_mesh *m = &e->c.mesh;
    for (size_t i = 0; i < 3; i++) {
        out[i] = 0;
        for (size_t v = 0; v < m->vertices; v++) {
            out[i] += x[i * m->stride + v];
        }
        out[i] /= (double)m->vertices;
    }
}

static double loss_of(const swing *e, const double *x)
{
    const cloth_mesh *m = &e->c.mesh;
    double at[3], sum = 0;
    if (e->loss != SINGLE) {
        return sheet_distance(m, e->loss == CORNER ? e->corner : NULL, e->loss == CORNER ? 4 : m->vertices, x,
                              e->target);
    }
    centre(e, x, at);
    for (int i = 0; i < 3; i++) {
        sum += (at[i] - e->goal[i]) * (at[i] - e->goal[i]);
    }
    return sqrt(sum);
}

static void state_bar(void *self, uint64_t k, double *x_bar)
{
    swing *e = self;
    const cloth_mesh *m = &e->c.mesh;
    const double *x = frame_of(e, e->frames);
    if (k != e->steps) {
        return;
    }
    if (e->loss != SINGLE) {
        sheet_distance_bar(m, e->loss == CORNER ? e->corner : NULL, e->loss == CORNER ? 4 : m->vertices, x,
                           e->target, 1, x_bar);
        return;
    }
    double at[3], sum = 1e-12;
    centre(e, x, at);
    for (int i = 0; i < 3; i++) {
        sum += (at[i] - e->goal[i]) * (at[i] - e->goal[i]);
    }
    for (size_t i = 0; i < 3; i++) {
        for (size_t v = 0; v < m->vertices; v++) {
            x_bar[i * m->stride + v] += (at[i] - e->goal[i]) / sqrt(sum) / (double)m->vertices;
        }
    }
}

static const cloth_driver driver = {anchor, anchor_bar, NULL, NULL, state, state_bar};

/* ---- simulation ---- */

static double stiffness_of(const swing *e, double u)
{
    return e->range[0] * pow(e->range[1] / e->range[0], 0.5 * (u + 1));
}

static double variable_of(const swing *e, double k)
{
    return 2 * log(k / e->range[0]) / log(e->range[1] / e->range[0]) - 1;
}

/* An episode with the stiffness, velocity and size in e->k, e->v, e->dim. */
static ds_status simulate(swing *e, int64_t *bad)
{
    const size_t n = e->c.mesh.stride, side = e->s.cells + 1;
    const double cells = (double)e->s.cells;
    double *x = cloth_start(&e->c), *v = x + 3 * n;
    sheet_set_size(&e->s, &e->c.mesh, e->dim[0], e->dim[1]);
    sheet_set_stiffness(&e->s, &e->c.mesh, e->k);
    for (size_t a = 0; a < e->c.mesh.vertices; a++) {
        x[a] = ((double)(a / side) / cells - 0.5) * e->dim[0];
        x[n + a] = e->height - (double)(a % side) / cells * e->dim[1];
        x[2 * n + a] = 0;
        for (size_t i = 0; i < 3; i++) {
            v[i * n + a] = e->v[i];
        }
    }
    return cloth_simulate(&e->c, bad);
}

/* Derivatives by x from the results of the reverse pass. */
static void gradient(swing *e, double *grad)
{
    const cloth *c = &e->c;
    const size_t n = c->mesh.stride, side = e->s.cells + 1;
    const double cells = (double)e->s.cells;
    uint64_t used = e->variables == STIFFNESS ? e->patches : 3;
    if (e->variables == STIFFNESS) {
        sheet_stiffness_bar(&e->s, c, e->k_bar);
        for (uint64_t i = 0; i < e->patches; i++) {
            grad[i] = e->k_bar[i] * e->k[i] * 0.5 * log(e->range[1] / e->range[0]);
        }
    } else {
        for (size_t i = 0; i < 3; i++) {
            grad[i] = e->v_bar[i];
            for (size_t a = 0; a < c->mesh.vertices; a++) {
                grad[i] += c->v_bar[i * n + a];
            }
        }
    }
    if (e->size) {
        sheet_size_bar(&e->s, c, e->dim[0], e->dim[1], grad + used);
        for (size_t a = 0; a < c->mesh.vertices; a++) {
            grad[used] += c->x_bar[a] * ((double)(a / side) / cells - 0.5);
            grad[used + 1] -= c->x_bar[n + a] * (double)(a % side) / cells;
        }
    }
}

/* Stiffness, velocity and size of an episode from the variables. */
static void set_variables(swing *e, const double *x)
{
    uint64_t used = e->variables == STIFFNESS ? e->patches : 3;
    for (uint64_t i = 0; i < e->patches; i++) {
        e->k[i] = e->variables == STIFFNESS ? stiffness_of(e, x[i]) : e->fixed_k;
    }
    memcpy(e->v, e->variables == VELOCITY ? x : e->fixed_v, sizeof e->v);
    memcpy(e->dim, e->size ? x + used : e->fixed_size, sizeof e->dim);
    memset(e->v_bar, 0, sizeof e->v_bar);
}

/* ---- set-up ---- */

static ds_status read_patches(swing *e, const ds_host *host, int64_t cells, size_t patches[2])
{
    double count[2] = {4, 4};
    ds_status s = setting_list(host, "patches", 2, count);
    for (int i = 0; s == DS_OK && i < 2; i++) {
        if (!(count[i] == floor(count[i]) && count[i] <= (double)cells)) {
            s = setting_bad(host,
                            "parameter patches has %g: give whole numbers from 1 to the number of cells, %d",
                            count[i], (int)cells);
        }
        patches[i] = (size_t)count[i];
    }
    e->patches = (uint64_t)(patches[0] * patches[1]);
    return s;
}

static ds_status read_physics(swing *e, const ds_host *host, int64_t cells)
{
    double duration = 0, hold = 0, mass = 0;
    int64_t toi = 0;
    ds_status s = DS_OK;
    setting_int(&s, host, "toi", &toi);
    setting_real(&s, host, "mu", &e->c.floor.mu);
    setting_real(&s, host, "floor", &e->c.floor.height);
    setting_real(&s, host, "h", &e->c.h);
    setting_real(&s, host, "duration", &duration);
    setting_real(&s, host, "hold", &hold);
    setting_real(&s, host, "mass", &mass);
    setting_real(&s, host, "drag", &e->c.drag);
    setting_real(&s, host, "gravity", &e->c.gravity);
    if (s != DS_OK) {
        return s;
    }
    if (duration / e->c.h < 0.5 || duration / e->c.h > 1e5) {
        return setting_bad(host, "parameters duration = %g and h = %g make %g steps: allowed are 1 to 1e5",
                           duration, e->c.h, duration / e->c.h);
    }
    e->c.surface = CLOTH_FLOOR;
    e->c.floor.toi = (int)toi;
    e->c.mass = mass / (double)((cells + 1) * (cells + 1));
    e->steps = (uint64_t)(duration / e->c.h + 0.5);
    e->hold = (uint64_t)(fmin(hold, 2 * duration) / e->c.h + 0.5);
    e->every = e->c.h < 0.01 ? (uint64_t)(0.01 / e->c.h + 0.5) : 1;
    e->frames = (e->steps + e->every - 1) / e->every;
    return DS_OK;
}

static ds_status read_params(swing *e, const ds_host *host)
{
    ds_status s = DS_OK;
    setting_int(&s, host, "variables", &e->variables);
    setting_int(&s, host, "size", &e->size);
    setting_int(&s, host, "loss", &e->loss);
    setting_values(&s, host, "stiffness_range", 2, e->range);
    setting_real(&s, host, "stiffness", &e->fixed_k);
    setting_values(&s, host, "velocity", 3, e->fixed_v);
    setting_real(&s, host, "width", &e->fixed_size[0]);
    setting_real(&s, host, "length", &e->fixed_size[1]);
    setting_real(&s, host, "height", &e->height);
    if (s == DS_OK && !(e->range[0] < e->range[1])) {
        s = setting_bad(host, "parameter stiffness_range = %g, %g: the first must be less than the second",
                        e->range[0], e->range[1]);
    }
    e->n = (e->variables == STIFFNESS ? e->patches : 3) + (e->size ? 2 : 0);
    return s;
}

/* The target is an episode of the same simulator. Stiffness goes through its variable, as it will when it is
 * searched for: at the optimum both episodes are the same bit for bit. */
static ds_status make_target(swing *e, const ds_host *host)
{
    int64_t bad = -1;
    for (uint64_t i = 0; i < e->patches; i++) {
        e->k[i] = e->fixed_k;
    }
    memcpy(e->v, e->fixed_v, sizeof e->v);
    memcpy(e->dim, e->fixed_size, sizeof e->dim);
    ds_status s = setting_list(host, "target_stiffness", e->patches, e->k);
    setting_values(&s, host, "target_velocity", 3, e->v);
    for (uint64_t i = 0; e->variables == STIFFNESS && i < e->patches; i++) {
        e->k[i] = stiffness_of(e, variable_of(e, e->k[i]));
    }
    s = s == DS_OK ? simulate(e, &bad) : s;
    if (s == DS_OK && bad >= 0) {
        return setting_bad(
            host, "the target diverges at step %d: reduce parameter h, stiffness or damping, or raise mass",
            (int)bad);
    }
    if (s == DS_OK) {
        memcpy(e->target, frame_of(e, e->frames), 3 * e->c.mesh.stride * sizeof *e->target);
        centre(e, e->target, e->goal);
    }
    return s;
}

static void place(const void *self, uint64_t k, uint64_t b, double *out)
{
    const swing *e = self;
    const double *x = b == TARGET ? e->target : frame_of(e, k);
    for (size_t v = 0; v < e->c.mesh.vertices; v++) {
        for (size_t i = 0; i < 3; i++) {
            out[3 * v + i] = x[i * e->c.mesh.stride + v];
        }
    }
}

static int set_scene(swing *e)
{
    static const char *const names[2] = {"cloth", "target"};
    scene_kit *s = &e->scene;
    scene_kit_open(s, e->frames, e->c.h * (double)e->every, place);
    for (int b = 0; b < 2; b++) {
        scene_kit_body(s, names[b], DS_BODY_MESH, b ? DS_ROLE_TARGET : DS_ROLE_MATERIAL, e->c.mesh.vertices,
                       (double[4]){0, 0, 0, 0});
        s->body[b].index = e->s.triangle;
        s->body[b].index_count = 6 * e->s.cells * e->s.cells;
    }
    for (size_t v = 0; v < e->c.mesh.vertices; v++) {
        const double *x = e->target + v;
        scene_kit_include(s, x[0], x[e->c.mesh.stride], x[2 * e->c.mesh.stride], 0.02);
    }
    scene_kit_include(s, 0, e->height, 0, 0.5 * e->fixed_size[0] + 0.02);
    /* Drawn a little lower: a cloth without thickness would lie in the very plane of the floor. */
    const double ground = e->c.floor.height - 0.003;
    s->info.box[1] = fmax(s->info.box[1], ground);
    s->info.ground = ground > s->info.box[1] - 1 ? ground : -HUGE_VAL;
    memcpy(e->view, s->info.box, sizeof e->view);
    scene_kit_metric(s, "x", "m");
    scene_kit_metric(s, "y", "m");
    scene_kit_metric(s, "z", "m");
    scene_kit_metric(s, "lowest", "m");
    scene_kit_metric(s, "stretch", "");
    scene_kit_metric(s, "distance", "m");
    return scene_kit_ready(s);
}

static void destroy(void *self)
{
    swing *e = self;
    if (e) {
        scene_kit_close(&e->scene);
        cloth_close(&e->c);
        sheet_close(&e->s);
        free(e->k);
        free(e->target);
        free(e->frame);
        free(e);
    }
}

/* Memory of an instance whose numbers of patches and steps are known. */
static int allocate(swing *e, const ds_host *host, size_t cells, const size_t patches[2], double damping)
{
    cloth_mesh mesh;
    cloth kept = e->c;
    int made = sheet_open(&e->s, &mesh, cells, patches[0], patches[1], damping);
    made = cloth_open(&e->c, &mesh, e->steps, SEGMENT, host, &driver, e) && made;
    e->c.h = kept.h;
    e->c.drag = kept.drag;
    e->c.gravity = kept.gravity;
    e->c.mass = kept.mass;
    e->c.floor = kept.floor;
    e->k = calloc(2 * e->patches, sizeof *e->k);
    e->k_bar = e->k ? e->k + e->patches : NULL;
    e->target = calloc(3 * mesh.stride + 3, sizeof *e->target);
    e->goal = e->target ? e->target + 3 * mesh.stride : NULL;
    e->frame = calloc((e->frames + 1) * 3 * mesh.stride, sizeof *e->frame);
    if (!made || !e->k || !e->target || !e->frame) {
        return 0;
    }
    const uint32_t side = (uint32_t)cells + 1, corner[4] = {0, side * (side - 1), side - 1, side * side - 1};
    memcpy(e->corner, corner, sizeof corner);
    e->c.anchors = 2;
    e->c.anchored[0] = corner[0];
    e->c.anchored[1] = corner[1];
    return 1;
}

static ds_status create(const ds_host *host, void **out)
{
    swing *e = calloc(1, sizeof *e);
    int64_t cells = 0;
    size_t patches[2] = {0, 0};
    double damping = 0;
    ds_status status = e ? DS_OK : DS_E_NOMEM;
    setting_int(&status, host, "cells", &cells);
    setting_real(&status, host, "damping", &damping);
    status = status == DS_OK ? read_patches(e, host, cells, patches) : status;
    status = status == DS_OK ? read_physics(e, host, cells) : status;
    status = status == DS_OK ? read_params(e, host) : status;
    if (status == DS_OK) {
        status = allocate(e, host, (size_t)cells, patches, damping) ? make_target(e, host) : DS_E_NOMEM;
    }
    if (status == DS_OK && !set_scene(e)) {
        status = DS_E_NOMEM;
    }
    if (status == DS_E_NOMEM) {
        host->error(host, status, "out of memory: reduce parameter cells or duration");
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
    const swing *e = self;
    out->n = e->n;
    out->steps = e->frames;
    out->dt = e->c.h * (double)e->every;
    out->loss_floor = 0;
    return DS_OK;
}

static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    const swing *e = self;
    for (uint64_t i = 0; i < n; i++) {
        int size = e->size && i + 2 >= n;
        lower[i] = size ? 0.1 : -1;
        upper[i] = size ? 0.3 : 1;
        if (x0) {
            x0[i] = size ? 0.2 : 0;
        }
    }
    return DS_OK;
}

/* ---- episode ---- */

static void keep_scene(swing *e)
{
    scene_kit *s = &e->scene;
    const cloth_mesh *m = &e->c.mesh;
    memcpy(s->info.box, e->view, sizeof e->view);
    for (uint64_t k = 0; k <= e->frames; k++) {
        const double *x = frame_of(e, k);
        double at[3], lowest = HUGE_VAL;
        centre(e, x, at);
        for (size_t v = 0; v < m->vertices; v++) {
            lowest = fmin(lowest, x[m->stride + v]);
        }
        scene_kit_include(s, at[0], at[1], at[2], 0);
        for (int i = 0; i < 3; i++) {
            scene_kit_values(s, M_X + (uint64_t)i)[k] = at[i];
        }
        scene_kit_values(s, M_LOWEST)[k] = lowest;
        scene_kit_values(s, M_STRETCH)[k] = sheet_stretch(&e->s, m, x);
        scene_kit_values(s, M_DISTANCE)[k] = loss_of(e, x);
    }
    s->kept = 1;
}

static ds_status diverged(const swing *e, ds_eval *io, int64_t step)
{
    io->outcome = DS_EVAL_DIVERGED;
    io->loss = INFINITY;
    io->bad_step = step / (int64_t)e->every;
    if (io->want & DS_WANT_GRAD) {
        memset(io->grad, 0, e->n * sizeof *io->grad);
    }
    return DS_OK;
}

static ds_status evaluate(void *self, ds_eval *io)
{
    swing *e = self;
    int64_t bad = -1;
    e->scene.kept = 0;
    set_variables(e, io->x);
    io->outcome = DS_EVAL_OK;
    io->grad_kind = DS_GRAD_NONE;
    io->bad_step = -1;
    io->cost_steps = e->steps;
    ds_status status = simulate(e, &bad);
    if (status != DS_OK) {
        return status;
    }
    io->loss = bad >= 0 ? (double)INFINITY : loss_of(e, frame_of(e, e->frames));
    if (!isfinite(io->loss)) {
        return diverged(e, io, bad >= 0 ? bad : (int64_t)e->steps - 1);
    }
    if (io->want & DS_WANT_GRAD) {
        double sum = 0;
        status = cloth_adjoint(&e->c);
        if (status != DS_OK) {
            return status;
        }
        gradient(e, io->grad);
        io->grad_kind = DS_GRAD_ADJOINT;
        io->cost_steps += 2 * e->steps; /* again from the checkpoints, and backward */
        for (uint64_t i = 0; i < e->n; i++) {
            sum += fabs(io->grad[i]);
        }
        if (!isfinite(sum)) {
            memset(io->grad, 0, e->n * sizeof *io->grad);
            io->outcome = DS_EVAL_BAD_GRAD;
        }
    }
    if (io->want & DS_WANT_SCENE) {
        keep_scene(e);
    }
    return DS_OK;
}

static const void *get_extension(void *self, const char *id)
{
    (void)self;
    return strcmp(id, DS_EXT_SCENE) == 0 ? &scene_kit_table : NULL;
}

static const ds_env_vtable vtable = {sizeof(ds_env_vtable), 0, create, destroy, info, bounds, evaluate,
                                     get_extension};

static const char *const extensions[] = {DS_EXT_SCENE, NULL};

static const ds_desc desc = {
    sizeof(ds_desc),
    DS_KIND_ENV,
    DS_ENV_GRADIENT,
    "swing",
    "1",
    "Apache-2.0",
    "A cloth is swung by two corners, let go, and is to lie on the floor like a target.",
    "Variables: the stiffness of the patches of the cloth, or its initial velocity; if wanted, its width "
    "and length. The cloth is a lattice of masses with structural, shear and bending springs; a vertex "
    "that meets the floor loses its velocity towards it. The target is an episode of the same cloth, so "
    "the least loss is 0.\n"
    "Until the first contact the loss is smooth. From then on an episode is sensitive: neighbouring "
    "vertices land in another order, the landscape is rugged, and exact gradients are large and often "
    "point away from the trend.\n"
    "No stepwise control: the variables are constants of an episode, not actions in it.\n"
    "Metrics: x, y, z of the centre of mass, lowest point, largest stretch of a spring, loss if the "
    "episode ended there.",
    "R. Antonova, J. Yang, K. Jatavallabhula, J. Bohg: Rethinking optimization with differentiable "
    "simulation from a global perspective. CoRL 2022, arXiv:2207.00167. Springs and time of impact: Y. Hu "
    "et al., DiffTaichi, ICLR 2020.",
    params,
    extensions,
};

DS_DEFINE_ENV(desc, vtable)
