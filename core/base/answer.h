/* SPDX-License-Identifier: Apache-2.0 */
/* answer.h - the answer of one evaluation: the same struct in the slot of a worker, in the journal of a
 * run and in the row of its store. */
#ifndef DS_BASE_ANSWER_H
#define DS_BASE_ANSWER_H

#include <stdint.h>

typedef struct ds_answer {
    double loss;        /* finite, or +INFINITY where there is none */
    uint32_t outcome;   /* DS_EVAL_* */
    uint32_t grad_kind; /* DS_GRAD_*: of the gradient, or of a product where no gradient was wanted */
    int64_t bad_step;
    uint64_t cost_steps;
    double wall_s;         /* seconds inside the plugin */
    uint32_t product_kind; /* DS_GRAD_*: of the product; not recorded, as products are not */
    uint32_t reserved;
    char message[200]; /* why it failed; "" otherwise */
} ds_answer;

#endif
