/* SPDX-License-Identifier: Apache-2.0 */
/* test_mpm_golden.c - the plasticine engine against recorded values of PlasticineLab, all ten tasks: single
 * substeps, losses and states along trajectories, gradients. Quick: the first steps. With SLOW: all recorded
 * values (minutes). With FAST: the vectorised engine instead of the scalar one. */
#include "engines/kit/algebra/mat3.h"
#include "golden.h"
#include "mpm_support.h"
#include "sanitizers.h"
#include "test.h"

#ifdef SLOW
static const bool full = true;
#else
static const bool full = false;
#endif

/* ---- single substeps ---- */

typedef struct unit_run {
    mpm_scene scene;
    mpm_sim sim;
    mpm_particle *particles;
    mpm_tape tape;
    mpm_fast *fast;
    mpm_pose poses[MPM_MAX_TOOLS], next[MPM_MAX_TOOLS];
} unit_run;

static void advance(unit_run *r, const double *action)
{
    for (uint32_t t = 0; t < r->scene.n_tools; t++) {
        const mpm_tool *tool = &r->scene.tools[t];
        mpm_control control = {{0.0}};
        for (uint32_t c = 0; c < tool->action_dim; c++) {
            control.value[c] = *action++ * tool->scale[c] / r->sim.domain.substeps;
        }
        mpm_tool_move(tool, &r->poses[t], &control, &r->next[t]);
    }
#ifdef FAST
    mpm_pose poses[2 * MPM_MAX_TOOLS];
    memcpy(poses, r->poses, r->scene.n_tools * sizeof *poses);
    memcpy(poses + r->scene.n_tools, r->next, r->scene.n_tools * sizeof *poses);
    assert_int_equal(mpm_fast_start(r->fast, r->particles, poses, 1, false), MPM_OK);
    assert_int_equal(mpm_fast_advance(r->fast), MPM_OK);
    assert_int_equal(mpm_fast_state(r->fast, r->particles), MPM_OK);
#else
    assert_int_equal(mpm_substep(&r->sim, r->particles, r->particles, r->poses, r->next, &r->tape), MPM_OK);
#endif
    memcpy(r->poses, r->next, sizeof r->poses);
}

static void compare(const json_t *from, const char *key, const double *values, size_t n, double tol,
                    const char *where)
{
    double recorded[64];
    assert_int_equal(mpm_numbers(json_object_get(from, key), recorded, 64), n);
    double error = mpm_relative(values, recorded, n);
    if (!(error <= tol)) {
        print_error("%s, %s: relative difference %.3g\n", where, key, error);
        fail();
    }
}

/* Velocities and their results inherit the rounding of the recorded singular vectors (5e-15) times the
 * stiffness: 4 dt 2 mu / dx = 100 in speed, averaged over some ten particles. Values much smaller than this
 * speed are compared on its scale, C on that times 4 / dx, momenta times the mass. The error adds up from
 * substep to substep. */
static const double noise_speed = 0.1;

static void compare_small(const json_t *from, const char *key, const double *values, size_t n,
                          double floor_scale, const char *where)
{
    double recorded[16];
    assert_int_equal(mpm_numbers(json_object_get(from, key), recorded, 16), n);
    double largest = floor_scale;
    for (size_t i = 0; i < n; i++) {
        largest = fabs(recorded[i]) > largest ? fabs(recorded[i]) : largest;
    }
    for (size_t i = 0; i < n; i++) {
        mpm_expect(values[i], recorded[i], 1e-12 * largest, "%s, %s[%zu]", where, key, i);
    }
}

static void compare_particles(const json_t *state, const unit_run *r, int64_t substep, const char *where)
{
    double noise = noise_speed * (double)substep;
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(state, "particles"), i, item)
    {
        const mpm_particle *p = &r->particles[json_integer_value(json_object_get(item, "index"))];
        compare(item, "x", p->x, 3, 1e-12, where);
        compare_small(item, "v", p->v, 3, noise, where);
        compare_small(item, "C", p->c, 9, noise * 4 * 64, where);
        compare(item, "F", p->f, 9, 1e-12, where);
    }
}

static void compare_sums(const json_t *state, const unit_run *r, const char *where)
{
    double v[3] = {0.0}, x[3] = {0.0}, f[9] = {0.0}, abs_c = 0.0, abs_v = 0.0;
    for (uint32_t p = 0; p < r->sim.n_particles; p++) {
        vec3_add_scaled(v, 1.0, r->particles[p].v);
        vec3_add_scaled(x, 1.0, r->particles[p].x);
        for (int k = 0; k < 9; k++) {
            f[k] += r->particles[p].f[k];
            abs_c += fabs(r->particles[p].c[k]);
        }
        abs_v += fabs(r->particles[p].v[0]) + fabs(r->particles[p].v[1]) + fabs(r->particles[p].v[2]);
    }
    double recorded[3];
    mpm_numbers(json_object_get(state, "sum_v"), recorded, 3);
    for (int k = 0; k < 3; k++) {
        mpm_expect(v[k], recorded[k], 1e-12 * abs_v, "%s, sum_v[%d]", where, k);
    }
    compare(state, "sum_x", x, 3, 1e-12, where);
    compare(state, "sum_F", f, 9, 1e-12, where);
    /* where C is 0 up to rounding, both sides have a rounding error of about 1e-13 */
    double rounding = 1e-13 * 9.0 * r->sim.n_particles;
    mpm_expect(abs_c, mpm_number(state, "sum_abs_C"), 1e-11 * abs_c + rounding, "%s, sum_abs_C", where);
}

#ifndef FAST
static void compare_grid(const json_t *state, const unit_run *r, int64_t substep, const char *where)
{
    double noise = noise_speed * (double)substep;
    const json_t *grid = json_object_get(state, "grid_at_frame_before");
    const mpm_grid_record *record = &r->tape.grid;
    assert_int_equal(record->count, json_integer_value(json_object_get(grid, "n_active")));
    double mass = 0.0, q[3] = {0.0}, abs_q = 0.0;
    /* over all nodes: close to a wall some carry a small negative mass and do not move */
    const mpm_grid *g = &r->sim.grid;
    for (int at[3] = {g->lower[0], 0, 0}; at[0] < g->upper[0]; at[0]++) {
        for (at[1] = g->lower[1]; at[1] < g->upper[1]; at[1]++) {
            for (at[2] = g->lower[2]; at[2] < g->upper[2]; at[2]++) {
                const double *node = g->node + 4 * ((at[0] * g->n + at[1]) * g->n + at[2]);
                mass += node[3];
                for (int d = 0; d < 3; d++) {
                    q[d] += node[d];
                    abs_q += fabs(node[d]);
                }
            }
        }
    }
    mpm_expect(mass, mpm_number(grid, "sum_m"), 1e-12, "%s, sum_m", where);
    double recorded[3];
    mpm_numbers(json_object_get(grid, "sum_momentum"), recorded, 3);
    for (int d = 0; d < 3; d++) {
        mpm_expect(q[d], recorded[d], 1e-12 * abs_q + 1e-18, "%s, momentum[%d]", where, d);
    }
    size_t k;
    json_t *item;
    json_array_foreach(json_object_get(grid, "nodes"), k, item)
    {
        double at[3];
        mpm_numbers(json_object_get(item, "i"), at, 3);
        for (size_t i = 0; i < record->count; i++) {
            const mpm_node_record *n = &record->nodes[i];
            if (n->i == at[0] && n->j == at[1] && n->k == at[2]) {
                mpm_expect(n->node[3], mpm_number(item, "m"), 1e-12 * n->node[3], "%s, node mass", where);
                compare_small(item, "v", n->velocity, 3, noise, where);
                compare_small(item, "q", n->node, 3, noise * n->node[3], where);
            }
        }
    }
}
#endif

static void start_case(unit_run *r, const json_t *state)
{
    double v0[3];
    mpm_particles_make(&r->scene, &r->sim.domain, 0, 0, r->particles);
    mpm_numbers(json_object_get(state, "start_velocity_all_particles"), v0, 3);
    for (uint32_t p = 0; p < r->sim.n_particles; p++) {
        memcpy(r->particles[p].v, v0, sizeof v0);
    }
    mpm_poses(json_object_get(state, "start_primitives"), &r->scene, r->poses);
}

static void unit_states(int t, int64_t last)
{
    json_t *root = mpm_golden_or_skip("unit_%s.json", t);
    unit_run r = {.scene = mpm_test_scene(t, 1)};
    mpm_domain domain = mpm_domain_make(MPM_PRESET_FULL);
    uint32_t count = mpm_particle_count(&r.scene, &domain, 0);
    assert_int_equal(count, json_integer_value(json_object_get(root, "n_particles")));
    assert_int_equal(mpm_sim_init(&r.sim, &r.scene, &domain, count, mpm_number(root, "softness")), MPM_OK);
    r.particles = malloc(count * sizeof *r.particles);
    r.tape.svd = malloc(count * sizeof *r.tape.svd);
    r.fast = mpm_fast_create(&r.sim, &(mpm_fast_options){.bits = 64});
    assert_non_null(r.fast);
    int64_t done = 0;
    size_t i;
    json_t *state;
    json_array_foreach(golden_list(root, "states"), i, state)
    {
        const char *name = json_string_value(json_object_get(state, "case"));
        int64_t substep = json_integer_value(json_object_get(state, "substep"));
        double action[64];
        char where[128];
        mpm_numbers(json_object_get(state, "action"), action, 64);
        if (substep > last) {
            continue;
        }
        if (substep == 1) {
            start_case(&r, state);
            done = 0;
        }
        for (; done < substep; done++) {
            advance(&r, action);
        }
        snprintf(where, sizeof where, "%s, %s, substep %d", mpm_task_names[t], name, (int)substep);
        compare_particles(state, &r, substep, where);
        compare_sums(state, &r, where);
#ifndef FAST
        compare_grid(state, &r, substep, where);
#endif
        for (uint32_t k = 0; k < r.scene.n_tools; k++) {
            double recorded[8];
            size_t n = mpm_numbers(json_array_get(json_object_get(state, "primitives"), k), recorded, 8);
            double pose[8];
            memcpy(pose, r.poses[k].position, sizeof r.poses[k].position);
            memcpy(pose + 3, r.poses[k].rotation, sizeof r.poses[k].rotation);
            pose[7] = r.poses[k].gap;
            assert_true(mpm_relative(pose, recorded, n) <= 1e-14);
        }
    }
    mpm_fast_destroy(r.fast);
    free(r.particles);
    free(r.tape.svd);
    mpm_grid_record_free(&r.tape.grid);
    mpm_sim_free(&r.sim);
    json_decref(root);
}

static void test_unit_states_torus(void **state)
{
    unit_states(TASK_TORUS, 19);
}

static void test_unit_states_all(void **state)
{
    for (int t = 0; t < MPM_TASKS; t++) {
        unit_states(t, full ? 19 : 2);
    }
}

/* ---- episodes ---- */

static void open_episode(mpm_episode *e, const mpm_scene *scene, const json_t *sequence, uint32_t steps,
                         double weight_contact, const double *target)
{
    mpm_pose start[MPM_MAX_TOOLS];
    mpm_episode_spec spec = {.scene = scene,
                             .domain = mpm_domain_make(MPM_PRESET_FULL),
                             .steps = steps,
                             .segments = steps,
                             .loss_mode = MPM_LOSS_STEP_SUM,
                             .softness = 666.0,
                             .tool_start = start,
#ifdef FAST
                             .engine = MPM_ENGINE_FAST,
                             .fast = {.bits = 64}
#endif
    };
    if (sequence) {
        mpm_poses(json_object_get(sequence, "start_primitives"), scene, start);
    } else {
        spec.tool_start = NULL;
    }
    assert_int_equal(mpm_episode_init(e, &spec), MPM_OK);
    e->objective.weight_density = 10.0;
    e->objective.weight_sdf = 10.0;
    e->objective.weight_contact = weight_contact;
    e->objective.soft_contact = false;
    assert_int_equal(mpm_objective_init(&e->objective, spec.domain.n, target), MPM_OK);
}

/* Compares the recorded values after an output step. Their tolerances follow from measured sensitivities to
 * perturbations of the start. */
typedef struct trajectory {
    const json_t *root, *sequence;
    const mpm_scene *scene;
    char label[64];
    uint32_t count;
    double sum_loss;
    double step_losses[50];
    mpm_objective *objective;
} trajectory;

/* The three recorded particles and the velocities. */
static void check_particles(const trajectory *t, const json_t *record, uint32_t step, const mpm_particle *p)
{
    const char *const keys[3] = {"x_first", "x_mid", "x_last"};
    const uint32_t at[3] = {0, t->count / 2, t->count - 1};
    double near = step <= 10 ? 1e-9 : 1e-8, x[3], sum = 0.0;
    for (int k = 0; k < 3; k++) {
        mpm_numbers(json_object_get(record, keys[k]), x, 3);
        for (int d = 0; d < 3; d++) {
            mpm_expect(p[at[k]].x[d], x[d], near, "%s step %u %s", t->label, step, keys[k]);
        }
    }
    mpm_numbers(json_object_get(record, "v_first"), x, 3);
    double largest = fmax(fmax(fabs(x[0]), fabs(x[1])), fabs(x[2]));
    for (int d = 0; d < 3; d++) {
        mpm_expect(p[0].v[d], x[d], 1e-6 * largest, "%s step %u v_first", t->label, step);
    }
    for (uint32_t i = 0; i < t->count; i++) {
        sum += vec3_dot(p[i].v, p[i].v);
    }
    mpm_expect(sum, mpm_number(record, "sum_sq_v"), 1e-6 * sum, "%s step %u sum of squared velocities",
               t->label, step);
}

static void check_poses(const trajectory *t, const json_t *record, uint32_t step, const mpm_pose *poses)
{
    mpm_pose recorded[MPM_MAX_TOOLS];
    for (uint32_t k = 0; k < t->scene->n_tools; k++) {
        const json_t *tool = json_array_get(json_object_get(record, "primitives"), k);
        mpm_numbers(json_object_get(tool, "position"), recorded[k].position, 3);
        mpm_numbers(json_object_get(tool, "rotation"), recorded[k].rotation, 4);
        assert_true(mpm_relative(poses[k].position, recorded[k].position, 3) <= 1e-14 * (1 + step));
        assert_true(mpm_relative(poses[k].rotation, recorded[k].rotation, 4) <= 1e-14 * (1 + step));
        if (json_object_get(tool, "gap")) {
            mpm_expect(poses[k].gap, mpm_number(tool, "gap"), 1e-14 * (1 + step), "%s step %u gap", t->label,
                       step);
        }
    }
}

static void check_record(const trajectory *t, const json_t *record, uint32_t step, const mpm_particle *p,
                         const mpm_measure *m)
{
    double tol = step <= 10 ? 1e-10 : 1e-9, com[3];
    const char *label = t->label;
    mpm_expect(m->density, mpm_number(record, "density"), tol * m->density, "%s step %u density", label,
               step);
    mpm_expect(m->sdf, mpm_number(record, "sdf"), tol * m->sdf, "%s step %u sdf", label, step);
    mpm_expect(m->sum_sq, mpm_number(record, "sum_sq_x"), tol * m->sum_sq, "%s step %u sum of squares", label,
               step);
    mpm_expect(m->det_f_mean, mpm_number(record, "mean_detF"), tol, "%s step %u det F", label, step);
    mpm_numbers(json_object_get(record, "com"), com, 3);
    for (int d = 0; d < 3; d++) {
        mpm_expect(m->com[d], com[d], tol, "%s step %u com", label, step);
    }
    check_particles(t, record, step, p);
}

static void check_contact(const trajectory *t, const json_t *record, uint32_t step, const mpm_measure *m)
{
    mpm_expect(m->contact_soft, mpm_number(record, "contact_soft"), 1e-6 * m->contact_soft, "%s step %u soft",
               t->label, step);
    mpm_expect(m->contact_hard, mpm_number(record, "contact_hard"), 1e-6 * m->contact_hard, "%s step %u hard",
               t->label, step);
}

static void check_step(void *context, uint32_t step, const mpm_particle *particles, const mpm_pose *poses,
                       const mpm_measure *m)
{
    trajectory *t = context;
    if (step == 0) {
        /* recorded once, with the tools at the task's positions */
        const json_t *record = json_object_get(t->root, "frame0");
        check_record(t, record, 0, particles, m);
        mpm_expect(m->iou, mpm_number(record, "iou"), 1e-12, "%s iou", t->label);
        return;
    }
    double loss = mpm_loss(t->objective, m), tol = step <= 10 ? 1e-10 : 1e-9;
    t->sum_loss += loss;
    mpm_expect(loss, t->step_losses[step - 1], tol * loss, "%s step %u loss", t->label, step);
    size_t i;
    json_t *record;
    json_array_foreach(json_object_get(t->sequence, "records"), i, record)
    {
        if (json_integer_value(json_object_get(record, "env_step")) == (json_int_t)step) {
            check_record(t, record, step, particles, m);
            check_contact(t, record, step, m);
            check_poses(t, record, step, poses);
            mpm_expect(t->sum_loss, mpm_number(record, "sum_step_loss"), 10 * tol * t->sum_loss,
                       "%s step %u sum of losses", t->label, step);
        }
    }
}

static trajectory trajectory_of(const json_t *root, int task, const char *name, const mpm_scene *scene,
                                mpm_episode *e)
{
    trajectory t = {.root = root, .scene = scene, .count = e->sim.n_particles, .objective = &e->objective};
    t.sequence = json_object_get(json_object_get(root, "sequences"), name);
    mpm_numbers(json_object_get(t.sequence, "step_losses"), t.step_losses, 50);
    snprintf(t.label, sizeof t.label, "%s %s", mpm_task_names[task], name);
    return t;
}

static void follow(int task, const char *name, uint32_t steps)
{
    json_t *root = mpm_golden_or_skip("%s3D-v1.forward.json", task);
    double *target = mpm_shipped_target(task, 1);
    mpm_scene scene = mpm_test_scene(task, 1);
    const json_t *sequence = json_object_get(json_object_get(root, "sequences"), name);
    double *actions =
        mpm_actions(name, json_string_value(json_object_get(sequence, "formula")), mpm_action_dim(&scene));
    mpm_episode e;
    mpm_outcome out;
    open_episode(&e, &scene, sequence, steps, 1.0, target);
    trajectory t = trajectory_of(root, task, name, &scene, &e);
    assert_int_equal(mpm_episode_run(&e, actions, NULL, check_step, &t, &out), MPM_OK);
    mpm_episode_free(&e);
    free(actions);
    free(target);
    json_decref(root);
}

static void test_torus_trajectory(void **state)
{
    follow(TASK_TORUS, "c0", 10);
}

#ifdef FAST
static const char *const sequences[] = {"a0", "a1", "a2", "p0", "p1", "c0"};
#else
static const char *const sequences[] = {"p0", "c0"}; /* a minute each */
#endif

static void test_all_trajectories(void **state)
{
    for (int t = 0; t < MPM_TASKS; t++) {
        for (size_t k = 0; k < sizeof sequences / sizeof sequences[0]; k++) {
            follow(t, sequences[k], 50);
        }
    }
}

/* ---- gradients, and the states on the way ---- */

static void gradients(int task, uint32_t longest, double tolerance)
{
    json_t *root = mpm_golden_or_skip("%s3D-v1.gradient.json", task);
    json_t *forward = mpm_golden_or_skip("%s3D-v1.forward.json", task);
    double *target = mpm_shipped_target(task, 1);
    mpm_scene scene = mpm_test_scene(task, 1);
    uint32_t dim = mpm_action_dim(&scene);
    size_t i;
    json_t *item;
    json_array_foreach(golden_list(root, "gradients"), i, item)
    {
        const char *name = json_string_value(json_object_get(item, "sequence"));
        uint32_t steps = (uint32_t)json_integer_value(json_object_get(item, "horizon"));
        double weight = mpm_number(item, "contact_weight");
        if (steps > longest || (!full && (weight == 0.0 || name[0] != 'c'))) {
            continue;
        }
        const json_t *sequence = json_object_get(json_object_get(forward, "sequences"), name);
        double *actions = mpm_actions(name, json_string_value(json_object_get(sequence, "formula")), dim);
        const json_t *exact = json_object_get(item, "grad_exact");
        double *recorded = calloc((size_t)steps * dim, sizeof(double)),
               *grad = calloc((size_t)steps * dim, sizeof(double));
        mpm_numbers(exact ? exact : json_object_get(item, "grad_peer"), recorded, (size_t)steps * dim);
        mpm_episode e;
        mpm_outcome out;
        open_episode(&e, &scene, sequence, steps, weight, target);
        trajectory t = trajectory_of(forward, task, name, &scene, &e);
        mpm_step_hook *hook = weight == 1.0 ? check_step : NULL;
        assert_int_equal(mpm_episode_run(&e, actions, grad, hook, &t, &out), MPM_OK);
        double loss = mpm_number(item, "loss"), error = mpm_relative(grad, recorded, (size_t)steps * dim);
        mpm_expect(out.loss, loss, (steps <= 10 ? 1e-10 : 1e-9) * loss, "%s %s H=%u loss",
                   mpm_task_names[task], name, steps);
        if (full) {
            print_message("%s %s H=%u contact %g: gradient differs by %.2e of its largest component%s\n",
                          mpm_task_names[task], name, steps, weight, error,
                          exact ? "" : " (reference adjoint)");
        }
        mpm_expect(error, 0.0, exact ? tolerance : 1e-4, "%s %s H=%u contact %g: gradient",
                   mpm_task_names[task], name, steps, weight);
        mpm_episode_free(&e);
        free(actions);
        free(recorded);
        free(grad);
    }
    free(target);
    json_decref(root);
    json_decref(forward);
}

static void test_gradients(void **state)
{
#ifdef FAST
    const int apart = 1;
#else
    /* test_mpm_golden_fast covers the others. */
    const int apart = full ? 1 : 3;
#endif
    for (int t = apart > 1 ? 1 : 0; t < MPM_TASKS; t += apart) {
        gradients(t, full ? 50 : 2, 1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest quick[] = {
        cmocka_unit_test(test_unit_states_torus),
        cmocka_unit_test(test_unit_states_all),
        cmocka_unit_test(test_torus_trajectory),
        cmocka_unit_test(test_gradients),
    };
    const struct CMUnitTest slow[] = {
        cmocka_unit_test(test_unit_states_all),
        cmocka_unit_test(test_all_trajectories),
        cmocka_unit_test(test_gradients),
    };
    if (SANITIZED) {
        printf("1..0 # SKIP full-size simulations take too long with sanitizers\n");
        return 0;
    }
    return full ? cmocka_run_group_tests(slow, NULL, NULL) : cmocka_run_group_tests(quick, NULL, NULL);
}
