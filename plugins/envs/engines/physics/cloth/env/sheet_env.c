/* SPDX-License-Identifier: Apache-2.0 */
/* sheet_env.c - a cloth held at two corners is swung and released, and should lie on the floor like a
 * target; the decision variables are the stiffness of its patches or its initial velocity, and optionally
 * its size. */
#include "engines/physics/cloth/env/sheet_env.h"

#include "common/number.h"
#include "engines/physics/cloth/camera.h"
#include "engines/physics/cloth/sheet.h"
#include "engines/physics/cloth/cloth.h"
#include "engines/physics/fem/obstacle_scene.h"
#include "engines/kit/bundled.h"
#include "engines/kit/norm.h"

#include <stdio.h>
#include <string.h>

enum { STIFFNESS = 0, VELOCITY = 1 };
enum { SINGLE = 0, CORNER = 1, MESH = 2, IMAGE = 3 };
enum { CLOTH, TARGET };
const char sheet_env_cure[] =
    "reduce parameter h, stiffness, stiffness_range, damping or cells, or raise mass";
enum { CHECKPOINT = 100 }; /* steps between checkpoints */

static const char *const variables[] = {"stiffness", "velocity", NULL};
static const char *const losses[] = {"single", "corner", "mesh", "image", NULL};

const ds_param *const sheet_env_params[] = {
    DS_ENUM("variables", "stiffness", variables,
            "stiffness: one variable in [-1, 1] per patch, the logarithm of its stiffness. velocity: the "
            "initial velocity (x, y, z), each in [-1, 1] m/s.",
            .flags = DS_PARAM_SHAPE),
    DS_BOOL("size", "false", "Two more variables: width and length of the cloth, in [0.1, 0.3] m.",
            .flags = DS_PARAM_SHAPE),
    DS_LIST("patches", "4", 1, 64, 2, "",
            "Patches along the width and along the length: one number for both, or two.",
            .flags = DS_PARAM_SHAPE),
    DS_ENUM("loss", "mesh", losses,
            "single: distance of the centre of mass to that of the target. corner, mesh: mean distance of "
            "the corners, or of all vertices, to those of the target. image: what cameras see of the cloth, "
            "compared with what they see of the target."),
    DS_BOOL("toi", "true",
            "Continuous time of impact: a vertex moves on until it meets the floor. Without it the vertex "
            "loses its velocity at the beginning of the step."),
    DS_REAL("mu", "0", 0, 100, "", "Coulomb friction of the floor."),
    DS_REAL("floor", "0", -1e6, 0.05, "m", "Height of the floor; a floor far below is never touched."),
    DS_LIST("stiffness_range", "20,200", 1e-6, 1e4, 2, "N/m", "Stiffness at -1 and at 1."),
    DS_REAL("stiffness", "80", 0, 1e4, "N/m", "Stiffness if it is not a variable, and of the target."),
    DS_LIST("velocity", "0,-0.4,0.6", -100, 100, 3, "m/s",
            "Initial velocity if it is not a variable, and of the target."),
    DS_LIST("target_stiffness", "", 0, 1e4, 4096, "N/m",
            "Stiffness of the target, one value or one per patch; empty = parameter stiffness."),
    DS_LIST("target_velocity", "", -100, 100, 3, "m/s",
            "Velocity of the target; empty = parameter velocity."),
    DS_REAL("width", "0.2", 1e-3, 10, "m", "Width of the cloth if it is not a variable, and of the target."),
    DS_REAL("length", "0.2", 1e-3, 10, "m",
            "Length of the cloth if it is not a variable, and of the target."),
    DS_REAL("height", "0.3", 0.05, 100, "m", "Height of the anchored edge at the start."),
    DS_INT("cells", "16", 2, 64, "", "Cells of the cloth along each direction."),
    DS_REAL("h", "2e-4", 1e-7, 0.1, "s", "Time step."),
    DS_REAL("duration", "1", 1e-7, 100, "s", "Length of an episode."),
    DS_REAL("hold", "0.4", 0, 100, "s", "How long the two anchored corners keep the initial velocity."),
    DS_REAL("mass", "0.02", 1e-9, 1e6, "kg", "Mass of the cloth."),
    DS_REAL("damping", "0.002", 0, 1e3, "N s/m", "Damping along each spring."),
    DS_REAL("drag", "1", 0, 1e3, "1/s", "Rate at which velocities decay."),
    DS_REAL("gravity", "9.81", -1e3, 1e3, "m/s^2", "Gravity, downward."),
    IMAGE_LOSS_PARAMS("0,35,20"),
    CAMERAS_MESH_PARAMS("alpha"),
    DS_HYBRID_PARAMS,
    NULL};

/* ---- motion of the corners ---- */

static int hold_corners(void *self, uint64_t step, double velocity[3])
{
    const sheet_env *e = self;
    memcpy(velocity, e->v, sizeof e->v);
    return step < e->hold;
}

static void hold_corners_bar(void *self, uint64_t step, const double bar[3])
{
    sheet_env *e = self;
    (void)step;
    for (int i = 0; i < 3; i++) {
        e->v_bar[i] += bar[i];
    }
}

static double *frame_of(const sheet_env *e, uint64_t k)
{
    return e->frame + k * 3 * e->c.mesh.stride;
}

static void keep_state(void *self, uint64_t k, const double *x, const double *v)
{
    sheet_env *e = self;
    (void)v;
    if (k % e->every == 0 || k == e->kit.cost) {
        memcpy(frame_of(e, (k + e->every - 1) / e->every), x, 3 * e->c.mesh.stride * sizeof *x);
    }
}

/* ---- loss ---- */

static void centre(const sheet_env *e, const double *x, double out[3])
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

/* Distance of the centre of mass to its goal; `unit` (or NULL) receives its derivative. */
static double distance_of_centre(const sheet_env *e, const double *x, double *unit)
{
    double at[3];
    centre(e, x, at);
    for (int i = 0; i < 3; i++) {
        at[i] -= e->goal[i];
    }
    return norm_of(3, at, unit);
}

static double loss_of(const sheet_env *e, const double *x)
{
    const cloth_mesh *m = &e->c.mesh;
    if (e->loss != SINGLE) { /* with images, the metrics use the distance of the mesh */
        return sheet_distance(m, e->loss == CORNER ? e->corner : NULL, e->loss == CORNER ? 4 : m->vertices, x,
                              e->target);
    }
    return distance_of_centre(e, x, NULL);
}

static void loss_bar(void *self, uint64_t k, double *x_bar)
{
    sheet_env *e = self;
    const cloth_mesh *m = &e->c.mesh;
    const double *x = frame_of(e, e->kit.steps);
    if (e->loss == IMAGE) {
        if (k % e->every == 0 || k == e->kit.cost) {
            cloth_camera_bar(&e->seen, (k + e->every - 1) / e->every, e->frame, x_bar);
        }
        return;
    }
    if (k != e->kit.cost) {
        return;
    }
    if (e->loss != SINGLE) {
        sheet_distance_bar(m, e->loss == CORNER ? e->corner : NULL, e->loss == CORNER ? 4 : m->vertices, x,
                           e->target, 1, x_bar);
        return;
    }
    double unit[3];
    distance_of_centre(e, x, unit);
    for (size_t i = 0; i < 3; i++) {
        for (size_t v = 0; v < m->vertices; v++) {
            x_bar[i * m->stride + v] += unit[i] / (double)m->vertices;
        }
    }
}

/* ---- networks: a force on each vertex ---- */

uint64_t sheet_env_hooks(const void *self, ds_hook *out)
{
    (void)self;
    return vertex_net_hooks(out, "Of the vertex above the floor.");
}

static void net_force(void *self, const double *x, const double *v, double *f)
{
    vertex_net_force(&((sheet_env *)self)->net, x, v, f);
}

static void net_force_bar(void *self, const double *x, const double *v, const double *f_bar, double *x_bar,
                          double *v_bar)
{
    vertex_net_force_bar(&((sheet_env *)self)->net, x, v, f_bar, x_bar, v_bar);
}

static const cloth_driver driver = {
    .anchor = hold_corners, .anchor_bar = hold_corners_bar, .state = keep_state, .state_bar = loss_bar};
static const cloth_driver driver_with_networks = {.anchor = hold_corners,
                                                  .anchor_bar = hold_corners_bar,
                                                  .force = net_force,
                                                  .force_bar = net_force_bar,
                                                  .state = keep_state,
                                                  .state_bar = loss_bar};

/* ---- simulation ---- */

static double stiffness_of(const sheet_env *e, double u)
{
    return e->range[0] * pow(e->range[1] / e->range[0], 0.5 * (u + 1));
}

double sheet_env_variable_of(const sheet_env *e, double k)
{
    return 2 * log(k / e->range[0]) / log(e->range[1] / e->range[0]) - 1;
}

/* The start of an episode with the stiffness, velocity and size in e->k, e->v, e->dim. */
static double *hang_cloth(sheet_env *e)
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
    return x;
}

static ds_status run_swing(sheet_env *e, int64_t *bad)
{
    hang_cloth(e);
    return cloth_simulate(&e->c, bad);
}

/* Derivatives by x from the results of the reverse pass. */
static void gradient(sheet_env *e, const double *x, double *grad)
{
    const cloth *c = &e->c;
    const size_t n = c->mesh.stride, side = e->s.cells + 1;
    const double cells = (double)e->s.cells;
    const uint64_t used = e->of_k + e->of_v;
    if (e->of_k) {
        sheet_stiffness_bar(&e->s, c, e->k_bar);
        for (uint64_t i = 0; i < e->patches; i++) {
            grad[i] = e->k_bar[i] * e->k[i] * 0.5 * log(e->range[1] / e->range[0]);
        }
    }
    for (size_t i = 0; i < e->of_v; i++) {
        grad[e->of_k + i] = e->v_bar[i];
        for (size_t a = 0; a < c->mesh.vertices; a++) {
            grad[e->of_k + i] += c->v_bar[i * n + a];
        }
    }
    if (e->size) {
        sheet_size_bar(&e->s, c, e->dim[0], e->dim[1], grad + used);
        for (size_t a = 0; a < c->mesh.vertices; a++) {
            grad[used] += c->x_bar[a] * ((double)(a / side) / cells - 0.5);
            grad[used + 1] -= c->x_bar[n + a] * (double)(a % side) / cells;
        }
    }
    if (e->constants.count) {
        e->height_bar = 0;
        for (size_t a = 0; a < c->mesh.vertices; a++) {
            e->height_bar += c->x_bar[n + a];
        }
        const uint64_t first = e->kit.n - e->constants.count;
        cloth_constants_bar(&e->constants, c, x + first, grad + first);
    }
}

/* Stiffness, velocity, size and constants of an episode from the variables. */
static void set_variables(sheet_env *e, const double *x)
{
    for (uint64_t i = 0; i < e->patches; i++) {
        e->k[i] = e->of_k ? stiffness_of(e, x[i]) : e->fixed_k;
    }
    memcpy(e->v, e->of_v ? x + e->of_k : e->fixed_v, sizeof e->v);
    memcpy(e->dim, e->size ? x + e->of_k + e->of_v : e->fixed_size, sizeof e->dim);
    cloth_constants_set(&e->constants, &e->c, x + e->kit.n - e->constants.count);
    memset(e->v_bar, 0, sizeof e->v_bar);
}

/* ---- set-up ---- */

static void read_patches(sheet_env *e, ds_param_reader *in)
{
    double count[2] = {4, 4};
    e->cells = (uint64_t)ds_param_int(in, "cells");
    ds_param_values(in, "patches", 2, count);
    for (int i = 0; in->status == DS_OK && i < 2; i++) {
        if (!(count[i] == floor(count[i]) && count[i] <= (double)e->cells)) {
            in->status =
                ds_host_fail(in->host, DS_E_PARAM,
                             "parameter patches has %g: give whole numbers from 1 to the number of cells, %d",
                             count[i], (int)e->cells);
        }
    }
    e->across = (uint64_t)count[0];
    e->along = (uint64_t)count[1];
    e->patches = e->across * e->along;
}

static void read_physics(sheet_env *e, ds_param_reader *in)
{
    cloth *c = &e->c;
    c->floor.toi = (int)ds_param_int(in, "toi");
    c->floor.mu = ds_param_real(in, "mu");
    c->floor.height = ds_param_real(in, "floor");
    c->h = ds_param_real(in, "h");
    c->mass = ds_param_real(in, "mass") / (double)((e->cells + 1) * (e->cells + 1));
    c->drag = ds_param_real(in, "drag");
    c->gravity = ds_param_real(in, "gravity");
    e->damping = ds_param_real(in, "damping");
    double duration = ds_param_real(in, "duration"), hold = ds_param_real(in, "hold");
    if (in->status != DS_OK) {
        return;
    }
    if (duration / c->h < 0.5 || duration / c->h > 1e5) {
        in->status = ds_host_fail(in->host, DS_E_PARAM,
                                  "parameters duration = %g and h = %g give %g steps: 1 to 1e5 are allowed",
                                  duration, c->h, duration / c->h);
        return;
    }
    e->kit.cost = (uint64_t)(duration / c->h + 0.5);
    e->hold = (uint64_t)(fmin(hold, 2 * duration) / c->h + 0.5);
    e->every = c->h < 0.01 ? (uint64_t)(0.01 / c->h + 0.5) : 1;
    e->kit.steps = (e->kit.cost + e->every - 1) / e->every;
    e->kit.dt = c->h * (double)e->every;
}

void sheet_env_count(sheet_env *e)
{
    e->kit.n = e->of_k + e->of_v + (e->size ? 2 : 0) + e->constants.count;
}

void sheet_env_read(void *self, ds_param_reader *in)
{
    sheet_env *e = self;
    read_patches(e, in);
    read_physics(e, in);
    const int64_t varied = ds_param_int(in, "variables");
    e->of_k = varied == STIFFNESS ? e->patches : 0;
    e->of_v = varied == VELOCITY ? 3 : 0;
    e->size = ds_param_int(in, "size");
    e->loss = ds_param_int(in, "loss");
    image_loss_read(&e->seen.image_loss, in, e->loss == IMAGE, e->kit.steps, 1);
    ds_param_values(in, "stiffness_range", 2, e->range);
    e->fixed_k = ds_param_real(in, "stiffness");
    ds_param_values(in, "velocity", 3, e->fixed_v);
    e->fixed_size[0] = ds_param_real(in, "width");
    e->fixed_size[1] = ds_param_real(in, "length");
    e->height = ds_param_real(in, "height");
    if (in->status == DS_OK && !(e->range[0] < e->range[1])) {
        in->status =
            ds_host_fail(in->host, DS_E_PARAM,
                         "parameter stiffness_range = %s, %s: the first must be less than the second",
                         NUMBER(e->range[0]), NUMBER(e->range[1]));
    }
    sheet_env_count(e);
    for (int i = 0; i < 3; i++) {
        e->lower[i] = -1;
        e->upper[i] = 1;
        e->size_lower[i % 2] = 0.1;
        e->size_upper[i % 2] = 0.3;
    }
    e->target_k = in->status == DS_OK ? ds_memory_doubles(&e->kit.memory, e->patches) : NULL;
    for (uint64_t i = 0; e->target_k && i < e->patches; i++) {
        e->target_k[i] = e->fixed_k;
    }
    memcpy(e->target_v, e->fixed_v, sizeof e->target_v);
    if (e->target_k) {
        ds_param_values(in, "target_stiffness", e->patches, e->target_k);
        ds_param_values(in, "target_velocity", 3, e->target_v);
    }
}

/* The stiffest and lightest cloth of the search limits the step. */
static ds_status check_step(sheet_env *e)
{
    char where[64] = "";
    for (uint64_t i = 0; i < e->patches; i++) {
        e->k[i] = e->of_k ? e->range[1] : e->fixed_k;
    }
    cloth_constants_build(&e->constants, &e->c, CLOTH_AT_WORST);
    if (e->of_k) {
        snprintf(where, sizeof where, " where all stiffness is %g N/m", e->range[1]);
    }
    memcpy(e->dim, e->fixed_size, sizeof e->dim);
    return cloth_warn_of_step(&e->c, hang_cloth(e), where, sheet_env_cure);
}

/* The cloth must not begin inside a solid; check_step() has hung it up. */
static ds_status check_solids(const sheet_env *e)
{
    const size_t n = e->c.mesh.stride;
    const double *x = cloth_state_at_start(&e->c);
    double normal[3], turn[9], slope;
    for (size_t k = 0; k < e->solids; k++) {
        for (size_t j = 0; j < e->c.mesh.vertices; j++) {
            const double q[3] = {x[j], x[n + j], x[2 * n + j]};
            const double phi = fem_obstacle_distance(&e->solid[k], q, normal, turn, &slope);
            if (phi < 0) {
                return ds_host_fail(
                    e->kit.host, DS_E_DATA,
                    "the cloth begins %.3g m inside obstacle %zu, at %.3g %.3g %.3g: move one "
                    "of them",
                    -phi, k + 1, q[0], q[1], q[2]);
            }
        }
    }
    return DS_OK;
}

/* Makes the episode just simulated the target. */
static ds_status open_pictures(sheet_env *e)
{
    const size_t cells = e->s.cells;
    const frames_subject subject = {
        .mesh = {(uint32_t)e->c.mesh.vertices, (uint32_t)(2 * cells * cells), e->s.triangle}};
    const ds_status status =
        cloth_camera_open(&e->seen, &subject, e->c.mesh.stride, NULL, frame_of(e, 0), e->target, e->kit.host);
    return status != DS_OK ? status : cloth_camera_target(&e->seen, e->frame);
}

/* The target is an episode of the same simulator. Stiffness is converted from its variable, as in the search,
 * so that at the optimum both episodes are bit-identical. */
static ds_status make_target(sheet_env *e)
{
    int64_t bad = -1;
    memcpy(e->k, e->target_k, e->patches * sizeof *e->k);
    memcpy(e->v, e->target_v, sizeof e->v);
    memcpy(e->dim, e->fixed_size, sizeof e->dim);
    cloth_constants_build(&e->constants, &e->c, CLOTH_AT_TRUTH);
    for (uint64_t i = 0; e->of_k && i < e->patches; i++) {
        e->k[i] = stiffness_of(e, sheet_env_variable_of(e, e->k[i]));
    }
    ds_status status = run_swing(e, &bad);
    if (status == DS_OK && bad >= 0) {
        return ds_host_fail(e->kit.host, DS_E_PARAM, "the target diverges at step %d: %s", (int)bad,
                            sheet_env_cure);
    }
    if (status == DS_OK) {
        memcpy(e->target, frame_of(e, e->kit.steps), 3 * e->c.mesh.stride * sizeof *e->target);
        centre(e, e->target, e->goal);
    }
    return status == DS_OK && e->loss == IMAGE ? open_pictures(e) : status;
}

ds_status sheet_env_allocate(void *self)
{
    sheet_env *e = self;
    cloth_mesh mesh;
    ds_memory *m = &e->kit.memory;
    if (!sheet_open(&e->s, &mesh, m, e->cells, e->across, e->along, e->damping)) {
        return DS_E_NOMEM;
    }
    ds_memory_each(m, e->patches, (double **const[]){&e->k, &e->k_bar, NULL});
    e->target = ds_memory_doubles(m, 3 * mesh.stride);
    e->goal = ds_memory_doubles(m, 3);
    vertex_net_open(&e->net, m, &e->kit.hybrid, &e->c);
    e->frame = ds_memory_doubles(m, (e->kit.steps + 1) * 3 * mesh.stride);
    if (!cloth_open(&e->c, m, &mesh, e->kit.cost, CHECKPOINT, e->kit.host,
                    e->kit.hybrid.nets > 0 ? &driver_with_networks : &driver, e)) {
        return DS_E_NOMEM;
    }
    const uint32_t side = (uint32_t)e->cells + 1;
    const uint32_t corner[4] = {0, side * (side - 1), side - 1, side * side - 1};
    memcpy(e->corner, corner, sizeof corner);
    e->c.solid = e->solid;
    e->c.solids = e->solids;
    e->c.anchors = 2;
    e->c.anchored[0] = corner[0];
    e->c.anchored[1] = corner[1];
    ds_status status = check_step(e);
    cloth_constants_build(&e->constants, &e->c, CLOTH_AT_START);
    hang_cloth(e);
    status = status != DS_OK ? status : check_solids(e);
    return status == DS_OK ? make_target(e) : status;
}

/* A stiffness variable is a logarithm; -1 and 1 are the ends of its range. */
void sheet_env_variable(const void *self, uint64_t i, ds_env_variable *out)
{
    const sheet_env *e = self;
    const uint64_t sizes = e->of_k + e->of_v, constants = e->kit.n - e->constants.count;
    if (i >= constants) {
        cloth_constants_variable(&e->constants, i - constants, out);
    } else if (i >= sizes) {
        ds_env_variable_put(out->name, i == sizes ? "width" : "length");
        ds_env_variable_put(out->unit, "m");
        ds_env_variable_put(out->group, "size");
    } else if (i >= e->of_k) {
        ds_env_variable_put(out->name, "velocity.%c", "xyz"[i - e->of_k]);
        ds_env_variable_put(out->unit, "m/s");
        ds_env_variable_put(out->group, "velocity");
    } else {
        ds_env_variable_put(out->name, "stiffness.%u.%u", (unsigned)(i / e->along), (unsigned)(i % e->along));
        ds_env_variable_put(out->group, "stiffness");
    }
}

void sheet_env_range(const void *self, uint64_t i, double *lower, double *upper, double *start)
{
    const sheet_env *e = self;
    const uint64_t sizes = e->of_k + e->of_v, constants = e->kit.n - e->constants.count;
    if (i >= constants) {
        cloth_constants_range(&e->constants, i - constants, lower, upper, start);
    } else if (i >= sizes) {
        const uint64_t d = i - sizes;
        *lower = e->size_lower[d];
        *upper = e->size_upper[d];
        *start = 0.5 * (*lower + *upper);
    } else if (i >= e->of_k) {
        *lower = e->lower[i - e->of_k];
        *upper = e->upper[i - e->of_k];
        *start = e->start[i - e->of_k];
    } else {
        *lower = -1;
        *upper = 1;
        *start = e->start_k;
    }
}

/* ---- episode ---- */

ds_status sheet_env_simulate(void *self, ds_eval *io)
{
    sheet_env *e = self;
    int64_t bad = -1;
    set_variables(e, io->x);
    e->net.w = io->x + e->kit.n;
    ds_status status = run_swing(e, &bad);
    io->bad_step = bad >= 0 ? bad / (int64_t)e->every : -1;
    if (status == DS_OK && bad < 0 && e->loss == IMAGE) {
        return cloth_camera_loss(&e->seen, e->frame, e->kit.steps, &io->loss);
    }
    io->loss = bad >= 0 ? (double)INFINITY : loss_of(e, frame_of(e, e->kit.steps));
    return status;
}

ds_status sheet_env_adjoint(void *self, ds_eval *io)
{
    sheet_env *e = self;
    e->net.w_bar = io->grad + e->kit.n;
    memset(e->net.w_bar, 0, (io->n - e->kit.n) * sizeof *io->grad);
    ds_status status = cloth_camera_status(&e->seen, cloth_adjoint(&e->c));
    if (status == DS_OK) {
        gradient(e, io->x, io->grad);
    }
    return status;
}

/* ---- scene ---- */

void sheet_env_place(const void *self, uint64_t k, uint64_t b, double *out)
{
    const sheet_env *e = self;
    if (b > TARGET) {
        fem_obstacle_place(&e->solid[b - TARGET - 1], out);
        return;
    }
    const double *x = b == TARGET ? e->target : frame_of(e, k);
    for (size_t v = 0; v < e->c.mesh.vertices; v++) {
        for (size_t i = 0; i < 3; i++) {
            out[3 * v + i] = x[i * e->c.mesh.stride + v];
        }
    }
}

void sheet_env_bodies(void *self, ds_scene_kit *s)
{
    static const char *const names[2] = {"cloth", "target"};
    const sheet_env *e = self;
    for (int b = 0; b < 2; b++) {
        ds_scene_kit_body(s, names[b], DS_BODY_MESH, b ? DS_ROLE_TARGET : DS_ROLE_MATERIAL,
                          e->c.mesh.vertices, (double[4]){0, 0, 0, 0});
        ds_scene_kit_at(s, b)->index = e->s.triangle;
        ds_scene_kit_at(s, b)->index_count = 6 * e->s.cells * e->s.cells;
    }
    for (size_t i = 0; i < e->solids; i++) {
        fem_obstacle_body(&e->solid[i], i, s);
    }
    for (size_t v = 0; v < e->c.mesh.vertices; v++) {
        const double *x = e->target + v;
        ds_scene_kit_include(s, x[0], x[e->c.mesh.stride], x[2 * e->c.mesh.stride], 0.02);
    }
    ds_scene_kit_include(s, 0, e->height, 0, 0.5 * e->fixed_size[0] + 0.02);
    /* Drawn a little lower: a cloth without thickness would lie exactly in the plane of the floor. */
    const double ground = e->c.floor.height - 0.003;
    s->info.box[1] = fmax(s->info.box[1], ground);
    s->info.ground = ground > s->info.box[1] - 1 ? ground : -HUGE_VAL;
}

const ds_scene_kit_label sheet_env_metrics[] = {
    {"distance", "m"}, {"stretch", ""}, {"lowest", "m"}, {"x", "m"}, {"y", "m"}, {"z", "m"}, {NULL, NULL}};

void sheet_env_measure(void *self, uint64_t k, double *out)
{
    sheet_env *e = self;
    const cloth_mesh *m = &e->c.mesh;
    const double *x = frame_of(e, k);
    centre(e, x, out + 3);
    ds_scene_kit_include(&e->kit.scene, out[3], out[4], out[5], 0);
    out[2] = HUGE_VAL;
    for (size_t v = 0; v < m->vertices; v++) {
        out[2] = fmin(out[2], x[m->stride + v]);
    }
    out[1] = sheet_stretch(&e->s, m, x);
    out[0] = loss_of(e, x);
}

void sheet_env_release(void *self)
{
    cloth_camera_close(&((sheet_env *)self)->seen);
}

uint64_t sheet_env_channels(const void *self)
{
    return image_loss_channels(&((const sheet_env *)self)->seen.image_loss);
}

void sheet_env_channel(const void *self, uint64_t i, ds_channel *out)
{
    image_loss_channel(&((const sheet_env *)self)->seen.image_loss, self, i, out);
}

ds_status sheet_env_answer(void *self, ds_eval *io, ds_eval_query *ask)
{
    return image_loss_answer(&((sheet_env *)self)->seen.image_loss, self, io, ask);
}
