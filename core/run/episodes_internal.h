/* SPDX-License-Identifier: Apache-2.0 */
/* episodes_internal.h - the open episodes of a run, and those that are kept for derivatives: what episodes.c
 * and episodes_back.c share. */
#ifndef DS_RUN_EPISODES_INTERNAL_H
#define DS_RUN_EPISODES_INTERNAL_H

#include <diffsim/ext/draft/steps_gradient.h>
#include <stdio.h>
#include <stdlib.h>

#include "run/objective.h"

/* An episode: begun, and not yet recorded, or kept. */
typedef struct episode {
    struct episode *next; /* in the order of their numbers */
    uint64_t id, lane, key;
    uint64_t t; /* steps taken */
    int over;   /* waits to be recorded */
    int stored; /* answered from the store, which holds `steps` steps */
    uint64_t steps;
    uint32_t ended;   /* DS_STEPS_*: of the last step, or of the end of a stored one */
    ds_answer answer; /* of the episode */
    double *x, *obs, *reward;
    uint64_t group;
    char tag[DS_MAX_TAG + 1];
    /* Derivatives. */
    int recorded;       /* and there for them alone */
    uint64_t present;   /* stored: steps to which a worker was brought; 0 = none */
    uint64_t back;      /* step that the sweep has gone back over last; UINT64_MAX = there is none */
    uint32_t back_fail; /* DS_EVAL_* of a sweep that gives no more */
    double *bars;       /* of the sweep: for each step the adjoints of reward and observation */
} episode;

typedef struct ds_run_episodes {
    ds_objective_steps table;
    ds_objective_steps_gradient gradients;
    ds_steps_info info;
    uint64_t lanes;
    episode *first, *last;
    episode **lane; /* `lanes` of them, as of all that follow */
    /* Of one call. */
    unsigned char *named; /* lanes; zeros between calls */
    ds_lane_step *step;
    uint64_t *row;
    int warned;
    /* Of an optimizer that has asked for derivatives: the last episode of each lane. */
    int keeps;
    episode **kept;
    ds_lane_back *back; /* of one call */
    double *seen;       /* n_obs values: the observation of an episode that is made again */
} ds_run_episodes;

static inline ds_status ds_episodes_refuse(const ds_client *c, const char *function, const char *text)
{
    char name[40];
    snprintf(name, sizeof(name), "%s() of episodes", function);
    return ds_journal_refuse(c->journal, name, text);
}

static inline void ds_episode_discard(episode *ep)
{
    if (ep != NULL) {
        free(ep->x);
        free(ep->bars);
        free(ep);
    }
}

/* ---- episodes_back.c ---- */

/* Tests that `count` lanes are lanes, and different ones; else says so in the name of `function`. */
ds_status ds_episodes_check_lanes(const ds_client *c, const char *function, const uint64_t *lane,
                                  uint64_t count);

/* The extension, from which on episodes are kept; NULL without memory. */
const ds_objective_steps_gradient *ds_episodes_gradients(ds_client *c);

/* An episode begins in its lane, in place of the one that was kept. */
void ds_episodes_keep(ds_run_episodes *s, episode *ep);

/* Those that are recorded go, the others wait for that. */
void ds_episodes_forget(ds_run_episodes *s);

#endif
