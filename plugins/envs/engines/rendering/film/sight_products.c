/* SPDX-License-Identifier: Apache-2.0 */
/* sight_products.c - J v and J' w of the residuals of what cameras see of an episode, for environments that
 * simulate and adjoin by their table: J' w by the adjoint of the gradient, J v by differences of
 * second order. */
#include "engines/rendering/film/sight.h"

#include <math.h>
#include <string.h>

/* Longest change of a variable, as a share of half its bounds. Short: contacts begin and end everywhere. */
static const double share = 1e-8;

/* The episode at x once more, as evaluate() has it, with nothing else asked; scene: DS_WANT_SCENE where it is
 * the one that is looked at. grad: NULL, or where the derivatives go: of the loss, or with s->w of the
 * weighted residuals. What it costs is added to *io. */
static ds_status repeat(ds_env_kit *kit, ds_eval *io, const double *x, uint32_t scene, double *grad,
                        ds_eval *again)
{
    const uint64_t cost = kit->cost ? kit->cost : kit->steps;
    *again = (ds_eval){.want = (grad != NULL ? DS_WANT_GRAD : 0) | scene,
                       .n = io->n,
                       .x = x,
                       .noise_key = io->noise_key,
                       .grad = grad,
                       .outcome = DS_EVAL_OK,
                       .bad_step = -1,
                       .cost_steps = cost};
    ds_status status = kit->env->simulate(kit, again);
    const int sound = isfinite(again->loss) && again->outcome == DS_EVAL_OK;
    if (status == DS_OK && sound && grad != NULL && kit->env->adjoint != NULL) {
        status = kit->env->adjoint(kit, again);
        again->grad_kind = kit->grad_kind;
        again->cost_steps += kit->env->passes * cost;
    }
    io->cost_steps += again->cost_steps;
    io->outcome = sound ? io->outcome : DS_EVAL_BAD_GRAD;
    return status;
}

static ds_status reverse(sight *s, ds_env_kit *kit, ds_eval *io, ds_eval_query *ask)
{
    ds_eval again;
    s->w = ask->v;
    const ds_status status = repeat(kit, io, io->x, io->want & DS_WANT_SCENE, ask->out, &again);
    s->w = NULL;
    ask->kind = again.grad_kind;
    if (status != DS_OK || io->outcome != DS_EVAL_OK) {
        memset(ask->out, 0, ask->bytes);
    }
    return status;
}

/* ---- J v ---- */

typedef struct walk {
    double *x, *lower, *upper, *start; /* [n] */
    double *near;                      /* [residuals] */
} walk;

/* there = x + t v, and the residuals of its episode, which may have none. */
static ds_status residuals_at(const sight *s, ds_env_kit *kit, ds_eval *io, const double *v, double t,
                              const walk *there, double *out)
{
    ds_eval again;
    for (uint64_t i = 0; i < io->n; i++) {
        there->x[i] = io->x[i] + t * v[i];
    }
    const ds_status status = repeat(kit, io, there->x, 0, NULL, &again);
    film_residuals(s->film, out);
    return status;
}

/* The longest step along v. */
static double step_along(const ds_eval *io, const double *v, const walk *there)
{
    double largest = 0;
    for (uint64_t i = 0; i < io->n; i++) {
        largest = fmax(largest, fabs(v[i]) / (0.5 * (there->upper[i] - there->lower[i])));
    }
    return largest > 0 ? share / largest : 0;
}

/* Do x + t v and x + 2 t v lie between the bounds? */
static int is_inside(const ds_eval *io, const double *v, double t, const walk *there)
{
    for (uint64_t i = 0; i < io->n; i++) {
        const double x = io->x[i] + t * v[i];
        if (x < there->lower[i] || x > there->upper[i]) {
            return 0;
        }
    }
    return 1;
}

/* Central where both sides lie between the bounds, else from the side that does, as far as one does. */
static ds_status difference(const sight *s, ds_env_kit *kit, ds_eval *io, ds_eval_query *ask,
                            const walk *there)
{
    const size_t size = film_size(s->film);
    const double *v = ask->v;
    double *out = ask->out, t = step_along(io, v, there);
    if (!(t > 0)) {
        memset(out, 0, ask->bytes);
        return DS_OK;
    }
    const int central = is_inside(io, v, t, there) && is_inside(io, v, -t, there);
    t = central || is_inside(io, v, 2 * t, there) ? t : -t;
    ds_status status = central ? DS_OK : residuals_at(s, kit, io, v, 0, there, out);
    status = status != DS_OK ? status : residuals_at(s, kit, io, v, t, there, there->near);
    for (size_t k = 0; status == DS_OK && k < size; k++) {
        out[k] = central ? there->near[k] : 4 * there->near[k] - 3 * out[k];
    }
    status = status != DS_OK ? status : residuals_at(s, kit, io, v, central ? -t : 2 * t, there, there->near);
    for (size_t k = 0; status == DS_OK && k < size; k++) {
        out[k] = (out[k] - there->near[k]) / (2 * t);
    }
    return status;
}

static ds_status forward(const sight *s, ds_env_kit *kit, ds_eval *io, ds_eval_query *ask)
{
    ds_memory room = {0};
    walk there;
    ds_memory_each(&room, io->n,
                   (double **const[]){&there.x, &there.lower, &there.upper, &there.start, NULL});
    there.near = ds_memory_doubles(&room, film_size(s->film));
    ds_status status =
        room.failed ? DS_E_NOMEM : ds_env_kit_bounds(kit, io->n, there.lower, there.upper, there.start);
    status = status != DS_OK ? status : difference(s, kit, io, ask, &there);
    if (status == DS_OK && (io->want & DS_WANT_SCENE) != 0) { /* which is read later */
        ds_eval again;
        status = repeat(kit, io, io->x, DS_WANT_SCENE, NULL, &again);
    }
    ds_memory_free(&room);
    ask->kind = DS_GRAD_FD;
    return status;
}

/* ---- channels ---- */

uint64_t sight_channels(const sight *s)
{
    return s->wanted ? FILM_CHANNELS : 0;
}

void sight_channel(const sight *s, const ds_env_kit *kit, uint64_t i, ds_channel *out)
{
    const int partial = s->partial || kit->hybrid.l1 > 0 || kit->hybrid.l2 > 0;
    const uint32_t reverse_only = DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JTV);
    const uint32_t ops = s->single ? reverse_only : reverse_only | DS_CAN(DS_QUERY_JV);
    film_describe(s->film, i, partial ? DS_CAN(DS_QUERY_VALUE) : ops, out);
    if (i == FILM_RESIDUALS && partial) {
        out->role = DS_CHANNEL_STATE;
        out->doc = "Differences from the target, scaled so that their squares add up to what pictures have "
                   "in the loss.";
    }
}

ds_status sight_answer(sight *s, ds_env_kit *kit, ds_eval *io, ds_eval_query *ask)
{
    if (ask->op == DS_QUERY_VALUE) {
        film_answer(s->film, ask->channel, ask->out);
        return DS_OK;
    }
    return ask->op == DS_QUERY_JV ? forward(s, kit, io, ask) : reverse(s, kit, io, ask);
}
