/* SPDX-License-Identifier: Apache-2.0 */
/* test_cloth.c - the mass-spring engine: forces against a plain loop, all instruction sets, invariants,
 * contact and its reverse against central differences, the reader of recordings. */
#include "engines/physics/cloth/sheet.h"
#include "engines/physics/cloth/trajectory.h"
#include "test.h"

#include <diffsim/helper/random.h>

static void fill(double *x, size_t n, double size, uint64_t key)
{
    ds_random r = ds_random_open(key, "cloth", 0);
    for (size_t i = 0; i < n; i++) {
        x[i] = size * (2 * ds_random_uniform(&r) - 1);
    }
}

/* A sheet of 16 x 16 cells, slightly bent, with random velocities. */
typedef struct sample {
    sheet s;
    cloth_mesh m;
    double *x, *v, *f, *work;
    ds_memory room;
} sample;

static void open_sample(sample *t, int set_patches)
{
    double patch[16];
    t->room = (ds_memory){0};
    assert_true(sheet_open(&t->s, &t->m, &t->room, 16, 4, 4, 0.002));
    for (int i = 0; i < 16; i++) {
        patch[i] = set_patches ? 20 + 10 * i : 80;
    }
    sheet_set_size(&t->s, &t->m, 0.2, 0.2);
    sheet_set_stiffness(&t->s, &t->m, patch);
    const size_t n = t->m.stride;
    t->x = calloc(15 * n, sizeof *t->x);
    t->v = t->x + 3 * n;
    t->f = t->x + 6 * n;
    t->work = t->x + 9 * n;
    fill(t->x, 6 * n, 0.004, 3);
    for (size_t a = 0; a < t->m.vertices; a++) {
        t->x[a] += 0.2 * (double)(a / 17) / 16;
        t->x[n + a] += 0.2 * (double)(a % 17) / 16;
    }
}

static void close_sample(sample *t)
{
    free(t->x);
    ds_memory_free(&t->room);
}

static void spring_counts(void **state)
{
    static const size_t want[6] = {272, 272, 256, 256, 255, 255};
    sample t;
    size_t total = 0;
    open_sample(&t, 1);
    for (size_t i = 0; i < 6; i++) {
        size_t count = 0;
        for (size_t k = 0; k < t.m.band[i].count; k++) {
            count += (size_t)cloth_mesh_has(&t.m, &t.m.band[i], k);
        }
        assert_int_equal(count, want[i]);
        total += count;
    }
    assert_int_equal(total, 1566);
    close_sample(&t);
}

/* The oracle: one spring after the other, ends found by coordinates. */
static void forces_of_single_springs(void **state)
{
    sample t;
    open_sample(&t, 1);
    const size_t n = t.m.stride;
    double *plain = calloc(3 * n, sizeof *plain);
    spring_force(SPRING_PORTABLE, &t.m, t.x, t.v, t.f, t.work);
    for (size_t i = 0; i < t.m.bands; i++) {
        const cloth_band *b = &t.m.band[i];
        for (size_t k = 0; k < b->count; k++) {
            if (!cloth_mesh_has(&t.m, b, k)) {
                assert_true(t.m.k[b->at + k] == 0 && t.m.c[b->at + k] == 0);
                continue;
            }
            size_t from = b->first + k, at[3];
            cloth_mesh_at(&t.m, from, at);
            size_t to = (size_t)(17 * ((long)at[1] + b->step[1]) + (long)at[2] + b->step[2]);
            double d[3], square = 0, speed = 0;
            for (size_t c = 0; c < 3; c++) {
                d[c] = t.x[c * n + to] - t.x[c * n + from];
                square += d[c] * d[c];
                speed += d[c] * (t.v[c * n + to] - t.v[c * n + from]);
            }
            double l = sqrt(square) + 1e-9;
            for (size_t c = 0; c < 3; c++) {
                double f = (t.m.k[b->at + k] * (l - b->rest) + 0.002 * speed / l) * d[c] / l;
                plain[c * n + from] += f;
                plain[c * n + to] -= f;
            }
        }
    }
    for (size_t i = 0; i < 3 * n; i++) {
        assert_near(t.f[i], plain[i], 1e-13);
    }
    free(plain);
    close_sample(&t);
}

static void same_bits_on_all_sets(void **state)
{
    sample t;
    open_sample(&t, 1);
    const size_t n = t.m.stride, all = 9 * n + 2 * t.m.springs;
    double *kept = calloc(all, sizeof *kept), *again = calloc(all, sizeof *again);
    for (int set = 0; set <= spring_widest(); set++) {
        double *out = set ? again : kept;
        memset(out, 0, all * sizeof *out);
        spring_force(set, &t.m, t.x, t.v, out, t.work);
        spring_adjoint(set, &t.m, t.x, t.v, out, out + 3 * n, out + 6 * n, out + 9 * n,
                       out + 9 * n + t.m.springs, t.work);
        assert_memory_equal(out, kept, all * sizeof *out);
    }
    const touch_floor floor = {.height = 0.02, .mu = 0.3, .toi = 1};
    for (int set = 0; set <= spring_widest();
         set++) { /* a part of the sheet is about to fall through the floor */
        double *out = set ? again : kept, *u = t.work;
        fill(u, 3 * n, 5, 8);
        memset(out, 0, all * sizeof *out);
        fill(out + 3 * n, 6 * n, 1, 9);
        touch_floor_move(set, &floor, 1e-2, n, t.x, u, t.f, t.work + 3 * n);
        touch_floor_adjoint(set, &floor, 1e-2, n, t.x, u, out + 3 * n, out + 6 * n, out + 9 * n);
        memcpy(out, t.f, 3 * n * sizeof *out);
        assert_memory_equal(out, kept, all * sizeof *out);
    }
    print_message("instruction sets compared: %d\n", spring_widest() + 1);
    free(kept);
    free(again);
    close_sample(&t);
}

/* w.f as a function of everything that the forces depend on, against its reverse. */
static void spring_differences(void **state)
{
    sample t;
    open_sample(&t, 1);
    const size_t n = t.m.stride, slots = t.m.springs;
    double *w = calloc(3 * n, sizeof *w), *bar = calloc(6 * n + 2 * slots, sizeof *bar);
    fill(w, 3 * n, 1, 5);
    spring_adjoint(spring_widest(), &t.m, t.x, t.v, w, bar, bar + 3 * n, bar + 6 * n, bar + 6 * n + slots,
                   t.work);
    for (size_t k = 0; k < 60; k++) {
        size_t v = (k * 97) % t.m.vertices + k % 3 * n, spring = t.m.band[k % 6].at + k;
        double *at[3] = {&t.x[v], &t.v[v], &t.m.k[spring]},
               want[3] = {bar[v], bar[3 * n + v], bar[6 * n + spring]};
        for (int q = 0; q < 3; q++) {
            double eps = q == 0 ? 3e-7 : 1e-3, kept = *at[q], sum[2] = {0, 0};
            for (int side = 0; side < 2; side++) {
                *at[q] = kept + (side ? -eps : eps);
                memset(t.f, 0, 3 * n * sizeof *t.f);
                spring_force(0, &t.m, t.x, t.v, t.f, t.work);
                for (size_t i = 0; i < 3 * n; i++) {
                    sum[side] += w[i] * t.f[i];
                }
            }
            *at[q] = kept;
            assert_near((sum[0] - sum[1]) / (2 * eps), want[q], 2e-7 * fmax(1, fabs(want[q])));
        }
    }
    free(w);
    free(bar);
    close_sample(&t);
}

/* ---- invariants ---- */

static const cloth_driver nothing = {.anchor = NULL};

static double energy(const cloth_mesh *m, const double *x, double mass)
{
    const size_t n = m->stride;
    double sum = 0;
    for (size_t i = 0; i < 3 * n; i++) {
        sum += 0.5 * mass * x[3 * n + i] * x[3 * n + i];
    }
    for (size_t i = 0; i < m->bands; i++) {
        const cloth_band *b = &m->band[i];
        for (size_t k = 0; k < b->count; k++) {
            const double *p = x + b->first + k, *q = p + b->offset;
            double l = sqrt((q[0] - p[0]) * (q[0] - p[0]) + (q[n] - p[n]) * (q[n] - p[n]) +
                            (q[2 * n] - p[2 * n]) * (q[2 * n] - p[2 * n]));
            sum += 0.5 * m->k[b->at + k] * (l - b->rest) * (l - b->rest);
        }
    }
    return sum;
}

/* Without gravity, drag, damping and contact momentum is conserved, and energy up to the order of the step.
 */
static void momentum_and_energy(void **state)
{
    double drift[2];
    for (int half = 0; half < 2; half++) {
        sample t;
        cloth c = {0};
        int64_t bad = 0;
        open_sample(&t, 0);
        uint64_t steps = half ? 2000 : 1000;
        assert_true(cloth_open(&c, &t.room, &t.m, steps, 100, NULL, &nothing, NULL));
        const size_t n = c.mesh.stride;
        memset(c.mesh.c, 0, c.mesh.springs * sizeof *c.mesh.c);
        c.h = half ? 5e-5 : 1e-4;
        c.mass = 0.02 / 289;
        c.floor.height = -1e9;
        double *x = cloth_start(&c);
        for (size_t i = 0; i < 6; i++) {
            memcpy(x + i * n, t.x + i * n, c.mesh.vertices * sizeof *x);
        }
        double start = energy(&c.mesh, x, c.mass);
        assert_int_equal(cloth_simulate(&c, &bad), DS_OK);
        assert_int_equal(bad, -1);
        const double *end = c.checkpoint + steps / 100 * 6 * n;
        for (size_t i = 3; i < 6; i++) {
            double before = 0, after = 0;
            for (size_t a = 0; a < c.mesh.vertices; a++) {
                before += t.x[i * n + a];
                after += end[i * n + a];
            }
            assert_near(after, before, 1e-12);
        }
        drift[half] = fabs(energy(&c.mesh, end, c.mass) / start - 1);
        close_sample(&t);
    }
    print_message("energy changes by %.1e of itself, with half the step by %.1e\n", drift[0], drift[1]);
    assert_true(drift[0] < 2e-2 && drift[1] < 0.6 * drift[0]);
}

/* ---- contact ---- */

/* The rigid ball of DiffTaichi's time-of-impact example, with a floor that takes the normal velocity: with
 * the time of impact a vertex stops on the floor for every step; without it the vertex stops above the floor.
 */
static void impact_on_floor(void **state)
{
    double x[24] = {0}, u[24] = {0}, x_new[24], v_new[24];
    x[8] = 0.005;
    u[0] = 1;
    u[8] = -10;
    for (int toi = 0; toi < 2; toi++) {
        touch_floor floor = {.height = 0, .mu = 0.05, .toi = toi};
        touch_floor_move(0, &floor, 1e-3, 8, x, u, x_new, v_new);
        assert_near(x_new[8], toi ? 0 : 0.005, 0);
        assert_near(v_new[8], 0, 0);
        assert_near(v_new[0], 0.5, 1e-8); /* 1 - mu 10 / 1 */
        assert_near(x_new[0], toi ? 0.5e-3 + 0.5e-3 * 0.5 : 0.5e-3, 1e-11);
    }
}

enum { TRIES = 400 };

/* One vertex against a surface: all derivatives by its position, velocity, friction and pose. */
static double probe(int pan, const double *p, const double w[6], double *bar)
{
    cloth_mesh m;
    ds_memory room = {0};
    double x[24] = {0}, u[24] = {0}, x_new[24], v_new[24], mu_bar[8] = {0}, sum = 0;
    touch_floor floor = {.height = 0.01, .mu = p[6], .toi = 1};
    touch_pan pot = {.flat = 0.15, .radius = 0.2, .curve = 16, .thickness = 0.03, .mu = 0.3};
    touch_pose pose = {p[6], p[7], p[8], p[9], p[10], p[11]}, pose_bar = {0, 0, 0, 0, 0, 0};
    assert_true(cloth_mesh_open(&m, &room, 1, 1, 1));
    const size_t n = m.stride;
    assert_int_equal(n, 8);
    for (size_t i = 0; i < 3; i++) {
        x[i * n] = p[i];
        u[i * n] = p[3 + i];
    }
    if (pan) {
        touch_pan_move(&pot, &pose, 5e-4, &m, x, u, x_new, v_new);
    } else {
        touch_floor_move(spring_widest(), &floor, 1e-2, n, x, u, x_new, v_new);
    }
    for (size_t i = 0; i < 3; i++) {
        sum += w[i] * x_new[i * n] + w[3 + i] * v_new[i * n];
    }
    if (bar) {
        double xb[24] = {0}, vb[24] = {0};
        for (size_t i = 0; i < 3; i++) {
            xb[i * n] = w[i];
            vb[i * n] = w[3 + i];
        }
        if (pan) {
            touch_pan_adjoint(&pot, &pose, 5e-4, &m, x, u, xb, vb, &pose_bar, NULL, mu_bar);
        } else {
            touch_floor_adjoint(spring_widest(), &floor, 1e-2, n, x, u, xb, vb, mu_bar);
        }
        for (size_t i = 0; i < 3; i++) {
            bar[i] = xb[i * n];
            bar[3 + i] = vb[i * n];
        }
        const double rest[6] = {pan ? pose_bar.x : mu_bar[0],
                                pose_bar.y,
                                pose_bar.tilt,
                                pose_bar.vx,
                                pose_bar.vy,
                                pose_bar.omega};
        memcpy(bar + 6, rest, sizeof rest);
    }
    ds_memory_free(&room);
    return sum;
}

static void contact_differences(void **state)
{
    for (int pan = 0; pan < 2; pan++) {
        int wrong = 0, used = pan ? 12 : 7;
        double worst = 0;
        for (uint64_t k = 0; k < TRIES; k++) {
            double p[12], w[6], bar[12], r[12];
            fill(r, 12, 1, 100 + k);
            fill(w, 6, 1, 900 + k);
            memcpy(p, r, sizeof p);
            p[0] *= 0.12;
            p[1] = pan ? 0.02 * (r[1] + 0.3) : 0.01 + 0.02 * fabs(r[1]);
            p[2] *= 0.14;
            p[4] = -3 * fabs(r[4]);
            p[6] = pan ? 0.05 * r[6] : fabs(r[6]);
            p[7] *= 0.005;
            p[8] *= 0.1;
            probe(pan, p, w, bar);
            for (int i = 0; i < used; i++) {
                double eps = 1e-6, kept = p[i];
                p[i] = kept + eps;
                double q = probe(pan, p, w, NULL);
                p[i] = kept - eps;
                q = (q - probe(pan, p, w, NULL)) / (2 * eps);
                p[i] = kept;
                double error = fabs(q - bar[i]) / fmax(1, fabs(bar[i]));
                wrong += error > 1e-6;
                worst = error > 1e-6 ? worst : fmax(worst, error);
            }
        }
        print_message("%s: worst %.1e; %d of %d derivatives next to a switch\n", pan ? "pan" : "floor", worst,
                      wrong, TRIES * used);
        assert_true(wrong < TRIES * used / 100);
    }
}

/* ---- recordings ---- */

#define HEADER                                                                                               \
    "format = ds-cloth-1\nrate_hz = 30\nn = 2\nnominal_width = 0.2\nnominal_length = 0.3\nframe = "          \
    "y-up\nunits = m\n"
#define ROW " 0 0 0  0 0 0  1 0 0  0 0 1  1 0 1\n"

static void recordings(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {HEADER "data\n0" ROW "# comment\n\n 0.1 0 0 0 nan nan nan 1 0 0 0 0 1 1 0 1 # end", NULL},
        {HEADER "data\n0" ROW "0" ROW, "increase"},
        {HEADER "data\n0.1" ROW "0.2" ROW, "start at 0"},
        {HEADER "data\n0" ROW "0.1 1" ROW, "more than 16"},
        {HEADER "data\n0" ROW "0.1 1 2\n", "3 numbers"},
        {HEADER "data\n0" ROW "0.1 0 0 0 nan 0 0 1 0 0 0 0 1 1 0 1\n", "partly nan"},
        {HEADER "data\n0 0 0 0 nan nan nan 1 0 0 0 0 1 1 0 1\n0.1" ROW, "first row"},
        {HEADER "data\n0" ROW "0.1 nan 0 0 0 0 0 1 0 0 0 0 1 1 0 1\n", "column 2"},
        {HEADER "data\n0" ROW "0x1" ROW, "column 1"},
        {HEADER "data\n0" ROW "1e999" ROW, "column 1"},
        {HEADER "data\n0" ROW, "at least two"},
        {HEADER "data\n0" ROW "0.1" ROW "0.2" ROW, "n = 2"},
        {"format = ds-cloth-2\n", "ds-cloth-1"},
        {"format = ds-cloth-1\ndata\n", "missing"},
        {"width = 3\n", "unknown key"},
        {"hello\n", "neither"},
        {"nominal_width = -1\n", "positive"},
        {"", "at least two"},
    };
    char error[512];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        trajectory t;
        int status = trajectory_parse(&t, cases[i].text, strlen(cases[i].text), error);
        if (cases[i].message) {
            assert_int_equal(status, 1);
            if (!strstr(error, cases[i].message)) {
                fail_msg("case %d: %s", (int)i, error);
            }
        } else {
            assert_int_equal(status, 0);
            assert_int_equal(t.rows, 2);
            assert_near(t.size[1], 0.3, 0);
            assert_true(isnan(t.row[TRAJECTORY_COLUMNS + 4]) && t.row[TRAJECTORY_COLUMNS + 7] == 1);
        }
        trajectory_free(&t);
    }
}

/* Damaged texts give a result or an error. */
static void damaged_recordings(void **state)
{
    static const char text[] = HEADER "data\n0" ROW "0.1 0 0 0 nan nan nan 1 0 0 0 0 1 1 0 1\n";
    char copy[sizeof text], error[512];
    ds_random r = ds_random_open(1, "damage", 0);
    for (int k = 0; k < 20000; k++) {
        trajectory t;
        size_t length = (size_t)ds_random_below(&r, sizeof text);
        memcpy(copy, text, sizeof copy);
        for (uint64_t i = ds_random_below(&r, 5); i > 0; i--) {
            copy[ds_random_below(&r, sizeof copy)] = (char)ds_random_below(&r, 256);
        }
        trajectory_parse(&t, copy, k % 2 ? length : sizeof copy - 1, error);
        trajectory_free(&t);
    }
}

RUN_TESTS(spring_counts, forces_of_single_springs, same_bits_on_all_sets, spring_differences,
          momentum_and_energy, impact_on_floor, contact_differences, recordings, damaged_recordings)
