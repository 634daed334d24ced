/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers, one substep and losses of the plasticine engine: adjoints against differences, conservation
 * laws. Needs no recorded data. */
#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"
#include "engines/physics/mpm/env/env.h"
#include "engines/physics/mpm/sim/loss.h"
#include "engines/physics/mpm/sim/sim.h"
#include "mpm_support.h"
#include "test.h"

#include <unistd.h>

static void test_weights(void **state)
{
    mpm_stencil s;
    for (int k = 0; k < 1000; k++) {
        double x[3] = {uniform(0, 61.0 / 64), uniform(0, 61.0 / 64), k % 2 ? uniform(0, 0.5 / 64) : 0.0};
        assert_true(mpm_stencil_at(64, x, &s));
        for (int d = 0; d < 3; d++) {
            mpm_expect(s.w[d][0] + s.w[d][1] + s.w[d][2], 1.0, 4e-16, "sum of weights");
            assert_true(s.base[d] >= 0 && s.base[d] <= 60);
        }
    }
    const double on_node[3] = {10.0 / 64, 20.0 / 64, 61.0 / 64};
    assert_true(mpm_stencil_at(64, on_node, &s));
    for (int d = 0; d < 3; d++) {
        assert_true(s.w[d][0] == 0.125 && s.w[d][1] == 0.75 && s.w[d][2] == 0.125);
    }
    const double bad[][3] = {{NAN, 0.5, 0.5}, {0.5, -1e-12, 0.5}, {0.5, 0.5, 0.954}, {INFINITY, 0.5, 0.5}};
    for (int k = 0; k < 4; k++) {
        assert_false(mpm_stencil_at(64, bad[k], &s));
    }
}

/* Scatter and gather are transposes of each other, and the weight adjoint is the derivative of both. */
static void test_transfer_adjoints(void **state)
{
    enum { N = 8 };
    static double field[N * N * N * 4], out[N * N * N * 4];
    for (int k = 0; k < 20; k++) {
        double x[3], fx_bar[3] = {0.0}, h = 1e-6;
        mpm_stencil s, up;
        mpm_affine g, sums;
        random_numbers(field, sizeof field / sizeof field[0], 1.0);
        random_numbers(g.value, 4, 1.0);
        random_numbers(g.slope[0], 12, 1.0);
        for (int d = 0; d < 3; d++) {
            x[d] = uniform(0, 5.0 / N);
        }
        assert_true(mpm_stencil_at(N, x, &s));
        memset(out, 0, sizeof out);
        mpm_scatter(out, N, &s, &g);
        mpm_gather(field, N, &s, &sums);
        double a = dot(out, field, sizeof field / sizeof field[0]);
        double b = dot(sums.value, g.value, 4) + dot(sums.slope[0], g.slope[0], 12);
        mpm_expect(a, b, 1e-13, "transpose");
        mpm_weight_adjoint(field, N, &s, &g, fx_bar);
        for (int d = 0; d < 3; d++) {
            double value[2];
            for (int side = 0; side < 2; side++) {
                up = s; /* the same nodes, moved weights */
                double fx = s.fx[d] + (side ? -h : h);
                up.w[d][0] = 0.5 * (1.5 - fx) * (1.5 - fx);
                up.w[d][1] = 0.75 - (fx - 1.0) * (fx - 1.0);
                up.w[d][2] = 0.5 * (fx - 0.5) * (fx - 0.5);
                mpm_gather(field, N, &up, &sums);
                value[side] = dot(sums.value, g.value, 4) + dot(sums.slope[0], g.slope[0], 12);
            }
            mpm_expect(fx_bar[d], (value[0] - value[1]) / (2 * h), 1e-8, "weight adjoint");
        }
    }
}

/* ---- one substep as a whole ---- */

typedef struct world {
    mpm_scene scene;
    mpm_sim sim;
    mpm_tape tape;
    uint32_t n;
    mpm_particle *in, *out, *bar;
} world;

/* A small random cloud, deformed and moving, on the floor; if `low`, in reach of a tool. */
static void open_world(world *w, double ground_friction, bool tools, bool low, uint32_t n)
{
    memset(w, 0, sizeof *w);
    w->scene = mpm_test_scene(TASK_TORUS, 1);
    w->scene.bodies[0].count = n * 8;
    w->scene.bodies[0].center[1] = low ? 0.06 : 0.5;
    w->scene.ground_friction = ground_friction;
    w->scene.n_tools = tools ? 1 : 0;
    mpm_domain domain = mpm_domain_make(MPM_PRESET_SMALL);
    w->n = n;
    assert_int_equal(mpm_sim_init(&w->sim, &w->scene, &domain, n, 666.0), MPM_OK);
    assert_true(mpm_grid_init_adjoint(&w->sim.grid));
    w->in = calloc(n, sizeof *w->in);
    w->out = calloc(n, sizeof *w->out);
    w->bar = calloc(n, sizeof *w->bar);
    w->tape.svd = calloc(n, sizeof *w->tape.svd);
    mpm_particles_make(&w->scene, &domain, n, 3, w->in);
    for (uint32_t p = 0; p < n; p++) {
        double strain[9];
        random_numbers(w->in[p].v, 3, 1.0);
        random_numbers(w->in[p].c, 9, 5.0);
        random_numbers(strain, 9, p % 2 ? 0.03 : 0.002);
        for (int i = 0; i < 9; i++) {
            w->in[p].f[i] += strain[i];
        }
    }
}

static void close_world(world *w)
{
    free(w->in);
    free(w->out);
    free(w->bar);
    free(w->tape.svd);
    mpm_grid_record_free(&w->tape.grid);
    mpm_sim_free(&w->sim);
}

static double particles_dot(const mpm_particle *a, const mpm_particle *b, uint32_t n)
{
    double sum = 0.0;
    for (uint32_t p = 0; p < n; p++) {
        sum +=
            dot(a[p].x, b[p].x, 3) + dot(a[p].v, b[p].v, 3) + dot(a[p].c, b[p].c, 9) + dot(a[p].f, b[p].f, 9);
    }
    return sum;
}

/* Adjoint of one substep in a random direction of all its inputs, against a difference. */
static void check_substep(world *w, const mpm_pose *now, const mpm_pose *next, double tolerance,
                          const char *label)
{
    mpm_pose bars[2], moved[2];
    memset(bars, 0, sizeof bars);
    assert_int_equal(mpm_substep(&w->sim, w->in, w->out, now, next, &w->tape), MPM_OK);
    mpm_particle *weights = calloc(w->n, sizeof *weights), *dir = calloc(w->n, sizeof *dir);
    mpm_particle *try = calloc(w->n, sizeof *try);
    for (uint32_t p = 0; p < w->n; p++) {
        random_numbers(weights[p].x, 3, 1.0);
        random_numbers(weights[p].v, 3, 1.0);
        random_numbers(weights[p].c, 9, 1e-2);
        random_numbers(weights[p].f, 9, 1.0);
        random_numbers(dir[p].x, 3, 1e-2);
        random_numbers(dir[p].v, 3, 1.0);
        random_numbers(dir[p].c, 9, 1.0);
        random_numbers(dir[p].f, 9, 1e-2);
    }
    double dp[2][8];
    random_numbers(dp[0], 16, 1e-4);
    memcpy(w->bar, weights, w->n * sizeof *weights);
    mpm_substep_adjoint(&w->sim, w->in, w->out, &w->tape, now, next, w->bar, &bars[0], &bars[1]);
    double slope = particles_dot(w->bar, dir, w->n) + pose_dot(&bars[0], dp[0]) + pose_dot(&bars[1], dp[1]);
    double h = 1e-7, value[2];
    for (int side = 0; side < 2; side++) {
        double s = side ? -h : h;
        for (uint32_t p = 0; p < w->n; p++) {
            for (int i = 0; i < 24; i++) {
                (&try[p].x[0])[i] = (&w->in[p].x[0])[i] + s * (&dir[p].x[0])[i];
            }
        }
        move_pose(now, s, dp[0], &moved[0]);
        move_pose(next, s, dp[1], &moved[1]);
        assert_int_equal(mpm_substep(&w->sim, try, try, &moved[0], &moved[1], NULL), MPM_OK);
        value[side] = particles_dot(try, weights, w->n);
    }
    double scale = sqrt(particles_dot(w->bar, w->bar, w->n) * particles_dot(dir, dir, w->n) / (24.0 * w->n));
    mpm_expect(slope, (value[0] - value[1]) / (2 * h), tolerance * scale, "%s", label);
    free(weights);
    free(dir);
    free(try);
}

static void test_substep_adjoint(void **state)
{
    static const double friction[3] = {0.0, 0.7, 100.0};
    static const char *const label[3] = {"smooth floor", "floor with friction", "sticky floor"};
    for (int k = 0; k < 3; k++) {
        world w;
        open_world(&w, friction[k], true, true, 400);
        mpm_pose now = w.scene.tools[0].start, next;
        now.position[1] = 0.13;
        mpm_control control = {{1e-4, -3e-4, 2e-4, 1e-3, 2e-3, -1e-3}};
        mpm_tool_move(&w.scene.tools[0], &now, &control, &next);
        check_substep(&w, &now, &next, 1e-6, label[k]);
        close_world(&w);
    }
}

/* The tank: walls, a ladle in the syrup, and bodies of all laws. */
static void open_tank(world *w)
{
    mpm_domain domain;
    memset(w, 0, sizeof *w);
    w->scene = mpm_test_tank(&domain);
    w->n = mpm_particle_count(&w->scene, &domain, 0);
    assert_int_equal(mpm_sim_init(&w->sim, &w->scene, &domain, w->n, 0.0), MPM_OK);
    assert_true(mpm_grid_init_adjoint(&w->sim.grid));
    w->in = calloc(w->n, sizeof *w->in);
    w->out = calloc(w->n, sizeof *w->out);
    w->bar = calloc(w->n, sizeof *w->bar);
    w->tape.svd = calloc(w->n, sizeof *w->tape.svd);
    mpm_particles_make(&w->scene, &domain, 0, 0, w->in);
    for (uint32_t p = 0; p < w->n; p++) {
        double strain[9];
        random_numbers(w->in[p].v, 3, 1.0);
        random_numbers(w->in[p].c, 9, 10.0);
        random_numbers(strain, 9, 0.05);
        for (int i = 0; i < 9; i++) {
            w->in[p].f[i] += strain[i];
        }
    }
}

static void test_tank_adjoint(void **state)
{
    for (int k = 0; k < 4; k++) {
        world w;
        open_tank(&w);
        mpm_pose now = w.scene.tools[0].start, next;
        now.position[0] += 0.01 * k; /* other nodes inside the shell */
        mpm_control control = {{5e-4, -8e-4}};
        mpm_tool_move(&w.scene.tools[0], &now, &control, &next);
        check_substep(&w, &now, &next, 1e-6, "tank");
        close_world(&w);
    }
}

/* No mass is lost at the walls, and nothing passes through the ladle and the walls: velocities of the nodes.
 */
static void test_tank_nodes(void **state)
{
    world w;
    double mass = 0.0, sum = 0.0;
    int touched = 0;
    open_tank(&w);
    const mpm_domain *domain = &w.sim.domain;
    for (uint32_t k = 0; k < w.sim.n_phases; k++) {
        sum += w.sim.phases[k].count * w.sim.phases[k].mass;
    }
    mpm_expect(sum,
               (16 * 8 * 16 - 36) * 1000.0 * pow(0.0125, 3) + 64 * 1200.0 * 1e-6 +
                   77 * domain->particle_mass + 1600.0 * 1.92e-4,
               1e-12, "mass of the particles");
    const mpm_tool *tool = &w.scene.tools[0];
    mpm_pose now = tool->start, next;
    mpm_control control = {{5e-4, -8e-4}};
    mpm_tool_move(tool, &now, &control, &next);
    assert_int_equal(mpm_substep(&w.sim, w.in, w.out, &now, &next, &w.tape), MPM_OK);
    for (size_t r = 0; r < w.tape.grid.count; r++) {
        const mpm_node_record *node = &w.tape.grid.nodes[r];
        const int i[3] = {(int)node->i, (int)node->j, (int)node->k};
        double x[3], n[3], closing = 0.0;
        mass += node->node[3];
        for (int d = 0; d < 3; d++) {
            x[d] = (i[d] - domain->offset) * domain->dx;
            assert_true(x[d] > 1e-9 || node->velocity[d] >= 0.0);
            assert_true(x[d] < (d == 1 ? 0.25 : 0.2) - 1e-9 || node->velocity[d] <= 0.0);
        }
        bool at_wall = x[0] < 1e-9 || x[1] < 1e-9 || x[2] < 1e-9 || x[0] > 0.2 - 1e-9 || x[2] > 0.2 - 1e-9;
        if (!at_wall && mpm_tool_distance(tool, &now, x) <= 0.0) {
            mpm_tool_normal(tool, &now, x, n);
            for (int d = 0; d < 3; d++) {
                closing += n[d] * (node->velocity[d] - (next.position[d] - now.position[d]) / domain->dt);
            }
            assert_true(closing > -1e-9);
            touched++;
        }
    }
    mpm_expect(mass, sum, 1e-12 * sum, "mass of the nodes");
    assert_true(touched > 20);
    close_world(&w);
}

/* Without gravity and contact mass, momentum and angular momentum (with the affine part) are conserved,
 * except for the nodes lighter than 1e-12, which do not move: some dozens, each with that mass times a speed
 * of order 1. */
static void test_conservation(void **state)
{
    world w;
    open_world(&w, 0.0, false, false, 500);
    memset(w.sim.forcing.gravity, 0, sizeof w.sim.forcing.gravity);
    double before[7] = {0.0}, after[7];
    for (int step = 0; step <= 9; step++) {
        memset(after, 0, sizeof after);
        for (uint32_t p = 0; p < w.n; p++) {
            double l[3], d = w.sim.domain.dx;
            vec3_cross(w.in[p].x, w.in[p].v, l);
            const double *c = w.in[p].c;
            /* the second moment of the quadratic weights is dx^2 / 4 */
            const double spin[3] = {c[7] - c[5], c[2] - c[6], c[3] - c[1]};
            vec3_add_scaled(after, w.sim.domain.particle_mass, w.in[p].v);
            vec3_add_scaled(after + 3, w.sim.domain.particle_mass, l);
            vec3_add_scaled(after + 3, w.sim.domain.particle_mass * d * d / 4.0, spin);
        }
        if (step == 0) {
            memcpy(before, after, sizeof before);
        }
        for (int d = 0; d < 3; d++) {
            mpm_expect(after[d], before[d], 1e-11, "momentum");
            mpm_expect(after[3 + d], before[3 + d], 1e-11, "angular momentum");
        }
        memset(w.sim.grid.node, 0, 4 * 32 * 32 * 32 * sizeof(double));
        assert_int_equal(mpm_substep(&w.sim, w.in, w.in, NULL, NULL, NULL), MPM_OK);
        double mass = 0.0;
        for (int i = 0; i < 32 * 32 * 32; i++) {
            mass += w.sim.grid.node[4 * i + 3];
        }
        mpm_expect(mass, w.n * w.sim.domain.particle_mass, 1e-12, "mass");
    }
    close_world(&w);
}

static void test_free_fall(void **state)
{
    mpm_scene scene = mpm_test_scene(TASK_TORUS, 1);
    mpm_domain domain = mpm_domain_make(MPM_PRESET_FULL);
    scene.bodies[0].center[1] = 0.5;
    scene.n_tools = 0;
    mpm_sim sim;
    static mpm_particle p[500];
    assert_int_equal(mpm_sim_init(&sim, &scene, &domain, 500, 0.0), MPM_OK);
    mpm_particles_make(&scene, &domain, 500, 0, p);
    assert_int_equal(mpm_substep(&sim, p, p, NULL, NULL, NULL), MPM_OK);
    for (int i = 0; i < 500; i++) {
        /* nodes below the smallest mass do not move: a share of at most 1e-12 / particle mass each */
        mpm_expect(p[i].v[1], -0.003, 1e-9, "v");
        for (int k = 0; k < 9; k++) {
            mpm_expect(p[i].c[k], 0.0, 1e-7, "C");
            assert_true(p[i].f[k] == (k % 4 == 0));
        }
    }
    p[17].v[0] = NAN;
    assert_int_equal(mpm_substep(&sim, p, p, NULL, NULL, NULL), MPM_OK);
    assert_int_equal(mpm_substep(&sim, p, p, NULL, NULL, NULL), MPM_DIVERGED);
    mpm_sim_free(&sim);
}

static void fill_target(mpm_objective *o, const mpm_domain *domain, const mpm_particle *p, uint32_t n)
{
    size_t cells = (size_t)domain->n * (size_t)domain->n * (size_t)domain->n;
    double *target = calloc(cells, sizeof(double));
    for (uint32_t i = 0; i < n; i++) {
        mpm_stencil s;
        assert_true(mpm_stencil_at(domain->n, p[i].x, &s));
        mpm_splat(target, domain->n, &s, domain->particle_mass);
    }
    assert_int_equal(mpm_objective_init(o, domain->n, target), MPM_OK);
    free(target);
}

static void test_loss_adjoint(void **state)
{
    for (int soft = 0; soft < 2; soft++) {
        world w;
        open_world(&w, 0.0, true, true, 300);
        mpm_objective o = {
            .weight_density = 3.0, .weight_sdf = 2.0, .weight_contact = 40.0, .soft_contact = soft == 1};
        mpm_measure m;
        mpm_particles_make(&w.scene, &w.sim.domain, w.n, 5, w.out);
        fill_target(&o, &w.sim.domain, w.out, w.n);
        mpm_pose pose = w.scene.tools[0].start, moved, bar = {.gap = 0};
        assert_int_equal(mpm_loss_adjoint(&o, &w.sim, w.in, &pose, 1.0, w.bar, &bar), MPM_OK);
        double dp[8], h = 1e-8, value[2], slope = 0.0;
        random_numbers(dp, 8, 1.0);
        mpm_particle *dir = calloc(w.n, sizeof *dir);
        for (uint32_t p = 0; p < w.n; p++) {
            random_numbers(dir[p].x, 3, 1.0);
        }
        slope = particles_dot(w.bar, dir, w.n) + pose_dot(&bar, dp);
        for (int side = 0; side < 2; side++) {
            double s = side ? -h : h;
            memcpy(w.out, w.in, w.n * sizeof *w.in);
            for (uint32_t p = 0; p < w.n; p++) {
                vec3_add_scaled(w.out[p].x, s, dir[p].x);
            }
            move_pose(&pose, s, dp, &moved);
            assert_int_equal(mpm_measure_state(&o, &w.sim, w.out, &moved, &m), MPM_OK);
            value[side] = mpm_loss(&o, &m);
        }
        mpm_expect(slope, (value[0] - value[1]) / (2 * h), 1e-6 * fabs(slope), "loss, soft %d", soft);
        /* a state that is its own target */
        mpm_objective_free(&o);
        fill_target(&o, &w.sim.domain, w.in, w.n);
        assert_int_equal(mpm_measure_state(&o, &w.sim, w.in, &pose, &m), MPM_OK);
        assert_true(m.density == 0.0 && m.sdf >= 0.0 && m.iou > 0.1 && m.iou < 1.0);
        mpm_objective_free(&o);
        free(dir);
        close_world(&w);
    }
}

/* ---- tools ---- */

enum { SHAPES = MPM_LADLE + 1 };

static mpm_tool tool_of(uint32_t shape)
{
    mpm_tool tool = {.shape = shape, .friction = 0.9, .upper = {1, 1, 1}, .action_dim = 6, .min_gap = 0.01};
    static const double sizes[SHAPES][3] = {{.04},           {.03, .06}, {.1, .2},  {.05, .03},
                                            {.05, .08, .03}, {.03, .3},  {.02, .2}, {.05, .012}};
    memcpy(tool.size, sizes[shape], sizeof tool.size);
    for (int i = 0; i < MPM_MAX_ACTION; i++) {
        tool.scale[i] = 0.01;
    }
    return tool;
}

static mpm_pose random_pose(void)
{
    mpm_pose pose = {.position = {0.5, 0.3, 0.5}, .gap = 0.06};
    random_numbers(pose.rotation, 4, 1.0);
    double norm =
        sqrt(dot(pose.rotation, pose.rotation, 4)) / uniform(0.99, 1.01); /* nearly of unit length */
    for (int i = 0; i < 4; i++) {
        pose.rotation[i] /= norm;
    }
    return pose;
}

/* A point near the surface of a tool. */
static void near_surface(const mpm_tool *tool, const mpm_pose *pose, double x[3])
{
    for (int attempt = 0; attempt < 1000; attempt++) {
        for (int d = 0; d < 3; d++) {
            x[d] = pose->position[d] + uniform(-0.25, 0.25);
        }
        double n[3], d = mpm_tool_distance(tool, pose, x);
        mpm_tool_normal(tool, pose, x, n);
        vec3_add_scaled(x, uniform(-0.004, 0.003) - d, n);
        if (fabs(mpm_tool_distance(tool, pose, x)) < 0.006) {
            return;
        }
    }
}

static void test_distances_and_normals(void **state)
{
    for (uint32_t shape = 0; shape < SHAPES; shape++) {
        mpm_tool tool = tool_of(shape);
        for (int k = 0; k < 60; k++) {
            mpm_pose pose = random_pose(), pose_bar = {.gap = 0}, up, down;
            mpm_tool larger = tool, smaller = tool;
            double x[3], n[3], n_bar[3], x_bar[3] = {0.0}, dx[3], dp[8], ds[3], xu[3], xd[3], h = 1e-7;
            near_surface(&tool, &pose, x);
            random_numbers(dx, 3, 1.0);
            random_numbers(dp, 8, 1.0);
            random_numbers(n_bar, 3, 1.0);
            move_pose(&pose, h, dp, &up);
            move_pose(&pose, -h, dp, &down);
            for (int i = 0; i < 3; i++) {
                xu[i] = x[i] + h * dx[i];
                xd[i] = x[i] - h * dx[i];
                ds[i] = tool.size[i] > 0.0 ? dx[(i + 1) % 3] : 0.0;
                larger.size[i] += h * ds[i];
                smaller.size[i] -= h * ds[i];
            }
            mpm_tool_distance_adjoint(&tool, &pose, x, 1.0, &pose_bar, x_bar);
            double slope = pose_dot(&pose_bar, dp) + dot(x_bar, dx, 3) + dot(pose_bar.constants.size, ds, 3);
            double quotient =
                (mpm_tool_distance(&larger, &up, xu) - mpm_tool_distance(&smaller, &down, xd)) / (2 * h);
            mpm_expect(slope, quotient, 1e-6, "shape %u distance", shape);
            /* the gradient of the distance is the normal, up to the length of the quaternion */
            mpm_tool_normal(&tool, &pose, x, n);
            double length = sqrt(dot(n, n, 3));
            mpm_expect(length, 1.0, 0.05, "shape %u length of the normal", shape);
            /* a box's normal is a difference, blurred at edges */
            for (int i = 0; i < 3 && shape != MPM_BOX; i++) {
                mpm_expect(n[i], x_bar[i], 0.1, "shape %u normal", shape);
            }
            memset(&pose_bar, 0, sizeof pose_bar);
            mpm_tool_normal_adjoint(&tool, &pose, x, n_bar, &pose_bar);
            double nu[3], nd[3];
            mpm_tool_normal(&larger, &up, x, nu);
            mpm_tool_normal(&smaller, &down, x, nd);
            quotient = (dot(n_bar, nu, 3) - dot(n_bar, nd, 3)) / (2 * h);
            slope = pose_dot(&pose_bar, dp) + dot(pose_bar.constants.size, ds, 3);
            mpm_expect(slope, quotient, 1e-4 * fmax(1.0, fabs(slope)), "shape %u normal adjoint", shape);
        }
    }
}

/* The ladle's distance is the distance to the nearest of many points of its middle surface, minus half its
 * thickness. The normal points away from that point, so that a step along it changes the distance by the
 * step's length. */
static void test_ladle(void **state)
{
    const mpm_tool tool = tool_of(MPM_LADLE);
    const mpm_pose pose = {.position = {0.1, 0.2, 0.3}, .rotation = {1, 0, 0, 0}};
    const double radius = tool.size[0], half = tool.size[1];
    enum { TURNS = 400, HEIGHTS = 100 };
    const double pi = acos(-1.0), gap = 0.5 * pi * radius / HEIGHTS; /* of the points */
    for (int k = 0; k < 200; k++) {
        double x[3], nearest = INFINITY, n[3], beyond[3];
        for (int d = 0; d < 3; d++) {
            x[d] = pose.position[d] + uniform(-0.1, 0.1);
        }
        for (int i = 0; i <= HEIGHTS; i++) {
            double fall = 0.5 * pi * i / HEIGHTS;
            for (int j = 0; j < TURNS; j++) {
                double turn = 2.0 * pi * j / TURNS;
                const double to[3] = {pose.position[0] + radius * sin(fall) * cos(turn) - x[0],
                                      pose.position[1] - radius * cos(fall) - x[1],
                                      pose.position[2] + radius * sin(fall) * sin(turn) - x[2]};
                nearest = fmin(nearest, sqrt(dot(to, to, 3)));
            }
        }
        double d = mpm_tool_distance(&tool, &pose, x);
        assert_true(d <= nearest - half + 1e-9);
        mpm_expect(d, nearest - half, nearest > gap ? gap * gap / nearest : gap, "distance at %g %g %g", x[0],
                   x[1], x[2]);
        mpm_tool_normal(&tool, &pose, x, n);
        for (int i = 0; i < 3; i++) {
            beyond[i] = x[i] + 1e-4 * n[i];
        }
        mpm_expect(mpm_tool_distance(&tool, &pose, beyond), d + 1e-4, 1e-9, "away from %g %g %g", x[0], x[1],
                   x[2]);
    }
    /* open at the top, a shell below; bounds of its position hold, no motion along z */
    const double inside[3] = {0.1, 0.19, 0.3}, bottom[3] = {0.1, 0.15, 0.3}, mouth[3] = {0.1, 0.21, 0.3};
    assert_true(mpm_tool_distance(&tool, &pose, inside) > 0.02 &&
                mpm_tool_distance(&tool, &pose, mouth) > 0.02);
    mpm_expect(mpm_tool_distance(&tool, &pose, bottom), -half, 1e-12, "in the shell");
}

static void test_motion_adjoint(void **state)
{
    for (uint32_t shape = 0; shape < SHAPES; shape++) {
        mpm_tool tool = tool_of(shape);
        for (int k = 0; k < 40; k++) {
            mpm_pose pose = random_pose(), next, bar = {.gap = 0}, next_bar, up, down;
            mpm_control control, control_bar = {{0.0}}, moved;
            double d[8], dc[7], h = 1e-6, value[2];
            random_numbers(control.value, 7, 0.02);
            if (k % 4 == 0) {
                memset(control.value, 0, sizeof control.value); /* the rotation's limit at zero */
            }
            random_numbers(d, 8, 1.0);
            random_numbers(dc, 7, 1.0);
            random_numbers(next_bar.position, 3, 1.0);
            random_numbers(next_bar.rotation, 4, 1.0);
            next_bar.gap = uniform(-1, 1);
            mpm_tool_move(&tool, &pose, &control, &next);
            mpm_tool_move_adjoint(&tool, &pose, &control, &next_bar, &bar, &control_bar);
            for (int side = 0; side < 2; side++) {
                double s = side ? -h : h;
                move_pose(&pose, s, d, &up);
                for (int i = 0; i < 7; i++) {
                    moved.value[i] = control.value[i] + s * dc[i];
                }
                mpm_tool_move(&tool, &up, &moved, &down);
                value[side] = dot(down.position, next_bar.position, 3) +
                              dot(down.rotation, next_bar.rotation, 4) + down.gap * next_bar.gap;
            }
            double slope = pose_dot(&bar, d) + dot(control_bar.value, dc, 7);
            mpm_expect(slope, (value[0] - value[1]) / (2 * h), 1e-8 * fmax(1.0, fabs(slope)),
                       "shape %u motion", shape);
        }
    }
}

static void test_motion_examples(void **state)
{
    /* 50 steps of 19 equal parts move a free sphere by exactly 50 actions */
    mpm_tool tool = tool_of(MPM_SPHERE);
    mpm_pose pose = {.position = {0.2, 0.2, 0.2}, .rotation = {1, 0, 0, 0}}, next;
    mpm_control control = {{0.7 * 0.01 / 19, 0.1 * 0.01 / 19, 0.0}};
    for (int i = 0; i < 950; i++) {
        mpm_tool_move(&tool, &pose, &control, &next);
        pose = next;
    }
    mpm_expect(pose.position[0], 0.2 + 50 * 0.7 * 0.01, 1e-13, "x");
    mpm_expect(pose.position[1], 0.2 + 50 * 0.1 * 0.01, 1e-13, "y");
    /* a pin along world z rolls towards -x, and its lift is along y alone */
    tool = tool_of(MPM_ROLLING_PIN);
    pose = (mpm_pose){.position = {0.5, 0.5, 0.5}, .rotation = {0.707, 0.707, 0, 0}};
    control = (mpm_control){{0.1, 0.0, -0.01}};
    mpm_tool_move(&tool, &pose, &control, &next);
    mpm_expect(next.position[0], 0.5 - 0.1 * 0.03, 1e-6, "x of the pin");
    mpm_expect(next.position[1], 0.49, 1e-15, "y of the pin");
    /* bounds stop it */
    tool.lower[1] = 0.495;
    mpm_tool_move(&tool, &pose, &control, &next);
    assert_true(next.position[1] == 0.495);
}

static void test_contact_adjoint(void **state)
{
    int acted = 0;
    for (uint32_t shape = 0; shape < SHAPES; shape++) {
        mpm_tool tool = tool_of(shape);
        for (int k = 0; k < 80; k++) {
            tool.friction = k % 3 == 0 ? 0.0 : k % 3 == 1 ? 0.9 : 10.0;
            mpm_pose now = random_pose(), next, bars[2], moved[2];
            memset(bars, 0, sizeof bars);
            mpm_control control;
            double x[3], u[3], u_bar[3], w[3], du[3], dp[2][8], h = 1e-6, value[2], scale = 1.0;
            random_numbers(control.value, 7, 2e-4);
            mpm_tool_move(&tool, &now, &control, &next);
            near_surface(&tool, &now, x);
            random_numbers(u, 3, 3.0);
            random_numbers(w, 3, 1.0);
            random_numbers(du, 3, 1.0);
            random_numbers(dp[0], 16, 1e-3);
            mpm_contact contact = {&tool, &now, &next, k % 5 == 0 ? 0.0 : 666.0, 1e-4};
            double after[3] = {u[0], u[1], u[2]};
            acted += mpm_contact_apply(&contact, x, after);
            memcpy(u_bar, w, sizeof w);
            mpm_contact_adjoint(&contact, x, u, u_bar, &bars[0], &bars[1]);
            for (int side = 0; side < 2; side++) {
                double s = side ? -h : h;
                move_pose(&now, s, dp[0], &moved[0]);
                move_pose(&next, s, dp[1], &moved[1]);
                mpm_contact c = {&tool, &moved[0], &moved[1], contact.softness, 1e-4};
                for (int i = 0; i < 3; i++) {
                    after[i] = u[i] + s * du[i];
                }
                mpm_contact_apply(&c, x, after);
                value[side] = dot(after, w, 3);
            }
            double slope = dot(u_bar, du, 3) + pose_dot(&bars[0], dp[0]) + pose_dot(&bars[1], dp[1]);
            scale = fmax(scale, fabs(slope));
            mpm_expect(slope, (value[0] - value[1]) / (2 * h), 2e-6 * scale, "shape %u case %d contact",
                       shape, k);
        }
    }
    assert_true(acted > 300);
}

/* The mass of a body that states its volume does not depend on the number of its particles. */
static void test_volume_of_a_body(void **state)
{
    const double size[3] = {0.4, 0.4, 0.4};
    const mpm_domain domain = mpm_domain_tank(0.02, size, 0.001, 5e-4, 40, 10);
    mpm_scene scene = {.n_bodies = 1};
    scene.bodies[0] = (mpm_body){.shape = MPM_BODY_BOX,
                                 .count = 300,
                                 .center = {0.2, 0.2, 0.2},
                                 .size = {0.1, 0.1, 0.02},
                                 .volume = 2e-4};
    for (uint32_t law = 0; law < MPM_LAWS; law++) {
        scene.bodies[0].matter =
            (mpm_matter){.law = law, .density = 500.0, .own = true, .youngs_modulus = 1e3};
        for (uint32_t count = 100; count <= 300; count += 200) {
            mpm_sim sim;
            assert_int_equal(mpm_sim_init(&sim, &scene, &domain, count, 0.0), MPM_OK);
            assert_true(fabs(sim.phases[0].mass * count - 0.1) < 1e-15);
            assert_true(fabs(sim.phases[0].volume * count - 2e-4) < 1e-18);
            mpm_sim_free(&sim);
        }
    }
}

RUN_EACH_WITH(reseed, NULL, test_volume_of_a_body, test_weights, test_transfer_adjoints, test_substep_adjoint,
              test_tank_adjoint, test_tank_nodes, test_conservation, test_free_fall, test_loss_adjoint,
              test_distances_and_normals, test_ladle, test_motion_adjoint, test_motion_examples,
              test_contact_adjoint)
