/* SPDX-License-Identifier: Apache-2.0 */
/* landscape.h - the loss and its gradient on a slice through the box of an environment: evaluated by the
 * worker pool, recorded like a run (landscape.sqlite), measured, described and drawn.
 *
 * Rows of the record have three values: x is the two coordinates on the slice and 0, or of a random point of
 * the box its number, 0 and 1; grad, where it was asked
 * for, the derivatives along both axes and the norm of the whole gradient in widths of the box.
 */
#ifndef DS_LANDSCAPE_LANDSCAPE_H
#define DS_LANDSCAPE_LANDSCAPE_H

#include <jansson.h>
#include <stddef.h>

#include "config/settings.h"

/* What is wanted besides the settings. */
typedef struct ds_landscape_request {
    const char *folder;
    const char *const *path; /* folders of runs that are drawn on the slice */
    size_t paths;
    const char *marks; /* table of points that are drawn on it; NULL: those of the folder */
    int text;          /* print the text for people on stdout, */
    int advise;        /* or of it only the verdict and what to do about it */
} ds_landscape_request;

/* Surveys a slice from settings [run], [env], [landscape] into a new folder. On return *summary (owned by the
 * caller) is NULL where nothing was measured. 0 or an exit status; 130 and 143: stopped by a signal, and
 * saved. */
int ds_landscape_start(const ds_settings *settings, const ds_landscape_request *q, json_t **summary,
                       ds_error *e);

/* Goes on with the landscape in a folder, or, where it is complete, measures and draws it again. `overrides`:
 * settings of [run] that do not change results. */
int ds_landscape_resume(const ds_settings *overrides, const ds_landscape_request *q, json_t **summary,
                        ds_error *e);

#endif
