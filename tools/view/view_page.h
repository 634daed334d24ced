/* SPDX-License-Identifier: Apache-2.0 */
/* view_page.h - episodes as one interactive HTML page: no file beside it and no network is needed. */
#ifndef DS_VIEW_VIEW_PAGE_H
#define DS_VIEW_VIEW_PAGE_H

#include <stdio.h>

#include "view/view.h"

/* The writer of .html. A script in the page draws the episodes side by side with WebGL and plays them in
 * step; where it cannot, a still picture of each is shown with a sentence. A Content-Security-Policy lets
 * that one script run, by its SHA-256, and nothing be loaded; whatever episodes are called is text.
 * docs/view.md tells the format. */
ds_view_write ds_view_page;

/* The same to a stream; the caller looks whether all of it has arrived. */
int ds_view_page_put(FILE *f, const ds_view_episodes *episodes, ds_error *e);

#endif
