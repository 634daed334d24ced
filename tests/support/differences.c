/* SPDX-License-Identifier: Apache-2.0 */
/* differences.c - a gradient against central differences (see differences.h). */
#include "differences.h"

#include "test.h"

#include <diffsim/helper/random.h>

typedef struct side {
    double loss;
    uint64_t branches;
} side;

static side at(const differences *d, size_t i, double shift)
{
    double kept = d->x[i];
    d->x[i] = kept + shift;
    side s = {.loss = d->loss(d->self, d->x)};
    s.branches = d->branches != NULL ? d->branches(d->self) : 0;
    d->x[i] = kept;
    return s;
}

static int disagree(const differences *d, size_t i, double largest, const side *middle)
{
    double h = d->step * (d->scale != NULL ? d->scale[i] : fmax(1, fabs(d->x[i])));
    side right = at(d, i, h), left = at(d, i, -h);
    double quotient = (right.loss - left.loss) / (2 * h);
    if (d->branches == NULL) {
        double wide = (at(d, i, 2 * h).loss - at(d, i, -2 * h).loss) / (4 * h);
        quotient += (quotient - wide) / 3;
    }
    double size = fmax(fabs(d->grad[i]), 1e-3 * largest);
    if (fabs(d->grad[i] - quotient) <= d->tolerance * size) {
        return 0;
    }
    int same = right.branches == middle->branches && left.branches == middle->branches;
    print_message("%s: component %zu: %.10g, central difference %.10g, left %.8g, right %.8g%s\n", d->name, i,
                  d->grad[i], quotient, (middle->loss - left.loss) / h, (right.loss - middle->loss) / h,
                  same ? "" : " (switches branches)");
    return same ? 1 : 2;
}

size_t differences_check(const differences *d, size_t *switched)
{
    double largest = 0;
    size_t wrong = 0, across = 0;
    side middle = {.loss = d->loss(d->self, d->x)};
    middle.branches = d->branches != NULL ? d->branches(d->self) : 0;
    for (size_t i = 0; i < d->n; i++) {
        largest = fmax(largest, fabs(d->grad[i]));
    }
    for (size_t i = 0; i < d->n; i++) {
        int how = disagree(d, i, largest, &middle);
        wrong += how == 1;
        across += how == 2;
    }
    if (switched != NULL) {
        *switched = across;
    }
    return isfinite(largest) && largest > 0 ? wrong + (switched == NULL ? across : 0) : d->n;
}

void differences_random(uint64_t seed, size_t n, double *out)
{
    ds_random r = ds_random_open(seed, "differences", 0);
    for (size_t i = 0; i < n; i++) {
        out[i] = 2 * ds_random_uniform(&r) - 1;
    }
}

double differences_dot(size_t n, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* ---- rigid scenes ---- */

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
