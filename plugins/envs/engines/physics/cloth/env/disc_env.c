/* SPDX-License-Identifier: Apache-2.0 */
/* disc_env.c - a pancake lies in a pan and should be turned over; the decision variables are the positions
 * and tilts of the pan at the ends of the segments of an episode. */
#include "engines/physics/cloth/env/disc_env.h"

#include "common/number.h"
#include "engines/physics/cloth/mesh.h"
#include "engines/physics/cloth/touch.h"
#include "engines/physics/cloth/camera.h"
#include "engines/physics/cloth/sheet.h"
#include "engines/physics/cloth/cloth.h"
#include "engines/kit/bundled.h"
#include "engines/physics/smoothing/softness.h"

#include <stdlib.h>
#include <string.h>

enum { PANCAKE, UPPER, PAN, MARKS, TARGET };
enum { CHECKPOINT = 40, LAYERS = 2 }; /* steps between checkpoints; layers of the pancake */
/* observed: the pan; position and velocity of the centre and the marks */
enum { N_ACT = 3, N_OBS = 3 + 6 * 5 };

const char disc_env_cure[] = "reduce parameter h, stiffness or damping, or raise mass";
static const char *const losses[] = {"task", "image", NULL};
static const double lift = 0.001; /* m, of the lowest layer above the pan */

const ds_param *const disc_env_params[] = {
    DS_INT("segments", "5", 1, DISC_ENV_SEGMENTS, "",
           "Segments of the motion of the pan; each has three variables.", .flags = DS_PARAM_SHAPE),
    DS_ENUM("loss", "task", losses,
            "task: mean distance of four marks on the rim to their positions after half a turn. image: what "
            "cameras see of two halves of the pancake, the right one and the far one, compared with a "
            "pancake that was turned in place."),
    DS_REAL("h", "5e-4", 1e-7, 0.1, "s", "Time step."),
    DS_REAL("duration", "0.75", 1e-7, 100, "s", "Length of an episode."),
    DS_REAL("mass", "0.1", 1e-9, 1e6, "kg", "Mass of the pancake."),
    DS_REAL("stiffness", "100", 0, 1e6, "N/m",
            "Stiffness of springs between neighbours; half of it over two steps."),
    DS_REAL("damping", "0.02", 0, 1e3, "N s/m", "Damping along each spring."),
    DS_REAL("drag", "0.5", 0, 1e3, "1/s", "Rate at which velocities decay."),
    DS_REAL("gravity", "9.81", -1e3, 1e3, "m/s^2", "Gravity, downward."),
    DS_REAL("mu", "0.3", 0, 100, "", "Coulomb friction of the pan."),
    DS_LIST("lower", "-0.06,-0.075,-0.7", -10, 10, 3, "m, m, rad",
            "Lower bounds of x, y and tilt of the pan."),
    DS_LIST("upper", "0.06,0.15,0.7", -10, 10, 3, "m, m, rad", "Upper bounds of x, y and tilt of the pan."),
    SOFTNESS_PARAMS("width", "none", "0.001", "m"),
    SOFTNESS_BACKWARD_PARAMS("0.01", "m"),
    PROXIMITY_PARAMS("pancake and pan at the end", "0.01"),
    IMAGE_LOSS_PARAMS("0,40,20"),
    CAMERAS_MESH_PARAMS("alpha"),
    DS_HYBRID_PARAMS,
    NULL};

/* ---- loss and motion of the pan ---- */

/* Progress of the pan in its segment at the end of a step. */
static double share(const disc_env *e, uint64_t step)
{
    return (double)(step % e->per + 1) / (double)e->per;
}

static void pose_pan(void *self, uint64_t step, touch_pose *out)
{
    const disc_env *e = self;
    const double *from = e->way[step / e->per], *to = e->way[step / e->per + 1];
    double s = share(e, step), rate = 1 / (e->c.h * (double)e->per);
    out->x = from[0] + s * (to[0] - from[0]);
    out->y = from[1] + s * (to[1] - from[1]);
    out->tilt = from[2] + s * (to[2] - from[2]);
    out->vx = rate * (to[0] - from[0]);
    out->vy = rate * (to[1] - from[1]);
    out->omega = rate * (to[2] - from[2]);
}

static void pose_pan_bar(void *self, uint64_t step, const touch_pose *bar)
{
    disc_env *e = self;
    double *from = e->way_bar[step / e->per], *to = e->way_bar[step / e->per + 1];
    const double place[3] = {bar->x, bar->y, bar->tilt}, motion[3] = {bar->vx, bar->vy, bar->omega};
    double s = share(e, step), rate = 1 / (e->c.h * (double)e->per);
    for (int i = 0; i < 3; i++) {
        from[i] += (1 - s) * place[i] - rate * motion[i];
        to[i] += s * place[i] + rate * motion[i];
    }
}

static double *frame_of(const disc_env *e, uint64_t k)
{
    return e->frame + k * 3 * e->c.mesh.stride;
}

static void keep_state(void *self, uint64_t k, const double *x, const double *v)
{
    disc_env *e = self;
    (void)v;
    if (k % e->every == 0 || k == e->kit.cost) {
        memcpy(frame_of(e, (k + e->every - 1) / e->every), x, 3 * e->c.mesh.stride * sizeof *x);
    }
}

/* The pan at state k of the simulation. */
static void pose_at(const disc_env *e, uint64_t k, touch_pose *out)
{
    const touch_pose start = {0, 0, 0, 0, 0, 0};
    *out = start;
    if (k > 0) {
        pose_pan((void *)e, k - 1, out);
    }
}

/* Of vertex number q of the pancake, at positions x. */
static double gap_of(const disc_env *e, const touch_pose *pan, const double *x, uint64_t q, double at[3])
{
    const size_t v = e->vertex[q];
    for (size_t i = 0; i < 3; i++) {
        at[i] = x[i * e->c.mesh.stride + v];
    }
    return touch_pan_gap(&e->c.pan, pan, at);
}

/* The term of the loss for the distance of the pancake at positions x, of state k, to the pan. */
static double proximity_of(disc_env *e, uint64_t k, const double *x)
{
    double at[3];
    touch_pose pan;
    if (!(e->near.weight > 0)) {
        return 0;
    }
    pose_at(e, k, &pan);
    e->gaps = (proximity_seen){0};
    for (uint64_t q = 0; q < e->vertices; q++) {
        proximity_add(&e->near, &e->gaps, gap_of(e, &pan, x, q, at));
    }
    const double distance = proximity_distance(&e->near, &e->gaps);
    return e->near.weight * distance * distance;
}

static void proximity_bar(disc_env *e, uint64_t k, const double *x, double *x_bar)
{
    const size_t n = e->c.mesh.stride;
    const double outer = 2 * e->near.weight * proximity_distance(&e->near, &e->gaps);
    touch_pose pan, bar = {0, 0, 0, 0, 0, 0};
    pose_at(e, k, &pan);
    for (uint64_t q = 0; outer > 0 && q < e->vertices; q++) {
        double at[3], at_bar[3] = {0, 0, 0};
        const double gap = gap_of(e, &pan, x, q, at), slope = proximity_slope(&e->near, &e->gaps, q, gap);
        touch_pan_gap_adjoint(&e->c.pan, &pan, at, outer * slope, at_bar, &bar, e->c.pan_bar);
        for (size_t i = 0; i < 3; i++) {
            x_bar[i * n + e->vertex[q]] += at_bar[i];
        }
    }
    pose_pan_bar(e, k - 1, &bar);
}

static void loss_bar(void *self, uint64_t k, double *x_bar)
{
    disc_env *e = self;
    if (k == e->kit.cost && e->near.weight > 0) {
        proximity_bar(e, k, frame_of(e, e->kit.steps), x_bar);
    }
    if (e->seen.image_loss.wanted) {
        if (k % e->every == 0 || k == e->kit.cost) {
            cloth_camera_bar(&e->seen, (k + e->every - 1) / e->every, e->frame, x_bar);
        }
    } else if (k == e->kit.cost) {
        sheet_distance_bar(&e->c.mesh, e->corner, 4, frame_of(e, e->kit.steps), e->goal, 1, x_bar);
    }
}

/* ---- networks: a force on each vertex ---- */

uint64_t disc_env_hooks(const void *self, ds_hook *out)
{
    (void)self;
    return vertex_net_hooks(out, "Of the vertex above the start of the pan.");
}

static void net_force(void *self, const double *x, const double *v, double *f)
{
    vertex_net_force(&((disc_env *)self)->net, x, v, f);
}

static void net_force_bar(void *self, const double *x, const double *v, const double *f_bar, double *x_bar,
                          double *v_bar)
{
    vertex_net_force_bar(&((disc_env *)self)->net, x, v, f_bar, x_bar, v_bar);
}

static const cloth_driver driver = {
    .pose = pose_pan, .pose_bar = pose_pan_bar, .state = keep_state, .state_bar = loss_bar};
static const cloth_driver driver_with_networks = {.pose = pose_pan,
                                                  .pose_bar = pose_pan_bar,
                                                  .force = net_force,
                                                  .force_bar = net_force_bar,
                                                  .state = keep_state,
                                                  .state_bar = loss_bar};

/* ---- simulation ---- */

static double loss_of(const disc_env *e, const double *x)
{
    return sheet_distance(&e->c.mesh, e->corner, 4, x, e->goal);
}

/* The pancake lies in the pan, at rest. */
static void lay_pancake(disc_env *e)
{
    const cloth_mesh *m = &e->c.mesh;
    const size_t n = m->stride;
    double *x = cloth_start(&e->c);
    memset(x, 0, 6 * n * sizeof *x);
    memset(e->way, 0, sizeof e->way);
    memset(e->way_bar, 0, sizeof e->way_bar);
    for (size_t v = 0; v < m->vertices; v++) {
        size_t at[3];
        cloth_mesh_at(m, v, at);
        x[v] = e->spacing * ((double)at[1] - (double)e->radius);
        x[n + v] = lift + e->spacing * (double)at[0];
        x[2 * n + v] = e->spacing * ((double)at[2] - (double)e->radius);
    }
    cloth_begin(&e->c);
}

/* Share of the stiffness that the springs of a band have. */
static double share_of(const cloth_band *b)
{
    return b->step[0] == 0 && abs(b->step[1]) + abs(b->step[2]) == 2 && b->step[1] * b->step[2] == 0 ? 0.5
                                                                                                     : 1;
}

/* Variable constants, from the last variables. */
static void spread_stiffness(disc_env *e)
{
    const cloth_mesh *m = &e->c.mesh;
    for (size_t i = 0; e->constants.count > 0 && i < m->bands; i++) {
        const cloth_band *b = &m->band[i];
        for (size_t s = 0; s < b->count; s++) {
            m->k[b->at + s] = cloth_mesh_has(m, b, s) ? share_of(b) * e->stiffness : 0;
        }
    }
}

static void set_constants(disc_env *e, const double *x)
{
    cloth_constants_set(&e->constants, &e->c, x);
    spread_stiffness(e);
}

static void build_constants(disc_env *e, cloth_constants_case at)
{
    cloth_constants_build(&e->constants, &e->c, at);
    spread_stiffness(e);
}

static void constants_bar(disc_env *e, const double *x, double *grad)
{
    const cloth_mesh *m = &e->c.mesh;
    e->stiffness_bar = 0;
    for (size_t i = 0; e->constants.count > 0 && i < m->bands; i++) {
        const cloth_band *b = &m->band[i];
        for (size_t s = 0; s < b->count; s++) {
            e->stiffness_bar += cloth_mesh_has(m, b, s) ? share_of(b) * e->c.k_bar[b->at + s] : 0;
        }
    }
    cloth_constants_bar(&e->constants, &e->c, x, grad);
}

ds_status disc_env_simulate(void *self, ds_eval *io)
{
    disc_env *e = self;
    int64_t bad = -1;
    const uint64_t poses = e->kit.n - e->constants.count;
    lay_pancake(e);
    memcpy(e->way[1], io->x, poses * sizeof *io->x);
    set_constants(e, io->x + poses);
    e->net.w = io->x + e->kit.n;
    ds_status status = cloth_advance(&e->c, e->kit.cost, &bad);
    io->bad_step = bad >= 0 ? bad / (int64_t)e->every : -1;
    if (status != DS_OK || bad >= 0) {
        io->loss = INFINITY;
        return status;
    }
    if (e->seen.image_loss.wanted) {
        status = cloth_camera_loss(&e->seen, e->frame, e->kit.steps, &io->loss);
    } else {
        io->loss = loss_of(e, frame_of(e, e->kit.steps));
    }
    io->loss += proximity_of(e, e->kit.cost, frame_of(e, e->kit.steps));
    return status;
}

ds_status disc_env_adjoint(void *self, ds_eval *io)
{
    disc_env *e = self;
    e->net.w_bar = io->grad + e->kit.n;
    memset(e->net.w_bar, 0, (io->n - e->kit.n) * sizeof *io->grad);
    ds_status status = cloth_camera_status(&e->seen, cloth_adjoint(&e->c));
    const uint64_t poses = e->kit.n - e->constants.count;
    memcpy(io->grad, e->way_bar[1], poses * sizeof *io->grad);
    constants_bar(e, io->x + poses, io->grad + poses);
    return status;
}

/* ---- set-up ---- */

void disc_env_read(void *self, ds_param_reader *in)
{
    disc_env *e = self;
    cloth *c = &e->c;
    uint64_t segments = (uint64_t)ds_param_int(in, "segments");
    c->h = ds_param_real(in, "h");
    double duration = ds_param_real(in, "duration");
    c->mass = ds_param_real(in, "mass");
    e->stiffness = ds_param_real(in, "stiffness");
    e->damping = ds_param_real(in, "damping");
    c->drag = ds_param_real(in, "drag");
    c->gravity = ds_param_real(in, "gravity");
    c->pan.mu = ds_param_real(in, "mu");
    c->pan.flat = 0.15;
    c->pan.radius = 0.2;
    c->pan.curve = 16;
    c->pan.thickness = 0.03;
    e->radius = 8;
    e->spacing = 0.01;
    softness_read(&c->pan.soft, in, "width");
    softness_read_backward(&c->pan.soft, in);
    proximity_read(&e->near, in);
    ds_param_values(in, "lower", 3, e->lower);
    ds_param_values(in, "upper", 3, e->upper);
    for (int i = 0; in->status == DS_OK && i < 3; i++) {
        if (!(e->lower[i] <= e->upper[i])) {
            in->status = ds_host_fail(in->host, DS_E_PARAM,
                                      "parameters lower = %s and upper = %s: lower must be at most upper",
                                      NUMBER(e->lower[i]), NUMBER(e->upper[i]));
        }
    }
    if (in->status != DS_OK) {
        return;
    }
    double per = duration / c->h / (double)segments;
    if (per < 0.5 || per * (double)segments > 1e5) {
        in->status = ds_host_fail(in->host, DS_E_PARAM,
                                  "parameters duration = %g, h = %g and segments = %d give %g steps per "
                                  "segment: at least 1 are needed, and at most 1e5 in total",
                                  duration, c->h, (int)segments, per);
        return;
    }
    e->per = (uint64_t)(per + 0.5);
    e->every = c->h < 0.01 ? (uint64_t)(0.01 / c->h + 0.5) : 1;
    e->kit.n = N_ACT * segments + e->constants.count;
    e->kit.cost = segments * e->per;
    e->kit.steps = (e->kit.cost + e->every - 1) / e->every;
    e->kit.dt = c->h * (double)e->every;
    e->kit.horizon = e->constants.count > 0 ? 0 : segments; /* 0: no stepwise control */
    e->kit.grad_kind = c->pan.soft.at_distance ? DS_GRAD_SMOOTHED : DS_GRAD_ADJOINT;
    e->kit.n_obs = N_OBS;
    e->kit.control_dt = c->h * (double)e->per;
    image_loss_read(&e->seen.image_loss, in, ds_param_int(in, "loss") == 1, e->kit.steps, 1);
    e->seen.image_loss.partial = e->near.weight > 0;
}

void disc_env_range(const void *self, uint64_t i, double *lower, double *upper, double *start)
{
    const disc_env *e = self;
    const uint64_t poses = e->kit.n - e->constants.count;
    if (i >= poses) {
        cloth_constants_range(&e->constants, i - poses, lower, upper, start);
        return;
    }
    *lower = e->lower[i % 3];
    *upper = e->upper[i % 3];
    *start = *lower < 0 && *upper > 0 ? 0 : 0.5 * (*lower + *upper); /* the pan stays at its start */
}

void disc_env_variable(const void *self, uint64_t i, ds_env_variable *out)
{
    static const char *const names[N_ACT] = {"x", "y", "tilt"};
    const disc_env *e = self;
    const uint64_t poses = e->kit.n - e->constants.count;
    if (i >= poses) {
        cloth_constants_variable(&e->constants, i - poses, out);
        return;
    }
    ds_env_variable_put(out->name, "pan.%s.%u", names[i % N_ACT], (unsigned)(i / N_ACT));
    ds_env_variable_put(out->unit, i % N_ACT < 2 ? "m" : "rad");
    ds_env_variable_put(out->group, "pan");
}

static void set_corners(disc_env *e)
{
    const int r = (int)e->radius, side = 2 * r + 1;
    const int at[4][2] = {{r, 0}, {-r, 0}, {0, r}, {0, -r}};
    const size_t n = e->c.mesh.stride;
    for (int k = 0; k < 4; k++) {
        uint32_t v = (uint32_t)((at[k][0] + r) * side + at[k][1] + r);
        e->corner[k] = v;
        e->goal[v] = -e->spacing * at[k][0];
        e->goal[n + v] = lift + e->spacing;
        e->goal[2 * n + v] = e->spacing * at[k][1];
    }
}

/* ---- images ---- */

static void pose_of_frame(const disc_env *e, uint64_t k, touch_pose *out)
{
    uint64_t at = k * e->every < e->kit.cost ? k * e->every : e->kit.cost;
    pose_at(e, at, out);
}

void disc_env_place(const void *self, uint64_t k, uint64_t b, double *out)
{
    const disc_env *e = self;
    const size_t n = e->c.mesh.stride;
    const double *x = b == TARGET ? e->goal : frame_of(e, k);
    if (b == PAN) {
        touch_pose at;
        pose_of_frame(e, k, &at);
        pan_shape_points(&e->c.pan, &at, out);
        return;
    }
    const int cake = b == PANCAKE || b == UPPER;
    const uint32_t *vertex = b == PANCAKE ? e->vertex
                             : b == UPPER ? e->vertex + e->vertices / LAYERS
                                          : e->corner;
    for (uint64_t q = 0; q < (b == PANCAKE ? e->vertices : b == UPPER ? e->vertices / LAYERS : 4); q++) {
        uint32_t v = vertex[q];
        if (cake) {
            out[3 * q] = x[v];
            out[3 * q + 1] = x[n + v];
            out[3 * q + 2] = x[2 * n + v];
        } else {
            ds_scene_kit_pose(x[v], x[n + v], x[2 * n + v], 0, out + 7 * q);
        }
    }
}

void disc_env_bodies(void *self, ds_scene_kit *s)
{
    const disc_env *e = self;
    ds_scene_kit_body(s, "pancake", DS_BODY_MESH, DS_ROLE_MATERIAL, e->vertices, (double[4]){0, 0, 0, 0});
    ds_scene_kit_at(s, PANCAKE)->index = e->triangle;
    ds_scene_kit_at(s, PANCAKE)->index_count = e->corners;
    ds_scene_kit_body(s, "pancake_upper", DS_BODY_MESH, DS_ROLE_MATERIAL, e->vertices / LAYERS,
                      (double[4]){0, 0, 0, 0});
    ds_scene_kit_at(s, UPPER)->index = e->face;
    ds_scene_kit_at(s, UPPER)->index_count = e->face_corners;
    ds_scene_kit_at(s, UPPER)->variety = 2;
    ds_scene_kit_body(s, "pan", DS_BODY_MESH, DS_ROLE_TOOL, PAN_POINTS, (double[4]){0, 0, 0, 0});
    ds_scene_kit_at(s, PAN)->index = e->pan;
    ds_scene_kit_at(s, PAN)->index_count = PAN_CORNERS;
    ds_scene_kit_body(s, "marks", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 4, (double[4]){0.006, 0, 0, 0});
    ds_scene_kit_at(s, MARKS)->variety = 1;
    ds_scene_kit_body(s, "target", DS_BODY_SPHERE, DS_ROLE_TARGET, 4, (double[4]){0.008, 0, 0, 0});
    ds_scene_kit_include(s, 0, 0, 0, e->c.pan.radius);
    s->info.box[1] = e->lower[1] - 0.05;
    s->info.box[4] = 0.25;
}

const ds_scene_kit_label disc_env_metrics[] = {{"angle", "rad"}, {"distance", "m"},   {"x", "m"},
                                               {"y", "m"},       {"z", "m"},          {"pan_x", "m"},
                                               {"pan_y", "m"},   {"pan_tilt", "rad"}, {NULL, NULL}};

void disc_env_measure(void *self, uint64_t k, double *out)
{
    disc_env *e = self;
    const size_t n = e->c.mesh.stride;
    const double *x = frame_of(e, k);
    const uint32_t *c = e->corner;
    touch_pose p;
    double *at = out + 2;
    pose_of_frame(e, k, &p);
    for (size_t i = 0; i < 3; i++) {
        at[i] = 0;
        for (uint64_t v = 0; v < e->vertices; v++) {
            at[i] += x[i * n + e->vertex[v]] / (double)e->vertices;
        }
    }
    ds_scene_kit_include(&e->kit.scene, at[0], at[1], at[2], 0.08);
    out[0] = atan2(x[n + c[0]] - x[n + c[1]], x[c[0]] - x[c[1]]);
    out[5] = p.x;
    out[6] = p.y;
    out[7] = p.tilt;
    out[1] = loss_of(e, x);
}

/* The side that lies up at first becomes a separate body, with its own colour. */
static void split_sides(disc_env *e)
{
    uint32_t layer = (uint32_t)e->vertices / LAYERS;
    uint64_t kept = 0;
    for (uint64_t t = 0; t + 2 < e->corners; t += 3) {
        const uint32_t *v = e->triangle + t;
        int up = v[0] >= layer && v[1] >= layer && v[2] >= layer;
        for (int k = 0; k < 3; k++) {
            *(up ? e->face + e->face_corners++ : e->triangle + kept++) = v[k] - (up ? layer : 0);
        }
    }
    e->corners = kept;
}

/* The faces of the half with positive x (i = 0) or z (i = 2), at the start; returns their number. */
static uint32_t half_faces(const disc_env *e, const double *x, size_t i, uint32_t *face)
{
    const double *along = x + i * e->c.mesh.stride;
    uint32_t count = 0;
    for (uint64_t t = 0; t + 2 < e->corners; t += 3) {
        const uint32_t *v = e->triangle + t;
        if (along[e->vertex[v[0]]] + along[e->vertex[v[1]]] + along[e->vertex[v[2]]] > 0.5 * e->spacing) {
            memcpy(face + 3 * (size_t)count++, v, 3 * sizeof *v);
        }
    }
    return count;
}

/* The target is the pancake at its start, rotated by half a turn about z. The cameras see two of its halves
 * separately: only they distinguish a turned pancake from an unturned one. */
static ds_status open_pictures(disc_env *e)
{
    const size_t n = e->c.mesh.stride;
    const double *x = cloth_start(&e->c);
    ds_memory room = {0};
    uint32_t *face = ds_memory_take(&room, 2 * (size_t)e->corners, sizeof *face);
    double *target = ds_memory_doubles(&room, 3 * n);
    ds_status status = DS_E_NOMEM;
    for (size_t v = 0; target != NULL && v < n; v++) {
        target[v] = -x[v];
        target[n + v] = 2 * lift + e->spacing - x[n + v];
        target[2 * n + v] = x[2 * n + v];
    }
    if (!room.failed) {
        const uint32_t right = half_faces(e, x, 0, face), far = half_faces(e, x, 2, face + 3 * (size_t)right);
        const frames_subject halves = {.mesh = {(uint32_t)e->vertices, right + far, face},
                                       .groups = 2,
                                       .group = {{0, right}, {right, far}}};
        status = cloth_camera_open(&e->seen, &halves, n, e->vertex, x, target, e->kit.host);
        status = status != DS_OK ? status : cloth_camera_target_all(&e->seen, target);
    }
    ds_memory_free(&room);
    return status;
}

ds_status disc_env_allocate(void *self)
{
    disc_env *e = self;
    cloth_mesh mesh;
    ds_memory *m = &e->kit.memory;
    const cloth_disc pancake = {LAYERS, e->radius, e->spacing, e->stiffness, e->damping};
    if (!cloth_disc_mesh(&mesh, m, &pancake)) {
        return DS_E_NOMEM;
    }
    e->c.surface = CLOTH_PAN;
    e->goal = ds_memory_doubles(m, 3 * mesh.stride);
    e->frame = ds_memory_doubles(m, (e->kit.steps + 1) * 3 * mesh.stride);
    e->vertex = ds_memory_take(m, mesh.vertices, sizeof *e->vertex);
    e->triangle = ds_memory_take(m, cloth_disc_room(&mesh), sizeof *e->triangle);
    e->face = ds_memory_take(m, cloth_disc_room(&mesh), sizeof *e->face);
    e->pan = ds_memory_take(m, PAN_CORNERS, sizeof *e->pan);
    vertex_net_open(&e->net, m, &e->kit.hybrid, &e->c);
    if (!cloth_open(&e->c, m, &mesh, e->kit.cost, CHECKPOINT, e->kit.host,
                    e->kit.hybrid.nets > 0 ? &driver_with_networks : &driver, e)) {
        return DS_E_NOMEM;
    }
    set_corners(e);
    e->vertices = cloth_disc_vertices(&e->c.mesh, e->vertex);
    e->corners = cloth_disc_triangles(&e->c.mesh, e->triangle);
    e->c.mass /= (double)e->vertices;
    if (e->corners == 0) {
        return DS_E_NOMEM;
    }
    lay_pancake(e);
    const ds_status status = e->seen.image_loss.wanted ? open_pictures(e) : DS_OK;
    if (status != DS_OK) {
        return status;
    }
    split_sides(e);
    pan_shape_triangles(e->pan);
    build_constants(e, CLOTH_AT_WORST);
    const ds_status limit = cloth_warn_of_step(&e->c, cloth_start(&e->c), "", disc_env_cure);
    build_constants(e, CLOTH_AT_START);
    return limit;
}

/* ---- stepwise control ---- */

/* Position and tilt of the pan, then positions and velocities: centre of mass, and the marks. */
void disc_env_observe(const void *self, double *obs)
{
    const disc_env *e = self;
    const size_t n = e->c.mesh.stride;
    const double *x = cloth_state(&e->c);
    memcpy(obs, e->way[e->kit.next], N_ACT * sizeof *obs);
    for (size_t i = 0; i < 6; i++) { /* x, y, z, and their rates */
        double sum = 0;
        for (uint64_t v = 0; v < e->vertices; v++) {
            sum += x[i * n + e->vertex[v]];
        }
        obs[3 + i] = sum / (double)e->vertices;
        for (size_t k = 0; k < 4; k++) {
            obs[9 + 6 * k + i] = x[i * n + e->corner[k]];
        }
    }
}

/* Loss of the present state, at simulation step `step`, or of the images so far if several states are
 * compared. */
static ds_status value_of(disc_env *e, uint64_t step, double *value)
{
    ds_status status = DS_OK;
    if (!e->seen.image_loss.wanted) {
        *value = loss_of(e, cloth_state(&e->c));
    } else if (e->seen.image_loss.frames == 1) {
        status = cloth_camera_state(&e->seen, cloth_state(&e->c), value);
    } else {
        status =
            cloth_camera_loss(&e->seen, e->frame, step < e->kit.cost ? step / e->every : e->kit.steps, value);
    }
    *value += proximity_of(e, step, cloth_state(&e->c));
    return status;
}

ds_status disc_env_begin(void *self, uint64_t noise_key)
{
    disc_env *e = self;
    (void)noise_key;
    lay_pancake(e);
    return value_of(e, 0, &e->now);
}

/* One segment. The reward is the decrease of the loss of the state, or minus what it adds to a sum over time.
 */
ds_status disc_env_act(void *self, uint64_t k, ds_step *io)
{
    disc_env *e = self;
    int64_t bad = -1;
    if (!isfinite(io->action[0]) || !isfinite(io->action[1]) || !isfinite(io->action[2])) {
        return ds_host_fail(e->kit.host, DS_E_ARG, "an action must hold three finite numbers");
    }
    memcpy(e->way[k + 1], io->action, N_ACT * sizeof *io->action);
    ds_status status = cloth_advance(&e->c, (k + 1) * e->per, &bad);
    double before = e->now;
    e->now = INFINITY;
    if (status == DS_OK && bad < 0) {
        status = value_of(e, (k + 1) * e->per, &e->now);
    }
    io->outcome = isfinite(e->now) ? DS_EVAL_OK : DS_EVAL_DIVERGED;
    io->reward = before - e->now;
    io->loss = e->now;
    io->cost_steps = e->per;
    return status;
}

void disc_env_release(void *self)
{
    cloth_camera_close(&((disc_env *)self)->seen);
}

uint64_t disc_env_channels(const void *self)
{
    return image_loss_channels(&((const disc_env *)self)->seen.image_loss);
}

void disc_env_channel(const void *self, uint64_t i, ds_channel *out)
{
    image_loss_channel(&((const disc_env *)self)->seen.image_loss, self, i, out);
}

ds_status disc_env_answer(void *self, ds_eval *io, ds_eval_query *ask)
{
    return image_loss_answer(&((disc_env *)self)->seen.image_loss, self, io, ask);
}
