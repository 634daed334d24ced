/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_policy.c - any bytes given to the reader of policies: one whose actions are inside its bounds, or
 * one line that says why not. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ds_policy p;
    ds_error e = {0};
    uint8_t *copy = malloc(size > 0 ? size : 1);
    FUZZ_REQUIRE(copy != NULL);
    if (size > 0) {
        memcpy(copy, data, size);
    }
    if (ds_policy_parse(&p, copy, size, "input", &e) != 0) {
        FUZZ_REQUIRE((e.status == DS_EXIT_CONFIG || e.status == DS_EXIT_MEMORY) && e.text[0] != '\0');
        ds_policy_free(&p);
        return 0;
    }
    double *obs = calloc(p.n_obs + p.n_act, sizeof *obs), *action = obs + p.n_obs;
    ds_random r = ds_random_open(1, "fuzz", 0);
    FUZZ_REQUIRE(obs != NULL);
    for (uint64_t k = 0; k < p.n_obs; k++) {
        obs[k] = 1e3 * ds_random_normal(&r);
    }
    for (uint64_t step = 0; step < 3; step++) {
        ds_policy_act(&p, obs, step, 3, step > 0 ? &r : NULL, action);
        for (uint64_t k = 0; k < p.n_act; k++) {
            const uint64_t row = step < p.lower.size / p.n_act ? step : p.lower.size / p.n_act - 1;
            FUZZ_REQUIRE(action[k] >= p.lower.data[row * p.n_act + k] &&
                         action[k] <= p.upper.data[row * p.n_act + k]);
        }
    }
    free(obs);
    ds_policy_free(&p);
    return 0;
}
