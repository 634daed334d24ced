/* SPDX-License-Identifier: Apache-2.0 */
/* test_smoke.c - smoke on a periodic grid: the fast engine against the reference on all instruction sets, the
 * projection, adjoint and tangent against central differences, recorded losses of a descent. */
#include "differences.h"
#include "engines/physics/smoke/smoke.h"
#include "functions.h"
#include "smoke_plain.h"
#include "test.h"

static const char *const sets[] = {"baseline", "avx2", "avx512"};
enum { SWEEPS = 6 };

/* A state in 3 n n numbers. */
static smoke_state view(double *numbers, size_t n)
{
    return (smoke_state){numbers, numbers + n * n, numbers + 2 * n * n};
}

static void random_state(uint64_t seed, size_t n, double speed, double *numbers)
{
    differences_random(seed, 3 * n * n, numbers);
    for (size_t i = 0; i < 2 * n * n; i++) {
        numbers[i] *= speed;
    }
}

/* ---- against the reference ---- */

/* Forward and reverse, to `end` and `bar`. */
static void run_fast(const char *set, size_t n, uint64_t steps, double *start, double *end, double *bar,
                     double *dot)
{
    ds_memory room = {0};
    smoke *s = smoke_create(&room, n, SWEEPS, steps, set, NULL);
    const smoke_state first = view(start, n), last = view(end, n), adjoint = view(bar, n),
                      tangent = view(dot, n);
    assert_non_null(s);
    assert_true(smoke_simulate(s, &first, steps));
    smoke_get(s, steps, &last);
    smoke_adjoint(s, 0, steps, &adjoint);
    smoke_tangent(s, 0, steps, &tangent);
    ds_memory_free(&room);
}

static void compare(size_t n, uint64_t steps, double speed)
{
    const size_t all = 3 * n * n;
    double *start = calloc(7 * all, sizeof *start), *end = start + all, *want = start + 2 * all;
    double *bar = start + 3 * all, *want_bar = start + 4 * all, *first = start + 5 * all,
           *dot = start + 6 * all;
    random_state(n, n, speed, start);
    differences_random(n + 1, all, want_bar);
    const smoke_state s = view(start, n), e = view(want, n), b = view(want_bar, n);
    assert_true(smoke_plain(n, SWEEPS, steps, &s, &e, &b));
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
        differences_random(n + 1, all, bar);
        differences_random(n + 2, all, dot);
        run_fast(sets[k], n, steps, start, end, bar, dot);
        assert_memory_equal(end, want, all * sizeof *end);
        for (size_t i = 0; i < all; i++) {
            assert_near(bar[i], want_bar[i], 1e-12 * fmax(1, fabs(want_bar[i])));
        }
        if (k == 0) {
            memcpy(first, bar, all * sizeof *bar);
            memcpy(want, end, all * sizeof *bar);
        }
        assert_memory_equal(bar, first, all * sizeof *bar);
    }
    free(start);
}

static void plain_and_fast(void **state)
{
    compare(4, 3, 0.9);
    compare(5, 7, 3);
    compare(17, 6, 1.5);
    compare(30, 4, 100);
    compare(33, 5, 1e5);
    compare(110, 2, 2);
}

static void same_bits_forward(void **state)
{
    enum { N = 23, ALL = 3 * N * N };
    static double start[ALL], end[ALL], bar[ALL], dot[3][ALL];
    random_state(1, N, 2, start);
    for (size_t k = 0; k < 3; k++) {
        differences_random(2, ALL, bar);
        differences_random(3, ALL, dot[k]);
        run_fast(sets[k], N, 5, start, end, bar, dot[k]);
        assert_memory_equal(dot[k], dot[0], sizeof dot[0]);
    }
}

/* ---- properties of a step ---- */

static void projection(void **state)
{
    enum { N = 20, FIELD = N * N };
    static double u[2 * FIELD], v[2 * FIELD], Pu[2 * FIELD], Pv[2 * FIELD], work[3 * FIELD];
    differences_random(1, 2 * FIELD, u);
    differences_random(2, 2 * FIELD, v);
    memcpy(Pu, u, sizeof u);
    memcpy(Pv, v, sizeof v);
    smoke_plain_project(N, SWEEPS, Pu, Pu + FIELD, work);
    smoke_plain_project(N, SWEEPS, Pv, Pv + FIELD, work);
    assert_near(differences_dot(2 * FIELD, Pu, v), differences_dot(2 * FIELD, u, Pv), 1e-12);
    assert_true(differences_dot(2 * FIELD, Pu, Pu) < differences_dot(2 * FIELD, u, u));
}

/* One wave of speed along its vector has a closed-form decay. */
static void projected_wave(void **state)
{
    enum { N = 20, FIELD = N * N };
    static double u[2 * FIELD], work[3 * FIELD];
    const double half = cos(FUNCTIONS_PI / N), left = 1 - half * half * (1 - pow(half, 2 * SWEEPS));
    for (size_t c = 0; c < FIELD; c++) {
        u[c] = sin(2 * FUNCTIONS_PI * (double)(c / N) / N);
    }
    smoke_plain_project(N, SWEEPS, u, u + FIELD, work);
    for (size_t c = 0; c < FIELD; c++) {
        assert_near(u[c], left * sin(2 * FUNCTIONS_PI * (double)(c / N) / N), 1e-14);
        assert_near(u[FIELD + c], 0, 0);
    }
}

static void still_air(void **state)
{
    enum { N = 16, ALL = 3 * N * N };
    static double start[ALL], end[ALL], bar[ALL], dot[ALL];
    random_state(3, N, 0, start);
    run_fast(NULL, N, 20, start, end, bar, dot);
    assert_memory_equal(start + 2 * N * N, end + 2 * N * N, N * N * sizeof *end);
}

/* A uniform wind of whole cells moves the smoke unchanged, around the edges. */
static void uniform_wind(void **state)
{
    enum { N = 16, ALL = 3 * N * N, STEPS = 9 };
    static double start[ALL], end[ALL], bar[ALL], dot[ALL];
    random_state(3, N, 0, start);
    for (size_t c = 0; c < N * N; c++) {
        start[c] = 3;
        start[N * N + c] = -2;
    }
    run_fast(NULL, N, STEPS, start, end, bar, dot);
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++) {
            size_t to = (i + 3 * STEPS) % N * N + (j + 2 * N * STEPS - 2 * STEPS) % N;
            assert_true(end[2 * N * N + to] == start[2 * N * N + i * N + j]);
        }
    }
}

static void refused_starts(void **state)
{
    ds_memory room = {0};
    enum { N = 8 };
    double start[3 * N * N] = {0};
    const smoke_state s = view(start, N);
    smoke *r = smoke_create(&room, N, SWEEPS, 3, NULL, NULL);
    const double bad[] = {(double)NAN, INFINITY, 2e6};
    for (int i = 0; i < 3; i++) {
        start[5] = bad[i];
        assert_false(smoke_simulate(r, &s, 3));
    }
    start[5] = 0;
    start[2 * N * N + 1] = (double)NAN;
    assert_false(smoke_simulate(r, &s, 3));
    start[2 * N * N + 1] = 0;
    assert_true(smoke_simulate(r, &s, 3));
    ds_memory_free(&room);
}

/* ---- derivatives ---- */

enum { GRID = 10, NUMBERS = 3 * GRID * GRID, STEPS = 5 };

typedef struct problem {
    smoke *s;
    double weight[2][NUMBERS]; /* of the states after 3 and 5 steps */
} problem;

static double loss_of(void *self, const double *x)
{
    problem *p = self;
    double start[NUMBERS], frame[NUMBERS], sum = 0;
    memcpy(start, x, sizeof start);
    const smoke_state s = view(start, GRID), f = view(frame, GRID);
    assert_true(smoke_simulate(p->s, &s, STEPS));
    for (int k = 0; k < 2; k++) {
        smoke_get(p->s, k ? STEPS : 3, &f);
        sum += differences_dot(NUMBERS, p->weight[k], frame);
    }
    return sum;
}

/* The cells from which smoke and velocities come. */
static uint64_t branches_of(void *self)
{
    problem *p = self;
    double frame[NUMBERS];
    const smoke_state f = view(frame, GRID);
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint64_t t = 0; t <= STEPS; t++) {
        smoke_get(p->s, t, &f);
        for (size_t c = 0; c < GRID * GRID; c++) {
            hash = (hash ^ (uint64_t)(int64_t)floor((double)(c / GRID) - f.vx[c])) * 0x100000001b3u;
            hash = (hash ^ (uint64_t)(int64_t)floor((double)(c % GRID) - f.vy[c])) * 0x100000001b3u;
        }
    }
    return hash;
}

static void derivatives(void **state)
{
    ds_memory room = {0};
    problem *p = ds_memory_take(&room, 1, sizeof *p);
    double x[NUMBERS], grad[NUMBERS], dot[NUMBERS], along = 0;
    const smoke_state bar = view(grad, GRID), direction = view(dot, GRID);
    size_t switched = 0;
    p->s = smoke_create(&room, GRID, SWEEPS, STEPS, NULL, NULL);
    random_state(4, GRID, 1.3, x);
    differences_random(5, NUMBERS, p->weight[0]);
    differences_random(6, NUMBERS, p->weight[1]);
    loss_of(p, x);
    memcpy(grad, p->weight[1], sizeof grad);
    smoke_adjoint(p->s, 3, STEPS, &bar);
    for (size_t i = 0; i < NUMBERS; i++) {
        grad[i] += p->weight[0][i];
    }
    smoke_adjoint(p->s, 0, 3, &bar);
    differences_random(7, NUMBERS, dot);
    const double reverse = differences_dot(NUMBERS, grad, dot);
    smoke_tangent(p->s, 0, 3, &direction);
    along = differences_dot(NUMBERS, p->weight[0], dot);
    smoke_tangent(p->s, 3, STEPS, &direction);
    along += differences_dot(NUMBERS, p->weight[1], dot);
    assert_near(along, reverse, 1e-11 * fabs(reverse));
    differences d = {.name = "smoke",
                     .n = NUMBERS,
                     .x = x,
                     .grad = grad,
                     .loss = loss_of,
                     .branches = branches_of,
                     .self = p,
                     .step = 1e-6,
                     .tolerance = 1e-5};
    assert_int_equal(differences_check(&d, &switched), 0);
    print_message("%zu of %d components disagree across a switch\n", switched, NUMBERS);
    assert_true(switched <= NUMBERS / 100);
    ds_memory_free(&room);
}

/* ---- the descents of gradSim's demonstration, to our own targets ---- */

enum { N = 110, FIELD = N * N, ROLL = 99 };

typedef struct descent {
    smoke *s;
    double start[3 * FIELD], last[3 * FIELD], bar[3 * FIELD], target[FIELD];
    double first[2 * FIELD], second[2 * FIELD]; /* moments of Adam */
} descent;

/* A ring; inner = 0: a disc. */
static void set_scene(descent *d, double inner, double outer)
{
    memset(d->start, 0, sizeof d->start);
    memset(d->first, 0, sizeof d->first);
    memset(d->second, 0, sizeof d->second);
    for (int c = 0; c < FIELD; c++) {
        double r = hypot(c / N - 54.5, c % N - 54.5);
        d->start[2 * FIELD + c] = c / N >= 73;
        d->target[c] = r < outer && (inner == 0 || r > inner);
    }
}

/* The mean squared error of the final smoke; writes its derivatives to `bar` if not NULL. */
static double evaluate(descent *d, int derivatives_too)
{
    const smoke_state start = view(d->start, N), last = view(d->last, N), bar = view(d->bar, N);
    double loss = 0;
    assert_true(smoke_simulate(d->s, &start, ROLL));
    smoke_get(d->s, ROLL, &last);
    memset(d->bar, 0, sizeof d->bar);
    for (size_t c = 0; c < FIELD; c++) {
        double off = last.density[c] - d->target[c];
        loss += off * off / FIELD;
        bar.density[c] = 2 * off / FIELD;
    }
    if (derivatives_too) {
        smoke_adjoint(d->s, 0, ROLL, &bar);
    }
    return loss;
}

static void adam(descent *d, int iteration)
{
    const double b1 = 0.9, b2 = 0.999, c1 = 1 - pow(b1, iteration), c2 = 1 - pow(b2, iteration);
    for (size_t i = 0; i < 2 * FIELD; i++) {
        d->first[i] = b1 * d->first[i] + (1 - b1) * d->bar[i];
        d->second[i] = b2 * d->second[i] + (1 - b2) * d->bar[i] * d->bar[i];
        d->start[i] -= 0.1 * d->first[i] / c1 / (sqrt(d->second[i] / c2) + 1e-8);
    }
}

typedef struct recorded {
    int iteration;
    double loss;
} recorded;

static void follow(descent *d, const char *name, size_t n, const recorded *want)
{
    for (int it = 0, k = 0; it <= want[n - 1].iteration; it++) {
        double loss = evaluate(d, it < want[n - 1].iteration);
        if (it == want[k].iteration) {
            print_message("%s, iteration %d: %.5f (recorded %.4f)\n", name, it, loss, want[k].loss);
            assert_near(loss, want[k].loss, 0.05 * want[k].loss);
            k++;
        }
        adam(d, it + 1);
    }
}

#ifdef SLOW
enum { RECORDED = 4 };
#else
enum { RECORDED = 2 };
#endif

static void recorded_descents(void **state)
{
    ds_memory room = {0};
    descent *d = ds_memory_take(&room, 1, sizeof *d);
    const recorded disc[] = {{0, 0.4035}, {10, 0.0107}, {50, 0.0037}, {100, 0.0031}};
    const recorded ring[] = {{0, 0.4028}, {10, 0.0369}, {50, 0.0162}, {100, 0.0136}};
    d->s = smoke_create(&room, N, SWEEPS, ROLL, NULL, NULL);
    assert_true(smoke_bytes(d->s) < (size_t)300 << 20);
    print_message("%s, %zu MiB\n", smoke_isa(d->s), smoke_bytes(d->s) >> 20);
    set_scene(d, 0, 16);
    follow(d, "disc", RECORDED, disc);
    set_scene(d, 20, 30);
    follow(d, "ring", RECORDED, ring);
    ds_memory_free(&room);
}

/* ---- stream function ---- */

static void waves(void **state)
{
    enum { G = 24, K = 4, C = 2 * K * K };
    ds_memory room = {0};
    stream *s = stream_create(&room, G, K);
    static double vx[G * G], vy[G * G], wx[G * G], wy[G * G];
    double c[C], c_bar[C];
    const int shortest[6][2] = {{0, 1}, {1, 0}, {1, -1}, {1, 1}, {0, 2}, {2, 0}};
    for (size_t m = 0; m < 6; m++) {
        int vector[2];
        stream_wave(s, m, vector);
        assert_memory_equal(vector, shortest[m], sizeof vector);
    }
    differences_random(1, C, c);
    stream_velocity(s, c, vx, vy);
    for (size_t i = 0; i < G; i++) {
        for (size_t j = 0; j < G; j++) {
            double along = vx[(i + 1) % G * G + j] - vx[(i + G - 1) % G * G + j];
            assert_near(along + vy[i * G + (j + 1) % G] - vy[i * G + (j + G - 1) % G], 0, 1e-13);
        }
    }
    differences_random(2, G * G, wx);
    differences_random(3, G * G, wy);
    stream_adjoint(s, wx, wy, c_bar);
    assert_near(differences_dot(G * G, vx, wx) + differences_dot(G * G, vy, wy), differences_dot(C, c, c_bar),
                1e-11);
    memset(c, 0, sizeof c); /* one wave: its largest speed is its wave number */
    c[2 * 2] = 1.5;
    stream_velocity(s, c, vx, vy);
    assert_near(hypot(vx[0], vy[0]), 1.5, 1e-14);
    ds_memory_free(&room);
}

RUN_TESTS(plain_and_fast, same_bits_forward, projected_wave, projection, still_air, uniform_wind,
          refused_starts, derivatives, recorded_descents, waves)
