/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/episode.h - the short way to an environment with channels (diffsim/ext/channel.h) or noise,
 * in C: residuals, constraints, images, what is observed.
 *
 * Header only, no part of the binary interface. As DS_SIMPLE_ENV of diffsim/helper/simple.h, with a list of
 * channels and a function that writes them. A whole environment, two residuals of a fit:
 *
 *     #include <diffsim/helper/episode.h>
 *
 *     static const ds_channel *const channels[] = {DS_RESIDUALS("miss", 2, "m", "Of the valley."), NULL};
 *
 *     static double loss(const ds_simple_episode *e)
 *     {
 *         double *r = e->channel[0].value, *J = e->channel[0].jacobian;
 *         r[0] = 10 * (e->x[1] - e->x[0] * e->x[0]);
 *         r[1] = 1 - e->x[0];
 *         J[0] = -20 * e->x[0];
 *         J[1] = 10;
 *         J[2] = -1;
 *         J[3] = 0;
 *         return ds_simple_squares(e, 0, 2);
 *     }
 *
 *     DS_SIMPLE_EPISODE("valley", "Rosenbrock's.", NULL, DS_ENV_GRADIENT, 2, -2, 2, -1, channels, loss)
 *
 * Another one, with a constraint and a picture of what is observed, and no gradient:
 *
 *     #include <diffsim/helper/episode.h>
 *
 *     enum { SIZE = 16 };
 *     static const ds_channel *const channels[] = {
 *         DS_CONSTRAINTS("distance", 1, 0.25, INFINITY, "m", "Of the lamp from the corner."),
 *         DS_IMAGE("wall", SIZE, SIZE, "What the lamp lights."), NULL};
 *
 *     static double loss(const ds_simple_episode *e)
 *     {
 *         double sum = 0, far = sqrt(e->x[0] * e->x[0] + e->x[1] * e->x[1]);
 *         for (int k = 0; k < SIZE * SIZE; k++) {
 *             double dx = (k % SIZE + 0.5) / SIZE - e->x[0], dy = (k / SIZE + 0.5) / SIZE - e->x[1];
 *             e->channel[1].pixel[k] = (float)exp(-8 * (dx * dx + dy * dy));
 *             sum += e->channel[1].pixel[k];
 *         }
 *         e->channel[0].value[0] = far;
 *         e->channel[0].jacobian[0] = far > 0 ? e->x[0] / far : 0;
 *         e->channel[0].jacobian[1] = far > 0 ? e->x[1] / far : 0;
 *         return -sum / (SIZE * SIZE);
 *     }
 *
 *     DS_SIMPLE_EPISODE("lamp", "Light for a wall.", NULL, 0, 2, 0, 1, 0.5, channels, loss)
 *
 * Optimizers get J v and J' v, which are made of the Jacobian, and with residuals `lm` finds the minimum. The
 * gradient of such a loss is 2 J' r, which ds_simple_squares() writes. What a constraint allows is no part of
 * the loss: an optimizer that knows nothing of constraints ignores it, and sees nothing of an image.
 *
 * A function that draws random numbers opens its streams from e->noise_key, has none where that is 0, and
 * says DS_ENV_STOCHASTIC in the flags.
 *
 * All channels are written at every call, whatever is asked: the result of an episode does not depend on
 * that. Where writing them is costly, use the interface itself.
 */
#ifndef DIFFSIM_HELPER_EPISODE_H
#define DIFFSIM_HELPER_EPISODE_H

#include <diffsim/ext/channel.h>
#include <diffsim/helper/simple.h>

#ifndef __cplusplus

/* Where an episode writes a channel. */
typedef struct ds_simple_channel {
    double *value;    /* its elements; NULL for an image */
    float *pixel;     /* those of an image, 0..1, the first row on top; else NULL */
    double *jacobian; /* residuals and constraints: d value[i] / d x[j] at i n + j; else NULL */
} ds_simple_channel;

/* One episode, as the function of DS_SIMPLE_EPISODE sees it. */
typedef struct ds_simple_episode {
    const double *param;              /* values of the schema in its order */
    const double *x;                  /* n values */
    uint64_t n;                       /* number of variables */
    double *grad;                     /* n values to be written; NULL where they are not wanted */
    uint64_t noise_key;               /* 0 = no noise, else for ds_random_open(noise_key, "wind", 0) */
    const ds_simple_channel *channel; /* in the order of the list */
} ds_simple_episode;

/* Entries of a list of channels, `static const ds_channel *const []` with NULL at its end: name, number of
 * elements (of an image height and width), range of a constraint (-INFINITY, INFINITY = no limit; equal for
 * an equation), unit, one sentence. */
#define DS_RESIDUALS(name_, count_, unit_, doc_)                                                             \
    DS_SIMPLE_CHANNEL_(DS_CHANNEL_RESIDUAL, DS_SIMPLE_PRODUCTS_, name_, unit_, doc_, -INFINITY, INFINITY,    \
                       count_)
#define DS_CONSTRAINTS(name_, count_, lower_, upper_, unit_, doc_)                                           \
    DS_SIMPLE_CHANNEL_(DS_CHANNEL_CONSTRAINT, DS_SIMPLE_PRODUCTS_, name_, unit_, doc_, lower_, upper_, count_)
#define DS_OBSERVED(name_, count_, unit_, doc_)                                                              \
    DS_SIMPLE_CHANNEL_(DS_CHANNEL_STATE, 0u, name_, unit_, doc_, -INFINITY, INFINITY, count_)
#define DS_IMAGE(name_, height_, width_, doc_)                                                               \
    DS_SIMPLE_CHANNEL_(DS_CHANNEL_IMAGE, 0u, name_, "", doc_, -INFINITY, INFINITY, height_, width_)
/* What they are made of. */
#define DS_SIMPLE_PRODUCTS_ (DS_CAN(DS_ASK_JV) | DS_CAN(DS_ASK_JTV))
#define DS_SIMPLE_CHANNEL_(role_, ops_, name_, unit_, doc_, lower_, upper_, ...)                             \
    (&(const ds_channel){.struct_size = sizeof(ds_channel),                                                  \
                         .role = (role_),                                                                    \
                         .type = (role_) == DS_CHANNEL_IMAGE ? DS_TYPE_F32 : DS_TYPE_F64,                    \
                         .ops = DS_CAN(DS_ASK_VALUE) | (ops_),                                               \
                         .ndim = (role_) == DS_CHANNEL_IMAGE ? 2 : 1,                                        \
                         .shape = {__VA_ARGS__},                                                             \
                         .lower = (lower_),                                                                  \
                         .upper = (upper_),                                                                  \
                         .name = (name_),                                                                    \
                         .unit = (unit_),                                                                    \
                         .doc = (doc_)})

/* The sum of the `count` squares of residual channel k, and where it is wanted the gradient that belongs to
 * it: what such an episode returns. [instance] */
static inline double ds_simple_squares(const ds_simple_episode *e, uint64_t k, uint64_t count)
{
    const ds_simple_channel *c = &e->channel[k];
    double sum = 0;
    for (uint64_t j = 0; j < e->n && e->grad != NULL; j++) {
        e->grad[j] = 0;
    }
    for (uint64_t i = 0; i < count; i++) {
        sum += c->value[i] * c->value[i];
        for (uint64_t j = 0; j < e->n && e->grad != NULL; j++) {
            e->grad[j] += 2 * c->value[i] * c->jacobian[i * e->n + j];
        }
    }
    return sum;
}

/* How the rest hangs together: an instance is one block of doubles, the channels and their memory before the
 * parameters of ds_simple_params(); the macro at the end defines functions around those that follow here. */

/* Doubles of the block before the parameters. [any] */
static inline uint64_t ds_simple_room(const ds_channel *const *list, uint64_t n)
{
    uint64_t room = 0;
    for (; *list != NULL; list++) {
        const uint64_t elements = ds_channel_elements(*list);
        room += (sizeof(ds_simple_channel) + sizeof(double) - 1) / sizeof(double) + elements;
        room += ((*list)->ops & DS_SIMPLE_PRODUCTS_) != 0 ? elements * n : 0;
    }
    return room;
}

/* Gives each channel its part of the block. [any] */
static inline void ds_simple_lay_out(double *block, const ds_channel *const *list, uint64_t n)
{
    ds_simple_channel *c = (ds_simple_channel *)(void *)block;
    uint64_t count = 0;
    while (list[count] != NULL) {
        count++;
    }
    double *next = (double *)(void *)(c + count);
    for (uint64_t k = 0; k < count; k++) {
        const uint64_t elements = ds_channel_elements(list[k]);
        c[k].value = list[k]->type == DS_TYPE_F64 ? next : NULL;
        c[k].pixel = list[k]->type == DS_TYPE_F32 ? (float *)(void *)next : NULL;
        next += elements;
        c[k].jacobian = (list[k]->ops & DS_SIMPLE_PRODUCTS_) != 0 ? next : NULL;
        next += c[k].jacobian != NULL ? elements * n : 0;
    }
}

/* Answers a question from what an episode has written; 0 where a product is not finite. [instance] */
static inline int ds_simple_answer(const ds_channel *c, const ds_simple_channel *of, uint64_t n, ds_ask *ask)
{
    const uint64_t elements = ds_channel_elements(c), count = ask->op == DS_ASK_JV ? elements : n;
    double *out = (double *)ask->out;
    int finite = 1;
    ask->kind = ask->op == DS_ASK_VALUE ? DS_GRAD_NONE : DS_GRAD_ADJOINT;
    if (ask->op == DS_ASK_VALUE) {
        memcpy(ask->out, of->value != NULL ? (const void *)of->value : of->pixel, (size_t)ask->out_bytes);
        return 1;
    }
    memset(out, 0, (size_t)ask->out_bytes);
    for (uint64_t i = 0; i < elements; i++) {
        for (uint64_t j = 0; j < n; j++) {
            const double d = of->jacobian[i * n + j];
            out[ask->op == DS_ASK_JV ? i : j] += d * ask->v[ask->op == DS_ASK_JV ? j : i];
        }
    }
    for (uint64_t i = 0; i < count; i++) {
        finite = finite && isfinite(out[i]);
    }
    return finite;
}

/* Outcome and answers of an episode whose loss is known. Elements that are not finite mean that it diverged,
 * asked for or not; a gradient or a product that is not, that there is none. [instance] */
static inline void ds_simple_finish(const ds_channel *const *list, const ds_simple_episode *e, ds_eval *io)
{
    int finite = isfinite(io->loss), derived = 1;
    for (uint64_t k = 0; list[k] != NULL; k++) {
        const ds_simple_channel *c = &e->channel[k];
        for (uint64_t i = ds_channel_elements(list[k]); i-- > 0;) {
            finite = finite && isfinite(c->value != NULL ? c->value[i] : (double)c->pixel[i]);
        }
    }
    for (uint64_t i = 0; e->grad != NULL && i < io->n; i++) {
        derived = derived && isfinite(e->grad[i]);
    }
    for (uint64_t i = 0; DS_HAS(ds_eval, io, ask) && i < io->asks; i++) {
        ds_ask *ask = io->ask[i];
        derived = ds_simple_answer(list[ask->channel], &e->channel[ask->channel], io->n, ask) && derived;
    }
    io->outcome = !finite ? DS_EVAL_DIVERGED : derived ? DS_EVAL_OK : DS_EVAL_BAD_GRAD;
    io->loss = finite ? io->loss : INFINITY;
    io->grad_kind = e->grad != NULL ? DS_GRAD_ADJOINT : DS_GRAD_NONE;
    io->bad_step = -1;
    io->cost_steps = 1;
}

/* Fills of a channel what the other side knows. [any] */
static inline ds_status ds_simple_describe(const ds_channel *c, ds_channel *out)
{
    const uint32_t room = out->struct_size;
    memcpy(out, c, room < sizeof *c ? room : sizeof *c);
    out->struct_size = room;
    return DS_OK;
}

/* Defines the whole plugin of an environment; use it once, at file scope, after its functions. As
 * DS_SIMPLE_ENV, but
 *   flags_      DS_ENV_GRADIENT, DS_ENV_STOCHASTIC or 0
 *   channels_   the array of channels, at least one
 *   loss_       double loss_(const ds_simple_episode *e): simulates one episode, writes all channels, and the
 *               gradient where e->grad is not NULL, and returns the loss */
#define DS_SIMPLE_EPISODE(id_, summary_, params_, flags_, n_, lower_, upper_, start_, channels_, loss_)      \
    static ds_status ds_simple_create(const ds_host *host, void **out)                                       \
    {                                                                                                        \
        double *block = ds_simple_params(host, params_, ds_simple_room(channels_, n_));                      \
        if (block == NULL) {                                                                                 \
            return DS_E_PARAM;                                                                               \
        }                                                                                                    \
        ds_simple_lay_out(block, channels_, n_);                                                             \
        *out = block;                                                                                        \
        return DS_OK;                                                                                        \
    }                                                                                                        \
    DS_SIMPLE_BOX_(n_, 1, 0, lower_, upper_, start_)                                                         \
    static ds_status ds_simple_evaluate(void *self, ds_eval *io)                                             \
    {                                                                                                        \
        const int graded = (io->want & DS_WANT_GRAD) != 0 && ((flags_)&DS_ENV_GRADIENT) != 0;                \
        const ds_simple_episode e = {.param = (const double *)self + ds_simple_room(channels_, n_),          \
                                     .x = io->x,                                                             \
                                     .n = io->n,                                                             \
                                     .grad = graded ? io->grad : NULL,                                       \
                                     .noise_key = io->noise_key,                                             \
                                     .channel = (const ds_simple_channel *)self};                            \
        io->loss = loss_(&e);                                                                                \
        ds_simple_finish(channels_, &e, io);                                                                 \
        return DS_OK;                                                                                        \
    }                                                                                                        \
    static ds_status ds_simple_count(void *self, uint64_t *count)                                            \
    {                                                                                                        \
        (void)self;                                                                                          \
        *count = sizeof(channels_) / sizeof((channels_)[0]) - 1;                                             \
        return DS_OK;                                                                                        \
    }                                                                                                        \
    static ds_status ds_simple_channel_of(void *self, uint64_t i, ds_channel *out)                           \
    {                                                                                                        \
        (void)self;                                                                                          \
        return ds_simple_describe((channels_)[i], out);                                                      \
    }                                                                                                        \
    static const ds_env_channels ds_simple_channels = {                                                      \
        .struct_size = sizeof(ds_env_channels), .count = ds_simple_count, .describe = ds_simple_channel_of}; \
    DS_SIMPLE_OFFERS_(DS_EXT_CHANNELS, ds_simple_channels)                                                   \
    DS_SIMPLE_TABLES_(id_, summary_, params_, flags_, free, ds_simple_evaluate, ds_simple_extension,         \
                      ds_simple_offers)

#endif
#endif
