/* SPDX-License-Identifier: Apache-2.0 */
/* sweep - an optimizer that queries a channel: least squares along one variable after the other, with the
 * residuals r and one column J e of their Jacobian in each request. Without residuals it evaluates random
 * points. */
#include <diffsim/helper/simple.h>

static const ds_param *const params[] = {DS_INT("sweeps", "10", 1, 1000, "", "Passes over the variables."),
                                         DS_OPT_START_PARAMS("true"), NULL};

static ds_status search(ds_simple_search *s)
{
    const ds_problem *p = s->problem;
    double *x = s->point, *e = s->point + p->n, loss;
    uint32_t number = 0;
    const ds_channel *c = ds_evaluator_find(&s->kit.evaluator, DS_CHANNEL_RESIDUAL, DS_TYPE_F64,
                                            DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JV), &number);
    const uint64_t m = c != NULL ? ds_channel_elements(c) : 0;
    const uint64_t steps = c != NULL ? p->n * (uint64_t)s->param[0] : 1; /* else random points */
    double *r = ds_memory_doubles(&s->kit.memory, 2 * m), *column = r + m;
    ds_evaluator_query query[] = {{.op = DS_QUERY_VALUE, .channel = number, .out = r},
                                  {.op = DS_QUERY_JV, .channel = number, .v = e, .out = column}};
    ds_evaluator_request request = {
        .count = 1, .x = x, .loss = &loss, .queries = c != NULL ? 2 : 0, .query = query};
    ds_status status = r != NULL ? DS_OK : ds_host_fail(s->host, DS_E_NOMEM, "out of memory");
    for (uint64_t start = 1; status == DS_OK; start++) {
        ds_simple_start_x(s, start, x);
        for (uint64_t k = 0; k < steps && status == DS_OK; k++) {
            const uint64_t i = k % p->n;
            double slope = 0, curvature = 1e-300;
            e[i] = 1;
            status = ds_evaluator_send(&s->kit.evaluator, (ds_evaluator_label){"descent", start}, &request);
            e[i] = 0;
            for (uint64_t j = 0; j < m; j++) {
                slope += column[j] * r[j];
                curvature += column[j] * column[j];
            }
            x[i] = ds_box_clamp(x[i] - slope / curvature, p->lower[i], p->upper[i]);
        }
    }
    return status;
}

DS_SIMPLE_OPTIMIZER("sweep", "Least squares by coordinates.", params, DS_SIMPLE_USES_RESIDUALS, search)
