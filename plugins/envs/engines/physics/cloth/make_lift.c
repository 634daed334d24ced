/* SPDX-License-Identifier: Apache-2.0 */
/* make_lift.c - writes a synthetic recording of a lift: make_lift SEED SIGMA DROP [paper] > FILE. Simulates
 * a hidden cloth, or stiff paper (variables uniform in [-0.8, 0.8]), adds Gaussian noise of SIGMA metres to
 * its corners and drops each with probability DROP. */
#include <diffsim/helper/random.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lift.h"

enum { RATE = 30, ROWS = RATE + 1 };

static const double nominal = 0.2; /* m */

/* The gripper rises by 0.25 m and moves 0.05 m to the right in 0.8 s. */
static void path(double *row, double t, double length)
{
    double s = fmin(t / 0.8, 1);
    row[0] = t;
    row[1] = 0.05 * s;
    row[2] = 0.001 + 0.25 * (3 * s * s - 2 * s * s * s);
    row[3] = -0.5 * length;
}

static void first_corners(double *row, const double *u)
{
    const double w = 0.5 * nominal * (1 + 0.5 * u[0]), l = 0.5 * nominal * (1 + 0.5 * u[1]);
    for (int c = 0; c < 4; c++) {
        row[4 + 3 * c] = c % 2 ? w : -w;
        row[5 + 3 * c] = 0.001;
        row[6 + 3 * c] = c / 2 ? l : -l;
    }
}

static void print(const lift *l, uint64_t seed, double sigma, double drop, const char *object)
{
    ds_random noise = ds_random_open(seed, "lift noise", 0), lost = ds_random_open(seed, "lift drop", 0);
    printf("# A simulated lift with noise: make_lift %d %g %g%s\n", (int)seed, sigma, drop, object);
    printf("format = ds-cloth-1\nname = synthetic-%d\nrate_hz = %d\nn = %d\nnominal_width = "
           "%g\nnominal_length = %g\n",
           (int)seed, RATE, ROWS, nominal, nominal);
    printf("frame = y-up\nunits = m\ndata\n");
    for (uint64_t r = 0; r < ROWS; r++) {
        const double *row = l->data.row + TRAJECTORY_COLUMNS * r;
        printf("%.17g %.17g %.17g %.17g", row[0], row[1], row[2], row[3]);
        for (int c = 0; c < 4; c++) {
            int hidden = ds_random_uniform(&lost) < drop && r > 0;
            for (int i = 0; i < 3; i++) {
                double v =
                    l->corners[12 * r + 3 * (uint64_t)c + (uint64_t)i] + sigma * ds_random_normal(&noise);
                if (hidden) {
                    printf(" nan");
                } else {
                    printf(sigma > 0 ? " %.6f" : " %.17g", v);
                }
            }
        }
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    const int paper = argc == 5 && strcmp(argv[4], "paper") == 0;
    if (argc != 4 && !paper) {
        fprintf(stderr, "usage: make_lift SEED SIGMA DROP [paper] > FILE\n");
        return 2;
    }
    uint64_t seed = strtoull(argv[1], NULL, 10);
    double u[LIFT_VARIABLES];
    int64_t bad = -1;
    lift l;
    ds_memory room = {0};
    trajectory t = {{nominal, nominal}, RATE, ROWS, ds_memory_doubles(&room, ROWS * TRAJECTORY_COLUMNS)};
    lift_hidden(seed, u);
    for (uint64_t r = 0; t.row && r < ROWS; r++) {
        path(t.row + TRAJECTORY_COLUMNS * r, (double)r / RATE, nominal * (1 + 0.5 * u[1]));
        first_corners(t.row + TRAJECTORY_COLUMNS * r, u);
    }
    if (!t.row || !lift_open(&l, &room, &t, t.rows, paper ? 1e-4 : 2e-4, NULL)) {
        fprintf(stderr, "make_lift: out of memory\n");
        return 1;
    }
    if (paper) {
        lift_set_ranges(&l, lift_paper_mass, lift_paper_stiffness);
    }
    if (lift_simulate(&l, u, &bad) != DS_OK || bad >= 0) {
        fprintf(stderr, "make_lift: out of memory, or the cloth diverged\n");
        return 1;
    }
    print(&l, seed, strtod(argv[2], NULL), strtod(argv[3], NULL), paper ? " paper" : "");
    ds_memory_free(&room);
    return 0;
}
