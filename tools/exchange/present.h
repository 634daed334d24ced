/* SPDX-License-Identifier: Apache-2.0 */
/* present.h - a scene without the elements that are nowhere when it begins: particles, vertices and rigid
 * copies whose numbers in the first kept frame are not finite, and cells that need them. */
#ifndef DS_EXCHANGE_PRESENT_H
#define DS_EXCHANGE_PRESENT_H

#include "snapshot/snapshot.h"

typedef struct ds_present {
    /* of the bodies that are left; what has not changed is shared with the scene it comes from */
    ds_snapshot scene;
    uint32_t **element; /* of each body: the numbers that its elements had; NULL = they are the same */
    uint64_t missing;   /* elements that were left out */
    const ds_snapshot *from;
    double **data; /* of each body, what is not shared; NULL = it is */
    uint32_t **index;
} ds_present;

/* DS_EXIT_MEMORY on failure; *out is to be cleared in any case. `from` has to stay, and has a kept frame. */
int ds_present_make(const ds_snapshot *from, ds_present *out, ds_error *e);
void ds_present_clear(ds_present *p);

#endif
