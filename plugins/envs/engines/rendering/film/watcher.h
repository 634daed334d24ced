/* SPDX-License-Identifier: Apache-2.0 */
/* watcher.h - an environment whose loss is that of a watch: its channels, from two functions.
 *
 * The instance begins with a watcher; its ds_env_table has .channels = watcher_channels, .channel =
 * watcher_channel and .answer = watcher_answer. Channels: "residuals" with J v and J' w; where pictures are
 * compared, "pictures" and "target": images with the views below each other and the states side by side. */
#ifndef DS_ENGINES_FILM_WATCHER_H
#define DS_ENGINES_FILM_WATCHER_H

#include "engines/rendering/film/watch.h"

#include <diffsim/helper/env_kit.h>

typedef struct watcher {
    ds_env_kit kit; /* first */
    watch watch;
    /* Of the episode just simulated: out[watch_residuals()] = J v for a direction v of the variables, and
     * x_bar[n] = J' w. They may simulate again, and add what that costs to io->cost_steps. */
    ds_status (*forward)(void *self, ds_eval *io, const double *v, double *out);
    ds_status (*reverse)(void *self, ds_eval *io, const double *w, double *x_bar);
} watcher;

uint64_t watcher_channels(const void *self);
void watcher_channel(const void *self, uint64_t i, ds_channel *out);
ds_status watcher_answer(void *self, ds_eval *io, ds_eval_query *ask);

/* Does an evaluation need what a derivative backwards through its episode is made from? */
int watcher_reverses(const ds_eval *io);

/* Which of the objects of a table the target is. */
#define WATCHER_OBJECT_PARAM                                                                                 \
    DS_INT("object", "0", 0, 1000000000, "",                                                                 \
           "0: what is unknown is in the target as the parameters say it. K: it is drawn by this number, "   \
           "uniformly between the bounds of the variables, a tenth of their width away from each.")

/* Parameter `observe` of environments that can be compared by pictures and by states, and the PNG file
 * of targets. */
extern const char *const watcher_observes[];
#define WATCHER_PARAMS(observe_, state_)                                                                     \
    DS_ENUM("observe", observe_, watcher_observes,                                                           \
            "What is compared with the target. image: pictures, by their mean squared difference. state: "   \
            "" state_),                                                                                      \
        DS_PATH("target_image", "",                                                                          \
                "PNG file with the pictures of the target: cameras below each other, compared states side "  \
                "by side, or one column for all of them. Empty: drawn from the true parameters.")

#endif
