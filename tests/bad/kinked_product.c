/* SPDX-License-Identifier: Apache-2.0 */
/* kinked_product - a channel of many elements that all have kinks close to each other (saws, one beside the
 * other), and products that are off by a hundredth. With KINKED_SLOPE = 1 it is sound. */
#define BAD_ID "kinked_product"
#ifndef KINKED_SLOPE
#define KINKED_SLOPE 0.99
#endif
#include <diffsim/diffsim.h>
#include <diffsim/ext/channel.h>
#include <diffsim/helper/eval.h>
#include <math.h>
#include <string.h>

#define BAD_EXTENSIONS DS_EXT_CHANNELS
#define BAD_TABLE(id) (strcmp(id, DS_EXT_CHANNELS) == 0 ? &channels : NULL)
#define BAD_EVALUATE answer_all(io);

enum { SAWS = 1000 };
static const double period = 4e-5;

static ds_status count_channels(void *self, uint64_t *count)
{
    (void)self;
    *count = 1;
    return DS_OK;
}

static ds_status describe_channel(void *self, uint64_t i, ds_channel *out)
{
    (void)self;
    (void)i;
    out->role = DS_CHANNEL_STATE;
    out->type = DS_TYPE_F64;
    out->ops = DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV);
    out->ndim = 1;
    out->shape[0] = SAWS;
    out->name = "saws";
    out->unit = "";
    out->doc = "Saws of the first variable.";
    return DS_OK;
}

static const ds_env_channels channels = {
    .struct_size = sizeof channels, .count = count_channels, .describe = describe_channel};

static void answer_all(ds_eval *io)
{
    for (uint64_t k = 0; k < io->queries; k++) {
        ds_eval_query *q = io->query[k];
        double *out = q->out, sum = 0;
        q->kind = q->op == DS_QUERY_VALUE ? DS_GRAD_NONE : DS_GRAD_FORWARD;
        for (int i = 0; i < SAWS; i++) {
            double turns = io->x[0] / period + (double)i / SAWS, from = turns - floor(turns) - 0.5;
            double slope = KINKED_SLOPE * (from > 0 ? 1 : -1);
            if (q->op == DS_QUERY_JTV) {
                sum += slope * q->v[i];
            } else {
                out[i] = q->op == DS_QUERY_VALUE ? period * fabs(from) : slope * q->v[0];
            }
        }
        if (q->op == DS_QUERY_JTV) {
            out[0] = sum;
            out[1] = out[2] = 0;
        }
    }
}

#include "env_base.h"
