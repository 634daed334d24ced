/* SPDX-License-Identifier: Apache-2.0 */
/* test_cloth_scenes.c - the plugins swing, flip and realtosim: figures measured once with an independent
 * program, symmetries, optima, gradients against central differences. */
#include "engines/physics/cloth/lift.h"
#include "host.h"
#include "temporary.h"
#include "test.h"

#include <diffsim/ext/scene.h>
#include <diffsim/helper/random.h>

enum { MOST = 128 };

static void random_point(const fake_env *e, double *x, uint64_t key)
{
    ds_random r = ds_random_open(key, "cloth scenes", 0);
    for (uint64_t i = 0; i < e->info.n; i++) {
        x[i] = e->lower[i] + ds_random_uniform(&r) * (e->upper[i] - e->lower[i]);
    }
}

/* Error of the gradient against central differences relative to its norm, over `checked` components. */
static double gradient_error(fake_env *e, double *x, double eps, uint64_t checked)
{
    double g[MOST], norm = 0, worst = 0;
    uint32_t outcome = 0;
    fake_eval(e, x, g, 0, &outcome);
    assert_int_equal(outcome, DS_EVAL_OK);
    for (uint64_t i = 0; i < e->info.n; i++) {
        norm += g[i] * g[i];
    }
    for (uint64_t k = 0; k < checked; k++) {
        uint64_t i = k * e->info.n / checked;
        double kept = x[i], q[2];
        for (int half = 0; half < 2; half++) {
            double d = half ? 0.5 * eps : eps;
            x[i] = kept + d;
            q[half] = fake_eval(e, x, NULL, 0, NULL);
            x[i] = kept - d;
            q[half] = (q[half] - fake_eval(e, x, NULL, 0, NULL)) / (2 * d);
            x[i] = kept;
        }
        worst = fmax(worst, fabs((4 * q[1] - q[0]) / 3 - g[i]));
    }
    return worst / sqrt(norm);
}

/* ---- swing ---- */

static void swing_reference(void **state)
{
    static const double y[3] = {0.159849, 0.119741, 0.083266}, z[3] = {0.057585, 0.113017, 0.169775};
    const double v[3] = {0, -0.4, 0.6};
    fake_env e;
    fake_env_open(&e, "envs/swing", (const char *const[]){"variables=velocity", NULL}, 0, 0);
    for (int k = 0; k < 3; k++) {
        assert_near(fake_metric(&e, v, "y")[10 * (k + 1)], y[k], 1e-5);
        assert_near(fake_metric(&e, v, "z")[10 * (k + 1)], z[k], 1e-5);
    }
    assert_near(fake_metric(&e, v, "z")[100], 0.463, 1e-3);
    assert_near(fake_metric(&e, v, "y")[100], 0, 1e-3);
    for (int k = 0; k <= 20; k++) {
        assert_near(fake_metric(&e, v, "x")[k], 0, 1e-14);
    }
    assert_near(fake_eval(&e, v, NULL, 0, NULL), 0, 0);
    fake_env_close(&e);
}

static void swing_stiffness(void **state)
{
    static const char *const losses[3] = {"loss=single", "loss=corner", "loss=mesh"};
    static const double soft[3] = {0.0155, 0.0465, 0.0310}, stiff[3] = {0.0021, 0.0022, 0.0021};
    volatile double low = 20, ratio = 10; /* computed at run time, as in the plugin */
    const double u_target = 2 * log(80 / low) / log(ratio) - 1;
    for (int k = 0; k < 3; k++) {
        fake_env e;
        double x[16];
        fake_env_open(&e, "envs/swing", (const char *const[]){losses[k], NULL}, 0, 0);
        assert_int_equal(e.info.n, 16);
        for (int q = 0; q < 3; q++) {
            for (int i = 0; i < 16; i++) {
                x[i] = q == 0 ? -1 : q == 1 ? 1 : u_target;
            }
            double loss = fake_eval(&e, x, NULL, 0, NULL), most = 0;
            /* Sensitive after contact: the last digits may depend on the compiler's exp and pow. */
            assert_near(loss, q == 0 ? soft[k] : q == 1 ? stiff[k] : 0, q == 2 ? 0 : 1e-3);
            const double *stretch = k == 2 ? fake_metric(&e, x, "stretch") : NULL;
            for (int t = 0; stretch && t <= 100; t += 10) {
                most = fmax(most, stretch[t]);
            }
            assert_true(most < (q == 0 ? 1.4 : 1.06));
        }
        fake_env_close(&e);
    }
}

/* Changing the sign of v_x mirrors the motion, exactly before contact. */
static void swing_mirror(void **state)
{
    fake_env e;
    double kept[21];
    const double v[2][3] = {{0.3, -0.4, 0.6}, {-0.3, -0.4, 0.6}};
    fake_env_open(&e, "envs/swing", (const char *const[]){"variables=velocity", NULL}, 0, 0);
    memcpy(kept, fake_metric(&e, v[0], "x"), sizeof kept);
    const double *other = fake_metric(&e, v[1], "x");
    for (int k = 0; k <= 20; k++) {
        assert_near(kept[k], -other[k], 1e-9);
    }
    fake_env_close(&e);
}

/* Before contact all derivatives agree. With contact the loss is sensitive; the share that agrees is printed.
 */
static void swing_gradient(void **state)
{
    static const char *const settings[4][5] = {
        {"duration=0.2", "floor=-1000", NULL},
        {"duration=0.2", "loss=single", "size=true", "patches=2,3", NULL},
        {"duration=0.15", "variables=velocity", "size=true", "loss=corner", NULL},
        {"duration=0.24", "variables=velocity", "height=0.21", "mu=0.3", NULL}};
    for (int s = 0; s < 4; s++) {
        fake_env e;
        double x[MOST], worst = 0;
        int agree = 0, tries = s == 3 ? 6 : 2;
        fake_env_open(&e, "envs/swing", settings[s], 0, 0);
        for (int k = 0; k < tries; k++) {
            random_point(&e, x, 10 + (uint64_t)k);
            double error = gradient_error(&e, x, s == 3 ? 1e-7 : 1e-4, 3);
            agree += error < 1e-3;
            worst = fmax(worst, error);
        }
        print_message("swing %s, %s: %d of %d gradients agree, worst error %.1e\n", settings[s][0],
                      settings[s][1], agree, tries, worst);
        assert_true(s == 3 ? agree >= 3 : worst < 1e-7);
        fake_env_close(&e);
    }
}

/* ---- flip ---- */

static void flip_idle(void **state)
{
    fake_env e;
    fake_env_open(&e, "envs/flip", NULL, 0, 0);
    assert_int_equal(e.info.n, 15);
    assert_near(fake_eval(&e, e.x0, NULL, 0, NULL), 0.0857, 5e-5);
    const double *y = fake_metric(&e, e.x0, "y");
    assert_true(y[e.info.steps] > 0.0049 && y[e.info.steps] < 0.006);
    const ds_scene *scene = e.plugin->env->get_extension(e.self, DS_EXT_SCENE);
    ds_scene_body body = {.struct_size = sizeof body};
    assert_int_equal(scene->body(e.self, 0, &body), DS_OK);
    assert_int_equal(body.count, 394);
    fake_env_close(&e);
}

static void flip_gradient(void **state)
{
    fake_env e;
    double x[MOST];
    int agree = 0;
    fake_env_open(&e, "envs/flip", (const char *const[]){"duration=0.1", "segments=3", NULL}, 0, 0);
    for (uint64_t k = 0; k < 6; k++) {
        random_point(&e, x, 20 + k);
        for (int i = 0; i < 9; i++) {
            x[i] *= 0.3; /* so that the pancake stays in the pan */
        }
        double error = gradient_error(&e, x, 1e-8, 9);
        print_message("flip: %.1e\n", error);
        agree += error < 1e-6;
    }
    print_message("flip: %d of 6 gradients agree to 1e-6\n", agree);
    assert_true(agree >= 4);
    fake_env_close(&e);
}

/* ---- realtosim ---- */

enum { ROWS = 16 };

/* Moves all recorded corners by `far` along x and computes the gradient. */
static void move_corners(lift *l, double far, double *g)
{
    for (int k = 0; k < 4 * ROWS; k++) {
        l->data.row[k / 4 * TRAJECTORY_COLUMNS + 4 + 3 * (k % 4)] += far;
    }
    assert_int_equal(lift_gradient(l, g), DS_OK);
}

/* A lift of 0.5 s whose corners come from a simulation with the hidden variables. */
static void synthetic_lift(void **state)
{
    double u[LIFT_VARIABLES], g[LIFT_VARIABLES], far[LIFT_VARIABLES], square = 0, most = 0;
    int64_t bad = 0;
    ds_random r = ds_random_open(1, "synthetic lift", 0);
    trajectory t = {{0.2, 0.2}, 30, ROWS, calloc(ROWS * TRAJECTORY_COLUMNS, sizeof(double))};
    for (int i = 0; i < LIFT_VARIABLES; i++) {
        u[i] = 1.6 * ds_random_uniform(&r) - 0.8;
    }
    const double w = 0.1 * (1 + 0.5 * u[0]), d = 0.1 * (1 + 0.5 * u[1]);
    for (int k = 0; k < ROWS; k++) {
        double s = k / 30.0 / 0.8, *row = t.row + k * TRAJECTORY_COLUMNS;
        const double first[16] = {k / 30.0, 0.05 * s, 0.001 + 0.25 * (3 * s * s - 2 * s * s * s),
                                  -d,       -w,       0.001,
                                  -d,       w,        0.001,
                                  -d,       -w,       0.001,
                                  d,        w,        0.001,
                                  d};
        memcpy(row, first, sizeof first);
    }
    lift l;
    ds_memory room = {0};
    assert_true(lift_open(&l, &room, &t, t.rows, 2e-4, NULL));
    assert_int_equal(lift_simulate(&l, u, &bad), DS_OK);
    assert_true(bad < 0 && lift_loss(&l) > 0.01);
    for (int k = 0; k < ROWS; k++) {
        memcpy(l.data.row + k * TRAJECTORY_COLUMNS + 4, l.corners + 12 * k, 12 * sizeof(double));
    }
    assert_int_equal(lift_simulate(&l, u, &bad), DS_OK);
    assert_true(lift_loss(&l) < 1e-9);
    assert_int_equal(lift_gradient(&l, g), DS_OK);
    for (int i = 0; i < LIFT_VARIABLES; i++) {
        square += g[i] * g[i];
    }
    assert_true(square < 1e-12);
    move_corners(&l, 1e-3, far);
    move_corners(&l, 1e-7 - 1e-3, g);
    for (int i = 0; i < LIFT_VARIABLES; i++) {
        most = fmax(most, fabs(far[i]));
    }
    for (int i = 0; i < LIFT_VARIABLES; i++) {
        assert_near(g[i], far[i], 1e-5 * most); /* a mean of distances: their size does not matter */
    }
    assert_true(most > 0);
    move_corners(&l, -1e-7, g);
    for (int k = 0; k < ROWS; k++) {
        for (int i = 0; i < 12; i++) {
            l.data.row[k * TRAJECTORY_COLUMNS + 4 + i] += 0.002 * ds_random_normal(&r);
        }
    }
    assert_near(lift_loss(&l), 0.0032, 4e-4);
    ds_memory_free(&room);
    trajectory_free(&t);
}

static void recorded_lift(void **state)
{
    char data[1024];
    double x[LIFT_VARIABLES];
    snprintf(data, sizeof data, "data=%s/plugins/envs/data/cloth.lift",
             getenv("DS_TOP_SRC") ? getenv("DS_TOP_SRC") : ".");
    for (int sq = 0; sq < 2; sq++) {
        fake_env e;
        fake_env_open(&e, "envs/realtosim",
                      (const char *const[]){data, sq ? "r2s_norm=sq" : "r2s_norm=l2", NULL}, 0, 0);
        assert_int_equal(e.info.n, 68);
        random_point(&e, x, 30);
        double error = gradient_error(&e, x, 2e-5, 4);
        print_message("realtosim, norm %d: gradient off by %.1e of its norm\n", sq, error);
        assert_true(error < 1e-6);
        fake_env_close(&e);
    }
}

/* The bundled recordings are those of their hidden objects, up to the noise of 2 mm: the mean length of a
 * normal error of three numbers is 1.6 sigma, and the noise of the first corners moves and turns the object
 * (at most 1 sigma more). The ranges of paper as parameters change nothing; others do, and the gradient is
 * theirs. */
static void both_objects(void **state)
{
    for (int paper = 0; paper < 2; paper++) {
        fake_env e, same, other;
        double x[LIFT_VARIABLES], hidden[LIFT_VARIABLES];
        const char *object = paper ? "object=paper" : "object=cloth", *h = paper ? "h=1e-4" : "h=2e-4";
        fake_env_open(&e, "envs/realtosim", SETTINGS(object, h), 0, 0);
        lift_hidden(paper ? LIFT_PAPER_SEED : LIFT_OWN_SEED, hidden);
        const double loss = fake_eval(&e, hidden, NULL, 0, NULL);
        print_message("realtosim, %s: loss of the hidden one %.2g\n", object, loss);
        assert_true(loss > 1.4 * 0.002 && loss < 2.6 * 0.002);
        random_point(&e, x, 33);
        assert_true(fake_eval(&e, x, NULL, 0, NULL) > 3 * loss);
        if (paper) {
            fake_env_open(&same, "envs/realtosim",
                          SETTINGS(object, h, "mass_range=0.01 0.1", "stiffness_range=60 600"), 0, 0);
            assert_true(fake_eval(&same, x, NULL, 0, NULL) == fake_eval(&e, x, NULL, 0, NULL));
            fake_env_close(&same);
            fake_env_open(&other, "envs/realtosim",
                          SETTINGS(object, h, "mass_range=0.02 0.05", "stiffness_range=100 500"), 0, 0);
            assert_true(fake_eval(&other, x, NULL, 0, NULL) != fake_eval(&e, x, NULL, 0, NULL));
            const double error = gradient_error(&other, x, 1e-6, 4);
            print_message("realtosim, stiff paper: gradient off by %.1e of its norm\n", error);
            assert_true(error < 1e-5);
            fake_env_close(&other);
        }
        fake_env_close(&e);
    }
}

/* Networks push the vertices of the pancake: with weights 0 nothing changes; the derivatives by weights and
 * pan are exact where no vertex meets or leaves the pan between the two points of a difference. */
static void flip_networks(void **state)
{
    fake_env plain, e;
    double x[MOST], none[MOST], g[MOST];
    int agree = 0;
    fake_env_open(&plain, "envs/flip", SETTINGS("duration=0.05"), 0, 0);
    fake_env_open(&e, "envs/flip", SETTINGS("duration=0.05", "residual=force = velocity, height | 3 | tanh"),
                  0, 0);
    assert_int_equal(plain.info.n, 15);
    assert_int_equal(e.info.n, 15 + 3 * 5 + 3 * 3);
    for (uint64_t p = 0; p < 6; p++) {
        random_point(&e, x, 50 + p);
        for (uint64_t i = 0; i < e.info.n; i++) {
            x[i] *= i < 15 ? 0.5 : 0.04;
        }
        memcpy(none, x, sizeof none);
        memset(none + 15, 0, (e.info.n - 15) * sizeof *none);
        assert_true(fake_eval(&e, none, g, 0, NULL) == fake_eval(&plain, none, g, 0, NULL));
        assert_true(fake_eval(&e, x, g, 0, NULL) != fake_eval(&plain, x, g, 0, NULL));
        agree += gradient_error(&e, x, 1e-7, e.info.n) < 1e-7;
    }
    print_message("flip with a network: %d of 6 gradients agree to 1e-7\n", agree);
    assert_true(agree >= 4);
    fake_env_close(&plain);
    fake_env_close(&e);
}

/* ---- all ---- */

static void pure(void **state)
{
    static const char *const names[2] = {"envs/swing", "envs/flip"};
    for (int k = 0; k < 2; k++) {
        fake_env e, other;
        double x[MOST], w[MOST], g[MOST], again[MOST];
        fake_env_open(&e, names[k], (const char *const[]){"duration=0.3", NULL}, 0, 0);
        fake_env_open(&other, names[k], (const char *const[]){"duration=0.3", NULL}, 0, 0);
        random_point(&e, x, 40);
        random_point(&e, w, 41);
        double f = fake_eval(&e, x, g, 0, NULL);
        fake_eval(&other, w, again, 0, NULL);
        assert_true(fake_eval(&other, x, again, 0, NULL) == f);
        assert_memory_equal(g, again, e.info.n * sizeof *g);
        fake_env_close(&e);
        fake_env_close(&other);
    }
}

/* Springs too stiff for the step are refused at once with a message that says what to change. The last
 * setting of each scene is just below its limit and is accepted. */
enum { LIFT_ROWS = 12 };

/* The same lift as a file of ds-cloth-1, and as a table in mm with column names; corner 2 is sometimes
 * missing. */
static void write_lift(const char *path, int table, int broken)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    if (table) {
        fputs("time", f);
        for (int c = 0; c < 5; c++) {
            fprintf(f, ",p%d_x,p%d_y,p%d_z", c, c, c);
        }
        fputs(",remark\n", f);
    } else {
        fputs(
            "format = ds-cloth-1\nrate_hz = 33.3\nn = 12\nnominal_width = 0.2\nnominal_length = 0.2\nframe = "
            "y-up\nunits = m\ndata\n",
            f);
    }
    for (int k = 0; k < LIFT_ROWS; k++) {
        const double rise = 0.004 * k * k, x[5] = {-0.1, -0.1, -0.1, 0.1, 0.1},
                     z[5] = {-0.1, -0.1, 0.1, -0.1, 0.1};
        fprintf(f, "%.17g", 0.03 * k);
        for (int c = 0; c < 5; c++) {
            const double at[3] = {x[c], c == 0 ? 0.001 + rise : 0.001 + 0.25 * rise * (c == 1), z[c]};
            const int lost = c == 3 && k % 4 == 2;
            for (int d = 0; d < 3; d++) {
                if (lost && !(broken && d == 1)) {
                    fputs(table ? "," : " nan", f);
                } else {
                    fprintf(f, table ? ",%.17g" : " %.17g", table ? 1000 * at[d] : at[d]);
                }
            }
        }
        fputs(table ? ",ok\n" : "\n", f);
    }
    assert_int_equal(fclose(f), 0);
}

#define TABLE                                                                                                \
    "time_column=time", "column_scale=1e-3", "gaps=true",                                                    \
        "columns=p0_x p0_y p0_z p1_x p1_y p1_z p2_x p2_y p2_z p3_x p3_y p3_z p4_x p4_y p4_z"

/* A table is read as described. Held-out samples are in the metrics but not in the loss. */
static void lift_of_columns(void **state)
{
    temporary dir;
    char data[600], file[600];
    double x[LIFT_VARIABLES], g[2][LIFT_VARIABLES];
    fake_env e;
    temporary_open(&dir);
    snprintf(data, sizeof data, "data=%s", temporary_path(&dir, "a.lift"));
    write_lift(data + 5, 0, 0);
    snprintf(file, sizeof file, "file=%s", temporary_path(&dir, "a.csv"));
    write_lift(file + 5, 1, 0);
    for (int i = 0; i < LIFT_VARIABLES; i++) {
        x[i] = 0.3 * sin(i);
    }
    fake_env_open(&e, "envs/realtosim", (const char *const[]){data, NULL}, 0, 0);
    const double loss = fake_eval(&e, x, g[0], 0, NULL);
    fake_env_close(&e);
    fake_env_open(&e, "envs/realtosim", (const char *const[]){file, TABLE, "n_samples=12", NULL}, 0, 0);
    assert_near(fake_eval(&e, x, g[1], 0, NULL), loss, 1e-12);
    for (int i = 0; i < LIFT_VARIABLES; i++) {
        assert_near(g[1][i], g[0][i], 1e-9);
    }
    fake_env_close(&e);
    fake_env_open(&e, "envs/realtosim", (const char *const[]){file, TABLE, "n_samples=8", NULL}, 0, 0);
    const double part = fake_eval(&e, x, g[0], 0, NULL);
    assert_true(fabs(part - loss) > 1e-6);
    fake_env_close(&e);
    fake_env_open(&e, "envs/realtosim",
                  (const char *const[]){file, TABLE, "n_samples=8", "held_out=4", "r2s_norm=sq", NULL}, 0, 0);
    const double square = fake_eval(&e, x, NULL, 0, NULL), *rmse = fake_metric(&e, x, "rmse");
    const uint64_t last = e.info.steps;
    uint64_t border = 0;
    const double *held = fake_values(&e, "held_out");
    while (held[border + 1] == 0) {
        border++;
    }
    assert_near(rmse[border], sqrt(square), 1e-12);
    assert_true(held[last] == 1 && rmse[last] > 0 && fabs(rmse[last] - rmse[border]) > 1e-6);
    const double *seen = fake_values(&e, "recorded_corner0_y");
    assert_near(seen[0], 0.001, 1e-12);
    fake_env_close(&e);
    fake_env_open(&e, "envs/realtosim", (const char *const[]){file, TABLE, "n_samples=8", "held_out=4", NULL},
                  0, 0);
    assert_near(fake_eval(&e, x, g[1], 0, NULL), part, 1e-10);
    for (int i = 0; i < LIFT_VARIABLES; i++) {
        assert_near(g[1][i], g[0][i], 1e-8);
    }
    fake_env_close(&e);
    fake_env_refuses("envs/realtosim", (const char *const[]){file, TABLE, NULL}, "set n_samples = 2 or more");
    fake_env_refuses("envs/realtosim", (const char *const[]){file, data, TABLE, "n_samples=3", NULL},
                     "both name a recording");
    fake_env_refuses("envs/realtosim", (const char *const[]){file, "columns=p0_x p0_y", "n_samples=3", NULL},
                     "names 2 columns: 15");
    temporary_close(&dir);
}

/* Held-out samples have no part in the loss of images or corners, neither where the last compared state lies
 * between two output steps nor where the held-out motion diverges. Then the scene shows the last finite state
 * and the metrics are empty. */
static void held_out_lifts(void **state)
{
    static const char *const cases[][5] = {
        {"loss=image", "h=5e-4", "image_size=16", "frames=3", "n_samples=9"},
        {"r2s_norm=sq", "h=5e-4", "n_samples=9"},
        {"h=0.012", "n_samples=2"}};
    for (int c = 0; c < 3; c++) {
        double x[LIFT_VARIABLES], g[2][LIFT_VARIABLES], loss[2], most = 0;
        for (int k = 0; k < 2; k++) {
            const char *settings[7] = {NULL};
            uint32_t outcome = DS_EVAL_DIVERGED;
            fake_env e;
            memcpy(settings, cases[c], sizeof cases[c]);
            for (int i = 0; i < 6; i++) {
                if (settings[i] == NULL) {
                    settings[i] = k == 0 ? "held_out=0" : c < 2 ? "held_out=5" : "held_out=28";
                    break;
                }
            }
            fake_env_open(&e, "envs/realtosim", settings, 0, 0);
            for (int i = 0; i < LIFT_VARIABLES; i++) {
                x[i] = 0.3 * sin(i);
            }
            loss[k] = fake_eval(&e, x, g[k], 0, &outcome);
            assert_int_equal(outcome, DS_EVAL_OK);
            if (k == 1) {
                double points[3 * (LIFT_CELLS + 1) * (LIFT_CELLS + 1)];
                const ds_scene *scene = e.plugin->env->get_extension(e.self, DS_EXT_SCENE);
                const double *y = fake_metric(&e, x, "y"), *rmse = fake_values(&e, "rmse");
                const uint64_t last = e.info.steps;
                assert_true(isfinite(y[1]) && isfinite(rmse[1]) && fake_values(&e, "held_out")[last] == 1);
                assert_true(isnan(y[last]) == (c == 2) && isnan(rmse[last]) == (c == 2));
                assert_int_equal(scene->frame(e.self, last, 0, sizeof points / sizeof *points, points),
                                 DS_OK);
                assert_true(isfinite(points[0]) && isfinite(points[3 * LIFT_CELLS]));
            }
            fake_env_close(&e);
        }
        assert_true(loss[0] > 0);
        assert_near(loss[1], loss[0], 1e-12 * loss[0]);
        for (int i = 0; i < LIFT_VARIABLES; i++) {
            most = fmax(most, fabs(g[0][i]));
        }
        for (int i = 0; i < LIFT_VARIABLES; i++) {
            assert_near(g[1][i], g[0][i], 1e-9 * most);
        }
    }
}

static void broken_lifts(void **state)
{
    temporary dir;
    fake_host f;
    void *self = NULL;
    char broken[600];
    temporary_open(&dir);
    snprintf(broken, sizeof broken, "file=%s", temporary_path(&dir, "b.csv"));
    write_lift(broken + 5, 1, 1);
    fake_host_open(&f, "envs/realtosim", 0, (const char *const[]){broken, TABLE, "n_samples=12", NULL});
    assert_int_equal(f.plugin->env->create(&f.services.host, &self), DS_E_DATA);
    assert_non_null(strstr(f.error, "sample 2:"));
    fake_host_close(&f);
    temporary_close(&dir);
}

static void steps_too_long(void **state)
{
    static const struct {
        const char *name, *setting, *cure;
    } cases[] = {{"envs/flip", "stiffness=250", "reduce parameter h, stiffness"},
                 {"envs/flip", "damping=0.1", "reduce parameter h, stiffness or damping"},
                 {"envs/flip", "mass=0.035", "raise mass"},
                 {"envs/flip", "stiffness=240", NULL},
                 {"envs/swing", "h=5e-4", "reduce parameter h"},
                 {"envs/swing", "cells=40", "cells"},
                 {"envs/swing", "h=4.5e-4", NULL},
                 {"envs/realtosim", "h=1e-3", "reduce parameter h"},
                 {"envs/realtosim", "h=6e-4", NULL}};
    char data[1024];
    snprintf(data, sizeof data, "data=%s/plugins/envs/data/cloth.lift",
             getenv("DS_TOP_SRC") ? getenv("DS_TOP_SRC") : ".");
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        fake_env e;
        double x[MOST];
        uint32_t outcome = 0;
        const char *const settings[] = {cases[k].setting, strstr(cases[k].name, "sim") ? data : NULL, NULL};
        fake_env_open(&e, cases[k].name, settings, 0, 0);
        for (uint64_t i = 0; i < e.info.n; i++) { /* the stiffest and lightest cloth; the pan rests */
            x[i] = strstr(cases[k].name, "flip") ? e.x0[i] : i == 2 && e.info.n == 68 ? -1 : 1;
        }
        fake_eval(&e, x, NULL, 0, &outcome);
        assert_int_equal(outcome, cases[k].cure ? DS_EVAL_DIVERGED : DS_EVAL_OK);
        assert_int_equal(strstr(e.host.log, "too long") != NULL, cases[k].cure != NULL);
        if (cases[k].cure) {
            assert_non_null(strstr(e.host.log, cases[k].cure));
            assert_non_null(strstr(e.host.error, cases[k].cure));
        }
        fake_env_close(&e);
    }
}

/* ---- scene files ---- */

/* Writes a scene and opens it. */
static void open_scene(fake_env *e, temporary *dir, const char *text)
{
    char setting[600];
    snprintf(setting, sizeof setting, "scene=%s", temporary_path(dir, "own.ini"));
    FILE *f = fopen(setting + 6, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    fake_env_open(e, "envs/cloth", (const char *const[]){setting, NULL}, 0, 0);
}

/* Error of the gradient by the places of the variables in their ranges, relative to its largest component;
 * the best of three steps of the differences counts, from `eps` of the range down. */
static double scene_error(fake_env *e, double *x, double eps)
{
    double g[MOST], norm = 0, worst = 0;
    uint32_t outcome = 0;
    fake_eval(e, x, g, 0, &outcome);
    assert_int_equal(outcome, DS_EVAL_OK);
    for (uint64_t i = 0; i < e->info.n; i++) {
        norm = fmax(norm, fabs(g[i] * (e->upper[i] - e->lower[i])));
    }
    for (uint64_t i = 0; i < e->info.n; i++) {
        const double kept = x[i], range = e->upper[i] - e->lower[i];
        double least = HUGE_VAL;
        for (double d = eps * range; d > 0.05 * eps * range; d *= 0.3) {
            double q[2];
            for (int half = 0; half < 2; half++) {
                const double by = half ? 0.5 * d : d;
                x[i] = kept + by;
                q[half] = fake_eval(e, x, NULL, 0, NULL);
                x[i] = kept - by;
                q[half] = (q[half] - fake_eval(e, x, NULL, 0, NULL)) / (2 * by);
                x[i] = kept;
            }
            least = fmin(least, fabs((4 * q[1] - q[0]) / 3 - g[i]));
        }
        worst = fmax(worst, least * range);
    }
    return worst / norm;
}

#define SHEET                                                                                                \
    "[scene]\nmodel = springs\ngravity = variable 8..11 truth 9.81\nstep = 5e-4\nduration = 0.2\n"           \
    "[cloth sheet]\ncells = 6\npatches = 1\nheight = variable 0.22..0.28 truth 0.25\n"                       \
    "mass = variable 0.01..0.03 log truth 0.02\ndamping = variable 0.001..0.003 truth 0.002\n"               \
    "drag = variable 0.5..2 truth 1\nstiffness = variable 20..80 log truth 50\n"                             \
    "velocity = variable -1..1 -1..0 0..1 truth 0 -0.4 0.6\nsize = variable 0.15..0.25 truth 0.2\n"          \
    "[hold]\nduration = 0.1\n[target]\n"
#define SLAB                                                                                                 \
    "[scene]\nmodel = springs\ngravity = variable 8..11\nduration = 0.06\n[cloth cake]\nshape = disc\n"      \
    "cells = 5\nmass = variable 0.08..0.15\nstiffness = variable 50..120 log\n"                              \
    "damping = variable 0.01..0.02\ndrag = variable 0.2..1\n[pan]\nfriction = variable 0.1..0.5\n"           \
    "lower = -0.02 -0.02 -0.2\nupper = 0.02 0.04 0.2\n[actions]\nsegments = 2\n"

/* Every constant that can be a variable is one: without contact, on the floor, in a pan. The episode of the
 * target is the optimum. */
static void scene_constants(void **state)
{
    static const struct {
        const char *name, *text;
        uint64_t n;
        double eps, most;
    } cases[] = {
        {"free", SHEET, 11, 1e-3, 1e-6},
        {"floor",
         SHEET "[floor]\nheight = variable 0.02..0.05 truth 0.04\nfriction = variable 0.1..0.5 truth 0.3\n",
         13, 1e-6, 1e-4},
        {"pan", SLAB, 12, 1e-6, 1e-4}};
    temporary dir;
    temporary_open(&dir);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        fake_env e;
        double x[MOST];
        open_scene(&e, &dir, cases[k].text);
        assert_int_equal(e.info.n, cases[k].n);
        for (uint64_t point = 0; point < 3; point++) {
            random_point(&e, x, 60 + point);
            const double error = scene_error(&e, x, cases[k].eps);
            print_message("constants, %s: gradient off by %.1e of its largest component\n", cases[k].name,
                          error);
            assert_true(error < cases[k].most);
        }
        if (k < 2) {
            const double truth[] = {2 * log(2.5) / log(4.0) - 1,
                                    0,
                                    -0.4,
                                    0.6,
                                    0.2,
                                    0.2,
                                    9.81,
                                    log10(0.02),
                                    0.002,
                                    1,
                                    0.25,
                                    0.04,
                                    0.3};
            assert_true(fake_eval(&e, truth, NULL, 0, NULL) < 1e-9);
        }
        fake_env_close(&e);
    }
    temporary_close(&dir);
}

RUN_TESTS(swing_reference, swing_stiffness, swing_mirror, swing_gradient, flip_idle, flip_gradient,
          synthetic_lift, flip_networks, recorded_lift, both_objects, lift_of_columns, broken_lifts,
          held_out_lifts, steps_too_long, pure, scene_constants)
