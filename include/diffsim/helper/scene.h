/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/scene.h - the short way to be seen, in C: an environment of one function that tells on its
 * way where its things are has a scene (diffsim/ext/scene.h), and with it pictures, films and pages.
 *
 * Header only, no part of the binary interface. DS_SIMPLE_ENV of simple.h with four numbers more, and a line
 * where the simulation makes a step. A whole environment:
 *
 *     #include <diffsim/helper/scene.h>
 *
 *     static double loss(const double *param, const double *x, double *grad)
 *     {
 *         double q = 0, v = x[0];
 *         (void)param, (void)grad;
 *         for (int k = 0; k < 100; k++) {
 *             ds_see((uint64_t)k, 0, q, 0, 0);
 *             v -= 0.02 * q;
 *             q += 0.02 * v;
 *         }
 *         ds_see(100, 0, q, 0, 0);
 *         return (q - 1) * (q - 1);
 *     }
 *
 *     DS_SIMPLE_SCENE("swinger", "A mass on a spring.", NULL, 0, 1, -4, 4, 1, 100, 0.02, 1, 0.1, loss)
 *
 * Two things in space, the second of which is there from step 10 on:
 *
 *     ds_see(k, 0, p[0], p[1], p[2]);
 *     if (k >= 10) {
 *         ds_see(k, 1, r[0], r[1], r[2]);
 *     }
 *     ...
 *     DS_SIMPLE_SCENE("pair", "Two bodies.", params, DS_ENV_GRADIENT, 6, -1, 1, 0, 500, 0.002, 2, 0.05, loss)
 *
 * Shapes and units: metres and seconds, y is up; a scene whose z are all 0 is flat and drawn with axes.
 * Ownership: the instance keeps what is told until its next evaluation. Errors: too little memory is told
 * when the instance is made.
 *
 * What the host makes of it: `best.png` beside a run, with the first, the middle and the last moment; pages,
 * films and files for other programs by `dshost view`; arrays by `dshost eval --trajectory`, where the body
 * is called `things`.
 *
 * Every thing is a ball of the same radius. Where it has been is drawn as a line, so a path shows the ground
 * that it rolled over. The part of space that is shown is the one that things were in, with room around it.
 * There are no metrics, no target and no other shapes: they use the extension directly, as
 * examples/hill_full.c does.
 *
 * What it costs: nothing but a comparison for each call where nobody looks, which is in all evaluations of a
 * search; memory of 24 bytes for each thing and step in every instance. What is told never changes the loss:
 * the host evaluates a point once more for its scene, and tests (`dshost check`) that the loss is the same.
 *
 * Rules: ds_see() is called in the thread in which the loss was called, not in threads that it has started;
 * steps in any order, also twice (the last one counts), also not at all (then nothing is drawn at that
 * moment). Steps and things beyond what was announced are left out, never written. Coordinates that are not
 * finite are not drawn.
 */
#ifndef DIFFSIM_HELPER_SCENE_H
#define DIFFSIM_HELPER_SCENE_H

#include <diffsim/ext/scene.h>
#include <diffsim/helper/simple.h>

#ifndef __cplusplus

/* An instance, with the way of its things in the last episode that was to be seen. */
typedef struct ds_simple_seen {
    double *param;           /* values of the schema; the block that is released, the way behind it */
    uint64_t frames, things; /* constant */
    double dt, radius;       /* s, m */
    int kept;                /* is there a scene? */
    double *at;              /* frames x things x 3 */
} ds_simple_seen;

/* Whose episode this thread simulates to be seen; NULL = nobody's. */
static _Thread_local ds_simple_seen *ds_simple_watched;

/* Tells where a thing (0, 1, ...) is at a step (0 = the start): metres, y is up; a scene whose z are all 0 is
 * flat. Costs a comparison where nobody looks. What is not told is not drawn. [instance] */
static inline void ds_see(uint64_t step, uint64_t thing, double x, double y, double z)
{
    ds_simple_seen *s = ds_simple_watched;
    if (s != NULL && step < s->frames && thing < s->things) {
        double *at = s->at + 3 * (step * s->things + thing);
        at[0] = x;
        at[1] = y;
        at[2] = z;
    }
}

/* Makes an instance: reads the parameters and takes room for the way of all things. What is wrong is said to
 * the host. [any] */
static inline ds_status ds_simple_seen_start(const ds_host *host, const ds_param *const *params,
                                             uint64_t steps, double dt, uint64_t things, double radius,
                                             void **out)
{
    ds_simple_seen *s = (ds_simple_seen *)calloc(1, sizeof *s);
    const uint64_t room = 3 * (steps + 1) * things;
    double *block = ds_simple_params(host, params, room);
    if (s == NULL || block == NULL) {
        const ds_status status =
            block != NULL ? ds_host_fail(host, DS_E_NOMEM, "no memory for what is seen") : DS_E_PARAM;
        free(s);
        free(block);
        return status;
    }
    *s = (ds_simple_seen){.param = block + room,
                          .frames = steps + 1,
                          .things = things,
                          .dt = dt,
                          .radius = radius,
                          .at = block};
    *out = s;
    return DS_OK;
}

/* destroy(). [instance] */
static inline void ds_simple_seen_end(void *self)
{
    if (self != NULL) {
        free(((ds_simple_seen *)self)->at);
        free(self);
    }
}

/* Before the simulation of evaluate(): whether this episode is to be seen, and nothing told
 * yet. [instance] */
static inline void ds_simple_seen_begin(ds_simple_seen *s, uint32_t want)
{
    s->kept = (want & DS_WANT_SCENE) != 0;
    ds_simple_watched = s->kept ? s : NULL;
    for (uint64_t i = 0; s->kept && i < 3 * s->frames * s->things; i++) {
        s->at[i] = NAN;
    }
}

/* ds_scene.info: the box is that of all that was told, and room around it. DS_E_STATE where the last episode
 * was not to be seen. [instance] */
static inline ds_status ds_simple_seen_info(void *self, ds_scene_info *out)
{
    const ds_simple_seen *s = (const ds_simple_seen *)self;
    int some = 0, flat = 1;
    if (!s->kept) {
        return DS_E_STATE;
    }
    for (uint64_t i = 0; i < s->frames * s->things; i++) {
        const double *at = s->at + 3 * i;
        if (!isfinite(at[0]) || !isfinite(at[1]) || !isfinite(at[2])) {
            continue;
        }
        flat = flat && at[2] == 0;
        for (int c = 0; c < 3; c++) {
            out->box[c] = some && out->box[c] < at[c] ? out->box[c] : at[c];
            out->box[3 + c] = some && out->box[3 + c] > at[c] ? out->box[3 + c] : at[c];
        }
        some = 1;
    }
    for (int c = 0; c < 3; c++) { /* room around it, also around what nobody has told */
        out->box[c] = (some ? out->box[c] : 0) - 3 * s->radius;
        out->box[3 + c] = (some ? out->box[3 + c] : 0) + 3 * s->radius;
    }
    out->flat = (uint32_t)flat;
    out->frames = s->frames;
    out->bodies = 1;
    out->metrics = 0;
    out->dt = s->dt;
    out->ground = -INFINITY;
    return DS_OK;
}

/* ds_scene.body: all things are elements of one body. [instance] */
static inline ds_status ds_simple_seen_body(void *self, uint64_t b, ds_scene_body *out)
{
    const ds_simple_seen *s = (const ds_simple_seen *)self;
    (void)b;
    out->shape = DS_BODY_SPHERE;
    out->role = DS_ROLE_MATERIAL;
    out->count = s->things;
    out->size[0] = s->radius;
    out->name = "things";
    return DS_OK;
}

/* ds_scene.frame: where they are, not turned. [instance] */
static inline ds_status ds_simple_seen_frame(void *self, uint64_t k, uint64_t b, uint64_t capacity,
                                             double *out)
{
    const ds_simple_seen *s = (const ds_simple_seen *)self;
    (void)b;
    if (capacity < 7 * s->things) {
        return DS_E_ARG;
    }
    for (uint64_t i = 0; i < s->things; i++) {
        const double *at = s->at + 3 * (k * s->things + i);
        const double pose[7] = {at[0], at[1], at[2], 1, 0, 0, 0};
        memcpy(out + 7 * i, pose, sizeof pose);
    }
    return DS_OK;
}

/* ds_scene.metric: there are none, so nobody asks. [instance] */
static inline ds_status ds_simple_seen_metric(void *self, uint64_t m, const char **name, const char **unit,
                                              const double **values)
{
    (void)self, (void)m, (void)name, (void)unit, (void)values;
    return DS_E_ARG;
}

/* Defines the whole plugin of an environment that is seen; use it once, at file scope, after its functions.
 *   id_ ... start_   as in DS_SIMPLE_ENV
 *   steps_    steps of an episode; frames 0 .. steps_ of it can be told
 *   dt_       seconds from one to the next; 0 where time has no meaning
 *   things_   how many things ds_see() tells of
 *   radius_   metres, above 0: how large they are drawn
 *   loss_     as in DS_SIMPLE_ENV; calls ds_see() on its way, in the thread that it was called in */
#define DS_SIMPLE_SCENE(id_, summary_, params_, flags_, n_, lower_, upper_, start_, steps_, dt_, things_,    \
                        radius_, loss_)                                                                      \
    static ds_status ds_simple_create(const ds_host *host, void **out)                                       \
    {                                                                                                        \
        return ds_simple_seen_start(host, params_, steps_, dt_, things_, radius_, out);                      \
    }                                                                                                        \
    DS_SIMPLE_BOX_(n_, steps_, dt_, lower_, upper_, start_)                                                  \
    static ds_status ds_simple_evaluate(void *self, ds_eval *io)                                             \
    {                                                                                                        \
        ds_simple_seen *s = (ds_simple_seen *)self;                                                          \
        ds_simple_seen_begin(s, io->want);                                                                   \
        ds_simple_outcome(s->param, io, flags_, steps_, loss_);                                              \
        ds_simple_watched = NULL;                                                                            \
        return DS_OK;                                                                                        \
    }                                                                                                        \
    static const ds_scene ds_simple_scene = {.struct_size = sizeof(ds_scene),                                \
                                             .info = ds_simple_seen_info,                                    \
                                             .body = ds_simple_seen_body,                                    \
                                             .frame = ds_simple_seen_frame,                                  \
                                             .metric = ds_simple_seen_metric};                               \
    DS_SIMPLE_OFFERS_(DS_EXT_SCENE, ds_simple_scene)                                                         \
    DS_SIMPLE_TABLES_(id_, summary_, params_, flags_, ds_simple_seen_end, ds_simple_evaluate,                \
                      ds_simple_extension, ds_simple_offers)

#endif
#endif
