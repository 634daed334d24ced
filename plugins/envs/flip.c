/* SPDX-License-Identifier: Apache-2.0 */
/* flip - a pancake lies in a pan and is to be turned over: the decision variables are the places and tilts of
 * the pan at the ends of the segments of an episode. */
#include <diffsim/ext/rl.h>
#include <diffsim/plugin.h>

#include <stdlib.h>
#include <string.h>

#include "engines/cloth/disc.h"
#include "engines/cloth/pan_shape.h"
#include "engines/cloth/sheet.h"
#include "engines/scene/scene_kit.h"
#include "engines/scene/settings.h"

enum { PANCAKE, PAN, MARKS, TARGET };
enum { M_X, M_Y, M_Z, M_ANGLE, M_PAN_X, M_PAN_Y, M_PAN_TILT, M_DISTANCE };
enum { SEGMENT = 40, MAX_SEGMENTS = 100 };              /* steps between checkpoints; of the pan's motion */
enum { RADIUS = 8, SIDE = 2 * RADIUS + 1, LAYERS = 2 }; /* of the pancake, in lattice steps */
enum { N_ACT = 3, N_OBS = 3 + 6 * 5 }; /* observed: the pan; place and velocity of the centre and the marks */
#define NO_EPISODE UINT64_MAX

static const double spacing = 0.01, lift = 0.001; /* m: of the lattice, of the lowest layer above the pan */

static const ds_param *const params[] = {
    &(const ds_param){sizeof(ds_param), DS_PARAM_INT, DS_PARAM_SHAPE, 0, 1, MAX_SEGMENTS, "segments", "5", "",
                      "Segments of the motion of the pan; each has three variables.", NULL},
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
    NULL};

typedef struct flip {
    scene_kit scene; /* first: see scene_kit.h */
    cloth c;
    uint64_t segments, per, steps, every, frames; /* `per` steps make a segment, `every` an output step */
    double lower[3], upper[3];
    double way[MAX_SEGMENTS + 1][3], way_bar[MAX_SEGMENTS + 1][3]; /* x, y, tilt; the first is the start */
    uint32_t corner[4];
    double *goal;  /* targets of the corners, at their vertices */
    double *frame; /* positions at every output step */
    uint32_t *vertex, *triangle,
        *pan;                   /* vertices of the pancake; triangles of pancake and pan as they are drawn */
    uint64_t vertices, corners; /* lengths of the first two lists */
    double view[6];
    uint64_t next; /* stepwise control: segment that comes next in the open episode, NO_EPISODE */
    double now;    /* loss of its state */
} flip;

/* ---- what happens in an episode ---- */

/* How far the pan is in its segment at the end of a step. */
static double share(const flip *e, uint64_t step)
{
    return (double)(step % e->per + 1) / (double)e->per;
}

static void pose(void *self, uint64_t step, touch_pose *out)
{
    const flip *e = self;
    const double *from = e->way[step / e->per], *to = e->way[step / e->per + 1];
    double s = share(e, step), rate = 1 / (e->c.h * (double)e->per);
    out->x = from[0] + s * (to[0] - from[0]);
    out->y = from[1] + s * (to[1] - from[1]);
    out->tilt = from[2] + s * (to[2] - from[2]);
    out->vx = rate * (to[0] - from[0]);
    out->vy = rate * (to[1] - from[1]);
    out->omega = rate * (to[2] - from[2]);
}

static void pose_bar(void *self, uint64_t step, const touch_pose *bar)
{
    flip *e = self;
    double *from = e->way_bar[step / e->per], *to = e->way_bar[step / e->per + 1];
    const double place[3] = {bar->x, bar->y, bar->tilt}, motion[3] = {bar->vx, bar->vy, bar->omega};
    double s = share(e, step), rate = 1 / (e->c.h * (double)e->per);
    for (int i = 0; i < 3; i++) {
        from[i] += (1 - s) * place[i] - rate * motion[i];
        to[i] += s * place[i] + rate * motion[i];
    }
}

static double *frame_of(const flip *e, uint64_t k)
{
    return e->frame + k * 3 * e->c.mesh.stride;
}

static void state(void *self, uint64_t k, const double *x, const double *v)
{
    flip *e = self;
    (void)v;
    if (k % e->every == 0 || k == e->steps) {
        memcpy(frame_of(e, (k + e->every - 1) / e->every), x, 3 * e->c.mesh.stride * sizeof *x);
    }
}

static void state_bar(void *self, uint64_t k, double *x_bar)
{
    flip *e = self;
    if (k == e->steps) {
        sheet_distance_bar(&e->c.mesh, e->corner, 4, frame_of(e, e->frames), e->goal, 1, x_bar);
    }
}

static const cloth_driver driver = {NULL, NULL, pose, pose_bar, state, state_bar};

static double loss_of(const flip *e, const double *x)
{
    return sheet_distance(&e->c.mesh, e->corner, 4, x, e->goal);
}

/* The pancake lies in the pan, at rest. */
static void begin(flip *e)
{
    const cloth_mesh *m = &e->c.mesh;
    const size_t n = m->stride;
    double *x = cloth_start(&e->c);
    e->scene.kept = 0;
    e->next = NO_EPISODE;
    memset(x, 0, 6 * n * sizeof *x);
    memset(e->way, 0, sizeof e->way);
    memset(e->way_bar, 0, sizeof e->way_bar);
    for (size_t v = 0; v < m->vertices; v++) {
        size_t at[3];
        cloth_mesh_at(m, v, at);
        x[v] = spacing * ((double)at[1] - RADIUS);
        x[n + v] = lift + spacing * (double)at[0];
        x[2 * n + v] = spacing * ((double)at[2] - RADIUS);
    }
    cloth_begin(&e->c);
}

static ds_status simulate(flip *e, const double *variables, int64_t *bad)
{
    begin(e);
    memcpy(e->way[1], variables, 3 * e->segments * sizeof *variables);
    return cloth_advance(&e->c, e->steps, bad);
}

/* ---- set-up ---- */

static ds_status read_params(flip *e, const ds_host *host, double *stiffness, double *damping)
{
    int64_t segments = 0;
    double duration = 0;
    ds_status s = DS_OK;
    setting_int(&s, host, "segments", &segments);
    setting_real(&s, host, "h", &e->c.h);
    setting_real(&s, host, "duration", &duration);
    setting_real(&s, host, "mass", &e->c.mass);
    setting_real(&s, host, "stiffness", stiffness);
    setting_real(&s, host, "damping", damping);
    setting_real(&s, host, "drag", &e->c.drag);
    setting_real(&s, host, "gravity", &e->c.gravity);
    setting_real(&s, host, "mu", &e->c.pan.mu);
    setting_values(&s, host, "lower", 3, e->lower);
    setting_values(&s, host, "upper", 3, e->upper);
    for (int i = 0; s == DS_OK && i < 3; i++) {
        if (!(e->lower[i] < e->upper[i])) {
            s = setting_bad(host, "parameters lower = %g and upper = %g: lower must be less than upper",
                            e->lower[i], e->upper[i]);
        }
    }
    if (s != DS_OK) {
        return s;
    }
    double per = duration / e->c.h / (double)segments;
    if (per < 0.5 || per * (double)segments > 1e5) {
        return setting_bad(
            host,
            "parameters duration = %g, h = %g and segments = %d make %g steps for each segment: allowed "
            "are at least 1, and 1e5 in all",
            duration, e->c.h, (int)segments, per);
    }
    e->segments = (uint64_t)segments;
    e->per = (uint64_t)(per + 0.5);
    e->steps = e->segments * e->per;
    e->every = e->c.h < 0.01 ? (uint64_t)(0.01 / e->c.h + 0.5) : 1;
    e->frames = (e->steps + e->every - 1) / e->every;
    return DS_OK;
}

static void set_corners(flip *e)
{
    static const int at[4][2] = {{RADIUS, 0}, {-RADIUS, 0}, {0, RADIUS}, {0, -RADIUS}};
    const size_t n = e->c.mesh.stride;
    for (int k = 0; k < 4; k++) {
        uint32_t v = (uint32_t)((at[k][0] + RADIUS) * SIDE + at[k][1] + RADIUS);
        e->corner[k] = v;
        e->goal[v] = -spacing * at[k][0];
        e->goal[n + v] = lift + spacing;
        e->goal[2 * n + v] = spacing * at[k][1];
    }
}

/* ---- what is drawn ---- */

static void pose_of_frame(const flip *e, uint64_t k, touch_pose *out)
{
    uint64_t at = k * e->every < e->steps ? k * e->every : e->steps;
    const touch_pose start = {0, 0, 0, 0, 0, 0};
    *out = start;
    if (at > 0) {
        pose((void *)e, at - 1, out);
    }
}

static void place(const void *self, uint64_t k, uint64_t b, double *out)
{
    const flip *e = self;
    const size_t n = e->c.mesh.stride;
    const double *x = b == TARGET ? e->goal : frame_of(e, k);
    if (b == PAN) {
        touch_pose at;
        pose_of_frame(e, k, &at);
        pan_shape_points(&e->c.pan, &at, out);
        return;
    }
    for (uint64_t q = 0; q < (b == PANCAKE ? e->vertices : 4); q++) {
        uint32_t v = b == PANCAKE ? e->vertex[q] : e->corner[q];
        if (b == PANCAKE) {
            out[3 * q] = x[v];
            out[3 * q + 1] = x[n + v];
            out[3 * q + 2] = x[2 * n + v];
        } else {
            scene_kit_pose(x[v], x[n + v], x[2 * n + v], 0, out + 7 * q);
        }
    }
}

static int set_scene(flip *e)
{
    static const char *const metrics[8][2] = {{"x", "m"},          {"y", "m"},       {"z", "m"},
                                              {"angle", "rad"},    {"pan_x", "m"},   {"pan_y", "m"},
                                              {"pan_tilt", "rad"}, {"distance", "m"}};
    scene_kit *s = &e->scene;
    scene_kit_open(s, e->frames, e->c.h * (double)e->every, place);
    scene_kit_body(s, "pancake", DS_BODY_MESH, DS_ROLE_MATERIAL, e->vertices, (double[4]){0, 0, 0, 0});
    s->body[PANCAKE].index = e->triangle;
    s->body[PANCAKE].index_count = e->corners;
    scene_kit_body(s, "pan", DS_BODY_MESH, DS_ROLE_TOOL, PAN_POINTS, (double[4]){0, 0, 0, 0});
    s->body[PAN].index = e->pan;
    s->body[PAN].index_count = PAN_CORNERS;
    scene_kit_body(s, "marks", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 4, (double[4]){0.006, 0, 0, 0});
    s->body[MARKS].variety = 1;
    scene_kit_body(s, "target", DS_BODY_SPHERE, DS_ROLE_TARGET, 4, (double[4]){0.008, 0, 0, 0});
    scene_kit_include(s, 0, 0, 0, e->c.pan.radius);
    s->info.box[1] = e->lower[1] - 0.05;
    s->info.box[4] = 0.25;
    memcpy(e->view, s->info.box, sizeof e->view);
    for (int i = 0; i < 8; i++) {
        scene_kit_metric(s, metrics[i][0], metrics[i][1]);
    }
    return scene_kit_ready(s);
}

static void destroy(void *self)
{
    flip *e = self;
    if (e) {
        scene_kit_close(&e->scene);
        cloth_close(&e->c);
        free(e->goal);
        free(e->frame);
        free(e->vertex);
        free(e);
    }
}

static int allocate(flip *e, const ds_host *host, double stiffness, double damping)
{
    cloth_mesh mesh;
    cloth kept = e->c;
    const cloth_disc pancake = {LAYERS, RADIUS, spacing, stiffness, damping};
    int made = cloth_disc_mesh(&mesh, &pancake);
    made = cloth_open(&e->c, &mesh, e->steps, SEGMENT, host, &driver, e) && made;
    const uint64_t faces = cloth_disc_room(&mesh);
    e->c.h = kept.h;
    e->c.drag = kept.drag;
    e->c.gravity = kept.gravity;
    e->c.surface = CLOTH_PAN;
    e->c.pan = (touch_pan){.flat = 0.15, .radius = 0.2, .curve = 16, .thickness = 0.03, .mu = kept.pan.mu};
    e->goal = calloc(3 * mesh.stride, sizeof *e->goal);
    e->frame = calloc((e->frames + 1) * 3 * mesh.stride, sizeof *e->frame);
    e->vertex = calloc(mesh.vertices + faces + PAN_CORNERS, sizeof *e->vertex);
    if (!made || !e->goal || !e->frame || !e->vertex) {
        return 0;
    }
    e->triangle = e->vertex + mesh.vertices;
    e->pan = e->triangle + faces;
    set_corners(e);
    e->vertices = cloth_disc_vertices(&e->c.mesh, e->vertex);
    e->corners = cloth_disc_triangles(&e->c.mesh, e->triangle);
    pan_shape_triangles(e->pan);
    if (e->corners == 0) {
        return 0;
    }
    e->c.mass = kept.mass / (double)e->vertices;
    return set_scene(e);
}

static ds_status create(const ds_host *host, void **out)
{
    flip *e = calloc(1, sizeof *e);
    double stiffness = 0, damping = 0;
    ds_status status = e ? read_params(e, host, &stiffness, &damping) : DS_E_NOMEM;
    if (status == DS_OK && !allocate(e, host, stiffness, damping)) {
        status = DS_E_NOMEM;
    }
    if (status == DS_E_NOMEM) {
        host->error(host, status, "out of memory: reduce parameter duration");
    }
    if (status != DS_OK) {
        destroy(e);
        return status;
    }
    e->next = NO_EPISODE;
    *out = e;
    return DS_OK;
}

static ds_status info(void *self, ds_env_info *out)
{
    const flip *e = self;
    out->n = 3 * e->segments;
    out->steps = e->frames;
    out->dt = e->c.h * (double)e->every;
    out->loss_floor = 0;
    return DS_OK;
}

static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    const flip *e = self;
    for (uint64_t i = 0; i < n; i++) {
        lower[i] = e->lower[i % 3];
        upper[i] = e->upper[i % 3];
        if (x0) { /* the pan stays where it starts */
            x0[i] = lower[i] < 0 && upper[i] > 0 ? 0 : 0.5 * (lower[i] + upper[i]);
        }
    }
    return DS_OK;
}

/* ---- episode ---- */

static void keep_scene(flip *e)
{
    scene_kit *s = &e->scene;
    const size_t n = e->c.mesh.stride;
    memcpy(s->info.box, e->view, sizeof e->view);
    for (uint64_t k = 0; k <= e->frames; k++) {
        const double *x = frame_of(e, k);
        const uint32_t *c = e->corner;
        touch_pose p;
        double at[3] = {0, 0, 0};
        pose_of_frame(e, k, &p);
        for (size_t i = 0; i < 3; i++) {
            for (uint64_t v = 0; v < e->vertices; v++) {
                at[i] += x[i * n + e->vertex[v]] / (double)e->vertices;
            }
            scene_kit_values(s, M_X + (uint64_t)i)[k] = at[i];
        }
        scene_kit_include(s, at[0], at[1], at[2], 0.08);
        scene_kit_values(s, M_ANGLE)[k] = atan2(x[n + c[0]] - x[n + c[1]], x[c[0]] - x[c[1]]);
        scene_kit_values(s, M_PAN_X)[k] = p.x;
        scene_kit_values(s, M_PAN_Y)[k] = p.y;
        scene_kit_values(s, M_PAN_TILT)[k] = p.tilt;
        scene_kit_values(s, M_DISTANCE)[k] = loss_of(e, x);
    }
    s->kept = 1;
}

static ds_status diverged(const flip *e, ds_eval *io, int64_t step)
{
    io->outcome = DS_EVAL_DIVERGED;
    io->loss = INFINITY;
    io->bad_step = step / (int64_t)e->every;
    if (io->want & DS_WANT_GRAD) {
        memset(io->grad, 0, 3 * e->segments * sizeof *io->grad);
    }
    return DS_OK;
}

static ds_status evaluate(void *self, ds_eval *io)
{
    flip *e = self;
    int64_t bad = -1;
    io->outcome = DS_EVAL_OK;
    io->grad_kind = DS_GRAD_NONE;
    io->bad_step = -1;
    io->cost_steps = e->steps;
    ds_status status = simulate(e, io->x, &bad);
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
        memcpy(io->grad, e->way_bar[1], 3 * e->segments * sizeof *io->grad);
        io->grad_kind = DS_GRAD_ADJOINT;
        io->cost_steps += 2 * e->steps; /* again from the checkpoints, and backward */
        for (uint64_t i = 0; i < 3 * e->segments; i++) {
            sum += fabs(io->grad[i]);
        }
        if (!isfinite(sum)) {
            memset(io->grad, 0, 3 * e->segments * sizeof *io->grad);
            io->outcome = DS_EVAL_BAD_GRAD;
        }
    }
    if (io->want & DS_WANT_SCENE) {
        keep_scene(e);
    }
    return DS_OK;
}

/* ---- stepwise control ---- */

static ds_status rl_info(void *self, ds_rl_info *out)
{
    const flip *e = self;
    out->horizon = e->segments;
    out->n_act = N_ACT;
    out->n_obs = N_OBS;
    out->dt = e->c.h * (double)e->per;
    return DS_OK;
}

/* Place and tilt of the pan, then positions and velocities: centre of mass, and the marks. */
static void observe(const flip *e, double *obs)
{
    const size_t n = e->c.mesh.stride;
    const double *x = cloth_state(&e->c);
    memcpy(obs, e->way[e->next], N_ACT * sizeof *obs);
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

static ds_status rl_reset(void *self, uint64_t noise_key, double *obs)
{
    flip *e = self;
    (void)noise_key;
    begin(e);
    e->next = 0;
    e->now = loss_of(e, cloth_state(&e->c));
    observe(e, obs);
    return DS_OK;
}

/* One segment. The reward is by how much the loss of the state falls. */
static ds_status rl_step(void *self, ds_rl_step *io)
{
    flip *e = self;
    int64_t bad = -1;
    if (e->next >= e->segments) {
        return DS_E_STATE;
    }
    if (!isfinite(io->action[0]) || !isfinite(io->action[1]) || !isfinite(io->action[2])) {
        e->c.host->error(e->c.host, DS_E_ARG, "an action must hold three finite numbers");
        return DS_E_ARG;
    }
    memcpy(e->way[++e->next], io->action, N_ACT * sizeof *io->action);
    ds_status status = cloth_advance(&e->c, e->next * e->per, &bad);
    double before = e->now;
    e->now = bad < 0 ? loss_of(e, cloth_state(&e->c)) : (double)INFINITY;
    int failed = status != DS_OK || !isfinite(e->now);
    io->outcome = failed ? DS_EVAL_DIVERGED : DS_EVAL_OK;
    io->ended = failed || e->next == e->segments;
    io->reward = failed ? 0 : before - e->now;
    io->loss = failed ? (double)INFINITY : io->ended ? e->now : 0;
    io->cost_steps = e->per;
    if (!failed) {
        observe(e, io->obs);
    }
    e->next = io->ended ? NO_EPISODE : e->next;
    return status;
}

static const ds_rl rl = {sizeof(ds_rl), 0, rl_info, rl_reset, rl_step};

static const void *get_extension(void *self, const char *id)
{
    (void)self;
    if (strcmp(id, DS_EXT_RL) == 0) {
        return &rl;
    }
    return strcmp(id, DS_EXT_SCENE) == 0 ? &scene_kit_table : NULL;
}

static const ds_env_vtable vtable = {sizeof(ds_env_vtable), 0, create, destroy, info, bounds, evaluate,
                                     get_extension};

static const char *const extensions[] = {DS_EXT_SCENE, DS_EXT_RL, NULL};

static const ds_desc desc = {
    sizeof(ds_desc),
    DS_KIND_ENV,
    DS_ENV_GRADIENT,
    "flip",
    "1",
    "Apache-2.0",
    "A pancake in a pan is turned over by moving and tilting the pan.",
    "Variables: x, y (m) and tilt (rad) of the pan at the end of each segment; in between it moves evenly. "
    "The pancake is two layers of masses on a lattice with damped springs; a vertex in the pan loses its "
    "velocity towards it, with friction. Loss: mean distance of four marks on the rim to where they are "
    "after half a turn.\n"
    "Thrown, caught or lost decides: the landscape is extremely rugged and exact gradients are noisy. "
    "Without any motion the loss is 0.086; from about 0.02 on the pancake lies turned in the pan.\n"
    "Stepwise control: an action is the variables of a segment; observations: x, y and tilt of the pan, "
    "then position and velocity of the centre of mass and of the four marks; rewards are the decrease of "
    "the loss of the state.\n"
    "Metrics: x, y, z of the centre of mass, angle of the pancake, place of the pan, loss if the episode "
    "ended there.",
    "R. Antonova, J. Yang, K. Jatavallabhula, J. Bohg: Rethinking optimization with differentiable "
    "simulation from a global perspective. CoRL 2022, arXiv:2207.00167.",
    params,
    extensions,
};

DS_DEFINE_ENV(desc, vtable)
