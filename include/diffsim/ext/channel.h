/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/ext/channel.h - what an evaluation returns besides its loss: environment extension
 * "ds.env.channels/1", and what the host makes of it for optimizers, "ds.objective.channels/1".
 *
 * Purpose: residuals of a fit, constraints, several objectives, images of a renderer, states to compare with
 * recordings; and their derivatives, without an interface for each.
 *
 * Scenario: an environment fits four parameters to a recording. It lists one channel, "error", of role
 * DS_CHANNEL_RESIDUAL with 300 elements and the operations value, J v and J' v. An optimizer for least
 * squares finds that role among the channels of the objective. It requests the values and J v with each unit
 * vector, one row for each column of J. An optimizer that uses gradients alone ignores the channel. The query
 * for the values at one point:
 *
 *     double r[300], loss;
 *     uint64_t done;
 *     const ds_query query = {.struct_size = sizeof query, .op = DS_QUERY_VALUE, .channel = 0};
 *     const ds_query *queries[] = {&query};
 *     const ds_reply reply = {.struct_size = sizeof reply, .out = r, .stride = sizeof r, .bytes = sizeof r};
 *     const ds_reply *replies[] = {&reply};
 *     const ds_rows rows = {.struct_size = sizeof rows, .count = 1, .n = 4, .stride = 4, .x = x,
 *                           .queries = 1, .query = queries};
 *     const ds_results results = {.struct_size = sizeof results, .loss = &loss, .reply = replies};
 *     status = objective->evaluate(objective, &rows, NULL, &results, &done);
 *
 * Rules for the environment:
 *   - The channels, their shapes and their operations do not change during the life of an instance.
 *   - evaluate() answers the queries of a table from the same episodes that give the losses, and reports in
 *     ds_reply.kind how it computed a product. Queries do not change the loss: it has the same bits with and
 *     without them. The elements of a row that has a loss are finite; where a product is not finite, the
 *     outcome is DS_EVAL_BAD_GRAD.
 *   - J v, J' v and H v are derivatives of the values: for all v and w, w . (J v) = (J' w) . v up to
 *     round-off.
 *   - The host sends only operations that the channel lists.
 * Rules for the optimizer:
 *   - A row costs one evaluation of the budget, with any number of values and at most one product.
 *   - The host refuses an operation that the channel does not list with DS_E_ARG.
 *   - The reply of a row that failed is zeros; its outcome says so.
 * Rules for the host: it records values with the row (a resumed run reads them); it does not record products
 * and computes them again.
 */
#ifndef DIFFSIM_EXT_CHANNEL_H
#define DIFFSIM_EXT_CHANNEL_H

#include <diffsim/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DS_EXT_CHANNELS "ds.env.channels/1"
#define DS_EXT_OBJECTIVE_CHANNELS "ds.objective.channels/1"

/* What a channel means. */
enum {
    DS_CHANNEL_RESIDUAL = 1,   /* r with loss = sum of r_i^2, the whole loss: at most one channel. The
                                * gradient of the loss is 2 J' r. A penalty c |x|^2 is n more residuals,
                                * sqrt(c) x_i */
    DS_CHANNEL_CONSTRAINT = 2, /* every element should lie in [lower, upper]; the loss ignores that */
    DS_CHANNEL_OBJECTIVE = 3,  /* another loss, to be minimised, per element */
    DS_CHANNEL_IMAGE = 4, /* height x width (x colours) pixels, 0..1, or 0..255 for U8; first row on top */
    DS_CHANNEL_STATE = 5, /* observed state of the simulation: positions, a recording, a field */
    DS_CHANNEL_LOSS = 6   /* the loss itself, one element: for its J v and H v. At most one channel */
};

/* Type of the elements. Vectors of products (ds_query.v, ds_query.w, and the replies to JV, JTV, HV) are
 * always doubles. */
enum { DS_TYPE_F64 = 1, DS_TYPE_F32 = 2, DS_TYPE_U8 = 3 };

/* Bit of an operation DS_QUERY_* in ds_channel.ops. Every channel has at least DS_CAN(DS_QUERY_VALUE). */
#define DS_CAN(op) (1u << (op))

/* One channel. Filled by the environment, or by the host for an optimizer. */
typedef struct ds_channel {
    uint32_t struct_size; /* set by the caller of describe() */
    uint32_t role;        /* DS_CHANNEL_* */
    uint32_t type;        /* DS_TYPE_* */
    uint32_t ops;         /* DS_CAN(DS_QUERY_VALUE) | ... */
    uint32_t ndim;        /* 0 = a single number */
    uint32_t reserved;
    uint64_t shape[8]; /* C order, each at least 1; their product, at most DS_MAX_ELEMENTS, is the number of
                        * elements */
    /* CONSTRAINT: range that every element should have; -INFINITY and INFINITY = no limit, equal limits = an
     * equation. Else -INFINITY and INFINITY, which the caller presets. */
    double lower, upper;
    const char *name; /* [a-z][a-z0-9_]{0,46}, unique in the environment; valid until destroy() */
    const char *unit; /* "m", "N"; "" for a pure number */
    const char *doc;  /* one sentence */
} ds_channel;
#define DS_CHANNEL_SIZE_1_0 DS_SIZE_WITH(ds_channel, doc)

/* The table that get_extension() of an environment returns. */
typedef struct ds_env_channels {
    uint32_t struct_size;
    uint32_t reserved;

    /* [instance] Writes the number of channels, 1 .. DS_MAX_CHANNELS. */
    ds_status(DS_CALL *count)(void *self, uint64_t *count);

    /* [instance] Fills the fields of channel i = 0 .. count - 1 that fit into out->struct_size. */
    ds_status(DS_CALL *describe)(void *self, uint64_t i, ds_channel *out);
} ds_env_channels;
#define DS_ENV_CHANNELS_SIZE_1_0 DS_SIZE_WITH(ds_env_channels, describe)

/* objective->get_extension(objective, DS_EXT_OBJECTIVE_CHANNELS), valid during run(); NULL where the
 * environment has no channels. */
typedef struct ds_objective_channels {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t count;
    const ds_channel *const *channel; /* `count` pointers; the index is the number of the channel */
} ds_objective_channels;
#define DS_OBJECTIVE_CHANNELS_SIZE_1_0 DS_SIZE_WITH(ds_objective_channels, channel)

/* Number of elements of a channel: the product of its shape. */
static inline uint64_t ds_channel_elements(const ds_channel *c)
{
    uint64_t elements = 1;
    for (uint32_t i = 0; i < c->ndim; i++) {
        elements *= c->shape[i];
    }
    return elements;
}

/* ds_reply.bytes of an operation on the channel, with n variables; 0 for an unknown operation. */
static inline uint64_t ds_channel_bytes(const ds_channel *c, uint32_t op, uint64_t n)
{
    const uint64_t each = c->type == DS_TYPE_U8 ? 1u : c->type == DS_TYPE_F32 ? 4u : 8u;
    return op == DS_QUERY_VALUE                      ? each * ds_channel_elements(c)
           : op == DS_QUERY_JV                       ? 8u * ds_channel_elements(c)
           : op == DS_QUERY_JTV || op == DS_QUERY_HV ? 8u * n
                                                     : 0;
}

#ifdef __cplusplus
}
#endif
#endif
