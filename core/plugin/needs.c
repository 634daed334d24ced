/* SPDX-License-Identifier: Apache-2.0 */
/* needs.c - see needs.h. */
#include "config.h"

#include "plugin/needs.h"

#include <diffsim/ext/channel.h>
#include <string.h>

#include "plugin/descriptor.h"

static const char other_plugin[] = "take another optimizer, or an environment that has it";

ds_offer ds_offer_of_env(const ds_desc *env)
{
    return (ds_offer){.who = env->id,
                      .gradient = (env->flags & DS_ENV_GRADIENT) != 0,
                      .residuals = ds_desc_offers(env, DS_EXT_CHANNELS),
                      .episodes = ds_desc_offers(env, DS_EXT_STEPS),
                      .episode_gradients = ds_desc_offers(env, DS_EXT_STEPS_GRADIENT),
                      .extensions = env->extensions,
                      .advice = other_plugin};
}

ds_offer ds_offer_of_instance(const ds_desc *env, const ds_env_facts *facts)
{
    ds_offer o = ds_offer_of_env(env);
    o.gradient = facts->has_gradient;
    o.residuals = ds_channels_residuals(facts->channels) > 0;
    o.episodes = facts->steps.horizon > 0;
    o.episode_gradients = facts->steps_gradient != 0;
    return o;
}

static int offers(const ds_offer *o, const char *id)
{
    const char *const *at = o->extensions;
    if (strcmp(id, DS_HAS_GRADIENT) == 0) {
        return o->gradient;
    }
    if (strcmp(id, DS_HAS_RESIDUALS) == 0) {
        return o->residuals;
    }
    if (strcmp(id, DS_EXT_STEPS) == 0) {
        return o->episodes;
    }
    if (strcmp(id, DS_EXT_STEPS_GRADIENT) == 0) {
        return o->episode_gradients;
    }
    while (at != NULL && *at != NULL && strcmp(*at, id) != 0) {
        at++;
    }
    return at != NULL && *at != NULL;
}

const char *ds_need_unmet(const ds_desc *d, const ds_offer *o)
{
    const char *const *need = d->needs;
    while (need != NULL && *need != NULL && offers(o, *need)) {
        need++;
    }
    return need != NULL ? *need : NULL;
}

const char *ds_need_words(const char *id)
{
    return strcmp(id, DS_HAS_GRADIENT) == 0         ? "gradients"
           : strcmp(id, DS_HAS_RESIDUALS) == 0      ? "residuals"
           : strcmp(id, DS_EXT_STEPS) == 0          ? "stepwise control"
           : strcmp(id, DS_EXT_STEPS_GRADIENT) == 0 ? "gradients of stepwise control"
                                                    : id;
}

int ds_need_check(const ds_desc *d, const ds_offer *o, ds_error *e)
{
    const char *id = ds_need_unmet(d, o);
    return id == NULL ? 0
                      : ds_fail(e, DS_EXIT_PLUGIN, "%s needs %.80s, which %s does not have; %s", d->id,
                                ds_need_words(id), o->who, o->advice);
}

int ds_need_process(const ds_desc *env, const char *who, const char *advice, ds_error *e)
{
    return (env->flags & DS_ENV_OWN_PROCESS) == 0
               ? 0
               : ds_fail(e, DS_EXIT_PLUGIN,
                         "%s needs a process of its own for each instance, which %s does not give; %s",
                         env->id, who, advice);
}
