/* SPDX-License-Identifier: Apache-2.0 */
/* What cameras see of some of the particles as the loss of an episode: film/sight.h for the particles of a
 * simulation. */
#ifndef MPM_IMAGE_H
#define MPM_IMAGE_H

#include "engines/rendering/film/sight.h"
#include "episode.h"

typedef struct mpm_image {
    sight sight;
    uint32_t first, count; /* the particles that are seen */
    uint32_t shown;        /* step of the state that was drawn last */
} mpm_image;

/* The loss, for an episode of these modes; `image` must outlive it. Sets nothing where sight.wanted is
 * not set. */
void mpm_image_goal(mpm_image *image, mpm_goal *goal, mpm_episode_spec *spec);

/* What the cameras see of particles first .. first + count - 1 of an episode that has been made, and of its
 * target: a cloud of points. sight.radius is not 0 any more. A failure is said to the host. */
ds_status mpm_image_open(mpm_image *image, const mpm_episode *e, uint32_t first, uint32_t count,
                         sight_points target, const ds_host *host);

#endif
