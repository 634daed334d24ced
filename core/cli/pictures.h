/* SPDX-License-Identifier: Apache-2.0 */
/* pictures.h - the pictures of a run, drawn by dshost-picture, a process of its own: a run neither waits
 * for them while it goes on, nor can they harm it. */
#ifndef DS_CLI_PICTURES_H
#define DS_CLI_PICTURES_H

#include "run/journal.h"

/* Starts dshost-picture for best.png now and then, and for all pictures and best.html at the end, for which
 * it waits. Failures are warnings on stderr. Of one run at a time. */
extern const ds_observer ds_pictures;

#endif
