/* SPDX-License-Identifier: Apache-2.0 */
/* answer.h - the result of one evaluation: the same struct in the slot of a worker, in the journal of a run
 * and in the row of its store. */
#ifndef DS_BASE_ANSWER_H
#define DS_BASE_ANSWER_H

#include <stdint.h>

typedef struct ds_answer {
    double loss;        /* finite, or +INFINITY where there is none */
    uint32_t outcome;   /* DS_EVAL_* */
    uint32_t grad_kind; /* DS_GRAD_*: of the gradient, or of a product without a gradient */
    int64_t bad_step;
    uint64_t cost_steps;
    double wall_s;         /* seconds inside the plugin */
    uint32_t product_kind; /* DS_GRAD_* of the product; not recorded, as products are not */
    uint32_t reserved;
    char message[200]; /* why it failed; "" otherwise */
} ds_answer;

/* The most steps that an evaluation may report: every number up to this is exact as a double. */
#define DS_COST_MAX ((uint64_t)1 << 53)

static inline uint64_t ds_cost_of(uint64_t said)
{
    return said < DS_COST_MAX ? said : DS_COST_MAX;
}

/* A sum of steps, saturated at what stores and JSON can hold. */
static inline uint64_t ds_cost_sum(uint64_t a, uint64_t b)
{
    const uint64_t most = INT64_MAX;
    a = a < most ? a : most;
    return b < most - a ? a + b : most;
}

#endif
