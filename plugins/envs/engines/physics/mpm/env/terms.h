/* SPDX-License-Identifier: Apache-2.0 */
/* terms.h - terms of the loss of a scene, in addition to its target: where the centre of mass of a body is,
 * how high it is, and whether the body is in a region. */
#ifndef MPM_TERMS_H
#define MPM_TERMS_H

#include "engines/physics/mpm/env/episode.h"

#include <diffsim/helper/scene_kit.h>

/* center: the distance of the centre of mass to a point or a tool, m. height: what the centre of mass lacks
 * to a height, or is above it, m. region: the mean over the particles of the squared distance to a region, 0
 * inside, m^2. */
enum { MPM_TERM_CENTER = 0, MPM_TERM_HEIGHT = 1, MPM_TERM_REGION = 2, MPM_MAX_TERMS = 8 };

typedef struct mpm_term {
    const char *name; /* of the file */
    uint32_t kind, body;
    double weight;
    bool along[3]; /* center: the axes that count */
    bool to_tool;  /* center: to tool number `tool`, else to `position` */
    uint32_t tool;
    double position[3];
    double height; /* height: the centre must be above, or `below` it */
    bool below;
    mpm_tool region; /* region: its shape, at region.start */
} mpm_term;

typedef struct mpm_terms {
    uint32_t count;
    mpm_term term[MPM_MAX_TERMS];
} mpm_terms;

/* The terms in an episode. */
typedef struct mpm_terms_run {
    const mpm_terms *terms;
    mpm_episode *episode;
    uint32_t n_bodies, n_tools;
    uint32_t first[MPM_MAX_BODIES], count[MPM_MAX_BODIES]; /* particles of the bodies */
} mpm_terms_run;

/* Makes the sum of the terms, and of the loss of the target where the episode has one, the loss of an episode
 * that mpm_episode_init() will fill; `run` must outlive it. total: see mpm_body_count(). */
void mpm_terms_goal(mpm_terms_run *run, const mpm_terms *terms, mpm_episode *e, const mpm_scene *scene,
                    const mpm_domain *domain, uint32_t total, mpm_goal *goal);

/* Metrics of a scene with terms: the centres of the bodies, the positions of the tools, the terms without
 * their weights, the loss of the state; the largest speed of a particle, the least and largest relative
 * volume (det F). Adds them; names live in `memory`. */
enum { MPM_TERM_METRICS = 3 * (MPM_MAX_BODIES + MPM_MAX_TOOLS) + MPM_MAX_TERMS + 4 };
void mpm_terms_metrics(const mpm_terms_run *run, const char *const *body_names, const char *const *tool_names,
                       ds_scene_kit *s, ds_memory *memory);
/* Writes their values, at most MPM_TERM_METRICS. */
void mpm_terms_measure(mpm_terms_run *run, const mpm_particle *particles, const mpm_pose *poses, double *out);

#endif
