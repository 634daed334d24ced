/* SPDX-License-Identifier: Apache-2.0 */
/* soft_setup.c - environments of deformable bodies: parameters, and what is made once. */
#include "engines/physics/fem/stability.h"
#include "engines/physics/soft/soft_internal.h"

#include <diffsim/helper/fail.h>
#include <math.h>
#include <string.h>

enum { SOFT_MOST_STEPS = 10000000 };

/* ---- parameters ---- */

/* 1 after a failure. */
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
    look_read(&s->look, in, 1);
    s->dt = 1 / (60 * (double)substeps);
    const double steps = fmax(1, round(duration / s->dt));
    if (in->status == DS_OK && steps > SOFT_MOST_STEPS) {
        in->status = ds_host_fail(
            in->host, DS_E_PARAM,
            "an episode of %.3g steps; at most %d are possible: reduce parameter duration or substeps", steps,
            SOFT_MOST_STEPS);
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

void soft_control(soft *s, ds_param_reader *in, const soft_controller *c)
{
    const int all = ds_param_int(in, "controller") == 1;
    const size_t phases = all ? SOFT_FULL_PHASES : c->phases;
    double phase[SOFT_MOST_PHASES] = {0};
    const control_options o = {.elements = c->driven == SOFT_TETS ? s->model.tets : s->model.triangles,
                               .groups = all ? 0 : c->groups,
                               .group = c->group,
                               .phases = phases,
                               .phase = phase,
                               .rate = c->phase_of(phases, phase),
                               .scale = ds_param_real(in, "scale"),
                               .dt = s->dt,
                               .steps = s->steps};
    s->driven = c->driven;
    if (in->status == DS_OK && s->model.status == DS_OK) {
        s->unknown.control = control_open(&s->watcher.kit.memory, &o);
        in->status = s->unknown.control == NULL ? DS_E_NOMEM : DS_OK;
    }
}

void soft_ready(soft *s, ds_param_reader *in)
{
    ds_env_kit *kit = &s->watcher.kit;
    if (in->status == DS_OK && s->model.status != DS_OK) {
        in->status = ds_host_fail(in->host, s->model.status, "%s", s->model.problem);
    }
    if (in->status == DS_OK) {
        quantity_pick(&s->unknown, in, s->task->offered);
        quantity_identify(&s->unknown, &s->error);
    }
    kit->n = s->unknown.n;
    kit->cost = s->steps;
    kit->steps = (s->steps + s->shown_each - 1) / s->shown_each;
    kit->dt = s->dt * (double)s->shown_each;
}

void soft_range(const void *self, uint64_t i, double *lower, double *upper, double *start)
{
    quantity_range(&((const soft *)self)->unknown, i, lower, upper, start);
}

void soft_variable(const void *self, uint64_t i, ds_env_variable *out)
{
    quantity_name(&((const soft *)self)->unknown, i, out);
}

/* ---- what is made once ---- */

static void list_states(soft *s)
{
    size_t count = 0;
    s->state =
        ds_memory_take(&s->watcher.kit.memory, s->watcher.kit.steps + 2 + soft_compared(s), sizeof *s->state);
    for (uint64_t k = 0; s->state != NULL && k <= s->steps; k++) {
        if (soft_is_shown(s, k) || soft_compared_at(s, k) != SOFT_NOT_COMPARED) {
            s->state[count++] = k;
        }
    }
    soft_drive(s);
    s->driver.frame_count = count;
}

/* What the cameras see. Colours are one for all triangles. */
static void describe(const soft *s, double *color, film_subject *out)
{
    *out = (film_subject){.particles = (uint32_t)s->model.particles, .radius = s->radius};
    if (s->mesh.triangles > 0) {
        *out = (film_subject){.mesh = {out->particles, (uint32_t)s->mesh.triangles, s->mesh.triangle},
                              .color = color,
                              .rest = s->model.q};
    }
    for (size_t i = 0; i < 3 * s->mesh.triangles; i++) {
        color[i] = s->color[i % 3];
    }
}

static ds_status open_watch(soft *s)
{
    const ds_host *host = s->watcher.kit.host;
    const size_t n = s->model.particles;
    double *color = calloc(3 * s->mesh.triangles + 1, sizeof *color), *weight = calloc(n, sizeof *weight);
    film_subject subject;
    ds_status status = DS_E_NOMEM;
    if (color != NULL && weight != NULL) {
        describe(s, color, &subject);
        for (size_t i = 0; i < n; i++) { /* what is held has no part in the centre */
            weight[i] = s->model.fixed[i] ? 0 : s->model.mass[i];
        }
        status = watch_open(&s->watcher.watch, s->observe ? s->task->state : WATCH_PICTURES, soft_compared(s),
                            n, weight, &s->look, &subject, host);
    }
    free(color);
    free(weight);
    return status;
}

/* The target is what an episode with the truth shows. */
static ds_status simulate_target(soft *s)
{
    int64_t bad = -1;
    quantity_apply(&s->unknown, s->unknown.drawn);
    const ds_status status = soft_run(s, 0, &bad);
    if (status == DS_OK && bad >= 0) {
        return ds_host_fail(s->watcher.kit.host, DS_E_PARAM,
                            "the episode of the target diverges at step %lld: %s", (long long)bad,
                            s->task->cure);
    }
    for (uint64_t k = 0; k < soft_compared(s); k++) {
        watch_target(&s->watcher.watch, k);
    }
    memcpy(s->goal, soft_frame(s, s->watcher.kit.steps), 3 * s->model.particles * sizeof *s->goal);
    return status;
}

static ds_status place_target(soft *s)
{
    s->task->target(s, s->goal);
    const ds_status status = watch_show(&s->watcher.watch, 0, s->goal);
    watch_target_all(&s->watcher.watch, 0);
    return status;
}

static ds_status make_target(soft *s)
{
    ds_status status = s->task->target != NULL ? place_target(s) : simulate_target(s);
    if (status == DS_OK && s->watcher.watch.film != NULL && s->image[0] != '\0') {
        status = film_read_targets(s->watcher.watch.film, s->image, "target_image", s->watcher.kit.host);
    }
    return status;
}

static ds_status take_memory(soft *s)
{
    ds_memory *m = &s->watcher.kit.memory;
    const size_t numbers = 3 * s->model.particles;
    list_states(s);
    s->shown = ds_memory_doubles(m, (s->watcher.kit.steps + 1) * numbers);
    s->goal = ds_memory_doubles(m, numbers);
    quantity_keep(&s->unknown, m);
    quantity_draw(&s->unknown, m);
    fem_variation_open(&s->bar, m, &s->model);
    fem_variation_open(&s->dot, m, &s->model);
    return m->failed ? DS_E_NOMEM : DS_OK;
}

ds_status soft_allocate(void *self)
{
    soft *s = self;
    const ds_host *host = s->watcher.kit.host;
    ds_status status = fem_model_finish(&s->model);
    if (status != DS_OK) {
        return ds_host_fail(host, status, "%s", s->model.problem);
    }
    s->watcher.forward = soft_forward;
    s->watcher.reverse = soft_reverse;
    status = take_memory(s);
    if (status != DS_OK) {
        return DS_OK; /* the kit says so */
    }
    const uint32_t want = FEM_WANT_MATERIAL | FEM_WANT_ACTIVATION |
                          (quantity_stays_in_plane(&s->unknown) ? FEM_WANT_IN_PLANE : 0u);
    const fem_options o = {.dt = s->dt, .steps = s->steps, .want = want};
    status = fem_episode_open(&s->episode, &s->model, &o, host);
    status = status != DS_OK ? ds_host_fail(host, status, "the episode cannot be made") : DS_OK;
    status = status != DS_OK ? status : open_watch(s);
    status = status != DS_OK ? status : make_target(s);
    return status != DS_OK ? status : fem_warn_of_step(&s->model, s->dt, host, s->task->cure);
}

void soft_release(void *self)
{
    soft *s = self;
    fem_episode_close(s->episode);
    watch_close(&s->watcher.watch);
    fem_mesh_free(&s->mesh);
    fem_model_close(&s->model);
}
