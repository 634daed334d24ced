/* SPDX-License-Identifier: Apache-2.0 */
/* plain.c - functions of a few variables as environments (see plain.h). */
#include "plain.h"

#include "common/number.h"

void plain_read(plain *p, ds_param_reader *in, uint64_t n, const char *name, const char *unit)
{
    p->lower = ds_param_real(in, "lower");
    p->upper = ds_param_real(in, "upper");
    p->guess = ds_param_real(in, "guess");
    p->name = name;
    p->unit = unit;
    p->kit.n = n;
    p->kit.cost = 1;
    if (in->status == DS_OK && !(p->lower < p->upper)) {
        in->status = ds_host_fail(in->host, DS_E_PARAM,
                                  "parameters lower = %s, upper = %s: make lower less than upper",
                                  NUMBER(p->lower), NUMBER(p->upper));
    }
}

void plain_range(const void *self, uint64_t i, double *lower, double *upper, double *start)
{
    const plain *p = self;
    (void)i;
    *lower = p->lower;
    *upper = p->upper;
    *start = fmin(fmax(p->guess, p->lower), p->upper);
}

void plain_variable(const void *self, uint64_t i, ds_env_variable *out)
{
    const plain *p = self;
    if (p->kit.n == 1) {
        ds_env_variable_put(out->name, "%s", p->name);
    } else {
        ds_env_variable_put(out->name, "%s.%u", p->name, (unsigned)i);
        ds_env_variable_put(out->group, "%s", p->name);
    }
    ds_env_variable_put(out->unit, "%s", p->unit);
}
