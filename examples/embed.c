/* SPDX-License-Identifier: Apache-2.0 */
/* embed.c - an optimizer and an environment of diffsim inside another program, by ask and tell:
 *     embed ENVIRONMENT OPTIMIZER BUDGET
 * Compile: see README.md in this folder. Replace either side by your own code. */
#include <diffsim/lib/environment.h>
#include <diffsim/lib/ask_tell.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    char why[600];
    if (argc != 4) {
        fprintf(stderr, "usage: embed ENVIRONMENT OPTIMIZER BUDGET\n");
        return 2;
    }
    ds_environment *e = ds_environment_open(argv[1], NULL, why, sizeof why);
    if (e == NULL) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    ds_environment_box box = {.struct_size = sizeof box};
    ds_environment_describe(e, &box);
    ds_search_options o = {.struct_size = sizeof o,
                           .has_gradient = box.has_gradient,
                           .n = box.n,
                           .lower = box.lower,
                           .upper = box.upper,
                           .x0 = box.x0,
                           .is_suggestion = 1,
                           .budget = strtoull(argv[3], NULL, 10)};
    ds_search *s = ds_search_open(argv[2], &o, why, sizeof why);
    if (s == NULL) {
        fprintf(stderr, "%s\n", why);
        ds_environment_close(e);
        return 1;
    }

    int status = 0;
    uint64_t count;
    const double *x;
    uint32_t want;
    double best, *loss = NULL, *grad = NULL;
    while (ds_search_ask(s, &count, &x, &want) == DS_OK) {
        free(loss);
        free(grad);
        loss = malloc(count * sizeof *loss);
        grad = malloc(count * box.n * sizeof *grad);
        if (loss == NULL || grad == NULL) {
            fprintf(stderr, "no memory for %llu points\n", (unsigned long long)count);
            status = 1;
            break;
        }
        const ds_rows rows = {
            .struct_size = sizeof rows, .want = want, .count = count, .n = box.n, .stride = box.n, .x = x};
        const ds_results results = {
            .struct_size = sizeof results, .stride = box.n, .loss = loss, .grad = grad};
        if (ds_environment_evaluate_many(e, &rows, &results, NULL, NULL) != DS_OK) {
            fprintf(stderr, "%s\n", ds_environment_message(e));
            status = 1;
            break;
        }
        ds_search_tell(s, loss, grad);
    }
    if (ds_search_best(s, &best, NULL) == DS_OK) {
        printf("%.17g after %llu evaluations\n", best, (unsigned long long)ds_search_used(s));
    }
    ds_search_close(s);
    ds_environment_close(e);
    free(loss);
    free(grad);
    return status;
}
