/* SPDX-License-Identifier: Apache-2.0 */
/* opening.h - the first lines of ds_adapter_query() in every adapter. */
#ifndef DS_ADAPTERS_OPENING_H
#define DS_ADAPTERS_OPENING_H

#include <diffsim/adapter.h>
#include <stddef.h>

/* Is the request one that we know? *why and *room: where its message goes, `none` if the host wants none. */
static inline int adapter_opens(const ds_adapter_request *q, char none[8], char **why, size_t *room)
{
    const int told = q->struct_size >= DS_ADAPTER_REQUEST_SIZE_1_0 && q->error != NULL && q->room > 0;
    *why = told ? q->error : none;
    *room = told ? (size_t)q->room : 8;
    return q->struct_size >= DS_ADAPTER_REQUEST_SIZE_1_0;
}

#endif
