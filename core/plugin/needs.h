/* SPDX-License-Identifier: Apache-2.0 */
/* needs.h - does one side offer what the other cannot do without (ds_desc.needs)? */
#ifndef DS_PLUGIN_NEEDS_H
#define DS_PLUGIN_NEEDS_H

#include "plugin/instance.h"

/* What somebody offers. */
typedef struct ds_offer {
    const char *who;               /* "torus" */
    int gradient;                  /* DS_HAS_GRADIENT */
    int residuals;                 /* DS_HAS_RESIDUALS */
    int episodes;                  /* DS_EXT_STEPS */
    int episode_gradients;         /* DS_EXT_STEPS_GRADIENT */
    const char *const *extensions; /* any other id, NULL-terminated; may be NULL */
    const char *advice;            /* what to do without it */
} ds_offer;

/* What an environment offers to optimizers: as its descriptor says, which may be more than an instance does,
 * and with the parameters of an instance. */
ds_offer ds_offer_of_env(const ds_desc *env);
ds_offer ds_offer_of_instance(const ds_desc *env, const ds_env_facts *facts);

/* The first need that is not met, or NULL; an id that nobody here knows is one. */
const char *ds_need_unmet(const ds_desc *d, const ds_offer *o);

/* A need in words, "gradients"; the id itself where there are none. */
const char *ds_need_words(const char *id);

/* DS_EXIT_PLUGIN and one line where a need is not met. */
int ds_need_check(const ds_desc *d, const ds_offer *o, ds_error *e);

/* The same where an instance of the environment wants a process to itself (DS_ENV_OWN_PROCESS), which `who`
 * does not give. */
int ds_need_process(const ds_desc *env, const char *who, const char *advice, ds_error *e);

#endif
