/* SPDX-License-Identifier: Apache-2.0 */
/* check_asks.h - the channels of the watching objective, and what an optimizer asks about them. */
#ifndef DS_HARNESS_CHECK_ASKS_H
#define DS_HARNESS_CHECK_ASKS_H

#include "harness/check_watch.h"
#include "evaluate/request.h"

/* Fills the channels of a search that has residuals: the point itself, of which values can be had,
 * and the residuals. They are not the first ones: an optimizer has to look for their role. 0
 * without memory (recorded). */
int ds_check_asks_offer(ds_check_watch *w);

/* Are the questions of a request, whose rows have been looked at, what the contract says? They are kept in
 * w->asks. 0 = no, and the breach is recorded. */
int ds_check_asks_sound(ds_check_watch *w, const ds_request *b);

/* Answers the questions about row r of such a batch, and counts them. */
void ds_check_asks_answer(ds_check_watch *w, const ds_request *b, uint64_t r, uint32_t outcome);

#endif
