/* SPDX-License-Identifier: Apache-2.0 */
/* batch_contract.h - what an optimizer may ask for: the rules of a batch of ds_objective.evaluate(). */
#ifndef DS_EVALUATE_BATCH_CONTRACT_H
#define DS_EVALUATE_BATCH_CONTRACT_H

#include <diffsim/optimizer.h>

enum { DS_BATCH_TEXT = 300 };

/* 1 where the batch keeps the rules for a problem, else 0 and what is wrong in `text`. */
int ds_batch_allowed(const ds_batch *b, const ds_problem *problem, char text[DS_BATCH_TEXT]);

#endif
