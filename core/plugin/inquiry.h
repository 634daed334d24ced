/* SPDX-License-Identifier: Apache-2.0 */
/* inquiry.h - questions about channels as a plugin gets them, and their answers made safe. */
#ifndef DS_PLUGIN_INQUIRY_H
#define DS_PLUGIN_INQUIRY_H

#include "base/answer.h"
#include "plugin/channels.h"

/* The questions about one row and their numbers: `in` as laid out, `out` to be filled. */
typedef struct ds_inquiry {
    const ds_asks *asks;
    const double *in;
    void *out;
} ds_inquiry;

/* The questions as a plugin gets them. */
void ds_inquiry_open(const ds_inquiry *q, ds_ask ask[DS_MAX_ASKS], ds_ask *list[DS_MAX_ASKS]);

/* Tests what the plugin has answered beside a loss; `out` is zeroed as far as there is no answer. */
void ds_inquiry_check(const ds_channels *channels, const ds_inquiry *q, const ds_ask ask[DS_MAX_ASKS],
                      ds_answer *answer);

#endif
