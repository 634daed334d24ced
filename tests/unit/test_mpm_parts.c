/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the plasticine engine one by one: random stream, decomposition, material law, tools,
 * transfers, grid, losses, each adjoint against differences; conservation laws; stored targets. Needs no
 * recorded data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "distance.h"
#include "env.h"
#include "mat3.h"
#include "mpm_support.h"
#include "mt19937.h"
#include "quaternion.h"
#include "transfer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static mpm_rng rng;

static double uniform(double a, double b)
{
    return a + (b - a) * mpm_rng_uniform(&rng);
}

static void random_numbers(double *out, size_t n, double scale)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = uniform(-scale, scale);
    }
}

static int reseed(void **state)
{
    (void)state;
    mpm_rng_seed(&rng, 42);
    return 0;
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* ---- random stream and particles ---- */

static void test_random_stream(void **state)
{
    (void)state;
    static const double u[4] = {0.54881350392732475, 0.71518936637241948, 0.60276337607164387,
                                0.54488318299689686};
    static const double g[4] = {1.764052345967664, 0.40015720836722329, 0.9787379841057392,
                                2.2408931992014578};
    mpm_rng r;
    mpm_rng_seed(&r, 0);
    for (int i = 0; i < 4; i++) {
        assert_true(mpm_rng_uniform(&r) == u[i]);
    }
    mpm_rng_seed(&r, 0);
    for (int i = 0; i < 4; i++) {
        mpm_expect(mpm_rng_gauss(&r), g[i], 5e-16 * g[i], "normal %d", i);
    }
}

/* First and last particle, mean and sum of squares of the tasks, from the original. */
static void test_particles(void **state)
{
    (void)state;
    typedef struct expected {
        int task;
        double first[3], last[3], mean[3], sum_sq;
    } expected;
    static const expected all[] = {
        {0,
         {.6078101606283719, .11443029861958712, .51644214017146306},
         {.34307851387818422, .062432305639667576, .53229328184829927},
         {.480278640, .071298081, .499433518},
         5115.370608509},
        {1,
         {.50195254015709301, .028607574654896779, .56165802564298628},
         {.51411616752918832, .029369182178579787, .58339844944650443},
         {.500008709, .019792624, .498424447},
         5292.538404663},
        {2,
         {.75727405262101788, .58041719395707503, .79684932225102179},
         {.61623067589030833, .60036463945570495, .80101437720606827},
         {.675654396, .561857414, .751440204},
         13431.620731190},
        {3,
         {.50976270078546493, .14303787327448389, .5205526752143288},
         {.50712216655868514, .070916410204753283, .5871561974612548},
         {.500142591, .098357094, .498503424},
         3110.387464732},
        {5,
         {.5292881023563949, .042911361982345166, .73616580256429864},
         {.7117425129378252, .044053773267869675, .73833984494465044},
         {.500130636, .029688937, .729842445},
         8147.700422474},
        {6,
         {.426952540157093, .12151893663724195, .42911053504286573},
         {.5705808376459417, .19171147772322472, .52779948314883485},
         {.500348929, .115487304, .499760369},
         5257.475852117},
        {TASK_TORUS,
         {.51464405117819745, .071518936637241945, .5308290128214932},
         {.6058712564689126, .073422955446449473, .54169922472325227},
         {.500065318, .049481561, .499212224},
         5177.260587522},
        {8,
         {.30488135039273245, .071518936637241945, .5102763376071644},
         {.73203279841126756, .062235919374876152, .5031140439086732},
         {.500018245, .049479167, .499735992},
         5313.428248081},
    };
    static mpm_particle p[10000];
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        const expected *e = &all[k];
        mpm_scene scene = mpm_test_scene(e->task, 1);
        mpm_domain domain = mpm_domain_make(MPM_PRESET_FULL);
        uint32_t n = mpm_particle_count(&scene, &domain, 0);
        double mean[3] = {0.0}, sum = 0.0;
        assert_true(n <= 10000);
        mpm_particles_make(&scene, &domain, 0, 0, p);
        for (uint32_t i = 0; i < n; i++) {
            vec3_add_scaled(mean, 1.0 / n, p[i].x);
            sum += vec3_dot(p[i].x, p[i].x);
        }
        for (int d = 0; d < 3; d++) {
            /* the random numbers are exact; libm may differ in the last place for spheres */
            mpm_expect(p[0].x[d], e->first[d], 2.3e-16, "%s first", mpm_task_names[e->task]);
            mpm_expect(p[n - 1].x[d], e->last[d], 2.3e-16, "%s last", mpm_task_names[e->task]);
            mpm_expect(mean[d], e->mean[d], 6e-10, "%s mean", mpm_task_names[e->task]);
        }
        mpm_expect(sum, e->sum_sq, 6e-10, "%s sum of squares", mpm_task_names[e->task]);
    }
}

static void test_particle_shares(void **state)
{
    (void)state;
    mpm_scene scene = mpm_test_scene(0, 1);
    mpm_domain full = mpm_domain_make(MPM_PRESET_FULL), small = mpm_domain_make(MPM_PRESET_SMALL);
    assert_int_equal(mpm_particle_count(&scene, &full, 0), 10000);
    assert_int_equal(mpm_particle_count(&scene, &small, 0), 1250);
    for (uint32_t total = 1; total < 50; total++) {
        assert_int_equal(mpm_particle_count(&scene, &small, total), total);
    }
}

/* ---- decomposition and material ---- */

static void check_svd(const double a[9])
{
    mpm_svd s;
    double r[9], gram[9], norm = 1e-300;
    mpm_svd3(a, &s);
    for (int i = 0; i < 9; i++) {
        norm = fmax(norm, fabs(a[i]));
    }
    mat3_compose(s.u, s.s, s.v, r);
    for (int i = 0; i < 9; i++) {
        mpm_expect(r[i], a[i], 1e-14 * fmax(norm, 1e-12), "U S V^T");
    }
    mat3_tmul(s.u, s.u, gram);
    for (int i = 0; i < 9; i++) {
        mpm_expect(gram[i], i % 4 == 0, 1e-14, "U^T U");
    }
    mat3_tmul(s.v, s.v, gram);
    for (int i = 0; i < 9; i++) {
        mpm_expect(gram[i], i % 4 == 0, 1e-14, "V^T V");
    }
    mpm_expect(mat3_det(s.u), 1.0, 1e-14, "det U");
    mpm_expect(mat3_det(s.v), 1.0, 1e-14, "det V");
    assert_true(s.s[0] >= s.s[1] - 1e-15 * norm && s.s[1] >= fabs(s.s[2]) - 1e-15 * norm);
}

static void test_svd(void **state)
{
    (void)state;
    const double special[][9] = {
        {1, 0, 0, 0, 1, 0, 0, 0, 1},      {1, 0, 0, 0, 1, 0, 0, 0, -1}, {0, 0, 0, 0, 0, 0, 0, 0, 0},
        {2, 0, 0, 0, 0, 0, 0, 0, 0},      {0, 1, 0, 1, 0, 0, 0, 0, 1},  {1, 2, 3, 2, 4, 6, 3, 6, 9},
        {1e-9, 0, 0, 0, 1, 0, 0, 0, 1e3}, {0, 0, 1, 0, 0, 0, 0, 1, 0},
    };
    for (size_t k = 0; k < sizeof special / sizeof special[0]; k++) {
        check_svd(special[k]);
    }
    mpm_svd s;
    mpm_svd3(special[1], &s);
    mpm_expect(s.s[2], -1.0, 1e-15, "s3 of diag(1, 1, -1)");
    for (int k = 0; k < 2000; k++) {
        double a[9];
        random_numbers(a, 9, k % 3 == 0 ? 1.0 : pow(10.0, uniform(-8, 0)));
        for (int i = 0; i < 9 && k % 3 != 0; i += 4) {
            a[i] += 1.0;
        }
        check_svd(a);
    }
}

/* <stress_bar, stress> + <f_bar, F_new> as a function of the trial gradient. */
static double material_value(const mpm_material *law, const double a[9], const double f_bar[9],
                             const double stress_bar[9])
{
    mpm_svd s;
    double f[9], stress[9];
    mpm_svd3(a, &s);
    mpm_material_update(law, a, &s, f, stress);
    return dot(f_bar, f, 9) + dot(stress_bar, stress, 9);
}

static double material_error(const mpm_material *law, const double a[9])
{
    mpm_svd s;
    double f[9], stress[9], f_bar[9], stress_bar[9], a_bar[9], da[9], up[9], down[9], h = 2e-6;
    random_numbers(f_bar, 9, law->mu);
    random_numbers(stress_bar, 9, 1.0);
    random_numbers(da, 9, 1.0);
    mpm_svd3(a, &s);
    mpm_material_update(law, a, &s, f, stress);
    mpm_material_adjoint(law, &s, f, f_bar, stress_bar, a_bar);
    for (int i = 0; i < 9; i++) {
        up[i] = a[i] + h * da[i];
        down[i] = a[i] - h * da[i];
    }
    double slope = dot(a_bar, da, 9);
    double quotient =
        (material_value(law, up, f_bar, stress_bar) - material_value(law, down, f_bar, stress_bar)) / (2 * h);
    return fabs(slope - quotient) / sqrt(dot(a_bar, a_bar, 9) * dot(da, da, 9));
}

static void test_material_adjoint(void **state)
{
    (void)state;
    mpm_material law = mpm_material_make(5000.0, 0.2, 50.0);
    double identity[9], a[9];
    mat3_identity(identity);
    assert_true(material_error(&law, identity) < 1e-7); /* all singular values coincide */
    for (int k = 0; k < 400; k++) {
        /* elastic, plastic, twins among the singular values, strongly sheared */
        static const double size[4] = {1e-3, 0.05, 0.0, 0.5};
        random_numbers(a, 9, size[k % 4]);
        a[0] += 1.0;
        a[4] += k % 4 == 2 ? 1.2 : 1.0;
        a[8] += k % 4 == 2 ? 1.2 : 1.0;
        if (mat3_det(a) < 0.1) {
            continue;
        }
        double error = material_error(&law, a);
        if (!(error < 1e-7)) {
            print_error("case %d: relative error %.3g\n", k, error);
            fail();
        }
    }
    law.clamped_svd = 1;
    for (int k = 0; k < 50; k++) {
        random_numbers(a, 9, 0.1);
        for (int i = 0; i < 9; i += 4) {
            a[i] += 1.0 + 0.1 * i; /* well separated */
        }
        assert_true(material_error(&law, a) < 1e-6);
    }
}

/* ---- tools ---- */

static mpm_tool tool_of(uint32_t shape)
{
    mpm_tool tool = {.shape = shape, .friction = 0.9, .upper = {1, 1, 1}, .action_dim = 6, .min_gap = 0.01};
    static const double sizes[7][3] = {{.04},           {.03, .06}, {.1, .2}, {.05, .03},
                                       {.05, .08, .03}, {.03, .3},  {.02, .2}};
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

static void move_pose(const mpm_pose *pose, double h, const double *d, mpm_pose *out)
{
    *out = *pose;
    for (int i = 0; i < 3; i++) {
        out->position[i] += h * d[i];
    }
    for (int i = 0; i < 4; i++) {
        out->rotation[i] += h * d[3 + i];
    }
    out->gap += h * d[7];
}

static double pose_dot(const mpm_pose *bar, const double *d)
{
    return dot(bar->position, d, 3) + dot(bar->rotation, d + 3, 4) + bar->gap * d[7];
}

static void test_distances_and_normals(void **state)
{
    (void)state;
    for (uint32_t shape = 0; shape < 7; shape++) {
        mpm_tool tool = tool_of(shape);
        for (int k = 0; k < 60; k++) {
            mpm_pose pose = random_pose(), pose_bar = {{0}, {0}, 0}, up, down;
            double x[3], n[3], n_bar[3], x_bar[3] = {0.0}, dx[3], dp[8], xu[3], xd[3], h = 1e-7;
            near_surface(&tool, &pose, x);
            random_numbers(dx, 3, 1.0);
            random_numbers(dp, 8, 1.0);
            random_numbers(n_bar, 3, 1.0);
            move_pose(&pose, h, dp, &up);
            move_pose(&pose, -h, dp, &down);
            for (int i = 0; i < 3; i++) {
                xu[i] = x[i] + h * dx[i];
                xd[i] = x[i] - h * dx[i];
            }
            mpm_tool_distance_adjoint(&tool, &pose, x, 1.0, &pose_bar, x_bar);
            double slope = pose_dot(&pose_bar, dp) + dot(x_bar, dx, 3);
            double quotient =
                (mpm_tool_distance(&tool, &up, xu) - mpm_tool_distance(&tool, &down, xd)) / (2 * h);
            mpm_expect(slope, quotient, 1e-6, "shape %u distance", shape);
            /* the gradient of the distance is the normal, up to the length of the quaternion */
            mpm_tool_normal(&tool, &pose, x, n);
            double length = sqrt(dot(n, n, 3));
            mpm_expect(length, 1.0, 0.05, "shape %u length of the normal", shape);
            for (int i = 0; i < 3 && shape != MPM_BOX; i++) { /* a box's is a difference, blurred at edges */
                mpm_expect(n[i], x_bar[i], 0.1, "shape %u normal", shape);
            }
            memset(&pose_bar, 0, sizeof pose_bar);
            mpm_tool_normal_adjoint(&tool, &pose, x, n_bar, &pose_bar);
            double nu[3], nd[3];
            mpm_tool_normal(&tool, &up, x, nu);
            mpm_tool_normal(&tool, &down, x, nd);
            quotient = (dot(n_bar, nu, 3) - dot(n_bar, nd, 3)) / (2 * h);
            slope = pose_dot(&pose_bar, dp);
            mpm_expect(slope, quotient, 1e-4 * fmax(1.0, fabs(slope)), "shape %u normal adjoint", shape);
        }
    }
}

static void test_motion_adjoint(void **state)
{
    (void)state;
    for (uint32_t shape = 0; shape < 7; shape++) {
        mpm_tool tool = tool_of(shape);
        for (int k = 0; k < 40; k++) {
            mpm_pose pose = random_pose(), next, bar = {{0}, {0}, 0}, next_bar, up, down;
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
    (void)state;
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
    /* a pin along world z rolls towards -x, and its lift is in y alone */
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
    (void)state;
    int acted = 0;
    for (uint32_t shape = 0; shape < 7; shape++) {
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

/* ---- transfers ---- */

static void test_weights(void **state)
{
    (void)state;
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
    (void)state;
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

/* A small random cloud, strained, moving, in reach of a tool if `low`, on the floor. */
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

static void test_substep_adjoint(void **state)
{
    (void)state;
    static const double friction[3] = {0.0, 0.7, 100.0};
    for (int k = 0; k < 3; k++) {
        world w;
        open_world(&w, friction[k], true, true, 400);
        mpm_pose now = w.scene.tools[0].start, next, bars[2], moved[2];
        now.position[1] = 0.13;
        memset(bars, 0, sizeof bars);
        mpm_control control = {{1e-4, -3e-4, 2e-4, 1e-3, 2e-3, -1e-3}};
        mpm_tool_move(&w.scene.tools[0], &now, &control, &next);
        assert_int_equal(mpm_substep(&w.sim, w.in, w.out, &now, &next, &w.tape), MPM_OK);
        mpm_particle *weights = calloc(w.n, sizeof *weights), *dir = calloc(w.n, sizeof *dir);
        mpm_particle *try = calloc(w.n, sizeof *try);
        for (uint32_t p = 0; p < w.n; p++) {
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
        memcpy(w.bar, weights, w.n * sizeof *weights);
        mpm_substep_adjoint(&w.sim, w.in, w.out, &w.tape, &now, &next, w.bar, &bars[0], &bars[1]);
        double slope = particles_dot(w.bar, dir, w.n) + pose_dot(&bars[0], dp[0]) + pose_dot(&bars[1], dp[1]);
        double h = 1e-7, value[2];
        for (int side = 0; side < 2; side++) {
            double s = side ? -h : h;
            for (uint32_t p = 0; p < w.n; p++) {
                for (int i = 0; i < 24; i++) {
                    (&try[p].x[0])[i] = (&w.in[p].x[0])[i] + s * (&dir[p].x[0])[i];
                }
            }
            move_pose(&now, s, dp[0], &moved[0]);
            move_pose(&next, s, dp[1], &moved[1]);
            assert_int_equal(mpm_substep(&w.sim, try, try, &moved[0], &moved[1], NULL), MPM_OK);
            value[side] = particles_dot(try, weights, w.n);
        }
        double scale = sqrt(particles_dot(w.bar, w.bar, w.n) * particles_dot(dir, dir, w.n) / (24.0 * w.n));
        mpm_expect(slope, (value[0] - value[1]) / (2 * h), 1e-6 * scale, "floor %g: substep", friction[k]);
        free(weights);
        free(dir);
        free(try);
        close_world(&w);
    }
}

/* Without gravity and contact mass, momentum and angular momentum (with the affine part) are conserved, but
 * for the nodes lighter than 1e-12 that take no part: some dozens, each with that mass times a speed of
 * order 1. */
static void test_conservation(void **state)
{
    (void)state;
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
    (void)state;
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
        /* nodes below the smallest mass take no part: a share of at most 1e-12 / particle mass each */
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

/* ---- losses and targets ---- */

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
    (void)state;
    for (int soft = 0; soft < 2; soft++) {
        world w;
        open_world(&w, 0.0, true, true, 300);
        mpm_objective o = {
            .weight_density = 3.0, .weight_sdf = 2.0, .weight_contact = 40.0, .soft_contact = soft == 1};
        mpm_measure m;
        mpm_particles_make(&w.scene, &w.sim.domain, w.n, 5, w.out);
        fill_target(&o, &w.sim.domain, w.out, w.n);
        mpm_pose pose = w.scene.tools[0].start, moved, bar = {{0}, {0}, 0};
        mpm_loss_adjoint(&o, &w.sim, w.in, &pose, w.bar, &bar);
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

/* The distance field as the original computes it: all cells in every sweep, in floating point. */
static void slow_distance(int n, const double *density, double *distance)
{
    size_t cells = (size_t)n * (size_t)n * (size_t)n;
    double *old = malloc(cells * sizeof(double)), *near = calloc(3 * cells, sizeof(double));
    double *old_near = calloc(3 * cells, sizeof(double));
    for (size_t c = 0; c < cells; c++) {
        old[c] = 1000.0;
    }
    for (int sweep = 0; sweep < 2 * n; sweep++) {
        size_t at = 0;
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) {
                for (int k = 0; k < n; k++, at++) {
                    const double x[3] = {i / (double)n, j / (double)n, k / (double)n};
                    distance[at] = 1000.0;
                    if (density[at] > 1e-4) {
                        distance[at] = 0.0;
                        memcpy(near + 3 * at, x, sizeof x);
                        continue;
                    }
                    for (int v = 0; v < 216; v++) {
                        int a = i + v / 36 - 3, b = j + v / 6 % 6 - 3, c = k + v % 6 - 3;
                        if (a < 0 || b < 0 || c < 0 || a >= n || b >= n || c >= n ||
                            (a == i && b == j && c == k)) {
                            continue;
                        }
                        size_t to = ((size_t)a * (size_t)n + (size_t)b) * (size_t)n + (size_t)c;
                        if (old[to] < 1000.0) {
                            const double d[3] = {x[0] - old_near[3 * to], x[1] - old_near[3 * to + 1],
                                                 x[2] - old_near[3 * to + 2]};
                            double r = sqrt(vec3_dot(d, d) + 1e-8);
                            if (r < distance[at]) {
                                distance[at] = r;
                                memcpy(near + 3 * at, old_near + 3 * to, 3 * sizeof(double));
                            }
                        }
                    }
                }
            }
        }
        memcpy(old, distance, cells * sizeof(double));
        memcpy(old_near, near, 3 * cells * sizeof(double));
    }
    free(old);
    free(near);
    free(old_near);
}

static void test_distance_field(void **state)
{
    (void)state;
    enum { N = 16, CELLS = N * N * N };
    static double density[CELLS], fast[CELLS], slow[CELLS];
    for (int k = 0; k < 5; k++) {
        memset(density, 0, sizeof density);
        for (int i = 0; i < (k == 0 ? 1 : 4 * k); i++) {
            density[(size_t)uniform(0, CELLS)] = uniform(0.5e-4, 4e-4);
        }
        density[(size_t)uniform(0, CELLS)] = 1.0;
        assert_true(mpm_distance_field(N, density, fast));
        slow_distance(N, density, slow);
        assert_memory_equal(fast, slow, sizeof fast);
    }
    memset(density, 0, sizeof density);
    assert_true(mpm_distance_field(N, density, fast));
    assert_true(fast[0] == 1000.0 && fast[CELLS - 1] == 1000.0);
}

static void test_target_files(void **state)
{
    (void)state;
    enum { N = 64 };
    const size_t cells = (size_t)N * N * N;
    double *densities = calloc(2 * cells, sizeof(double)), *back = calloc(cells, sizeof(double));
    char path[] = "/tmp/diffsim-target-XXXXXX";
    int handle = mkstemp(path);
    assert_true(handle >= 0);
    close(handle);
    for (int i = 0; i < 500; i++) {
        densities[(size_t)uniform(0, (double)cells)] = uniform(0, 1e-3);
        densities[cells + (size_t)uniform(2e5, 2.1e5)] = uniform(0, 1e-3);
    }
    assert_null(mpm_target_write(path, N, 2, densities));
    for (uint32_t v = 1; v <= 2; v++) {
        double largest = 0.0;
        assert_null(mpm_target_read(path, N, v, back));
        for (size_t i = 0; i < cells; i++) {
            largest = fmax(largest, densities[(v - 1) * cells + i]);
        }
        for (size_t i = 0; i < cells; i++) {
            mpm_expect(back[i], densities[(v - 1) * cells + i], largest / 65535 * 0.5001, "cell");
        }
    }
    for (uint32_t preset = 0; preset < 2; preset++) {
        mpm_domain domain = mpm_domain_make(preset);
        double *fitted = calloc(cells, sizeof(double)), sum = 0.0;
        mpm_target_fit(back, N, &domain, 1250, fitted);
        for (int i = 0; i < domain.n * domain.n * domain.n; i++) {
            sum += fitted[i];
        }
        mpm_expect(sum, 1250 * domain.particle_mass, 1e-12, "mass");
        free(fitted);
    }
    assert_string_equal(mpm_target_read(path, N, 3, back), "does not hold this variant");
    assert_string_equal(mpm_target_read("/nonexistent", N, 1, back), "cannot be read");
    assert_int_equal(truncate(path, 100), 0);
    assert_string_equal(mpm_target_read(path, N, 1, back), "ends too early");
    assert_int_equal(truncate(path, 4), 0);
    assert_string_equal(mpm_target_read(path, N, 1, back), "is not a target file of version 1");
    unlink(path);
    free(densities);
    free(back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_stream),
        cmocka_unit_test(test_particles),
        cmocka_unit_test(test_particle_shares),
        cmocka_unit_test_setup(test_svd, reseed),
        cmocka_unit_test_setup(test_material_adjoint, reseed),
        cmocka_unit_test_setup(test_distances_and_normals, reseed),
        cmocka_unit_test_setup(test_motion_adjoint, reseed),
        cmocka_unit_test(test_motion_examples),
        cmocka_unit_test_setup(test_contact_adjoint, reseed),
        cmocka_unit_test_setup(test_weights, reseed),
        cmocka_unit_test_setup(test_transfer_adjoints, reseed),
        cmocka_unit_test_setup(test_substep_adjoint, reseed),
        cmocka_unit_test_setup(test_conservation, reseed),
        cmocka_unit_test(test_free_fall),
        cmocka_unit_test_setup(test_loss_adjoint, reseed),
        cmocka_unit_test_setup(test_distance_field, reseed),
        cmocka_unit_test_setup(test_target_files, reseed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
