/* SPDX-License-Identifier: Apache-2.0 */
/* test_fem_gradient.c - gradients of whole roll-outs against central differences, tangents
 * against gradients. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "everything.h"

typedef struct agreement {
    size_t compared, wrong;
    double worst;
} agreement;

/* The derivative by one number from central differences of second or fourth order. */
static double by_differences(everything *s, double *at, double h, int order)
{
    const double here = *at;
    double by[2];
    for (int k = 0; k < order / 2; k++) {
        const double far = h * (k + 1);
        *at = here + far;
        by[k] = everything_run(s, 0);
        *at = here - far;
        by[k] = (by[k] - everything_run(s, 0)) / (2 * far);
    }
    *at = here;
    return order == 4 ? (4 * by[0] - by[1]) / 3 : by[0];
}

/* Of every `stride`-th number, relative to the largest derivative of its kind. */
static agreement compare_gradient(everything *s, double tolerance, size_t stride, double h, int order)
{
    everything_variable v[EVERYTHING_VARIABLES];
    const size_t kinds = everything_list(s, v);
    agreement out = {0};
    everything_run(s, 1);
    for (size_t k = 0; k < kinds; k++) {
        double most = 0;
        for (size_t i = 0; i < v[k].n; i++) {
            most = fmax(most, fabs(v[k].by[i]));
        }
        for (size_t i = 0; i < v[k].n; i += stride) {
            const double step = h * fmax(strcmp(v[k].name, "mass") == 0 ? 0.01 : 0.1, fabs(v[k].at[i]));
            const double by = by_differences(s, &v[k].at[i], step, order), off = fabs(by - v[k].by[i]);
            const double error = off == 0 ? 0 : off / most;
            out.compared++;
            out.worst = fmax(out.worst, error);
            if (!(error <= tolerance)) {
                out.wrong++;
                print_message("# %s %zu: %.10g, by differences %.10g\n", v[k].name, i, v[k].by[i], by);
            }
        }
    }
    print_message("# %zu of %zu derivatives differ by more than %g; the worst by %.2g\n", out.wrong,
                  out.compared, tolerance, out.worst);
    return out;
}

static void smooth_gradients_match_differences(void **state)
{
    (void)state;
    everything s;
    assert_true(everything_open(&s, 0, NULL, 0));
    const agreement a = compare_gradient(&s, 1e-6, 3, 1e-4, 4);
    assert_int_equal(a.wrong, 0);
    assert_true(a.compared > 100);
    everything_close(&s);
}

/* Contact makes kinks: a step of the differences may cross one. */
static void contact_gradients_match_differences(void **state)
{
    (void)state;
    for (int friction = FEM_FRICTION_BOX; friction <= FEM_FRICTION_COULOMB; friction++) {
        everything s;
        assert_true(everything_open(&s, 1, NULL, 0));
        s.model.ground.friction = friction;
        const agreement a = compare_gradient(&s, 1e-3, 5, 1e-6, 2);
        assert_true(a.wrong * 50 <= a.compared);
        everything_variable v[EVERYTHING_VARIABLES];
        const size_t kinds = everything_list(&s, v);
        for (size_t k = 0; k < kinds; k++) { /* the ground had an effect */
            assert_true(strncmp(v[k].name, "ground", 6) != 0 || v[k].by[0] != 0);
        }
        everything_close(&s);
    }
}

/* A number for each variable. */
static void set_direction(fem_variation *d, everything *s)
{
    fem_variation_open(d, &s->room, &s->model);
    const fem_variation keep = s->gradient;
    everything_variable v[EVERYTHING_VARIABLES];
    s->gradient = *d;
    const size_t kinds = everything_list(s, v);
    for (size_t k = 0; k + 1 < kinds; k++) {
        for (size_t i = 0; i < v[k].n; i++) {
            v[k].by[i] = sin((double)(k + 3 * i)) * fmax(0.1, fabs(v[k].at[i]));
        }
    }
    *d = s->gradient;
    for (size_t i = 0; i < s->model.particles; i++) {
        d->mass[i] = s->model.fixed[i] ? 0 : d->mass[i];
    }
    s->gradient = keep;
}

static void tangents_are_adjoint_to_gradients(void **state)
{
    (void)state;
    for (int friction = 0; friction <= FEM_FRICTION_COULOMB; friction++) {
        everything s;
        fem_variation d;
        everything_variable v[EVERYTHING_VARIABLES];
        double sum = 0, size = 0;
        assert_true(everything_open(&s, 1, NULL, 0));
        s.model.ground.friction = friction;
        everything_run(&s, 1);
        set_direction(&d, &s);
        const size_t kinds = everything_list(&s, v);
        const fem_variation gradient = s.gradient;
        double *by[EVERYTHING_VARIABLES];
        s.gradient = d;
        everything_variable w[EVERYTHING_VARIABLES];
        everything_list(&s, w);
        for (size_t k = 0; k < kinds; k++) {
            by[k] = k + 1 < kinds ? w[k].by : s.weights_dot;
            for (size_t i = 0; i < v[k].n; i++) {
                const double *g = k >= 9 && k <= 16 && k != 11 ? NULL : v[k].by;
                sum += (g ? g[i] : 0) * by[k][i];
            }
        }
        /* numbers in the structure itself */
        const double *own = &gradient.membrane.mu, *along = &d.membrane.mu;
        const size_t numbers = 5 + 2 + 4 + 3;
        for (size_t i = 0; i < numbers; i++) {
            sum += own[i] * along[i];
        }
        s.loss_dot = 0;
        assert_int_equal(fem_tangent(s.episode, &s.driver, &s, &d, &s.bad), DS_OK);
        assert_true(s.bad < 0);
        size = fmax(fabs(sum), fabs(s.loss_dot));
        if (!(fabs(sum - s.loss_dot) <= 1e-9 * size)) {
            fail_msg("<J v, w> = %.15g, <v, J' w> = %.15g", s.loss_dot, sum);
        }
        everything_close(&s);
    }
}

/* ---- a sheet in its plane ---- */

enum { PLANE_STEPS = 200 };

/* The loss is a sum of places and velocities in the last state. */
static void see_plane(void *self, uint64_t k, const fem_state *s, fem_state *bar)
{
    const size_t n = *(const size_t *)self;
    (void)k;
    (void)s;
    for (size_t i = 0; i < 3 * n; i++) {
        bar->q[i] += sin((double)i + 1);
        bar->u[i] += cos((double)i + 1);
    }
}

/* The model of a walker, a little pressed, that falls to the ground; its plane is z = 0, or x = 0. */
static void open_plane(fem_model *m, fem_mesh *mesh, int turned)
{
    const fem_placing where = {{0, 0.02, 0}, {0, 0, 0}, {0, 1, 0}, turned ? 0.5 * 3.14159265358979323846 : 0};
    fem_model_open(m);
    assert_int_equal(fem_mesh_walker(mesh), DS_OK);
    m->membrane = (fem_membrane){1e4, 1e4, 100, 0, 0};
    fem_add_cloth(m, mesh, &where, 1, 0, 0);
    assert_int_equal(fem_model_finish(m), DS_OK);
    m->ground = (fem_ground){.on = 1,
                             .friction = FEM_FRICTION_ISOTROPIC,
                             .offset = 0.01,
                             .ke = 1e4,
                             .kd = 1e3,
                             .kf = 1e3,
                             .mu = 0.5};
    for (size_t t = 0; t < m->triangles; t++) {
        m->triangle_act[t] = 0.1 * sin((double)t);
    }
    for (size_t i = 0; i < m->particles && turned; i++) {
        m->q[3 * i] = 0;
    }
}

static void run_plane(fem_model *m, uint32_t want, const char *isa, ds_memory *room, fem_variation *out)
{
    static const uint64_t last = PLANE_STEPS;
    const fem_driver driver = {.frames = &last, .frame_count = 1, .state_bar = see_plane};
    const fem_options o = {.dt = 1.0 / 1920,
                           .steps = PLANE_STEPS,
                           .want = FEM_WANT_MATERIAL | FEM_WANT_ACTIVATION | want,
                           .isa = isa};
    fem_episode *e = NULL;
    int64_t bad = 0;
    fem_variation_open(out, room, m);
    assert_int_equal(fem_episode_open(&e, m, &o, NULL), DS_OK);
    assert_int_equal(fem_episode_run(e, &driver, &m->particles, 1, &bad), DS_OK);
    assert_true(bad < 0);
    assert_int_equal(fem_episode_adjoint(e, out, &bad), DS_OK);
    assert_true(bad < 0);
    fem_episode_close(e);
}

/* The share of the vector that is nonzero along `axis`; elsewhere both are the same bits. */
static size_t across(const double *a, const double *b, size_t n, size_t axis)
{
    size_t moved = 0;
    for (size_t i = 0; i < 3 * n; i++) {
        if (i % 3 == axis) {
            moved += a[i] != 0;
            assert_true(b[i] == 0);
        } else {
            assert_true(a[i] == b[i]);
        }
    }
    return moved;
}

static void in_plane_changes_nothing_in_the_plane(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        const size_t axis = k % 2 ? 0 : 2;
        fem_model m;
        fem_mesh mesh;
        ds_memory room = {0};
        fem_variation a, b;
        open_plane(&m, &mesh, k % 2);
        run_plane(&m, 0, k < 2 ? NULL : "plain", &room, &a);
        run_plane(&m, FEM_WANT_IN_PLANE, k < 2 ? NULL : "plain", &room, &b);
        assert_true(across(a.q, b.q, m.particles, axis) == m.particles);
        assert_true(across(a.u, b.u, m.particles, axis) == m.particles);
        assert_memory_equal(a.mass, b.mass, m.particles * sizeof *a.mass);
        assert_memory_equal(a.triangle_act, b.triangle_act, m.triangles * sizeof *a.mass);
        assert_memory_equal(&a.membrane, &b.membrane, sizeof a.membrane);
        assert_true(a.ke == b.ke && a.mu == b.mu && a.gravity[1] == b.gravity[1] && b.gravity[axis] == 0);
        /* A motion that leaves the plane has all its derivatives. */
        m.u[axis] = 1e-9;
        run_plane(&m, 0, NULL, &room, &a);
        run_plane(&m, FEM_WANT_IN_PLANE, NULL, &room, &b);
        assert_memory_equal(a.q, b.q, 3 * m.particles * sizeof *a.q);
        assert_memory_equal(a.u, b.u, 3 * m.particles * sizeof *a.u);
        fem_model_close(&m);
        fem_mesh_free(&mesh);
        ds_memory_free(&room);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smooth_gradients_match_differences),
        cmocka_unit_test(contact_gradients_match_differences),
        cmocka_unit_test(tangents_are_adjoint_to_gradients),
        cmocka_unit_test(in_plane_changes_nothing_in_the_plane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
