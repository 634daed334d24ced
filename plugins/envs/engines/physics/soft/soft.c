/* SPDX-License-Identifier: Apache-2.0 */
/* soft.c - environments of deformable bodies: parameters, set-up, episodes with derivatives, scene (see
 * soft.h). */
#include "engines/physics/soft/soft.h"

#include "engines/kit/penalties.h"
#include "engines/physics/fem/obstacle_scene.h"

#include <diffsim/helper/fail.h>

#include <math.h>
#include <string.h>

enum { SOFT_NOT_COMPARED = -1 };

ds_status soft_reverse(void *self, ds_eval *io, const double *w, double *x_bar);

/* ---- states ---- */

/* Number of compared states; index of state k among them; whether state k is a frame of the scene. */
static uint64_t soft_compared(const soft *s)
{
    return s->compared + (s->last ? 1 : 0);
}

static int64_t soft_compared_at(const soft *s, uint64_t k)
{
    if (k >= s->first && (k - s->first) % s->each == 0 && (k - s->first) / s->each < s->compared) {
        return (int64_t)((k - s->first) / s->each);
    }
    return s->last && k == s->steps ? (int64_t)s->compared : SOFT_NOT_COMPARED;
}

static int soft_is_shown(const soft *s, uint64_t k)
{
    return k % s->shown_each == 0 || k == s->steps;
}

const double *soft_frame(const soft *s, uint64_t k)
{
    return s->shown + k * 3 * s->model.particles;
}

/* ---- an episode ---- */

static void note(soft *s, ds_status status)
{
    s->failed = s->failed != DS_OK ? s->failed : status;
}

static void see_state(void *self, uint64_t k, const fem_state *at)
{
    soft *s = self;
    const int64_t i = soft_compared_at(s, k);
    if (soft_is_shown(s, k)) {
        const uint64_t frame = (k + s->shown_each - 1) / s->shown_each;
        memcpy(s->shown + frame * 3 * s->model.particles, at->q, 3 * s->model.particles * sizeof *at->q);
    }
    if (i != SOFT_NOT_COMPARED) {
        note(s, comparison_record(&s->env.comparison, (uint64_t)i, at->q));
    }
}

static void see_state_bar(void *self, uint64_t k, const fem_state *at, fem_state *bar)
{
    soft *s = self;
    const int64_t i = soft_compared_at(s, k);
    if (i != SOFT_NOT_COMPARED) {
        const double *r_bar = s->r_bar != NULL ? s->r_bar + (size_t)i * s->env.comparison.size : NULL;
        note(s, comparison_adjoint(&s->env.comparison, (uint64_t)i, at->q, r_bar, bar->q));
    }
}

static void see_state_dot(void *self, uint64_t k, const fem_state *at, const fem_state *dot)
{
    soft *s = self;
    const int64_t i = soft_compared_at(s, k);
    if (i != SOFT_NOT_COMPARED) {
        double *out = s->r_dot + (size_t)i * s->env.comparison.size;
        note(s, comparison_tangent(&s->env.comparison, (uint64_t)i, at->q, dot->q, out));
    }
}

static ds_status take_failure(soft *s, ds_status status)
{
    const ds_status failed = s->failed;
    s->failed = DS_OK;
    return status != DS_OK || failed == DS_OK
               ? status
               : ds_host_fail(s->env.kit.host, failed,
                              "out of memory for an image: reduce parameter image_size");
}

static double *driven(const soft *s, const fem_activation *act)
{
    return s->driven == SOFT_TETS ? act->tet : s->driven == SOFT_EDGES ? act->edge : act->triangle;
}

static void activate(void *self, uint64_t step, fem_activation *act)
{
    const soft *s = self;
    control_activate(s->unknown.control, step, driven(s, act));
}

static void activate_bar(void *self, uint64_t step, const fem_activation *bar)
{
    const soft *s = self;
    control_adjoint(s->unknown.control, step, driven(s, bar));
}

static void activate_dot(void *self, uint64_t step, fem_activation *dot)
{
    const soft *s = self;
    control_tangent(s->unknown.control, step, s->unknown.weights_dot, s->unknown.numbers_dot, driven(s, dot));
}

#define SOFT_HAND(name_)                                                                                     \
    static void name_##_set(void *self, uint64_t step, double *value)                                        \
    {                                                                                                        \
        body_loads_set(&((const soft *)self)->name_, step, value);                                           \
    }                                                                                                        \
    static void name_##_bar(void *self, uint64_t step, const double *value_bar)                              \
    {                                                                                                        \
        body_loads_bar(&((const soft *)self)->name_, step, value_bar);                                       \
    }                                                                                                        \
    static void name_##_dot(void *self, uint64_t step, double *value_dot)                                    \
    {                                                                                                        \
        body_loads_dot(&((const soft *)self)->name_, step, value_dot);                                       \
    }
SOFT_HAND(drive)
SOFT_HAND(push)

static void add_field(void *self, const double *state, double *force)
{
    node_net_add(&((const soft *)self)->net, state, force);
}

static void add_field_bar(void *self, const double *state, const double *force_bar, double *state_bar)
{
    node_net_bar(&((const soft *)self)->net, state, force_bar, state_bar);
}

static void add_field_dot(void *self, const double *state, const double *state_dot, double *force_dot)
{
    node_net_dot(&((const soft *)self)->net, state, state_dot, force_dot);
}

/* Sets the driver of episodes, except the number of frames. */
static void soft_drive(soft *s)
{
    s->driver = (fem_driver){
        .frames = s->state, .state = see_state, .state_bar = see_state_bar, .state_dot = see_state_dot};
    if (s->unknown.control != NULL) {
        s->driver.activate = activate;
        s->driver.activate_bar = activate_bar;
        s->driver.activate_dot = activate_dot;
    }
    s->driver.drive = (fem_hand){s->drive.particle, s->drive.particles, drive_set, drive_bar, drive_dot};
    s->driver.push = (fem_hand){s->push.particle, s->push.particles, push_set, push_bar, push_dot};
    if (s->env.kit.hybrid.nets > 0) {
        s->driver.field = (fem_field){add_field, add_field_bar, add_field_dot};
    }
}

/* Runs an episode of the present model; *bad as in fem_episode_run(). */
static ds_status soft_run(soft *s, int keep, int64_t *bad)
{
    return take_failure(s, fem_episode_run(s->episode, &s->driver, s, keep, bad));
}

ds_status soft_simulate(void *self, ds_eval *io)
{
    soft *s = self;
    int64_t bad = -1;
    body_variables_apply(&s->unknown, io->x);
    body_variables_error(&s->unknown, io->x, &s->error);
    s->net.w = io->x + s->env.kit.n;
    const ds_status status = soft_run(s, comparison_needs_reverse(io), &bad);
    io->bad_step = bad < 0 ? -1 : bad / (int64_t)s->shown_each;
    io->loss = status == DS_OK && bad < 0 ? comparison_loss(&s->env.comparison) : HUGE_VAL;
    return status;
}

/* x_bar[n] = derivatives by x of sum(r_bar * residuals); r_bar NULL: of the loss. */
static ds_status reverse(soft *s, ds_eval *io, const double *r_bar, double *x_bar)
{
    int64_t bad = -1;
    s->r_bar = r_bar;
    if (s->unknown.control != NULL) {
        control_clear(s->unknown.control);
    }
    body_loads_clear(&s->drive);
    body_loads_clear(&s->push);
    s->net.w_bar = x_bar + s->env.kit.n;
    memset(s->net.w_bar, 0, s->env.kit.hybrid.variables * sizeof *s->net.w_bar);
    const ds_status status = take_failure(s, fem_episode_adjoint(s->episode, &s->bar, &bad));
    s->r_bar = NULL;
    body_variables_gather(&s->unknown, io->x, &s->bar, x_bar);
    if (bad >= 0) {
        x_bar[0] = NAN; /* the kit reports it */
    }
    return status;
}

ds_status soft_adjoint(void *self, ds_eval *io)
{
    io->grad_kind = DS_GRAD_ADJOINT;
    return reverse(self, io, NULL, io->grad);
}

ds_status soft_reverse(void *self, ds_eval *io, const double *w, double *x_bar)
{
    soft *s = self;
    io->cost_steps += 2 * s->steps;
    return reverse(s, io, w, x_bar);
}

/* Functions of the comparison_env. */
static ds_status soft_forward(void *self, ds_eval *io, const double *v, double *out)
{
    soft *s = self;
    int64_t bad = -1;
    fem_variation_clear(&s->dot, &s->model);
    body_variables_spread(&s->unknown, io->x, v, &s->dot);
    s->r_dot = out;
    s->net.w_dot = v + s->env.kit.n;
    io->cost_steps += 2 * s->steps;
    const ds_status status = take_failure(s, fem_tangent(s->episode, &s->driver, s, &s->dot, &bad));
    if (bad >= 0) {
        out[0] = NAN;
    }
    return status;
}

enum { SOFT_MOST_STEPS = 10000000 };

/* ---- parameters ---- */

/* Returns 1 after a failure. */
static uint64_t count(ds_param_reader *in, const char *name)
{
    const int64_t n = ds_param_int(in, name);
    return n > 0 ? (uint64_t)n : 1;
}

void soft_read(soft *s, ds_param_reader *in, const soft_task *task)
{
    const uint64_t substeps = count(in, "substeps"), frames = count(in, "frames");
    const double duration = ds_param_real(in, "duration");
    s->task = task;
    s->observe = (int)ds_param_int(in, "observe");
    s->image = ds_param_text(in, "target_image");
    cameras_read(&s->cameras, in, 1);
    s->dt = 1 / (60 * (double)substeps);
    const double steps = fmax(1, round(duration / s->dt));
    if (in->status == DS_OK && steps > SOFT_MOST_STEPS) {
        in->status =
            ds_host_fail(in->host, DS_E_PARAM,
                         "the episode has %.3g steps, more than %d: reduce parameter duration or substeps",
                         steps, SOFT_MOST_STEPS);
    }
    s->steps = (uint64_t)fmin(steps, SOFT_MOST_STEPS);
    s->compared = frames < s->steps ? frames : s->steps;
    s->each = s->steps / s->compared;
    s->first = s->steps - (s->compared - 1) * s->each;
    s->shown_each = 2 * substeps < s->steps ? 2 * substeps : s->steps;
    s->unknown.model = &s->model;
    s->unknown.seed = (uint64_t)ds_param_int(in, "seed");
    s->unknown.start_spread = 1;
    fem_model_open(&s->model);
}

void soft_object(soft *s, ds_param_reader *in)
{
    s->unknown.object = (uint64_t)ds_param_int(in, "object");
}

const char *const soft_frictions[] = {"box", "isotropic", NULL};

void soft_body(soft *s, ds_status made, const double position[3], const double velocity[3], double density,
               fem_solid law)
{
    fem_placing where = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, 0};
    memcpy(where.position, position, sizeof where.position);
    memcpy(where.velocity, velocity, sizeof where.velocity);
    s->model.status = s->model.status != DS_OK ? s->model.status : made;
    fem_add_soft(&s->model, &s->mesh, &where, density, law);
    s->unknown.density = density;
    if (s->model.status == DS_OK) {
        s->model.status = fem_mesh_surface(&s->mesh, NULL);
    }
}

void soft_ground(soft *s, ds_param_reader *in)
{
    double v[4] = {0, 0, 0, 0};
    ds_param_values(in, "contact", 4, v);
    s->model.ground.on = 1;
    s->model.ground.friction = ds_param_int(in, "friction") == 1 ? FEM_FRICTION_ISOTROPIC : FEM_FRICTION_BOX;
    s->model.ground.ke = v[0];
    s->model.ground.kd = v[1];
    s->model.ground.kf = v[2];
    s->model.ground.mu = v[3];
}

enum { SOFT_MOST_PHASES = 16 };

ds_status soft_control_as(soft *s, soft_driven driven_, control_options o)
{
    o.elements = driven_ == SOFT_TETS    ? s->model.tets
                 : driven_ == SOFT_EDGES ? s->model.edges
                                         : s->model.triangles;
    o.dt = s->dt;
    o.steps = s->steps;
    s->driven = driven_;
    s->unknown.control = control_open(&s->env.kit.memory, &o);
    return s->unknown.control == NULL ? DS_E_NOMEM : DS_OK;
}

void soft_control(soft *s, ds_param_reader *in, const soft_controller *c)
{
    const int all = ds_param_int(in, "controller") == 1;
    const size_t phases = all ? SOFT_FULL_PHASES : c->phases;
    double phase[SOFT_MOST_PHASES] = {0};
    const control_options o = {.groups = all ? 0 : c->groups,
                               .group = c->group,
                               .phases = phases,
                               .phase = phase,
                               .rate = c->phase_of(phases, phase),
                               .scale = ds_param_real(in, "scale")};
    s->driven = c->driven;
    if (in->status == DS_OK && s->model.status == DS_OK) {
        in->status = soft_control_as(s, c->driven, o);
    }
}

void soft_ready(soft *s, ds_param_reader *in)
{
    if (in->status == DS_OK && s->model.status != DS_OK) {
        in->status = ds_host_fail(in->host, s->model.status, "%s", s->model.problem);
    }
    if (in->status == DS_OK) {
        body_variables_pick(&s->unknown, in, s->task->offered);
    }
    soft_end(s);
}

void soft_end(soft *s)
{
    ds_env_kit *kit = &s->env.kit;
    body_variables_identify(&s->unknown, &s->error);
    kit->n = s->unknown.n;
    kit->cost = s->steps;
    kit->steps = (s->steps + s->shown_each - 1) / s->shown_each;
    kit->dt = s->dt * (double)s->shown_each;
}

void soft_range(const void *self, uint64_t i, double *lower, double *upper, double *start)
{
    body_variables_range(&((const soft *)self)->unknown, i, lower, upper, start);
}

void soft_variable(const void *self, uint64_t i, ds_env_variable *out)
{
    body_variables_name(&((const soft *)self)->unknown, i, out);
}

/* ---- set-up ---- */

static void list_states(soft *s)
{
    size_t count = 0;
    s->state = ds_memory_take(&s->env.kit.memory, s->env.kit.steps + 2 + soft_compared(s), sizeof *s->state);
    for (uint64_t k = 0; s->state != NULL && k <= s->steps; k++) {
        if (soft_is_shown(s, k) || soft_compared_at(s, k) != SOFT_NOT_COMPARED) {
            s->state[count++] = k;
        }
    }
    soft_drive(s);
    s->driver.frame_count = count;
}

/* Opens the cameras. All triangles have one colour. */
static void describe(const soft *s, double *color, frames_subject *out)
{
    *out = (frames_subject){.particles = (uint32_t)s->model.particles, .radius = s->radius};
    if (s->mesh.triangles > 0) {
        *out = (frames_subject){.mesh = {out->particles, (uint32_t)s->mesh.triangles, s->mesh.triangle},
                                .color = color,
                                .rest = s->model.q};
    }
    for (size_t i = 0; i < 3 * s->mesh.triangles; i++) {
        color[i] = s->color[i % 3];
    }
}

static ds_status open_watch(soft *s)
{
    const ds_host *host = s->env.kit.host;
    const size_t n = s->model.particles;
    double *color = calloc(3 * s->mesh.triangles + 1, sizeof *color), *weight = calloc(n, sizeof *weight);
    frames_subject subject;
    ds_status status = DS_E_NOMEM;
    if (color != NULL && weight != NULL) {
        describe(s, color, &subject);
        for (size_t i = 0; i < n; i++) { /* fixed particles do not count for the centre */
            weight[i] = s->model.fixed[i] || (s->counted != NULL && !s->counted[i]) ? 0 : s->model.mass[i];
        }
        const comparison_kind kind = s->observe ? s->task->state : COMPARISON_IMAGES;
        status =
            kind == COMPARISON_POINTS && s->chosen != NULL
                ? comparison_open_some(&s->env.comparison, soft_compared(s), n, s->chosen, s->choices, host)
                : comparison_open(&s->env.comparison, kind, soft_compared(s), n, weight, &s->cameras,
                                  &subject, host);
    }
    free(color);
    free(weight);
    return status;
}

/* The target is the result of an episode with the true values. */
static ds_status simulate_target(soft *s)
{
    int64_t bad = -1;
    body_variables_apply(&s->unknown, s->unknown.drawn);
    const ds_status status = soft_run(s, 0, &bad);
    if (status == DS_OK && bad >= 0) {
        return ds_host_fail(s->env.kit.host, DS_E_PARAM,
                            "the episode of the target diverges at step %lld: %s", (long long)bad,
                            s->task->cure);
    }
    for (uint64_t k = 0; k < soft_compared(s); k++) {
        comparison_target(&s->env.comparison, k);
    }
    memcpy(s->goal, soft_frame(s, s->env.kit.steps), 3 * s->model.particles * sizeof *s->goal);
    return status;
}

static ds_status place_target(soft *s)
{
    s->task->target(s, s->goal);
    const ds_status status = comparison_record(&s->env.comparison, 0, s->goal);
    comparison_target_all(&s->env.comparison, 0);
    return status;
}

/* Each compared state has its own. */
static ds_status place_targets(soft *s)
{
    ds_status status = DS_OK;
    for (uint64_t k = 0; k < soft_compared(s) && status == DS_OK; k++) {
        s->target_at(s, k, s->goal);
        status = comparison_record(&s->env.comparison, k, s->goal);
        comparison_target(&s->env.comparison, k);
    }
    return status;
}

static ds_status make_target(soft *s)
{
    ds_status status = s->target_at != NULL      ? place_targets(s)
                       : s->task->target != NULL ? place_target(s)
                                                 : simulate_target(s);
    if (status == DS_OK && s->env.comparison.images != NULL && s->image[0] != '\0') {
        status = frames_read_targets(s->env.comparison.images, s->image, "target_image", s->env.kit.host);
    }
    return status;
}

static ds_status take_memory(soft *s)
{
    ds_memory *m = &s->env.kit.memory;
    const size_t numbers = 3 * s->model.particles;
    list_states(s);
    s->shown = ds_memory_doubles(m, (s->env.kit.steps + 1) * numbers);
    s->goal = ds_memory_doubles(m, numbers);
    body_variables_keep(&s->unknown, m);
    body_variables_draw(&s->unknown, m);
    fem_variation_open(&s->bar, m, &s->model);
    fem_variation_open(&s->dot, m, &s->model);
    return m->failed ? DS_E_NOMEM : DS_OK;
}

uint64_t soft_hooks(const void *self, ds_hook *out)
{
    (void)self;
    return node_net_hooks(out);
}

ds_status soft_allocate(void *self)
{
    soft *s = self;
    const ds_host *host = s->env.kit.host;
    ds_status status = penalties_refused(&s->env.kit);
    if (status != DS_OK) {
        return status;
    }
    status = fem_model_finish(&s->model);
    if (status != DS_OK) {
        return ds_host_fail(host, status, "%s", s->model.problem);
    }
    node_net_open(&s->net, &s->env.kit.memory, &s->env.kit.hybrid, &s->model);
    s->env.forward = soft_forward;
    s->env.reverse = soft_reverse;
    status = take_memory(s);
    if (status != DS_OK) {
        return DS_OK; /* the kit reports it */
    }
    const uint32_t want = FEM_WANT_MATERIAL | FEM_WANT_ACTIVATION |
                          (body_variables_stays_in_plane(&s->unknown) ? FEM_WANT_IN_PLANE : 0u) |
                          (body_variables_change_rest(&s->unknown) ? FEM_WANT_REST : 0u);
    const fem_options o = {.dt = s->dt, .steps = s->steps, .want = want};
    status = fem_episode_open(&s->episode, &s->model, &o, host);
    status = status != DS_OK ? ds_host_fail(host, status, "the episode cannot be opened") : DS_OK;
    status = status != DS_OK ? status : open_watch(s);
    status = status != DS_OK ? status : fem_warn_of_step(&s->model, s->dt, host, s->task->cure);
    return status != DS_OK ? status : make_target(s);
}

void soft_release(void *self)
{
    soft *s = self;
    fem_episode_close(s->episode);
    comparison_close(&s->env.comparison);
    fem_mesh_free(&s->mesh);
    fem_model_close(&s->model);
}

/* ---- scene ---- */

enum { BODY, TARGET };

/* Draws the body or its target: triangles, or particles with their springs. */
static void add_body(const soft *s, ds_scene_kit *k, int b)
{
    const size_t n = s->model.particles;
    const int mesh = s->mesh.triangles > 0;
    const uint64_t at =
        ds_scene_kit_body(k,
                          b == TARGET       ? "target"
                          : s->name != NULL ? s->name
                                            : "body",
                          mesh ? DS_BODY_MESH : DS_BODY_POINTS, b == BODY ? DS_ROLE_MATERIAL : DS_ROLE_TARGET,
                          n, (double[4]){s->radius, 0, 0, 0});
    k->body[at].index = mesh ? s->mesh.triangle : NULL;
    k->body[at].index_count = 3 * s->mesh.triangles;
}

/* Index of the first obstacle among the drawn bodies. */
static uint64_t obstacles_from(const soft *s)
{
    return s->model.springs > 0 ? 3 : 2;
}

void soft_bodies(void *self, ds_scene_kit *k)
{
    soft *s = self;
    add_body(s, k, BODY);
    add_body(s, k, TARGET);
    if (s->model.springs > 0) {
        const uint64_t at = ds_scene_kit_body(k, "springs", DS_BODY_LINES, DS_ROLE_FIXED, s->model.particles,
                                              (double[4]){0.01, 0, 0, 0});
        k->body[at].index = s->model.spring;
        k->body[at].index_count = 2 * s->model.springs;
    }
    for (size_t i = 0; i < s->model.obstacles; i++) {
        fem_obstacle_body(&s->model.obstacle[i], i, k);
    }
    for (size_t i = 0; i < s->model.particles; i++) {
        const double *q = s->model.q + 3 * i, *goal = s->goal + 3 * i;
        ds_scene_kit_include(k, q[0], q[1], q[2], s->radius);
        ds_scene_kit_include(k, goal[0], goal[1], goal[2], s->radius);
    }
    identified_metrics(&s->error, k);
    k->info.ground = s->model.ground.on ? s->model.ground.height : -HUGE_VAL;
    if (s->model.ground.on) {
        k->info.box[1] = fmin(k->info.box[1], s->model.ground.height);
    }
}

void soft_place(const void *self, uint64_t k, uint64_t b, double *out)
{
    const soft *s = self;
    if (b >= obstacles_from(s)) {
        fem_obstacle_place(&s->model.obstacle[b - obstacles_from(s)], out);
        return;
    }
    const double *from = b == TARGET ? s->goal : soft_frame(s, k);
    for (size_t i = 0; i < 3 * s->model.particles; i++) {
        out[i] = from[i];
    }
}

double soft_measure(soft *s, uint64_t k, double centre[3])
{
    const double *q = soft_frame(s, k);
    double goal[3];
    for (size_t i = 0; i < s->model.particles; i++) {
        ds_scene_kit_include(&s->env.kit.scene, q[3 * i], q[3 * i + 1], q[3 * i + 2], s->radius);
    }
    fem_centre(&s->model, q, centre);
    fem_centre(&s->model, s->goal, goal);
    return sqrt((centre[0] - goal[0]) * (centre[0] - goal[0]) +
                (centre[1] - goal[1]) * (centre[1] - goal[1]) +
                (centre[2] - goal[2]) * (centre[2] - goal[2]));
}

const ds_scene_kit_label soft_goal_metrics[] = {
    {"x", "m"}, {"y", "m"}, {"z", "m"}, {"distance", "m"}, {NULL, NULL}};

void soft_measure_goal(void *self, uint64_t k, double *out)
{
    out[3] = soft_measure(self, k, out);
}

const ds_scene_kit_label soft_fit_metrics[] = {
    {"x", "m"}, {"y", "m"}, {"distance", "m"}, {"error", ""}, {NULL, NULL}};

void soft_measure_fit(void *self, uint64_t k, double *out)
{
    const soft *s = self;
    double centre[3];
    out[2] = soft_measure(self, k, centre);
    out[0] = centre[0];
    out[1] = centre[1];
    identified_put(&s->error, out + 3);
}
