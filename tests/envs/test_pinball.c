/* SPDX-License-Identifier: Apache-2.0 */
/* test_pinball.c - episodes of a ball among bars: recorded trajectories, impacts and gradients of Nimble; the
 * plugin pinball with its plateaus and jumps; which derivative each kind of gradient is. */
#include "differences.h"
#include "engines/physics/contact/ball.h"
#include "test.h"

#include <diffsim/ext/scene.h>

enum { MAX_BARS = 16 };
#ifdef SLOW
enum { ALL = 1, BASES = 200, SIDE = 41, SAMPLES = 8, POINTS = 300 };
#else
enum { ALL = 0, BASES = 20, SIDE = 9, SAMPLES = 1, POINTS = 60 };
#endif

/* ---- recorded episodes, through the engine ---- */

enum { RECORDED_WALL = 1000 }; /* number of the first wall in the recorded values */

typedef struct layout {
    ball_params p;
    uint64_t n, steps;
    shape_box bar[MAX_BARS];
    double start[4], target[2];
} layout;

static void read_layout(const json_t *meta, layout *l)
{
    memset(l, 0, sizeof *l);
    l->p = (ball_params){.h = golden_number(meta, "h"),
                         .gravity = golden_number(meta, "gravity"),
                         .radius = golden_number(meta, "r"),
                         .walls = {0, 8, 0, 10},
                         .clip = HUGE_VAL,
                         .law = {golden_number(meta, "e"), golden_number(meta, "mu"), 0.1}};
    l->steps = (uint64_t)rigid_int(meta, "T");
    rigid_numbers(json_object_get(meta, "start"), l->start, 2);
    rigid_numbers(json_object_get(meta, "start_velocity"), l->start + 2, 2);
    rigid_numbers(json_object_get(meta, "target"), l->target, 2);
    size_t k = 0;
    json_t *c = NULL;
    json_array_foreach(json_object_get(meta, "colliders"), k, c)
    {
        l->bar[k] = (shape_box){.centre = {golden_number(c, "cx"), golden_number(c, "cy")},
                                .half = {golden_number(c, "hl"), golden_number(c, "ht")}};
    }
    l->n = json_array_size(json_object_get(meta, "colliders"));
}

/* Loss, gradient by the angles and by the start, in a given simulation. */
static double run_in(ball *sim, const layout *l, const double *angle, double *grad, double start_bar[4])
{
    ball_simulate(sim, angle, l->start, l->steps);
    const double *end = ball_state(sim, l->steps);
    double dx = end[0] - l->target[0], dy = end[1] - l->target[1], d = hypot(dx, dy);
    double bar[4] = {dx / d, dy / d, 0, 0}, unused[MAX_BARS];
    ball_adjoint(sim, NULL, bar, grad ? grad : unused);
    if (start_bar) {
        memcpy(start_bar, bar, sizeof bar);
    }
    return d;
}

static ds_memory room; /* of the current balls */

static ball *make(const layout *l, int gradient)
{
    ball_params p = l->p;
    p.gradient = gradient;
    ball *sim = ball_create(&room, &p, l->n, l->bar, l->steps);
    assert_non_null(sim);
    return sim;
}

static double run(const layout *l, int gradient, const double *angle, double *grad, double start_bar[4],
                  ball **kept)
{
    ball *sim = make(l, gradient);
    double d = run_in(sim, l, angle, grad, start_bar);
    if (kept) {
        *kept = sim;
    } else {
        ds_memory_free(&room);
    }
    return d;
}

/* The steps with an impulse against the recorded ones. */
static void check_impacts(const ball *sim, const json_t *c)
{
    const json_t *list = json_object_get(c, "impacts");
    uint64_t steps = 0;
    for (uint64_t i = 0; i < ball_events(sim); i++) {
        const ball_event *e = ball_event_at(sim, i);
        const impact_contact *k = ball_contacts(sim, e);
        int body = -1, at = 0;
        for (int j = 0; j < e->count; j++) {
            if (k[j].f[0] > 0) {
                body = k[j].at.body;
                at = j;
            }
        }
        if (body < 0) {
            continue;
        }
        if (steps < json_array_size(list)) {
            const json_t *want = json_array_get(list, steps);
            double bodies[8], depth[8], impulse[8];
            uint64_t n = rigid_numbers(json_object_get(want, "body"), bodies, 8);
            rigid_numbers(json_object_get(want, "depth"), depth, 8);
            rigid_numbers(json_object_get(want, "impulse"), impulse, 8);
            assert_int_equal(e->step, rigid_int(want, "t"));
            if (n == 1) {
                int number = body < BALL_WALL ? body : RECORDED_WALL + body - BALL_WALL;
                assert_int_equal(number, (int)bodies[0]);
                assert_near(k[at].at.depth, depth[0], 1e-9);
                assert_near(k[at].f[0], impulse[0], 1e-9);
                assert_int_equal(k[at].at.feature == SHAPE_CORNER,
                                 json_is_true(json_array_get(json_object_get(want, "corner"), 0)));
                assert_int_equal(k[at].bounced,
                                 json_is_true(json_array_get(json_object_get(want, "bounced"), 0)));
            }
        }
        steps++;
    }
    assert_int_equal(steps, rigid_int(c, "impact_steps"));
}

static void check_gradient(const double *got, uint64_t n, const json_t *c, const char *key)
{
    double want[MAX_BARS], largest = 0;
    assert_int_equal(rigid_numbers(json_object_get(c, key), want, MAX_BARS), n);
    for (uint64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(want[i]));
    }
    for (uint64_t i = 0; i < n; i++) {
        if (!(fabs(got[i] - want[i]) <= (largest > 100 ? 1e-6 : 1e-8) * largest)) {
            fail_msg("%s[%d] = %.17g, not %.17g", key, (int)i, got[i], want[i]);
        }
        assert_true(want[i] != 0 || got[i] == 0); /* never touched: exactly 0 */
    }
}

static void check_differences(const double *got, uint64_t n, const json_t *c, const char *key)
{
    double want[MAX_BARS], largest = 0, tolerance = golden_number(c, "fd_relative_difference");
    assert_int_equal(rigid_numbers(json_object_get(c, key), want, MAX_BARS), n);
    for (uint64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(want[i]));
    }
    for (uint64_t i = 0; i < n; i++) {
        assert_near(got[i], want[i], (2 * tolerance + 1e-7) * fmax(1, largest));
    }
}

static void recorded_episodes(void **state)
{
    static const char *const files[] = {"pinball2.json", "pinball16.json", "pinball2_e09.json",
                                        "pinball2_e03.json"};
    for (int f = 0; f < 8; f++) {
        json_t *root = rigid_golden(files[f % 4]), *c = NULL, *row = NULL;
        layout l;
        size_t k = 0, i = 0;
        read_layout(json_object_get(root, "meta"), &l);
        l.p.clip = f < 4 ? HUGE_VAL : 0.03; /* no difference in the recorded cases */
        json_array_foreach(golden_list(root, "cases"), k, c)
        {
            double angle[MAX_BARS], grad[MAX_BARS], start_bar[4];
            ball *sim = NULL;
            assert_int_equal(rigid_numbers(json_object_get(c, "theta"), angle, MAX_BARS), l.n);
            assert_near(run(&l, BALL_DISCRETE, angle, grad, start_bar, &sim), golden_number(c, "loss"), 1e-9);
            json_array_foreach(json_object_get(c, "x"), i, row)
            {
                double q[2], v[2];
                const double *at = ball_state(sim, (uint64_t)rigid_int(row, "t"));
                rigid_numbers(json_object_get(row, "q"), q, 2);
                rigid_numbers(json_object_get(row, "v"), v, 2);
                assert_near(at[0], q[0], 1e-9);
                assert_near(at[1], q[1], 1e-9);
                assert_near(at[2], v[0], 1e-8);
                assert_near(at[3], v[1], 1e-8);
            }
            check_impacts(sim, c);
            ds_memory_free(&room);
            check_gradient(grad, l.n, c, "grad_theta_discrete");
            check_gradient(start_bar, 4, c, "grad_start_discrete");
            check_differences(grad, l.n, c, "grad_theta_fd");
            check_differences(start_bar, 4, c, "grad_start_fd");
            run(&l, BALL_NIMBLE, angle, NULL, start_bar, NULL);
            check_gradient(start_bar, 4, c, "grad_start_nimble");
        }
        json_decref(root);
    }
}

/* ---- kinds of gradient ---- */

/* One bar at (2, 5) and no second one, ball from (2.5, 9.5), target (7, 0.5). */
static layout one_bar(double h, uint64_t steps)
{
    layout l = {.p = {.h = h,
                      .gravity = 9.81,
                      .radius = 0.2,
                      .walls = {0, 8, 0, 10},
                      .clip = HUGE_VAL,
                      .law = {0.6, 0, 0.1}},
                .n = 1,
                .steps = steps,
                .start = {2.5, 9.5, 0, 0},
                .target = {7, 0.5}};
    l.bar[0] = (shape_box){.centre = {2, 5}, .half = {1.2, 0.1}};
    return l;
}

static double difference(const layout *l, double angle, double eps)
{
    double up = angle + eps, down = angle - eps;
    return (run(l, BALL_DISCRETE, &up, NULL, NULL, NULL) - run(l, BALL_DISCRETE, &down, NULL, NULL, NULL)) /
           (up - down);
}

/* Measured once with an independent program: discrete, saltation and a difference over 0.02 rad. */
static void single_impact_gradients(void **state)
{
    static const double angle[3] = {-0.45, -0.3, 0.2}, discrete[3] = {6.4148, 5.824, 2.4964};
    static const double continuous[3] = {6.650, 6.087, 2.8572}, coarse[3] = {6.654, 6.065, 2.8573};
    static const double discrete_7000[3] = {6.4173, 5.8263, 2.4977};
    for (int k = 0; k < 3; k++) {
        layout l = one_bar(2e-4, 6999);
        double g = 0;
        run(&l, BALL_DISCRETE, &angle[k], &g, NULL, NULL);
        assert_near(g, discrete[k], 6e-4);
        assert_near(difference(&l, angle[k], 1e-7), g, 1e-6);
        run(&l, BALL_SALTATION, &angle[k], &g, NULL, NULL);
        assert_near(g, continuous[k], 6e-4);
        assert_near(difference(&l, angle[k], 0.02), coarse[k], 1.1e-3);
        assert_near(g, difference(&l, angle[k], 0.02), 0.01 * fabs(g));
        l.steps = 7000;
        run(&l, BALL_DISCRETE, &angle[k], &g, NULL, NULL);
        assert_near(g, discrete_7000[k], 6e-5);
        l = one_bar(2e-3, 700);
        run(&l, BALL_SALTATION, &angle[k], &g, NULL, NULL);
        assert_near(g, difference(&l, angle[k], 0.02), 0.05 * fabs(g));
    }
}

static void two_impact_gradients(void **state)
{
    static const double angle[2] = {0.03, -0.05}, discrete[2] = {14.544, 163.36},
                        nimble[2] = {15.113, 168.76};
    static const double continuous[2] = {14.939, 165.45}, coarse[2] = {14.938, 56.1};
    for (int k = 0; k < 2; k++) {
        layout l = one_bar(1e-4, 22999);
        double g = 0;
        run(&l, BALL_DISCRETE, &angle[k], &g, NULL, NULL);
        assert_near(g, discrete[k], 6e-4 * fmax(1, 10.0 * k));
        run(&l, BALL_NIMBLE, &angle[k], &g, NULL, NULL);
        assert_near(g, nimble[k], 6e-4 * fmax(1, 10.0 * k));
        run(&l, BALL_SALTATION, &angle[k], &g, NULL, NULL);
        assert_near(g, continuous[k], 6e-4 * fmax(1, 10.0 * k));
        assert_near(difference(&l, angle[k], 0.02), coarse[k], k ? 0.06 : 1.1e-3);
    }
}

/* alternate gives the discrete gradient where no switched class leaves a larger one. */
static void alternate_gradient(void **state)
{
    layout l = one_bar(0.002, 700);
    int differ = 0;
    for (int k = 0; k < 200; k++) {
        double angle = -1 + 0.01 * k, a[4], d[4];
        run(&l, BALL_DISCRETE, &angle, NULL, d, NULL);
        run(&l, BALL_ALTERNATE, &angle, NULL, a, NULL);
        differ += memcmp(a, d, sizeof a) != 0;
        assert_true(isfinite(a[0] + a[1] + a[2] + a[3]));
    }
    print_message("alternate differs from discrete at %d of 200 angles\n", differ);
}

/* ---- differences, near and far from switches ---- */

/* Do two episodes have the same impacts? */
static int same_events(const ball *a, const ball *b)
{
    if (ball_events(a) != ball_events(b)) {
        return 0;
    }
    for (uint64_t i = 0; i < ball_events(a); i++) {
        const ball_event *e = ball_event_at(a, i), *f = ball_event_at(b, i);
        if (e->step != f->step || e->count != f->count) {
            return 0;
        }
        const impact_contact *k = ball_contacts(a, e), *m = ball_contacts(b, f);
        for (int j = 0; j < e->count; j++) {
            if (k[j].at.body != m[j].at.body || k[j].at.feature != m[j].at.feature ||
                k[j].cls[0] != m[j].cls[0] || k[j].cls[1] != m[j].cls[1] || k[j].bounced != m[j].bounced) {
                return 0;
            }
        }
    }
    return 1;
}

static layout grid(int columns, int rows, double half_length, double start)
{
    layout l = one_bar(0.002, 1000);
    l.n = (uint64_t)(columns * rows);
    l.start[0] = start;
    for (int k = 0; k < columns * rows; k++) {
        l.bar[k] = (shape_box){
            .centre = {8 * (k % columns + 0.5) / columns, 10.0 * (rows - k / columns) / (rows + 1)},
            .half = {half_length, 0.1}};
    }
    return l;
}

/* Extrapolated central difference against derivative g; *same is cleared where an impact changes
 * over the difference. */
static double mismatch(ball *sim, const layout *l, double *x, uint64_t i, double eps, const ball *at,
                       double g, int *same)
{
    double q[2], kept = x[i];
    for (int s = 0; s < 4; s++) {
        x[i] = kept + (s % 2 ? -1 : 1) * (s < 2 ? eps : 0.5 * eps);
        double f = run_in(sim, l, x, NULL, NULL);
        q[s / 2] = s % 2 ? (q[s / 2] - f) / (s < 2 ? 2 * eps : eps) : f;
        *same &= same_events(at, sim);
    }
    x[i] = kept;
    return fabs((4 * q[1] - q[0]) / 3 - g);
}

/* Every component at random points agrees to 1e-7 of the gradient's norm where the impacts stay the same over
 * the difference. The share of components that a switch makes disagree is printed. */
static void central_differences(void **state)
{
    const layout cases[] = {grid(2, 1, 1.2, 2.5), grid(4, 4, 0.7, 3.3), grid(2, 1, 1.2, 2.5)};
    for (int c = 0; c < 3; c++) {
        layout l = cases[c];
        l.p.law.friction = c == 2 ? 0.3 : 0;
        l.p.integrator = c == 2 ? BALL_SEMI_IMPLICIT : BALL_EXPLICIT;
        int total = 0, switched = 0, wrong = 0;
        double worst = 0;
        ball *at = make(&l, BALL_DISCRETE), *near = make(&l, BALL_DISCRETE);
        for (uint64_t k = 0; k < (l.n > 2 ? POINTS / 3 : POINTS); k++) {
            double x[MAX_BARS], g[MAX_BARS], norm = 0;
            rigid_random(x, l.n, 7000 + k);
            run_in(at, &l, x, g, NULL);
            for (uint64_t i = 0; i < l.n; i++) {
                norm += g[i] * g[i];
            }
            norm = fmax(1, sqrt(norm));
            for (uint64_t i = 0; i < l.n; i++) {
                double error = HUGE_VAL, nearest = 0;
                for (double eps = 1e-4; eps > 1e-6; eps *= 0.2) {
                    int same = 1;
                    nearest = mismatch(near, &l, x, i, eps / sqrt(norm), at, g[i], &same) / norm;
                    error = same ? fmin(error, nearest) : error;
                }
                total++;
                if (isinf(error)) {
                    switched++;
                    wrong += nearest > 1e-5;
                } else {
                    worst = fmax(worst, error);
                }
            }
        }
        ds_memory_free(&room);
        print_message("%d bars%s: worst error %.1e of the norm; %d of %d components next to a switch, %d of "
                      "them disagree\n",
                      (int)l.n, c == 2 ? " with friction" : "", worst, switched, total, wrong);
        assert_true(worst < 1e-7);
        assert_true(switched < total / 20);
    }
}

/* ---- the plugin ---- */

static void recorded_by_plugin(void **state)
{
    static const char *const files[] = {"pinball2.json", "pinball16.json", "pinball2_e09.json",
                                        "pinball2_e03.json"};
    static const char *const settings[][3] = {
        {NULL}, {"variant=pinball16"}, {"restitution=0.9"}, {"restitution=0.3"}};
    for (int f = 0; f < 4; f++) {
        json_t *root = rigid_golden(files[f]), *c = NULL;
        size_t k = 0;
        fake_env e;
        fake_env_open(&e, "envs/pinball", settings[f], 0, 0);
        json_array_foreach(golden_list(root, "cases"), k, c)
        {
            double x[MAX_BARS], g[MAX_BARS];
            assert_int_equal(rigid_numbers(json_object_get(c, "theta"), x, MAX_BARS), e.info.n);
            assert_near(fake_eval(&e, x, g, 0, NULL), golden_number(c, "loss"), 1e-9);
            check_gradient(g, e.info.n, c, "grad_theta_discrete");
        }
        fake_env_close(&e);
        json_decref(root);
    }
}

typedef struct statistics {
    double low, high, plateau[2], jump, zero;
} statistics;

/* Loss over a square grid of two variables: range, share of neighbours with equal loss along each axis, share
 * of cells whose corners differ by more than 0.5, share of points with a zero in the gradient. */
static statistics scan(fake_env *e, double *x, uint64_t a, uint64_t b, int side)
{
    statistics s = {HUGE_VAL, -HUGE_VAL, {0, 0}, 0, 0};
    double *f = malloc((size_t)(side * side) * sizeof *f), g[MAX_BARS];
    for (int i = 0; i < side * side; i++) {
        x[a] = -1 + 2.0 * (i / side) / (side - 1);
        x[b] = -1 + 2.0 * (i % side) / (side - 1);
        f[i] = fake_eval(e, x, g, 0, NULL);
        s.low = fmin(s.low, f[i]);
        s.high = fmax(s.high, f[i]);
        s.zero += (g[a] == 0 || g[b] == 0) / (double)(side * side);
    }
    for (int i = 0; i < side; i++) {
        for (int j = 0; j + 1 < side; j++) {
            double pairs = side * (side - 1.0);
            s.plateau[0] += (f[j * side + i] == f[(j + 1) * side + i]) / pairs;
            s.plateau[1] += (f[i * side + j] == f[i * side + j + 1]) / pairs;
            if (i + 1 < side) {
                const double *c = f + i * side + j;
                double low = fmin(fmin(c[0], c[1]), fmin(c[side], c[side + 1]));
                double high = fmax(fmax(c[0], c[1]), fmax(c[side], c[side + 1]));
                s.jump += (high - low > 0.5) / ((side - 1.0) * (side - 1.0));
            }
        }
    }
    free(f);
    return s;
}

static void plateaus_and_jumps(void **state)
{
    fake_env e;
    double x[2];
    fake_env_open(&e, "envs/pinball", NULL, 0, 0);
    statistics s = scan(&e, x, 0, 1, 101);
    print_message(
        "pinball2: loss %.2f..%.2f, plateau %.2f, %.2f, jumps %.2f, points with a zero derivative %.2f\n",
        s.low, s.high, s.plateau[0], s.plateau[1], s.jump, s.zero);
    assert_near(s.low, 0.03, 0.1);
    assert_near(s.high, 8.15, 0.1);
    assert_near(s.plateau[1], 0.77, 0.05);
    assert_near(s.plateau[0], 0, 1e-12);
    assert_near(s.jump, 0.11, 0.03);
    fake_env_close(&e);
}

/* One setting changed at a time: ranges and shares stay within those measured once with 17 settings. */
static void other_settings(void **state)
{
    static const char *const lists[][3] = {{"restitution=0.3"}, {"restitution=0.45"},   {"restitution=0.8"},
                                           {"half_length=0.9"}, {"half_length=1.5"},    {"steps=750"},
                                           {"steps=1250"},      {"steps=1500"},         {"start=2,9.5"},
                                           {"start=3,9.5"},     {"radius=0.1"},         {"radius=0.3"},
                                           {"target=6,0.5"},    {"h=0.01", "steps=200"}};
    for (size_t k = 0; k < COUNT_OF(lists); k += ALL ? 1 : 6) {
        fake_env e;
        double x[2];
        const char *const list[3] = {lists[k][0], lists[k][1], NULL};
        fake_env_open(&e, "envs/pinball", list, 0, 0);
        statistics s = scan(&e, x, 0, 1, 101);
        print_message("%s: loss %.2f..%.2f, plateau %.2f, jumps %.2f\n", lists[k][0], s.low, s.high,
                      s.plateau[1], s.jump);
        assert_true(s.low > 0.015 && s.low < 0.935 && s.high > 7.345 && s.high < 9.425);
        assert_true(s.plateau[1] > 0.625 && s.jump > 0.025 && s.jump < 0.275 + 0.03);
        if (k == 6) {
            assert_near(s.low, 0.39, 0.1);
            assert_near(s.high, 8.39, 0.1);
        }
        fake_env_close(&e);
    }
}

/* A start between the two bars of a row hits nothing. */
static void degenerate_start(void **state)
{
    fake_env e;
    double x[2];
    fake_env_open(&e, "envs/pinball", (const char *const[]){"start=4,9.5", NULL}, 0, 0);
    statistics s = scan(&e, x, 0, 1, 11);
    assert_near(s.low, 4.124, 6e-4);
    assert_true(s.low == s.high && s.zero > 1 - 1e-12);
    fake_env_close(&e);
}

static void sixteen_bars(void **state)
{
    fake_env e;
    double x[16] = {0}, g[16], low[3] = {HUGE_VAL, 0, 0}, high[3] = {HUGE_VAL, 0, 0};
    fake_env_open(&e, "envs/pinball", (const char *const[]){"variant=pinball16", NULL}, 0, 0);
    assert_near(fake_eval(&e, x, g, 0, NULL), 8.633, 6e-4); /* at rest on a level bar */
    for (int i = 0; i < 16; i++) {
        assert_true(g[i] == 0 || i == 1);
    }
    for (uint64_t sample = 0; sample < SAMPLES; sample++) {
        low[2] = HUGE_VAL;
        high[2] = 0;
        for (uint64_t k = 0; k < 3000; k++) {
            rigid_random(x, 16, 3000 * sample + k);
            double f = fake_eval(&e, x, NULL, 0, NULL);
            low[2] = fmin(low[2], f);
            high[2] = fmax(high[2], f);
        }
        low[0] = fmin(low[0], low[2]);
        low[1] = fmax(low[1], low[2]);
        high[0] = fmin(high[0], high[2]);
        high[1] = fmax(high[1], high[2]);
    }
    print_message("pinball16: of 3000 random points lowest %.2f..%.2f, highest %.2f..%.2f\n", low[0], low[1],
                  high[0], high[1]);
    assert_true(low[0] < 0.61 && high[1] > 9);
    if (SAMPLES > 1) { /* measured once, with one sample: 0.32..10.24 */
        assert_true(low[0] < 0.32 && low[1] > 0.32);
        assert_true(high[0] < 10.245 && high[1] > 10.235);
    }
    fake_env_close(&e);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Slices over variables 13 and 14 about the best of 400 random points, from independent bases. Of the 200
 * that were measured once, 39 % were constant, 46 % spanned less than 1 and 12 % more than 5; the median
 * minimum was 1.09, the median maximum 2.85. */
static void slices(void **state)
{
    fake_env e;
    double x[16], low[200], high[200], constant = 0, narrow = 0, wide = 0;
    fake_env_open(&e, "envs/pinball", (const char *const[]){"variant=pinball16", NULL}, 0, 0);
    for (int base = 0; base < BASES; base++) {
        uint64_t best = 0;
        double least = HUGE_VAL;
        for (uint64_t k = 0; k < 400; k++) {
            rigid_random(x, 16, 100000 + 400 * (uint64_t)base + k);
            double f = fake_eval(&e, x, NULL, 0, NULL);
            if (f < least) {
                least = f;
                best = k;
            }
        }
        rigid_random(x, 16, 100000 + 400 * (uint64_t)base + best);
        statistics s = scan(&e, x, 13, 14, SIDE);
        constant += (s.low == s.high) / (double)BASES;
        narrow += (s.high - s.low < 1) / (double)BASES;
        wide += (s.high - s.low > 5) / (double)BASES;
        low[base] = s.low;
        high[base] = s.high;
    }
    qsort(low, BASES, sizeof *low, by_size);
    qsort(high, BASES, sizeof *high, by_size);
    print_message("pinball16: %d slices, constant %.2f, span below 1 %.2f, above 5 %.2f; minimum %.2f (%.2f, "
                  "%.2f), maximum %.2f (%.2f, %.2f)\n",
                  BASES, constant, narrow, wide, low[BASES / 2], low[BASES / 10], low[9 * BASES / 10],
                  high[BASES / 2], high[BASES / 10], high[9 * BASES / 10]);
    double slack = 2.6 / sqrt(BASES); /* of a share, as half widths 0.5 */
    assert_near(constant, 0.39, 0.5 * slack + 0.02);
    assert_near(narrow, 0.46, 0.5 * slack + 0.02);
    assert_near(wide, 0.12, 0.5 * slack + 0.02);
    assert_near(low[BASES / 2], 1.09, 4 * slack);
    assert_near(high[BASES / 2], 2.85, 6 * slack);
    fake_env_close(&e);
}

/* Mirror image: start and target, columns and angles reversed. */
static void mirror(void **state)
{
    fake_env e, m;
    double x[16], y[16];
    fake_env_open(&e, "envs/pinball", (const char *const[]){"variant=pinball16", NULL}, 0, 0);
    fake_env_open(&m, "envs/pinball",
                  (const char *const[]){"variant=pinball16", "start=4.7,9.5", "target=1,0.5", NULL}, 0, 0);
    for (uint64_t k = 0; k < 50; k++) {
        rigid_random(x, 16, 300 + k);
        for (int i = 0; i < 16; i++) {
            y[i] = -x[i / 4 * 4 + 3 - i % 4];
        }
        double f = fake_eval(&e, x, NULL, 0, NULL);
        assert_near(fake_eval(&m, y, NULL, 0, NULL), f, 1e-6); /* rounding grows with every bounce */
    }
    fake_env_close(&e);
    fake_env_close(&m);
}

static void pure(void **state)
{
    fake_env e, other;
    double x[16], y[16], g[16], again[16];
    fake_env_open(&e, "envs/pinball", (const char *const[]){"variant=pinball16", "friction=0.2", NULL}, 0, 0);
    fake_env_open(&other, "envs/pinball", (const char *const[]){"variant=pinball16", "friction=0.2", NULL}, 0,
                  0);
    for (uint64_t k = 0; k < 20; k++) {
        rigid_random(x, 16, 400 + k);
        rigid_random(y, 16, 900 + k);
        double f = fake_eval(&e, x, g, 0, NULL);
        fake_eval(&other, y, again, 0, NULL);
        assert_true(fake_eval(&other, x, again, 0, NULL) == f);
        assert_memory_equal(g, again, sizeof g);
    }
    fake_env_close(&e);
    fake_env_close(&other);
}

/* The order of contacts does not matter for the recorded kind of episode (one contact at a time); all options
 * run. */
static void options(void **state)
{
    static const char *const lists[][4] = {{"contact_order=sequential", NULL},
                                           {"contact_order=reversed", NULL},
                                           {"clip=0.03", NULL},
                                           {"integrator=semi-implicit", "friction=0.5", NULL},
                                           {"gradient=nimble", NULL},
                                           {"gradient=saltation", NULL},
                                           {"gradient=alternate", NULL},
                                           {"nh=3", "nw=5", "half_length=0.5", NULL}};
    fake_env e;
    double x[16] = {-0.19473996585754572, 0.5536630634407069}, g[16];
    fake_env_open(&e, "envs/pinball", NULL, 0, 0);
    double f = fake_eval(&e, x, NULL, 0, NULL);
    fake_env_close(&e);
    for (int k = 0; k < 8; k++) {
        fake_env_open(&e, "envs/pinball", lists[k], 0, 0);
        double h = fake_eval(&e, x, g, 0, NULL);
        assert_true(k == 3 || k == 7 ? h != f : h == f);
        assert_int_equal(e.info.n, k == 7 ? 15 : 2);
        fake_env_close(&e);
    }
}

static void scene_of_an_episode(void **state)
{
    fake_env e;
    double x[16], at[7 * 16];
    fake_env_open(&e, "envs/pinball", (const char *const[]){"variant=pinball16", NULL}, 0, 0);
    const ds_scene *scene = e.plugin->env->get_extension(e.self, DS_EXT_SCENE);
    rigid_random(x, 16, 12);
    ds_eval io = {.bad_step = -1, .want = DS_WANT_SCENE, .n = 16, .x = x};
    assert_int_equal(ds_eval_call(e.plugin->env, e.self, &io), DS_OK);
    assert_int_equal(scene->frame(e.self, 0, 1, 7 * 16 - 1, at), DS_E_ARG);
    assert_int_equal(scene->frame(e.self, 0, 1, 7 * 16, at), DS_OK);
    for (int i = 0; i < 16; i++) {
        assert_near(2 * atan2(at[7 * i + 6], at[7 * i + 3]), x[i], 1e-12);
    }
    assert_int_equal(scene->frame(e.self, 1000, 0, 7, at), DS_OK);
    assert_near(hypot(at[0] - 7, at[1] - 0.5), io.loss, 1e-12);
    fake_env_close(&e);
}

/* The ball falls onto bar 1100 of 1200: its angle alone has a derivative. */
static void many_bars(void **state)
{
    enum { BARS = 1200, BAR = 1100 };
    const char *const settings[] = {"nh=40",          "nw=30",     "width=300", "height=400",
                                    "start=206,40.5", "steps=400", NULL};
    fake_env e;
    double *x = calloc(2 * BARS, sizeof *x), *g = x + BARS, spread;
    assert_non_null(x);
    fake_env_open(&e, "envs/pinball", settings, 0, 0);
    assert_int_equal(e.info.n, BARS);
    for (int i = 0; i < BARS; i++) {
        x[i] = 0.3;
    }
    fake_eval(&e, x, g, 0, NULL);
    assert_true(fabs(g[BAR]) > 0.1);
    assert_near(g[BAR], rigid_difference(&e, x, BAR, 1e-5, &spread), 1e-6 * fabs(g[BAR]));
    for (int i = 0; i < BARS; i++) {
        assert_true(i == BAR || g[i] == 0);
    }
    fake_env_close(&e);
    free(x);
}

RUN_TESTS(recorded_episodes, single_impact_gradients, two_impact_gradients, alternate_gradient,
          central_differences, recorded_by_plugin, plateaus_and_jumps, degenerate_start, sixteen_bars, mirror,
          other_settings, slices, pure, options, scene_of_an_episode, many_bars)
