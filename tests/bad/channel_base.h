/* SPDX-License-Identifier: Apache-2.0 */
/* channel_base.h - channels for env_base.h: the residuals x_i - centre, and the loss with its H v. Holes:
 * BAD_SCALE is a factor of the residuals, BAD_JV(v, i), BAD_JTV(w, i) and BAD_HV(v, i) are numbers of
 * products, BAD_ELEMENTS is what describe() says, BAD_PRODUCTS which products with the Jacobian there are,
 * BAD_TABLE_SIZE is the struct_size of their table, BAD_ANSWER are statements after an answer, BAD_EVALUATE
 * those instead of all answers. */
#include <diffsim/diffsim.h>
#include <diffsim/ext/channel.h>
#include <diffsim/helper/eval.h>
#include <string.h>

#ifndef BAD_SCALE
#define BAD_SCALE 1.0
#endif
#ifndef BAD_JV
#define BAD_JV(v, i) ((v)[i])
#endif
#ifndef BAD_JTV
#define BAD_JTV(w, i) ((w)[i])
#endif
#ifndef BAD_HV
#define BAD_HV(v, i) (2 * (v)[i])
#endif
#ifndef BAD_ELEMENTS
#define BAD_ELEMENTS 3
#endif
#ifndef BAD_PRODUCTS
#define BAD_PRODUCTS (DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV))
#endif
#ifndef BAD_TABLE_SIZE
#define BAD_TABLE_SIZE sizeof(ds_env_channels)
#endif
#ifndef BAD_ANSWER
#define BAD_ANSWER
#endif

#define BAD_EXTENSIONS DS_EXT_CHANNELS
#define BAD_TABLE(id) (strcmp(id, DS_EXT_CHANNELS) == 0 ? &channels : NULL)
#ifndef BAD_EVALUATE
#define BAD_EVALUATE answer_all(io, b->centre);
#endif

static ds_status count_channels(void *self, uint64_t *count)
{
    (void)self;
    *count = 2;
    return DS_OK;
}

static ds_status describe_channel(void *self, uint64_t i, ds_channel *out)
{
    (void)self;
    out->role = i == 0 ? DS_CHANNEL_RESIDUAL : DS_CHANNEL_LOSS;
    out->type = DS_TYPE_F64;
    out->ops = DS_CAN(DS_QUERY_VALUE) | BAD_PRODUCTS | (i == 0 ? 0 : DS_CAN(DS_QUERY_HV));
    out->ndim = i == 0;
    out->shape[0] = BAD_ELEMENTS;
    out->name = i == 0 ? "error" : "loss";
    out->unit = "";
    out->doc = "What the tests of bad plugins look at.";
    return DS_OK;
}

static const ds_env_channels channels = {
    .struct_size = BAD_TABLE_SIZE, .count = count_channels, .describe = describe_channel};

static void answer_residuals(const ds_eval *io, const ds_eval_query *q, double centre)
{
    double *out = q->out;
    for (int i = 0; i < 3; i++) {
        out[i] = BAD_SCALE * (q->op == DS_QUERY_VALUE ? io->x[i] - centre
                              : q->op == DS_QUERY_JV  ? BAD_JV(q->v, i)
                                                      : BAD_JTV(q->v, i));
    }
}

static void answer_loss(const ds_eval *io, const ds_eval_query *q, double centre)
{
    double *out = q->out, along = 0;
    for (int i = 0; i < 3; i++) {
        double slope = 2 * (io->x[i] - centre);
        if (q->op == DS_QUERY_JV) {
            along += slope * q->v[i];
        } else if (q->op == DS_QUERY_JTV) {
            out[i] = slope * q->v[0];
        } else if (q->op == DS_QUERY_HV) {
            out[i] = (q->w != NULL ? q->w[0] : 1) * BAD_HV(q->v, i);
        }
    }
    if (q->op == DS_QUERY_VALUE || q->op == DS_QUERY_JV) {
        out[0] = q->op == DS_QUERY_VALUE ? io->loss : along;
    }
}

static void answer_all(ds_eval *io, double centre)
{
    for (uint64_t k = 0; k < io->queries; k++) {
        ds_eval_query *q = io->query[k];
        q->kind = q->op == DS_QUERY_VALUE ? DS_GRAD_NONE : DS_GRAD_FORWARD;
        if (q->channel == 0) {
            answer_residuals(io, q, centre);
        } else {
            answer_loss(io, q, centre);
        }
        BAD_ANSWER
    }
}
