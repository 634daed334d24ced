/* SPDX-License-Identifier: Apache-2.0 */
/* test_hand.c - quasi-dynamic steps: hard contact against a search over all sets of acting rows, smooth
 * contact against its condition, derivatives against differences; A and B of the barrier against means of
 * hard A and B under noise. */
#include "engines/physics/quasidynamic/hand.h"
#include "test.h"

#include <diffsim/helper/random.h>

#include <string.h>

/* ---- the program ---- */

/* Solves the dense system A x = x of n equations with pivots. Returns 0 where it is singular. */
static int dense(int n, double A[24][24], double *x)
{
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++) {
            best = fabs(A[i][k]) > fabs(A[best][k]) ? i : best;
        }
        if (fabs(A[best][k]) < 1e-10) {
            return 0;
        }
        for (int j = 0; j < n; j++) {
            const double kept = A[k][j];
            A[k][j] = A[best][j];
            A[best][j] = kept;
        }
        const double kept = x[k];
        x[k] = x[best];
        x[best] = kept;
        for (int i = 0; i < n; i++) {
            const double factor = i == k ? 0 : A[i][k] / A[k][k];
            for (int j = k; j < n && i != k; j++) {
                A[i][j] -= factor * A[k][j];
            }
            x[i] -= factor * x[k];
        }
    }
    for (int k = 0; k < n; k++) {
        x[k] /= A[k][k];
    }
    return 1;
}

/* The complementarity problem by trying every set of acting rows. Returns 0 where none solves it. */
static int search(const contact_program *p, double *d)
{
    for (int set = 0; set < 1 << p->m; set++) {
        double A[24][24] = {{0}}, x[24] = {0};
        int rows[PROGRAM_ROWS], count = 0, holds = 1;
        for (int i = 0; i < p->m; i++) {
            if (set >> i & 1) {
                rows[count++] = i;
            }
        }
        if (count > p->n) {
            continue;
        }
        for (int k = 0; k < p->n; k++) { /* Q d - J'f = -b, J d = -gap */
            A[k][k] = p->q[k];
            x[k] = -p->b[k];
            for (int a = 0; a < count; a++) {
                A[k][p->n + a] = -p->J[rows[a]][k];
                A[p->n + a][k] = p->J[rows[a]][k];
                x[p->n + a] = -p->gap[rows[a]];
            }
        }
        if (!dense(p->n + count, A, x)) {
            continue;
        }
        for (int a = 0; a < count; a++) {
            holds &= x[p->n + a] >= -1e-9;
        }
        for (int i = 0; i < p->m; i++) {
            double s = p->gap[i];
            for (int k = 0; k < p->n; k++) {
                s += p->J[i][k] * x[k];
            }
            holds &= s >= -1e-9;
        }
        if (holds) {
            memcpy(d, x, (size_t)p->n * sizeof *d);
            return 1;
        }
    }
    return 0;
}

static contact_program random_program(ds_random *rng, int n, int m)
{
    contact_program p = {.n = n, .m = m};
    for (int k = 0; k < n; k++) {
        p.q[k] = exp(2 * ds_random_normal(rng));
        p.b[k] = ds_random_normal(rng);
    }
    for (int i = 0; i < m; i++) {
        p.gap[i] = 0.5 * ds_random_normal(rng);
        for (int k = 0; k < n; k++) {
            p.J[i][k] = ds_random_normal(rng);
        }
        if (i % 3 == 2) { /* as two links that push from opposite sides */
            for (int k = 0; k < n; k++) {
                p.J[i][k] = -p.J[i - 1][k];
            }
            p.gap[i] = fabs(p.gap[i]) - p.gap[i - 1] + 0.1;
        }
    }
    return p;
}

static void hard_is_the_complementarity_problem(void **state)
{
    int solved = 0, acting = 0;
    ds_random rng = ds_random_open(1, "program", 0);
    for (int k = 0; k < 400; k++) {
        const contact_program p = random_program(&rng, 1 + k % 7, 1 + k % 8);
        contact_solution s;
        double d[PROGRAM_DOF];
        const int expected = search(&p, d), made = contact_program_solve(&p, &s);
        if (made != expected) {
            fail_msg("case %d: solved %d, expected %d", k, made, expected);
        }
        for (int i = 0; made && i < p.n; i++) {
            assert_near(s.d[i], d[i], 1e-8 * (1 + fabs(d[i])));
        }
        for (int i = 0; made && i < p.m; i++) {
            assert_true(s.force[i] >= 0 && s.s[i] >= -1e-10 && fabs(s.force[i] * s.s[i]) < 1e-9);
        }
        solved += made;
        acting += made ? s.count : 0;
    }
    assert_true(solved > 200 && acting > 400);
}

static void smooth_satisfies_its_condition(void **state)
{
    int solved = 0;
    ds_random rng = ds_random_open(2, "program", 0);
    for (int k = 0; k < 400; k++) {
        contact_program p = random_program(&rng, 1 + k % 7, 1 + k % 8);
        contact_solution s, hard;
        const int expected = contact_program_solve(&p, &hard);
        p.kappa = pow(10, k % 6);
        const int made = contact_program_solve(&p, &s);
        if (!made) {
            assert_true(!expected); /* rows that leave no room inside have no barrier */
            continue;
        }
        solved++;
        for (int i = 0; i < p.n; i++) {
            double rest = p.q[i] * s.d[i] + p.b[i], size = fabs(p.b[i]), rounding = 0;
            for (int r = 0; r < p.m; r++) {
                rest -= p.J[r][i] * s.force[r];
                size += fabs(p.J[r][i] * s.force[r]);
                /* s has the rounding of numbers near 1 */
                rounding += 1e-15 * fabs(p.J[r][i]) * s.force[r] * s.force[r] * p.kappa;
            }
            if (!(fabs(rest) <= 1e-10 * (1 + size) + rounding)) {
                fail_msg("case %d, %d rows, kappa %g: %g is left of %g", k, p.m, p.kappa, rest, size);
            }
        }
        for (int r = 0; r < p.m; r++) {
            assert_true(s.s[r] > 0 && fabs(s.force[r] * s.s[r] * p.kappa - 1) < 1e-9);
        }
        /* the barrier costs at most m / kappa */
        double gap = 0;
        for (int i = 0; i < p.n; i++) {
            gap += 0.5 * p.q[i] * (s.d[i] * s.d[i] - hard.d[i] * hard.d[i]) + p.b[i] * (s.d[i] - hard.d[i]);
        }
        assert_true(gap >= -1e-9 && gap <= p.m / p.kappa + 1e-9);
    }
    assert_true(solved > 200);
}

/* ---- the hand ---- */

static hand usual(double friction, double kappa)
{
    return (hand){.base = {{-0.25, 0}, {0.25, 0}},
                  .length = {0.35, 0.3},
                  .thickness = 0.03,
                  .radius = 0.2,
                  .friction = friction,
                  .h = 0.1,
                  .drag = 1,
                  .stiffness = 20,
                  .kappa = kappa,
                  .links = 0xf};
}

/* Somewhere near the start, in contact or not. */
static void random_state(ds_random *rng, double *q, double *u)
{
    static const double start[HAND_STATES] = {0, 0.5, 0, 2.2, -1.4, 0.9415926535897931, 1.4};
    for (int k = 0; k < HAND_STATES; k++) {
        q[k] = start[k] + (k < 2 ? 0.04 : 0.15) * ds_random_normal(rng);
    }
    for (int k = 0; k < HAND_CONTROLS; k++) {
        u[k] = 0.1 * ds_random_normal(rng);
    }
}

/* Which rows act, and in which part of its link each contact is. */
static unsigned branch_of(const hand *h, const double *q, const double *u)
{
    double next[HAND_STATES], force[HAND_LINKS];
    unsigned branch = 0;
    hand_step(h, q, u, next, force);
    for (int l = 0; l < HAND_LINKS && h->kappa == 0; l++) {
        branch = 2 * branch + (force[l] > 0);
    }
    for (int l = 0; l < HAND_LINKS; l++) {
        double joint[2], tip[2];
        hand_finger(h, q, l / 2, joint, tip);
        const double *a = l % 2 ? joint : h->base[l / 2], *b = l % 2 ? tip : joint;
        const double e[2] = {b[0] - a[0], b[1] - a[1]};
        const double share = ((q[0] - a[0]) * e[0] + (q[1] - a[1]) * e[1]) / (e[0] * e[0] + e[1] * e[1]);
        branch = 3 * branch + (share <= 0 ? 0 : share >= 1 ? 2 : 1);
    }
    return branch;
}

/* Sliding one way or the other is not told apart by the forces of the links: both quotients must agree. */
static void derivatives_are_slopes(void **state)
{
    static const double friction[] = {0, 0.5, 0.5, 0.5, 0}, kappa[] = {0, 0, 1e3, 1e5, 1e2};
    int compared = 0, skipped = 0, touching = 0;
    ds_random rng = ds_random_open(4, "hand", 0);
    for (int k = 0; k < 300; k++) {
        const hand h = usual(friction[k % 5], kappa[k % 5]);
        double q[HAND_STATES], u[HAND_CONTROLS], A[HAND_STATES][HAND_STATES], B[HAND_STATES][HAND_CONTROLS];
        double next[HAND_STATES], force[HAND_LINKS];
        random_state(&rng, q, u);
        if (!hand_step(&h, q, u, next, force)) {
            continue;
        }
        touching += force[0] + force[1] + force[2] + force[3] > 1e-3;
        hand_linearise(&h, q, u, A, B);
        const unsigned branch = branch_of(&h, q, u);
        for (int j = 0; j < HAND_STATES + HAND_CONTROLS; j++) {
            double *v = j < HAND_STATES ? q + j : u + j - HAND_STATES, kept = *v, to[4][HAND_STATES];
            const double step = 1e-5;
            int same = 1;
            for (int side = 0; side < 4; side++) {
                *v = kept + step * (side < 2 ? side - 2 : side - 1);
                hand_step(&h, q, u, to[side], NULL);
                same &= branch_of(&h, q, u) == branch;
            }
            *v = kept;
            for (int i = 0; i < HAND_STATES; i++) {
                const double slope = j < HAND_STATES ? A[i][j] : B[i][j - HAND_STATES];
                const double wide = (to[3][i] - to[0][i]) / (4 * step),
                             narrow = (to[2][i] - to[1][i]) / (2 * step), left = (to[1][i] - to[0][i]) / step,
                             right = (to[3][i] - to[2][i]) / step;
                const double quotient = narrow + (narrow - wide) / 3;
                if (!same || fabs(left - right) > 1e-2 * (1 + fabs(slope))) {
                    skipped++;
                    continue;
                }
                compared++;
                if (!(fabs(quotient - slope) <= 2e-7 * (1 + fabs(slope)))) {
                    fail_msg("case %d: d next[%d] by %d is %.12g, quotient %.12g", k, i, j, slope, quotient);
                }
            }
        }
    }
    print_message("# %d derivatives, %d at a switch, %d of 300 steps in contact\n", compared, skipped,
                  touching);
    assert_true(compared > 20000 && skipped < compared / 10 && touching > 150);
}

/* A sharp barrier is hard contact. */
static void sharp_is_hard(void **state)
{
    ds_random rng = ds_random_open(5, "hand", 0);
    for (int k = 0; k < 100; k++) {
        const hand hard = usual(0.5, 0), sharp = usual(0.5, 1e10);
        double q[HAND_STATES], u[HAND_CONTROLS], a[HAND_STATES], b[HAND_STATES];
        random_state(&rng, q, u);
        if (hand_step(&hard, q, u, a, NULL) && hand_step(&sharp, q, u, b, NULL)) {
            for (int i = 0; i < HAND_STATES; i++) {
                assert_near(a[i], b[i], 1e-3);
            }
        }
    }
}

/* A disc whose centre lies on the axis of a link has no normal: the step fails instead of giving numbers. */
static void no_normal_no_step(void **state)
{
    for (int k = 0; k < 2; k++) {
        const hand h = usual(0.5, k == 0 ? 0 : 1e3);
        double q[HAND_STATES] = {0, 0, 0, 0, 0, 2, 1}, next[HAND_STATES], force[HAND_LINKS];
        const double u[HAND_CONTROLS] = {0};
        assert_int_equal(hand_step(&h, q, u, next, force), 0);
        for (int i = 0; i < HAND_STATES; i++) {
            assert_true(isnan(next[i]));
        }
        q[1] = 0.5;
        assert_int_equal(hand_step(&h, q, u, next, force), 1);
    }
}

/* J of the gap of link l, by differences, and g = J Q^-1 J', the displacement of the gap per impulse. */
static double compliance(const hand *h, const double *q, int l, double *J, double *per_impulse)
{
    double g = 0;
    for (int k = 0; k < HAND_STATES; k++) {
        const double Q = k < 2    ? h->drag
                         : k == 2 ? 0.5 * h->drag * h->radius * h->radius
                                  : h->h * h->stiffness;
        double z[HAND_STATES];
        memcpy(z, q, sizeof z);
        z[k] += 1e-5;
        const double up = hand_gap(h, z, l);
        z[k] -= 2e-5;
        J[k] = (up - hand_gap(h, z, l)) / 2e-5;
        per_impulse[k] = J[k] / Q;
        g += J[k] * per_impulse[k];
    }
    return g;
}

/* One contact without friction. Its gap s solves s = s_free + c/s with c = g/kappa, so that ds/ds_free is the
 * distribution function of noise w with the density 2 c / (w^2 + 4 c)^(3/2), Student's t with 2 degrees of
 * freedom: the smooth step is the mean of the hard ones with the gap shifted by w, and A and B are the means
 * of their derivatives. As c depends on the state, so does w, which adds (d next / d w) (d w / d q) to A. */
static void smooth_is_the_mean_under_noise(void **state)
{
    enum { N = 20000, ALL = HAND_STATES * (HAND_STATES + HAND_CONTROLS) };
    static const double kappas[] = {1e2, 1e3, 1e4};
    static double sum[ALL], squares[ALL];
    for (int level = 0; level < 3; level++) {
        int outside = 0, tested = 0;
        double worst = 0;
        for (int place = 0; place < 4; place++) {
            const int l = place % 2 ? 3 : 1; /* right or left tip */
            hand hard = usual(0, 0), smooth = usual(0, kappas[level]);
            double q[HAND_STATES], u[HAND_CONTROLS], J[HAND_STATES], reply[HAND_STATES], scrap[HAND_STATES];
            double A[HAND_STATES][HAND_STATES], B[HAND_STATES][HAND_CONTROLS], slope[HAND_STATES];
            double MA[HAND_STATES][HAND_STATES], MB[HAND_STATES][HAND_CONTROLS];
            ds_random rng = ds_random_open(6, "noise", (uint64_t)(4 * level + place));
            hard.links = smooth.links = 1u << l;
            random_state(&rng, q, u);
            hand_linearise(&smooth, q, u, A, B);
            for (int k = 0; k < HAND_STATES; k++) {
                double z[HAND_STATES];
                memcpy(z, q, sizeof z);
                z[k] += 1e-4;
                slope[k] = compliance(&hard, z, l, J, scrap);
                z[k] -= 2e-4;
                slope[k] = (slope[k] - compliance(&hard, z, l, J, scrap)) / 2e-4;
            }
            const double g = compliance(&hard, q, l, J, reply), c = g / kappas[level];
            memset(sum, 0, sizeof sum);
            memset(squares, 0, sizeof squares);
            for (int i = 0; i < N; i++) {
                const double p = 2 * ds_random_uniform(&rng) - 1; /* F(w) = (1 + w/sqrt(w^2 + 4 c))/2 */
                double next[HAND_STATES], force[HAND_LINKS];
                const double w = hard.shift[l] = 2 * sqrt(c) * p / sqrt(1 - p * p);
                hand_linearise(&hard, q, u, MA, MB);
                hand_step(&hard, q, u, next, force);
                for (int k = 0; k < ALL; k++) {
                    const int a = k < 49 ? k / 7 : (k - 49) / 4;
                    const double by_shift = force[l] > 0 ? -reply[a] / g : 0;
                    const double v =
                        k < 49 ? MA[a][k % 7] + by_shift * w / (2 * g) * slope[k % 7] : MB[a][(k - 49) % 4];
                    sum[k] += v;
                    squares[k] += v * v;
                }
            }
            for (int k = 0; k < ALL; k++) {
                const double mean = sum[k] / N, v = k < 49 ? A[k / 7][k % 7] : B[(k - 49) / 4][(k - 49) % 4];
                const double error = sqrt(fmax(squares[k] / N - mean * mean, 0) / N);
                if (error < 1e-7) {
                    assert_near(v, mean, 1e-6); /* what no contact changes */
                    continue;
                }
                tested++;
                outside += fabs(v - mean) > 2.576 * error;
                worst = fmax(worst, fabs(v - mean) / error);
            }
        }
        print_message("# kappa %g: %d of %d means outside of their 99 %% intervals, worst %.2f errors\n",
                      kappas[level], outside, tested, worst);
        assert_true(tested > 60 && outside == 0);
    }
}

RUN_TESTS(hard_is_the_complementarity_problem, smooth_satisfies_its_condition, derivatives_are_slopes,
          sharp_is_hard, no_normal_no_step, smooth_is_the_mean_under_noise)
