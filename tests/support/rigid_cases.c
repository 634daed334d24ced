/* SPDX-License-Identifier: Apache-2.0 */
/* rigid_cases.c - recorded values and central differences for the tests of the rigid scenes (see
 * rigid_cases.h). */
#include "rigid_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <diffsim/helper/random.h>
#include <math.h>

json_t *rigid_golden(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "rigid/%s", name);
    return golden_or_skip(path);
}

int rigid_int(const json_t *object, const char *key)
{
    return (int)golden_number(object, key);
}

uint64_t rigid_numbers(const json_t *array, double *out, uint64_t capacity)
{
    uint64_t n = json_is_array(array) ? json_array_size(array) : 0;
    assert_true(n <= capacity);
    for (uint64_t i = 0; i < n; i++) {
        out[i] = json_number_value(json_array_get(array, i));
    }
    return n;
}

const char *rigid_list(char *text, uint64_t size, const char *name, const double *v, uint64_t n)
{
    int used = snprintf(text, size, "%s=", name);
    for (uint64_t i = 0; i < n; i++) {
        used += snprintf(text + used, size - (uint64_t)used, "%s%.17g", i ? "," : "", v[i]);
        assert_true((uint64_t)used < size);
    }
    return text;
}

double rigid_difference(fake_env *e, double *x, uint64_t i, double eps, double *spread)
{
    double q[2], at = x[i];
    for (int k = 0; k < 2; k++) {
        double d = k ? 0.5 * eps : eps;
        x[i] = at + d;
        double up = fake_eval(e, x, NULL, 0, NULL), width = x[i];
        x[i] = at - d;
        width -= x[i];
        q[k] = (up - fake_eval(e, x, NULL, 0, NULL)) / width;
    }
    x[i] = at;
    *spread = fabs(q[1] - q[0]);
    return (4 * q[1] - q[0]) / 3;
}

void rigid_random(double *x, uint64_t n, uint64_t key)
{
    ds_random r = ds_random_open(key, "rigid", 0);
    for (uint64_t i = 0; i < n; i++) {
        x[i] = 2 * ds_random_uniform(&r) - 1;
    }
}
