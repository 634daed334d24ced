/* SPDX-License-Identifier: Apache-2.0 */
/* test_contact.c - dense solver, contact problem, impacts and their adjoints: conditions, invariants,
 * differences, and single impacts recorded from Nimble. */
#include "differences.h"
#include "engines/physics/contact/ball.h"
#include "engines/physics/contact/lcp.h"
#include "test.h"

#include <diffsim/helper/random.h>

static double uniform(ds_random *r, double low, double high)
{
    return low + (high - low) * ds_random_uniform(r);
}

/* ---- dense solver ---- */

static void dense_systems(void **state)
{
    ds_random r = ds_random_open(1, "dense", 0);
    for (int n = 1; n <= DENSE_MAX; n++) {
        for (int rank = 1; rank <= n; rank++) {
            double B[DENSE_MAX][DENSE_MAX], C[DENSE_MAX][DENSE_MAX], Q[DENSE_MAX][DENSE_MAX] = {{0}};
            double x[DENSE_MAX], r0[DENSE_MAX], worst = 0;
            for (int i = 0; i < n; i++) {
                x[i] = r0[i] = uniform(&r, -1, 1);
                for (int k = 0; k < rank; k++) {
                    B[i][k] = uniform(&r, -1, 1);
                    C[k][i] = uniform(&r, -1, 1);
                }
            }
            for (int i = 0; i < n; i++) {
                for (int j = 0; j < n; j++) {
                    for (int k = 0; k < rank; k++) {
                        Q[i][j] += B[i][k] * C[k][j];
                    }
                }
            }
            dense_solve(n, Q, rank % 2, x);
            /* Least squares: Q^T (Q x - r) = 0; minimum norm: x lies in the row space (tested by solving
             * again). */
            double e[DENSE_MAX], y[DENSE_MAX];
            for (int i = 0; i < n; i++) {
                e[i] = -r0[i];
                for (int j = 0; j < n; j++) {
                    e[i] += (rank % 2 ? Q[j][i] : Q[i][j]) * x[j];
                }
                y[i] = e[i] + r0[i];
            }
            dense_solve(n, Q, rank % 2, y); /* Q^+ Q x = x */
            for (int j = 0; j < n; j++) {
                double g = 0;
                for (int i = 0; i < n; i++) {
                    g += (rank % 2 ? Q[j][i] : Q[i][j]) * e[i];
                }
                worst = fmax(worst, fmax(fabs(g), fabs(y[j] - x[j]) / (1 + fabs(x[j]))));
            }
            assert_true(worst < 1e-8);
        }
    }
}

/* ---- contact problem ---- */

/* `contacts` normals (and tangents) of a body with `dofs` degrees of freedom. */
static void random_lcp(ds_random *r, lcp *p, int contacts, int friction, int dofs)
{
    double J[DENSE_MAX][8], v[8];
    p->n = friction ? 2 * contacts : contacts;
    for (int d = 0; d < dofs; d++) {
        v[d] = uniform(r, -3, 3);
    }
    for (int i = 0; i < p->n; i++) {
        for (int d = 0; d < dofs; d++) {
            J[i][d] = uniform(r, -1, 1);
        }
        p->normal[i] = i < contacts ? -1 : i - contacts;
        p->mu[i] = 0.1 * (double)(1 + i % 5);
    }
    for (int i = 0; i < p->n; i++) {
        p->b[i] = 0;
        for (int d = 0; d < dofs; d++) {
            p->b[i] -= J[i][d] * v[d];
        }
        for (int j = 0; j < p->n; j++) {
            p->A[i][j] = 0;
            for (int d = 0; d < dofs; d++) {
                p->A[i][j] += J[i][d] * J[j][d];
            }
        }
    }
}

static void lcp_conditions(void **state)
{
    ds_random r = ds_random_open(2, "lcp", 0);
    for (int friction = 0; friction < 2; friction++) {
        for (int contacts = 1; contacts <= 4; contacts++) {
            int how[4] = {0, 0, 0, 0};
            for (int k = 0; k < 2000; k++) {
                lcp p;
                double f[DENSE_MAX];
                uint8_t cls[DENSE_MAX];
                random_lcp(&r, &p, contacts, friction, 8);
                int h = lcp_solve(&p, f, cls);
                how[h]++;
                for (int i = 0; i < p.n; i++) {
                    double w = -p.b[i], bound = p.normal[i] < 0 ? 0 : p.mu[i] * f[p.normal[i]];
                    for (int j = 0; j < p.n; j++) {
                        w += p.A[i][j] * f[j];
                    }
                    if (h >= LCP_MIXED) {
                        continue;
                    }
                    assert_true(p.normal[i] >= 0 ? fabs(f[i]) <= bound + 1e-9 : f[i] >= -1e-9 && w >= -1e-9);
                    assert_true(p.normal[i] >= 0 || fabs(f[i] * w) < 1e-9);
                }
            }
            print_message(
                "%d contacts, friction %d: %d at first guess, %d refined, %d mixed, %d approximate\n",
                contacts, friction, how[LCP_GUESS], how[LCP_REFINED], how[LCP_MIXED], how[LCP_APPROXIMATE]);
            assert_int_equal(how[LCP_MIXED] + how[LCP_APPROXIMATE], 0);
        }
    }
}

/* ---- impacts ---- */

static const impact_law laws[] = {{0, 0, 0.1},     {0.6, 0, 0.1}, {1, 0, 0.1},
                                  {0.5, 0.3, 0.1}, {0, 0.9, 0.1}, {0.8, 0.05, 0}};
enum { LAWS = sizeof laws / sizeof *laws };

static void random_contacts(ds_random *r, int count, impact_contact *k, double v[2])
{
    for (int i = 0; i < count; i++) {
        double a = uniform(r, -1, 1) + (i % 2 ? 1.7 : 0); /* not all parallel */
        memset(&k[i], 0, sizeof k[i]);
        k[i].at.n[0] = cos(a);
        k[i].at.n[1] = sin(a);
    }
    v[0] = uniform(r, -4, 2);
    v[1] = uniform(r, -4, 2);
}

static void single_impact(void **state)
{
    ds_random r = ds_random_open(3, "impact", 0);
    for (int k = 0; k < 5000; k++) {
        const impact_law *law = &laws[k % LAWS];
        impact_contact c;
        double v[2], w[2];
        random_contacts(&r, 1, &c, v);
        memcpy(w, v, sizeof w);
        impact_apply(law, 1, &c, w);
        double before = c.at.n[0] * v[0] + c.at.n[1] * v[1], after = c.at.n[0] * w[0] + c.at.n[1] * w[1];
        assert_near(after,
                    before >= 0                                   ? before
                    : -before * law->restitution > law->threshold ? -law->restitution * before
                                                                  : 0,
                    1e-12);
        assert_true(c.f[0] >= 0 && fabs(c.f[1]) <= law->friction * c.f[0] + 1e-12);
        assert_true(w[0] * w[0] + w[1] * w[1] <= v[0] * v[0] + v[1] * v[1] + 1e-12);
    }
}

/* Several contacts: no penetration, the same result in any order. Without friction no energy is gained if e =
 * 0, or if no two bodies enclose the disc in an acute wedge: Newton's restitution acts on the bodies that the
 * disc approaches, and the impulse that keeps it out of another body does work (Stronge, Impact Mechanics,
 * 2000). */
static int acute_wedge(int count, const impact_contact *k)
{
    int acute = 0;
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < i; j++) {
            acute |= k[i].at.n[0] * k[j].at.n[0] + k[i].at.n[1] * k[j].at.n[1] < 0;
        }
    }
    return acute;
}

static void several_impacts(void **state)
{
    ds_random r = ds_random_open(4, "impacts", 0);
    for (int count = 2; count <= 4; count++) {
        for (int law_index = 0; law_index < LAWS; law_index++) {
            const impact_law *law = &laws[law_index];
            int gained = 0, forbidden = 0, order = 0, mixed = 0, approximate = 0;
            for (int k = 0; k < 1000; k++) {
                impact_contact c[4], back[4];
                double v[2], w[2], u[2];
                random_contacts(&r, count, c, v);
                for (int i = 0; i < count; i++) {
                    back[i] = c[count - 1 - i];
                }
                memcpy(w, v, sizeof w);
                memcpy(u, v, sizeof u);
                int a = impact_apply(law, count, c, w), b = impact_apply(law, count, back, u);
                approximate += a == LCP_APPROXIMATE;
                if (a >= LCP_MIXED || b >= LCP_MIXED) { /* no impulse satisfies all conditions */
                    mixed++;
                    assert_true(w[0] * w[0] + w[1] * w[1] < 1e4);
                    continue;
                }
                int gain = w[0] * w[0] + w[1] * w[1] > v[0] * v[0] + v[1] * v[1] + 1e-9;
                gained += gain;
                forbidden += gain && (law->restitution == 0 || !acute_wedge(count, c));
                order += fabs(w[0] - u[0]) + fabs(w[1] - u[1]) > 1e-9;
                for (int i = 0; i < count; i++) {
                    assert_true(c[i].at.n[0] * w[0] + c[i].at.n[1] * w[1] > -1e-8);
                }
            }
            print_message("%d contacts, e %.1f, mu %.2f: energy gained in %d, order matters in %d, mixed %d, "
                          "approximate %d of 1000\n",
                          count, law->restitution, law->friction, gained, order, mixed, approximate);
            if (!(law->friction > 0)) {
                assert_int_equal(forbidden, 0);
                assert_int_equal(order, 0);
                assert_int_equal(approximate, 0);
            }
        }
    }
}

/* Returns whether classes and switches are the same. */
static int same(int count, const impact_contact *a, const impact_contact *b)
{
    for (int i = 0; i < count; i++) {
        if (a[i].cls[0] != b[i].cls[0] || a[i].cls[1] != b[i].cls[1] || a[i].bounced != b[i].bounced) {
            return 0;
        }
    }
    return 1;
}

static void turn(impact_contact *k, double angle)
{
    double x = k->at.n[0], y = k->at.n[1];
    k->at.n[0] = cos(angle) * x - sin(angle) * y;
    k->at.n[1] = sin(angle) * x + cos(angle) * y;
}

/* Adjoint of the velocity step against differences by velocity and by the angles of the normals, any number
 * of contacts; counts and skips points within reach of a switch. */
static void impact_derivatives(void **state)
{
    ds_random r = ds_random_open(5, "derivatives", 0);
    int used = 0, skipped = 0;
    double worst = 0;
    for (int k = 0; k < 3000; k++) {
        const impact_law *law = &laws[k % LAWS];
        int count = 1 + k / LAWS % 3;
        impact_contact c[3], probe[3];
        double v[2], n_bar[3][2], bar[2] = {uniform(&r, -1, 1), uniform(&r, -1, 1)}, w[2] = {bar[0], bar[1]};
        random_contacts(&r, count, c, v);
        double out[2] = {v[0], v[1]};
        if (impact_apply(law, count, c, out) == LCP_APPROXIMATE) {
            skipped++;
            continue;
        }
        impact_adjoint(law, count, c, v, w, n_bar);
        for (int i = 0; i < 2 + count; i++) {
            double q[2], eps = 1e-5;
            int clean = 1;
            for (int s = 0; s < 4; s++) {
                double at[2] = {v[0], v[1]}, d = (s % 2 ? -1 : 1) * (s < 2 ? eps : 0.5 * eps);
                memcpy(probe, c, sizeof probe);
                if (i < 2) {
                    at[i] += d;
                } else {
                    turn(&probe[i - 2], d);
                }
                clean &= impact_apply(law, count, probe, at) != LCP_APPROXIMATE && same(count, c, probe);
                q[s / 2] = (s % 2 ? q[s / 2] : 0) + (s % 2 ? -1 : 1) * (bar[0] * at[0] + bar[1] * at[1]);
            }
            double slope = (4 * q[1] / eps - q[0] / (2 * eps)) / 3, size = fabs(v[0]) + fabs(v[1]);
            for (int j = 0; j < count; j++) {
                size += fabs(c[j].f[0]); /* large with mixing */
            }
            if (!clean) {
                skipped++;
                continue;
            }
            used++;
            const double *n = i < 2 ? v : c[i - 2].at.n, *nb = i < 2 ? v : n_bar[i - 2];
            double got = i < 2 ? w[i] : -n[1] * nb[0] + n[0] * nb[1];
            worst = fmax(worst, fabs(got - slope) / (1 + size + fabs(got)));
        }
    }
    print_message("derivatives of impacts: %d compared, worst %.1e; %d near a switch\n", used, worst,
                  skipped);
    assert_true(used > 8000);
    assert_true(worst < 1e-7);
}

/* ---- recorded single impacts ---- */

static void one_step(const json_t *c, int gradient, double after[4], double jacobian[16], double dtheta[4])
{
    const json_t *box = json_object_get(c, "box");
    shape_box b = {.centre = {golden_number(box, "cx"), golden_number(box, "cy")},
                   .half = {golden_number(box, "hl"), golden_number(box, "ht")}};
    ball_params p = {.h = golden_number(c, "h"),
                     .gravity = 9.81,
                     .radius = golden_number(c, "r"),
                     .walls = {-HUGE_VAL, HUGE_VAL, -HUGE_VAL, HUGE_VAL},
                     .clip = 0.03,
                     .gradient = gradient,
                     .law = {golden_number(c, "e"), golden_number(c, "mu"), 0.1}};
    double s[4], angle = golden_number(box, "theta");
    const json_t *before = json_object_get(c, "before");
    rigid_numbers(json_object_get(before, "q"), s, 2);
    rigid_numbers(json_object_get(before, "v"), s + 2, 2);
    ds_memory room = {0};
    ball *sim = ball_create(&room, &p, 1, &b, 1);
    ball_simulate(sim, &angle, s, 1);
    memcpy(after, ball_state(sim, 1), 4 * sizeof *after);
    for (int i = 0; i < 4; i++) {
        double bar[4] = {i == 0, i == 1, i == 2, i == 3};
        ball_adjoint(sim, NULL, bar, &dtheta[i]);
        memcpy(jacobian + 4 * i, bar, sizeof bar);
    }
    assert_int_equal(ball_events(sim), rigid_int(c, "contacts"));
    ds_memory_free(&room);
}

static void recorded_impacts(void **state)
{
    json_t *root = rigid_golden("ball_impact.json"), *c = NULL;
    size_t k = 0;
    json_array_foreach(json_object_get(root, "cases"), k, c)
    {
        double got[4], want[4], J[16], wanted[16], dtheta[4], dv[2];
        const json_t *after = json_object_get(c, "after");
        rigid_numbers(json_object_get(after, "q"), want, 2);
        rigid_numbers(json_object_get(after, "v"), want + 2, 2);
        one_step(c, BALL_NIMBLE, got, J, dtheta);
        for (int i = 0; i < 4; i++) {
            assert_near(got[i], want[i], 1e-11);
        }
        if (rigid_numbers(json_object_get(c, "nimble_jacobian"), wanted, 16)) {
            for (int i = 0; i < 16;
                 i++) { /* Nimble's velocity rows are accurate to 1e-8 (its own corner geometry) */
                assert_near(J[i], wanted[i], i < 8 ? 1e-10 : 2e-8);
            }
        }
        if (rigid_numbers(json_object_get(c, "nimble_dv_dtheta"), dv, 2)) {
            assert_near(dtheta[2], dv[0], 1e-6);
            assert_near(dtheta[3], dv[1], 1e-6);
        }
        one_step(c, BALL_DISCRETE, got, J, dtheta);
        if (rigid_numbers(json_object_get(c, "fd_jacobian"), wanted, 16)) {
            for (int i = 0; i < 16; i++) {
                assert_near(J[i], wanted[i], 1e-6 * fmax(1, fabs(wanted[i])));
            }
        }
    }
    json_decref(root);
}

RUN_TESTS(dense_systems, lcp_conditions, single_impact, several_impacts, impact_derivatives, recorded_impacts)
