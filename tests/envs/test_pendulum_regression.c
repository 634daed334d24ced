/* SPDX-License-Identifier: Apache-2.0 */
/* test_pendulum_regression.c - what the recordings of the double pendulum say without any search: lengths of
 * the arms, which coordinate points down, the frame rate, and the constants of the model of double_pendulum
 * by linear regression on smoothed derivatives, against figures measured with an independent program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>
#include <unistd.h>

#include "engines/data/recording.h"
#include "host.h"
#include "methods/base/blas.h"

enum { RECORDINGS = 14, WINDOW = 31, HALF = WINDOW / 2, ORDER = 5, TERMS = ORDER + 1, DERIVATIVES = 3 };
enum { P1, P2, G1, G2, D1, D2, UNKNOWNS };

static const double rate = 400; /* samples in a second as they were thought to be */

/* What was found in one recording. */
typedef struct found {
    double arm[2], spread[2]; /* mean length and its standard deviation, in units of the file */
    double rest; /* mean angle of the first arm over the last 2000 samples, from the first coordinate */
    double x[UNKNOWNS];
} found;

/* min |A x - b|, A with `rows` rows by columns; x overwrites the first rows of b. */
static void solve(int rows, int columns, int sides, double *a, double *b)
{
    double size = 0;
    int info = 0, query = -1;
    dgels_("N", &rows, &columns, &sides, a, &rows, b, &rows, &size, &query, &info, 1);
    int room = (int)size;
    double *work = malloc((size_t)room * sizeof *work);
    assert_non_null(work);
    dgels_("N", &rows, &columns, &sides, a, &rows, b, &rows, work, &room, &info, 1);
    free(work);
    assert_int_equal(info, 0);
}

/* Weights of the samples of a window in the value and first two derivatives, in its middle, of the polynomial
 * through them by least squares (A. Savitzky, M. Golay 1964). */
static void smoothing_weights(double weight[DERIVATIVES][WINDOW])
{
    double a[TERMS * WINDOW], unit[WINDOW * WINDOW] = {0};
    for (int i = 0; i < WINDOW; i++) {
        for (int k = 0; k < TERMS; k++) {
            a[k * WINDOW + i] = pow(i - HALF, k);
        }
        unit[i * WINDOW + i] = 1;
    }
    solve(WINDOW, TERMS, WINDOW, a, unit);
    for (int i = 0; i < WINDOW; i++) {
        weight[0][i] = unit[i * WINDOW];
        weight[1][i] = unit[i * WINDOW + 1] * rate;
        weight[2][i] = unit[i * WINDOW + 2] * 2 * rate * rate;
    }
}

/* Angles from the first coordinate, through turns, and the lengths of the arms. */
static void angles_of(const recording *r, double *angle, found *f)
{
    double sum[2] = {0}, squares[2] = {0};
    for (uint64_t i = 0; i < r->rows; i++) {
        const double *at = r->value + 6 * i;
        for (int k = 0; k < 2; k++) {
            const double down = at[2 * k + 2] - at[2 * k], aside = at[2 * k + 3] - at[2 * k + 1];
            const double length = hypot(down, aside), now = atan2(aside, down);
            double *to = angle + 2 * i + k;
            *to = i > 0 ? to[-2] + remainder(now - to[-2], 2 * acos(-1)) : now;
            sum[k] += length;
            squares[k] += length * length;
            f->rest += k == 0 && i + 2000 >= r->rows ? now / 2000 : 0;
        }
    }
    for (int k = 0; k < 2; k++) {
        f->arm[k] = sum[k] / (double)r->rows;
        f->spread[k] = sqrt(squares[k] / (double)r->rows - f->arm[k] * f->arm[k]);
    }
}

/* The two equations of motion of docs/environments/gradsim.md are linear in the constants; two rows for each
 * sample with a window. */
static void regress(uint64_t samples, const double *angle, found *f)
{
    const size_t middles = (size_t)samples - WINDOW + 1, rows = 2 * middles;
    double weight[DERIVATIVES][WINDOW], *a = calloc(rows * (UNKNOWNS + 1), sizeof *a),
                                        *b = a + rows * UNKNOWNS;
    assert_non_null(a);
    smoothing_weights(weight);
    for (size_t i = 0; i < middles; i++) {
        double q[2][DERIVATIVES] = {{0}};
        for (int k = 0; k < 2 * DERIVATIVES * WINDOW; k++) {
            const int arm = k % 2, order = k / 2 % DERIVATIVES, at = k / 2 / DERIVATIVES;
            q[arm][order] += weight[order][at] * angle[2 * (i + (size_t)at) + (size_t)arm];
        }
        const double c = cos(q[0][0] - q[1][0]), s = sin(q[0][0] - q[1][0]), between = q[0][1] - q[1][1];
        double *first = a + i, *second = a + middles + i;
        first[P1 * rows] = q[0][2];
        first[G1 * rows] = sin(q[0][0]);
        first[D1 * rows] = q[0][1];
        first[D2 * rows] = between;
        b[i] = -c * q[1][2] - s * q[1][1] * q[1][1];
        second[P2 * rows] = q[1][2];
        second[G2 * rows] = sin(q[1][0]);
        second[D2 * rows] = -between;
        b[middles + i] = s * q[0][1] * q[0][1] - c * q[0][2];
    }
    solve((int)rows, UNKNOWNS, 1, a, b);
    memcpy(f->x, b, sizeof f->x);
    free(a);
}

static found look_at(int number)
{
    const char *shared = getenv("DS_SHARED");
    char path[4096], why[RECORDING_ERROR];
    const recording_request all = {.columns = "1 2 3 4 5 6", .time = ""};
    recording r;
    found f = {.rest = 0};
    snprintf(path, sizeof path, "%s/data/double-pendulum/%d.csv.gz", shared ? shared : "", number);
    if (access(path, R_OK) != 0) {
        print_message("# %s is not there: nothing is looked at\n", path);
        skip();
    }
    if (recording_read(&r, &all, path, why) != RECORDING_OK) {
        fail_msg("%s", why);
    }
    assert_true(r.columns == 6 && r.rows > 17000 && r.rows < 18500);
    double *angle = malloc(2 * r.rows * sizeof *angle);
    assert_non_null(angle);
    angles_of(&r, angle, &f);
    regress(r.rows, angle, &f);
    free(angle);
    recording_free(&r);
    return f;
}

static void constants(void **state)
{
    double rates = 0, damping[2] = {0};
    (void)state;
    for (int k = 0; k < RECORDINGS; k++) {
        const found f = look_at(k);
        const double moment = f.x[G1] / f.x[G2], frames = rate * sqrt(9.81 / 0.091 / f.x[G2]);
        print_message("recording %2d: arms %.1f %.1f, P1 %.3f P2 %.4f R %.3f d1 %.3f d2 %.4f, %.1f Hz\n", k,
                      f.arm[0], f.arm[1], f.x[P1], f.x[P2], moment, f.x[D1], f.x[D2], frames);
        assert_near(f.arm[0], k < 2 ? 602 : 589, 0.5);
        assert_near(f.arm[1], k < 2 ? 461 : 450.5, 0.5);
        assert_near(f.arm[0] / f.arm[1], 0.091 / 0.070, 0.01);
        assert_near(f.spread[0], 1.4, 0.4);
        assert_near(f.spread[1], 1.4, 0.15);
        assert_near(f.rest, 0, 0.03);
        assert_near(f.x[P1], 9.8, 0.1);
        assert_near(f.x[P2], 0.735, 0.005);
        assert_near(moment, 9.9, 0.1);
        assert_near(f.x[D1], 0.3, 0.13);
        assert_near(f.x[D2], 0.09, 0.06);
        assert_near(frames, 500, 0.015 * 500);
        rates += frames / RECORDINGS;
        damping[0] += f.x[D1] / RECORDINGS;
        damping[1] += f.x[D2] / RECORDINGS;
    }
    assert_near(damping[0], 0.3, 0.03);
    assert_near(damping[1], 0.09, 0.02);
    assert_near(rates, 502.4, 0.5); /* and by no means the 400 that its users assumed */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(constants)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
