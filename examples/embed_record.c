/* SPDX-License-Identifier: Apache-2.0 */
/* embed_record.c - a search whose losses the program measures itself, recorded in a result folder:
 *     embed_record OPTIMIZER FOLDER BUDGET [STOP]
 * A second start resumes the search without repeating measurements. STOP ends the program after that many
 * measurements, as a power cut would. Then: dshost report FOLDER, dshost export FOLDER. Compile: see
 * README.md in this folder. */
#include <diffsim/lib/ask_tell.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 2 };

/* The laboratory: how far a ball rolls, for a push and an angle. */
static double measure(const double *x)
{
    double miss = x[0] * sin(x[1]) - 0.8;
    return miss * miss + 0.01 * (x[1] - 0.6) * (x[1] - 0.6);
}

int main(int argc, char **argv)
{
    const double lower[N] = {0, 0}, upper[N] = {3, 1.5};
    char why[600];
    if (argc < 4) {
        fprintf(stderr, "usage: embed_record OPTIMIZER FOLDER BUDGET [STOP]\n");
        return 2;
    }
    uint64_t stop = argc > 4 ? strtoull(argv[4], NULL, 10) : UINT64_MAX, measured = 0, count;
    ds_search_options o = {.struct_size = sizeof o,
                           .n = N,
                           .lower = lower,
                           .upper = upper,
                           .budget = strtoull(argv[3], NULL, 10),
                           .seed = 1,
                           .folder = argv[2],
                           .name = "ball",
                           .resume = 1};
    ds_search *s = ds_search_open(argv[1], &o, why, sizeof why);
    if (s == NULL) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    const double *x;
    uint32_t want;
    ds_status status;
    while ((status = ds_search_ask(s, &count, &x, &want)) == DS_OK && measured < stop) {
        double *loss = malloc(count * sizeof *loss);
        for (uint64_t k = 0; loss != NULL && k < count; k++) {
            loss[k] = measure(x + k * N);
        }
        measured += count;
        status = loss != NULL ? ds_search_tell(s, loss, NULL) : DS_E_NOMEM;
        free(loss);
        if (status != DS_OK) {
            break;
        }
    }
    if (status < 0) {
        fprintf(stderr, "%s\n", ds_search_message(s));
    }
    double best;
    if (ds_search_best(s, &best, NULL) == DS_OK) {
        printf("%.17g after %llu evaluations, %llu of them measured now\n", best,
               (unsigned long long)ds_search_used(s), (unsigned long long)measured);
    }
    ds_search_close(s);
    return status < 0;
}
