/* SPDX-License-Identifier: Apache-2.0 */
/* past_answer - writes one number behind an answer. */
#define BAD_ID "past_answer"
#define BAD_ANSWER ((double *)q->out)[q->bytes / 8] = 0;
#include "channel_base.h"

#include "env_base.h"
