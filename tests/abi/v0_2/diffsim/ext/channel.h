/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/ext/channel.h - what an evaluation can say besides its loss: environment extension
 * "ds.env.channels/1", and what the host makes of it for optimizers, "ds.objective.channels/1".
 *
 * What for: residuals of a fit, constraints, several objectives, images of a renderer, states that are
 * compared with recordings; and their derivatives, without one interface for each.
 *
 * Scenario: an environment that fits four parameters to a recording lists one channel, "error", of role
 * DS_CHANNEL_RESIDUAL with 300 elements, which can be asked for their values, for J v and for J' v. An
 * optimizer for least squares looks for that role among the channels of the objective and asks, in one
 * batch for all columns, for J v with each unit vector. Another one that only knows gradients sees nothing
 * of it.
 *
 *     double r[300];
 *     ds_ask ask = {.struct_size = sizeof ask, .op = DS_ASK_VALUE, .channel = 0, .out = r,
 *                   .out_bytes = sizeof r};
 *     ds_ask *asks[] = {&ask};
 *     ds_batch b = {.struct_size = sizeof b, .count = 1, .x = x, .loss = &loss, .asks = 1, .ask = asks};
 *     objective->evaluate(objective, &b);
 *
 * Rules for the environment:
 *   - The channels, their shapes and their operations are the same for the whole life of an instance.
 *   - evaluate() answers all questions of ds_eval.ask about the episode that it simulates anyway, and says in
 *     ds_ask.kind how it made a product. The loss is the same to the last bit whatever is asked. Elements of
 *     a successful evaluation are finite; where a product is not, the outcome is DS_EVAL_BAD_GRAD.
 *   - J v, J' v and H v belong to the values: for all v and w, w . (J v) = (J' w) . v up to round-off.
 *   - It is asked only for operations that its channel lists.
 * Rules for the optimizer:
 *   - A row costs one evaluation of the budget, with as many values as it likes and at most one product.
 *   - Only operations that the channel lists: others are refused with DS_E_ARG.
 *   - What a row without an answer holds is zeros; its outcome tells.
 * Rules for the host: values are recorded with the row (a resumed run reads them), products are not (they are
 * computed again).
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
    DS_CHANNEL_RESIDUAL = 1,   /* r with loss = sum of r_i^2, in full: at most one channel. The gradient of
                                * the loss is 2 J' r; a term that is no square, c |x|^2, is more residuals,
                                * sqrt(c) x_i */
    DS_CHANNEL_CONSTRAINT = 2, /* every element is allowed to lie in [lower, upper]; the loss ignores that */
    DS_CHANNEL_OBJECTIVE = 3,  /* another loss, to be minimised, per element */
    DS_CHANNEL_IMAGE = 4, /* height x width (x colours) pixels, 0..1, or 0..255 for U8; first row on top */
    DS_CHANNEL_STATE = 5, /* what is observed of the simulation: positions, a recording, a field */
    DS_CHANNEL_LOSS = 6   /* the loss itself, one element: for its J v and H v. At most one channel */
};

/* What the elements are. Vectors of products (ds_ask.v, w, and the answers of JV,
 * JTV, HV) are always doubles. */
enum { DS_TYPE_F64 = 1, DS_TYPE_F32 = 2, DS_TYPE_U8 = 3 };

/* ds_channel.ops: bit of an operation DS_ASK_*. Every channel has at least DS_CAN(DS_ASK_VALUE). */
#define DS_CAN(op) (1u << (op))

/* One channel. Filled by the environment, or by the host for an optimizer. */
typedef struct ds_channel {
    uint32_t struct_size; /* set by the caller of describe() */
    uint32_t role;        /* DS_CHANNEL_* */
    uint32_t type;        /* DS_TYPE_* */
    uint32_t ops;         /* DS_CAN(DS_ASK_VALUE) | ... */
    uint32_t ndim;        /* 0 = a single number */
    uint32_t reserved;
    uint64_t shape[8]; /* C order, each at least 1; their product are the elements, at most DS_MAX_ELEMENTS */
    /* CONSTRAINT: where an element is allowed to be, -INFINITY and INFINITY = no limit; equal for an
     * equation. Else -INFINITY and INFINITY, which are set before the call. */
    double lower, upper;
    const char *name; /* [a-z][a-z0-9_]{0,46}, unique in the environment; valid until destroy() */
    const char *unit; /* "m", "N"; "" for a pure number */
    const char *doc;  /* one sentence */
    DS_GROWN
} ds_channel;
#define DS_CHANNEL_SIZE_1_0 DS_SIZE_WITH(ds_channel, doc)

/* The environment's side: the table that its get_extension() returns. */
typedef struct ds_env_channels {
    uint32_t struct_size;
    uint32_t reserved;

    /* [instance] How many channels this instance has, 1 .. DS_MAX_CHANNELS. */
    ds_status(DS_CALL *count)(void *self, uint64_t *count);

    /* [instance] Fills the fields of channel i = 0 .. count - 1 that fit into out->struct_size. */
    ds_status(DS_CALL *describe)(void *self, uint64_t i, ds_channel *out);
    DS_GROWN
} ds_env_channels;
#define DS_ENV_CHANNELS_SIZE_1_0 DS_SIZE_WITH(ds_env_channels, describe)

/* The optimizer's side: objective->get_extension(objective, DS_EXT_OBJECTIVE_CHANNELS), valid during
 * run(); NULL where the environment has no channels. */
typedef struct ds_objective_channels {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t count;
    const ds_channel *const *channel; /* `count` of them, by their numbers */
    DS_GROWN
} ds_objective_channels;
#define DS_OBJECTIVE_CHANNELS_SIZE_1_0 DS_SIZE_WITH(ds_objective_channels, channel)

/* Elements of a channel: the product of its shape. */
static inline uint64_t ds_channel_elements(const ds_channel *c)
{
    uint64_t elements = 1;
    for (uint32_t i = 0; i < c->ndim; i++) {
        elements *= c->shape[i];
    }
    return elements;
}

/* Bytes that the answer to an operation on the channel takes, with n variables; 0 for an unknown one. */
static inline uint64_t ds_channel_bytes(const ds_channel *c, uint32_t op, uint64_t n)
{
    const uint64_t each = c->type == DS_TYPE_U8 ? 1u : c->type == DS_TYPE_F32 ? 4u : 8u;
    return op == DS_ASK_VALUE                    ? each * ds_channel_elements(c)
           : op == DS_ASK_JV                     ? 8u * ds_channel_elements(c)
           : op == DS_ASK_JTV || op == DS_ASK_HV ? 8u * n
                                                 : 0;
}

#ifdef __cplusplus
}
#endif
#endif
