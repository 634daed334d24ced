/* SPDX-License-Identifier: Apache-2.0 */
/* pictures.h - the images of a run, drawn by dshost-picture in a process of its own: a running run neither
 * waits for them nor can they harm it. */
#ifndef DS_CLI_PICTURES_H
#define DS_CLI_PICTURES_H

#include "run/journal.h"

/* Starts dshost-picture for best.png now and then, and at the end for all images and best.html, for which it
 * waits. Failures are warnings on stderr. Serves one run at a time. */
extern const ds_observer ds_pictures;

#endif
