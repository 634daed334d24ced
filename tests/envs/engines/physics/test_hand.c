/* SPDX-License-Identifier: Apache-2.0 */
/* test_hand.c - quasi-dynamic steps: hard contact against a search over all sets of acting rows, smooth
 * contact against its condition, derivatives against differences; A and B of the barrier, and of the
 * mean of hard steps, against means under noise. */
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

/* A point fixed on link l, `along` and across it, at the state q. */
static void point_of_link(const hand *h, const double *q, int l, const double *local, double *out)
{
    const double *joints = q + 3 + 2 * (l / 2), angle = joints[0] + (l % 2 ? joints[1] : 0);
    const double first = l % 2 ? h->length[0] : 0;
    out[0] = h->base[l / 2][0] + first * cos(joints[0]) + local[0] * cos(angle) - local[1] * sin(angle);
    out[1] = h->base[l / 2][1] + first * sin(joints[0]) + local[0] * sin(angle) + local[1] * cos(angle);
}

/* The program of a step from the motion of the points that touch, by differences. */
static contact_program program_of(const hand *h, const double *q, const double *u)
{
    contact_program p = {.n = HAND_STATES};
    p.q[0] = p.q[1] = h->drag;
    p.q[2] = 0.5 * h->drag * h->radius * h->radius;
    for (int k = 0; k < HAND_CONTROLS; k++) {
        p.q[3 + k] = h->h * h->stiffness;
        p.b[3 + k] = -p.q[3 + k] * u[k];
    }
    for (int l = 0; l < HAND_LINKS; l++) {
        const double *joints = q + 3 + 2 * (l / 2), angle = joints[0] + (l % 2 ? joints[1] : 0);
        double a[2], local[2];
        point_of_link(h, q, l, (double[2]){0, 0}, a);
        const double x = cos(angle) * (q[0] - a[0]) + sin(angle) * (q[1] - a[1]);
        const double y = cos(angle) * (q[1] - a[1]) - sin(angle) * (q[0] - a[0]);
        const double nearest = fmin(fmax(x, 0), h->length[l % 2]), far = hypot(x - nearest, y);
        const double n[2] = {(cos(angle) * (x - nearest) - sin(angle) * y) / far,
                             (sin(angle) * (x - nearest) + cos(angle) * y) / far};
        local[0] = nearest + h->thickness * (x - nearest) / far;
        local[1] = h->thickness * y / far;
        for (int side = -1; side <= 1; side += 2) {
            const double e[2] = {n[0] - side * h->friction * n[1], n[1] + side * h->friction * n[0]};
            p.gap[p.m] = far - h->radius - h->thickness;
            for (int k = 0; k < HAND_STATES; k++) {
                double apart[2];
                for (int s = 0; s < 2; s++) {
                    double z[HAND_STATES], on[2];
                    memcpy(z, q, sizeof z);
                    z[k] += s ? 1e-6 : -1e-6;
                    point_of_link(h, z, l, local, on);
                    const double turn = z[2] - q[2];
                    const double arm[2] = {-h->radius * (n[0] * cos(turn) - n[1] * sin(turn)),
                                           -h->radius * (n[0] * sin(turn) + n[1] * cos(turn))};
                    apart[s] = e[0] * (z[0] + arm[0] - on[0]) + e[1] * (z[1] + arm[1] - on[1]);
                }
                p.J[p.m][k] = (apart[1] - apart[0]) / 2e-6;
            }
            p.m++;
        }
    }
    return p;
}

/* The fingers press from both sides. */
static void pressed_state(ds_random *rng, double *q, double *u)
{
    random_state(rng, q, u);
    u[0] -= 0.1;
    u[2] += 0.1;
}

/* Several contacts with friction at a time. */
static void steps_of_the_hand_are_complementary(void **state)
{
    int both = 0, three = 0, solved = 0;
    ds_random rng = ds_random_open(7, "hand", 0);
    for (int k = 0; k < 200; k++) {
        hand h = usual(k % 2 ? 0.5 : 1.5, 0);
        double q[HAND_STATES], u[HAND_CONTROLS], next[HAND_STATES], force[HAND_LINKS], d[HAND_STATES];
        pressed_state(&rng, q, u);
        h.radius += 0.03 * (k % 4); /* a large disc near the bases touches more links */
        q[1] -= 0.08 * (k % 4);
        const contact_program p = program_of(&h, q, u);
        const int made = hand_step(&h, q, u, next, force);
        assert_int_equal(made, search(&p, d));
        for (int i = 0; made && i < HAND_STATES; i++) {
            assert_near(next[i] - q[i], d[i], 1e-7);
        }
        int count = 0;
        for (int l = 0; made && l < HAND_LINKS; l++) {
            count += force[l] > 0;
        }
        solved += made;
        both += made && force[0] + force[1] > 0 && force[2] + force[3] > 0;
        three += count >= 3;
    }
    print_message("# %d of 200 steps solved, %d with contact on both sides, %d with three contacts\n", solved,
                  both, three);
    assert_true(both > 100 && three > 20);
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

/* ---- means under noise ---- */

enum { ALL = HAND_STATES * (HAND_STATES + HAND_CONTROLS) };

/* Mean and standard error of all numbers of A and B. */
typedef struct means {
    double sum[ALL], squares[ALL], mean[ALL], error[ALL];
} means;

static void pack(double A[HAND_STATES][HAND_STATES], double B[HAND_STATES][HAND_CONTROLS], double *out)
{
    memcpy(out, A, HAND_STATES * HAND_STATES * sizeof *out);
    memcpy(out + HAND_STATES * HAND_STATES, B, HAND_STATES * HAND_CONTROLS * sizeof *out);
}

static void linearise(const hand *h, const double *q, const double *u, double *out)
{
    double A[HAND_STATES][HAND_STATES], B[HAND_STATES][HAND_CONTROLS];
    hand_linearise(h, q, u, A, B);
    pack(A, B, out);
}

static void add(means *m, const double *v)
{
    for (int k = 0; k < ALL; k++) {
        m->sum[k] += v[k];
        m->squares[k] += v[k] * v[k];
    }
}

static void finish(means *m, int count)
{
    for (int k = 0; k < ALL; k++) {
        m->mean[k] = m->sum[k] / count;
        m->error[k] = sqrt(fmax(m->squares[k] / count - m->mean[k] * m->mean[k], 0) / count);
    }
}

/* Numbers outside of their 99 % intervals, and the largest distance in errors. */
typedef struct verdict {
    int outside, tested;
    double worst;
} verdict;

static void judge(verdict *v, const double *found, const double *mean, const double *error)
{
    for (int k = 0; k < ALL; k++) {
        if (error[k] < 1e-7) {
            assert_near(found[k], mean[k], 1e-6); /* what no contact changes */
            continue;
        }
        const double apart = fabs(found[k] - mean[k]) / error[k];
        v->tested++;
        v->outside += apart > 2.576;
        v->worst = fmax(v->worst, apart);
    }
}

/* Right values are outside in 1 of 100 cases, and never 5 errors away in some 10000. */
static void holds(const verdict *v, const char *what, double level, int least)
{
    print_message("# %s, %g: %d of %d means outside of their 99 %% intervals, worst %.2f errors\n", what,
                  level, v->outside, v->tested, v->worst);
    assert_true(v->tested > least && v->outside <= 0.03 * v->tested && v->worst < 5);
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

/* The means of hard A and B under the noise that belongs to the barrier. The gap s of a contact without
 * friction that no other contact moves solves s = s_free + c/s with c = g/kappa, so that ds/ds_free is the
 * distribution function of noise w with the density 2 c / (w^2 + 4 c)^(3/2), Student's t with 2 degrees of
 * freedom: the smooth step is the mean of the hard ones with the gap shifted by w, and A and B are the means
 * of their derivatives. As c depends on the state, so does w, which adds (d next / d w) (d w / d q) to A. */
static void barrier_means(const hand *smooth, const double *q, const double *u, int count, uint64_t stream,
                          means *m)
{
    hand hard = *smooth;
    double J[HAND_STATES], scrap[HAND_STATES], reply[HAND_LINKS][HAND_STATES], g[HAND_LINKS];
    double slope[HAND_LINKS][HAND_STATES];
    ds_random rng = ds_random_open(6, "noise", stream);
    hard.kappa = 0;
    for (int l = 0; l < HAND_LINKS; l++) {
        for (int k = 0; k < HAND_STATES; k++) {
            double z[HAND_STATES];
            memcpy(z, q, sizeof z);
            z[k] += 1e-4;
            slope[l][k] = compliance(&hard, z, l, J, scrap);
            z[k] -= 2e-4;
            slope[l][k] = (slope[l][k] - compliance(&hard, z, l, J, scrap)) / 2e-4;
        }
        g[l] = compliance(&hard, q, l, J, reply[l]);
    }
    memset(m, 0, sizeof *m);
    for (int i = 0; i < count; i++) {
        double next[HAND_STATES], force[HAND_LINKS], v[ALL];
        for (int l = 0; l < HAND_LINKS; l++) {
            const double p = 2 * ds_random_uniform(&rng) - 1; /* F(w) = (1 + w/sqrt(w^2 + 4 c))/2 */
            hard.shift[l] =
                2 * sqrt(g[l] * (hard.friction > 0 ? 2 : 1) / smooth->kappa) * p / sqrt(1 - p * p);
        }
        linearise(&hard, q, u, v);
        hand_step(&hard, q, u, next, force);
        for (int l = 0; l < HAND_LINKS; l++) {
            for (int k = 0; k < HAND_STATES * HAND_STATES && force[l] > 0; k++) {
                v[k] -= reply[l][k / 7] / g[l] * hard.shift[l] / (2 * g[l]) * slope[l][k % 7];
            }
        }
        add(m, v);
    }
    finish(m, count);
}

/* The tips press from below, left and right, at right angles: without friction neither moves the gap of the
 * other. */
static void square_state(ds_random *rng, const hand *h, double *q, double *u)
{
    random_state(rng, q, u);
    const double turn = 0.7853981633974483 + 0.1 * ds_random_normal(rng);
    for (int f = 0; f < HAND_FINGERS; f++) {
        const double far = h->radius + h->thickness + 0.02 * ds_random_normal(rng);
        const double n[2] = {f ? -sin(turn) : cos(turn), f ? cos(turn) : sin(turn)};
        const double x = q[0] - far * n[0] - h->base[f][0], y = q[1] - far * n[1] - h->base[f][1];
        const double cosine = (x * x + y * y - h->length[0] * h->length[0] - h->length[1] * h->length[1]) /
                              (2 * h->length[0] * h->length[1]);
        double *joints = q + 3 + 2 * f;
        joints[1] = (f ? 1 : -1) * acos(cosine);
        joints[0] =
            atan2(y, x) - atan2(h->length[1] * sin(joints[1]), h->length[0] + h->length[1] * cos(joints[1]));
    }
}

static void smooth_is_the_mean_under_noise(void **state)
{
    static const double kappas[] = {1e2, 1e3, 1e4};
    static means m;
    for (int level = 0; level < 3; level++) {
        verdict one = {0}, two = {0};
        for (int place = 0; place < 8; place++) {
            hand h = usual(0, kappas[level]);
            double q[HAND_STATES], u[HAND_CONTROLS], v[ALL];
            ds_random rng = ds_random_open(6, "place", (uint64_t)(8 * level + place));
            h.links = place < 2 ? 2u : place < 4 ? 8u : 10u; /* tips */
            square_state(&rng, &h, q, u);
            linearise(&h, q, u, v);
            barrier_means(&h, q, u, 20000, (uint64_t)(8 * level + place), &m);
            judge(place < 4 ? &one : &two, v, m.mean, m.error);
        }
        holds(&one, "one contact, kappa", kappas[level], 60);
        holds(&two, "two contacts, kappa", kappas[level], 60);
    }
}

/* |found - mean|^2 and |mean - without contact|^2 over the numbers of A (part 0) or B (1). */
static void distance(const double *found, const means *m, int part, double *apart, double *size)
{
    for (int k = part ? 49 : 0; k < (part ? ALL : 49); k++) {
        const int row = part ? (k - 49) / 4 : k / 7, column = part ? 3 + (k - 49) % 4 : k % 7;
        *apart += pow(found[k] - m->mean[k], 2) - pow(m->error[k], 2);
        *size += pow(m->mean[k] - (row == column), 2);
    }
}

/* Contacts that move each other's gaps, and friction: the barrier is only near the means. */
static void coupled_contacts_are_apart(void **state)
{
    static const struct {
        double friction, kappa, most;
    } cases[] = {{0, 1e2, 0.3},   {0, 1e3, 0.2},   {0, 1e4, 0.1},
                 {0.5, 1e2, 0.8}, {0.5, 1e3, 0.3}, {0.5, 1e4, 0.3}};
    static means m;
    for (int c = 0; c < 6; c++) {
        double apart[2] = {0}, size[2] = {0};
        ds_random rng = ds_random_open(8, "place", 0);
        for (int place = 0; place < 40; place++) {
            const hand h = usual(cases[c].friction, cases[c].kappa);
            double q[HAND_STATES], u[HAND_CONTROLS], v[ALL];
            pressed_state(&rng, q, u);
            linearise(&h, q, u, v);
            barrier_means(&h, q, u, 1000, (uint64_t)place, &m);
            for (int part = 0; part < 2; part++) {
                distance(v, &m, part, &apart[part], &size[part]);
            }
        }
        const double a = sqrt(apart[0] / size[0]), b = sqrt(apart[1] / size[1]);
        print_message("# friction %g, kappa %g: A %.3f, B %.3f of what contact adds from the means\n",
                      cases[c].friction, cases[c].kappa, a, b);
        assert_true(a < cases[c].most && b > 0.02 && b < cases[c].most);
    }
}

/* Draws of normal noise; HAND_NOISE numbers each. */
static void draw(ds_random *rng, double deviation, int count, double *out)
{
    for (int i = 0; i < count * HAND_NOISE; i++) {
        out[i] = deviation * ds_random_normal(rng);
    }
}

/* What contact adds to the step at q, u with noise w. */
static void contact_moves(const hand *h, const double *q, const double *u, const double *w, int sign,
                          double *out)
{
    double at[HAND_NOISE], next[HAND_STATES];
    for (int i = 0; i < HAND_NOISE; i++) {
        at[i] = (i < HAND_STATES ? q[i] : u[i - HAND_STATES]) + sign * w[i];
    }
    assert_int_equal(hand_step(h, at, at + HAND_STATES, next, NULL), 1);
    for (int i = 0; i < HAND_STATES; i++) {
        out[i] = next[i] - at[i] - (i >= 3 ? at[HAND_STATES + i - 3] : 0);
    }
}

/* Several contacts with friction: A and B of the mean of hard steps, against other draws of the noise: means
 * of hard A and B (first order), and of the motion times the noise, without derivatives (zeroth order). With
 * noise of 0.1 the two orders differ: it carries the centre of the disc over a link, where the step jumps. */
static void mean_is_the_mean(void **state)
{
    enum { DRAWS = 2000, FIRST = 4000, ZEROTH = 10000 };
    static const double deviations[] = {0.01, 0.03, 0.05};
    static double noise[DRAWS * HAND_NOISE], other[ZEROTH * HAND_NOISE];
    static means own, first, zeroth;
    for (int level = 0; level < 3; level++) {
        const double sigma = deviations[level];
        verdict by_first = {0}, by_zeroth = {0};
        for (int place = 0; place < 6; place++) {
            const hand hard = usual(place % 3 ? 0.5 : 0, 0);
            double q[HAND_STATES], u[HAND_CONTROLS], v[ALL], next[HAND_STATES], force[HAND_LINKS];
            double error[ALL];
            ds_random places = ds_random_open(9, "place", (uint64_t)place);
            ds_random draws = ds_random_open(9, "draws", (uint64_t)(6 * level + place));
            ds_random others = ds_random_open(9, "others", (uint64_t)(6 * level + place));
            do { /* both fingers touch */
                pressed_state(&places, q, u);
                hand_step(&hard, q, u, next, force);
            } while (!(force[0] + force[1] > 0 && force[2] + force[3] > 0));
            draw(&draws, sigma, DRAWS, noise);
            draw(&others, sigma, ZEROTH, other);
            memset(&own, 0, sizeof own);
            memset(&first, 0, sizeof first);
            memset(&zeroth, 0, sizeof zeroth);
            for (int i = 0; i < DRAWS; i++) {
                hand one = hard;
                one.draws = 1;
                one.noise = noise + i * HAND_NOISE;
                linearise(&one, q, u, v);
                add(&own, v);
            }
            for (int i = 0; i < FIRST; i++) {
                double at[HAND_NOISE];
                for (int j = 0; j < HAND_NOISE; j++) {
                    at[j] = (j < HAND_STATES ? q[j] : u[j - HAND_STATES]) + other[i * HAND_NOISE + j];
                }
                linearise(&hard, at, at + HAND_STATES, v);
                add(&first, v);
            }
            for (int i = 0; i < ZEROTH; i++) {
                const double *w = other + i * HAND_NOISE;
                double up[HAND_STATES], down[HAND_STATES];
                contact_moves(&hard, q, u, w, 1, up);
                contact_moves(&hard, q, u, w, -1, down);
                for (int k = 0; k < ALL; k++) {
                    const int row = k < 49 ? k / 7 : (k - 49) / 4, column = k < 49 ? k % 7 : 7 + (k - 49) % 4;
                    const int free = column == row || (row >= 3 && column == row + 4);
                    v[k] = (up[row] - down[row]) * w[column] / (2 * sigma * sigma) + free;
                }
                add(&zeroth, v);
            }
            finish(&own, DRAWS);
            finish(&first, FIRST);
            finish(&zeroth, ZEROTH);
            hand all = hard;
            all.draws = DRAWS;
            all.noise = noise;
            linearise(&all, q, u, v);
            for (int k = 0; k < ALL; k++) {
                assert_near(v[k], own.mean[k], 1e-9);
                error[k] = hypot(own.error[k], first.error[k]);
            }
            judge(&by_first, v, first.mean, error);
            for (int k = 0; k < ALL; k++) {
                error[k] = hypot(own.error[k], zeroth.error[k]);
            }
            judge(&by_zeroth, v, zeroth.mean, error);
        }
        holds(&by_first, "mean, first order, noise", sigma, 200);
        holds(&by_zeroth, "mean, zeroth order, noise", sigma, 200);
    }
}

RUN_TESTS(hard_is_the_complementarity_problem, steps_of_the_hand_are_complementary,
          smooth_satisfies_its_condition, derivatives_are_slopes, sharp_is_hard, no_normal_no_step,
          smooth_is_the_mean_under_noise, coupled_contacts_are_apart, mean_is_the_mean)
