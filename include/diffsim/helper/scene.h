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
 * Things of different kinds have a table, with a row for each kind: its name, its shape and role
 * (diffsim/ext/scene.h), its size; and lines between things. Things are numbered from row to row:
 *
 *     static const ds_thing things[] = {
 *         DS_THING("ball", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 0.1),        // thing 0
 *         DS_THING("hand", DS_BODY_BOX, DS_ROLE_TOOL, 0.1, 0.3, 0.1),     // thing 1
 *         DS_THING("goal", DS_BODY_SPHERE, DS_ROLE_TARGET, 0.1),          // thing 2
 *         {.name = "beads", .shape = DS_BODY_SPHERE, .count = 5, .size = {0.02}}, // things 3 .. 7
 *         DS_LINK("string", DS_ROLE_MATERIAL, 1, 0, 0.01),                // from the hand to the ball
 *         {.name = "thread", .shape = DS_BODY_LINES, .count = 4, .from = 3, .to = 4, .size = {0.005}}};
 *
 *     ds_see(k, 0, p[0], p[1], p[2]);
 *     ds_see_turned(k, 1, h[0], h[1], h[2], quaternion); // in a flat scene: ds_see_angle()
 *     ds_see(0, 2, 1, 0, 0); // FIXED things and TARGETs stay where they were at step 0
 *     ...
 *     DS_SIMPLE_THINGS("catch", "A ball on a string.", params, 0, 6, -1, 1, 0, 500, 0.002, things, loss)
 *
 * examples/hill.c is one.
 *
 * Sizes, in metres, with the body's own axes (ds_see_turned() turns them into those of the world):
 *     POINTS, SPHERE  radius
 *     BOX             half extents along x, y, z
 *     CAPSULE         radius, distance of the centres of its ends along y
 *     CYLINDER        radius, height along y
 *     TORUS           major radius, minor radius; its axis is y
 *     LINES           thickness; no thing of its own: it joins others
 *
 * The host chooses the colour by the role: what is moved (MATERIAL), what moves it (TOOL), walls and ground
 * (FIXED), where something should be (TARGET, drawn pale). Rows of one role with another `variety` get
 * another colour.
 *
 * What does not move is told once, at step 0, where somebody looks:
 *
 *     if (ds_is_seen()) {
 *         ds_see(0, GOAL, target, 0, 0);
 *     }
 *
 *
 * Shapes and units: metres and seconds, y is up; a scene whose z are all 0 is flat and drawn with axes.
 * Ownership: the instance keeps what is told until its next evaluation. Errors: a table that cannot be is
 * told when the instance is made, as is too little memory.
 *
 * What the host makes of it: `best.png` beside a run, with the first, the middle and the last moment; pages,
 * films and files for other programs by `dshost view`; arrays by `dshost eval --trajectory`, one for each row
 * of the table (with DS_SIMPLE_SCENE the one body is called `things`).
 *
 * With DS_SIMPLE_SCENE every thing is a ball of the same radius. Where it has been is drawn as a line, so a
 * path shows the ground that it rolled over. The part of space that is shown is the one that things were in,
 * with room around it. There are no metrics and no meshes: they use the extension directly, as
 * examples/hill_full.c does.
 *
 * What it costs: nothing but a comparison for each call where nobody looks, which is in all evaluations of a
 * search; memory of 56 bytes for each thing and step in every instance. What is told never changes the loss:
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

/* ---- the table ---- */

/* Things of one kind, or lines between things; fields that are 0 or NULL have the value in brackets. */
typedef struct ds_thing {
    const char *name;  /* [a-z][a-z0-9_]*, unique in the table */
    uint32_t shape;    /* DS_BODY_POINTS, SPHERE, CAPSULE, CYLINDER, TORUS, BOX or LINES */
    uint32_t role;     /* DS_ROLE_* [MATERIAL] */
    uint32_t variety;  /* another number, another colour within the role */
    uint64_t count;    /* how many of them there are [1] */
    double size[4];    /* metres, as the shape wants them (diffsim/ext/scene.h); LINES: their thickness */
    uint64_t from, to; /* LINES: line i joins things from + i and to + i */
} ds_thing;
#define DS_THING(name_, shape_, role_, ...)                                                                  \
    {                                                                                                        \
        .name = name_, .shape = (shape_), .role = (role_), .size = { __VA_ARGS__ }                           \
    }
#define DS_LINK(name_, role_, from_, to_, thickness_)                                                        \
    {                                                                                                        \
        .name = name_, .shape = DS_BODY_LINES, .role = (role_), .size = {thickness_}, .from = (from_),       \
        .to = (to_)                                                                                          \
    }

enum { DS_SIMPLE_POSE_ = 7 };

/* An instance, with the way of its things in the last episode that was to be seen. */
typedef struct ds_simple_seen {
    double *param;           /* values of the schema; the block that is released, the way behind it */
    uint64_t frames, things; /* constant */
    double dt;               /* s */
    int kept;                /* is there a scene? */
    double *at;              /* frames x things x 7: position and quaternion */
    uint64_t kinds;
    ds_thing *kind;    /* the table, with every count filled in */
    uint64_t *first;   /* number of the first thing of each kind */
    uint32_t *segment; /* 0 1 2 3 ...: vertices of lines */
} ds_simple_seen;

/* ---- what the simulation reports ---- */

/* Whose episode this thread simulates to be seen; NULL = nobody's. */
static _Thread_local ds_simple_seen *ds_simple_watched;

/* Does anybody look at this episode? For what is costly to tell. [instance] */
static inline int ds_is_seen(void)
{
    return ds_simple_watched != NULL;
}

/* Tells where a thing (0, 1, ...) is at a step (0 = the start), and how it is turned: metres, y is up, the
 * unit quaternion w x y z from its axes to those of the world. Costs a comparison where nobody looks. What is
 * not told is not drawn, but for things that are FIXED or a TARGET: they stay where they were at step 0.
 * [instance] */
static inline void ds_see_turned(uint64_t step, uint64_t thing, double x, double y, double z,
                                 const double quaternion[4])
{
    ds_simple_seen *s = ds_simple_watched;
    if (s != NULL && step < s->frames && thing < s->things) {
        double *at = s->at + DS_SIMPLE_POSE_ * (step * s->things + thing);
        at[0] = x;
        at[1] = y;
        at[2] = z;
        memcpy(at + 3, quaternion, 4 * sizeof *at);
    }
}

/* The same of a thing that is not turned. A scene whose z are all 0 is flat. [instance] */
static inline void ds_see(uint64_t step, uint64_t thing, double x, double y, double z)
{
    static const double straight[4] = {1, 0, 0, 0};
    ds_see_turned(step, thing, x, y, z, straight);
}

/* The same in a flat scene: turned by an angle in radians, anticlockwise. [instance] */
static inline void ds_see_angle(uint64_t step, uint64_t thing, double x, double y, double angle)
{
    if (ds_is_seen()) {
        const double quaternion[4] = {cos(0.5 * angle), 0, 0, sin(0.5 * angle)};
        ds_see_turned(step, thing, x, y, 0, quaternion);
    }
}

/* ---- the instance and its scene: used by the macros below only ---- */

/* destroy(). [instance] */
static inline void ds_simple_seen_end(void *self)
{
    ds_simple_seen *s = (ds_simple_seen *)self;
    if (s != NULL) {
        free(s->at);
        free(s->kind);
        free(s->first);
        free(s->segment);
        free(s);
    }
}

/* What is wrong with row k of a table, or NULL. [any] */
static inline const char *ds_simple_thing_problem(const ds_simple_seen *s, uint64_t k)
{
    const ds_thing *t = &s->kind[k];
    return t->name == NULL                                         ? "it has no name"
           : t->shape < DS_BODY_POINTS || t->shape > DS_BODY_LINES ? "it has no shape (DS_BODY_...)"
           : t->shape == DS_BODY_MESH                              ? "meshes need the scene extension itself"
           : !(t->size[0] > 0)                                     ? "size[0] must be above 0"
           : t->shape == DS_BODY_LINES && (t->from + t->count > s->things || t->to + t->count > s->things)
               ? "its lines join things that there are not"
               : NULL;
}

/* Takes a copy of the table and numbers the things. [any] */
static inline ds_status ds_simple_seen_table(ds_simple_seen *s, const ds_host *host, const ds_thing *table)
{
    uint64_t lines = 0;
    memcpy(s->kind, table, s->kinds * sizeof *table);
    for (uint64_t k = 0; k < s->kinds; k++) {
        ds_thing *t = &s->kind[k];
        t->count = t->count > 0 ? t->count : 1;
        s->first[k] = s->things;
        s->things += t->shape == DS_BODY_LINES ? 0 : t->count;
        lines = t->shape == DS_BODY_LINES && t->count > lines ? t->count : lines;
    }
    for (uint64_t k = 0; k < s->kinds; k++) {
        const char *problem = ds_simple_thing_problem(s, k);
        if (problem != NULL) {
            return ds_host_fail(host, DS_E_PARAM, "row %d of the table of things (%.60s): %s", (int)k,
                                s->kind[k].name != NULL ? s->kind[k].name : "?", problem);
        }
    }
    s->segment = (uint32_t *)calloc((size_t)(2 * lines + 1), sizeof *s->segment);
    for (uint64_t i = 0; s->segment != NULL && i < 2 * lines; i++) {
        s->segment[i] = (uint32_t)i;
    }
    return s->segment != NULL ? DS_OK : ds_host_fail(host, DS_E_NOMEM, "no memory for what is seen");
}

/* Makes an instance: reads the parameters and takes room for the way of all things. What is wrong is said to
 * the host. [any] */
static inline ds_status ds_simple_seen_start(const ds_host *host, const ds_param *const *params,
                                             uint64_t steps, double dt, const ds_thing *table, uint64_t kinds,
                                             void **out)
{
    ds_simple_seen *s = (ds_simple_seen *)calloc(1, sizeof *s);
    if (s != NULL) {
        s->kind = (ds_thing *)calloc((size_t)kinds, sizeof *s->kind);
        s->first = (uint64_t *)calloc((size_t)kinds, sizeof *s->first);
    }
    if (s == NULL || s->kind == NULL || s->first == NULL) {
        ds_simple_seen_end(s);
        return ds_host_fail(host, DS_E_NOMEM, "no memory for what is seen");
    }
    s->frames = steps + 1;
    s->dt = dt;
    s->kinds = kinds;
    const ds_status status = ds_simple_seen_table(s, host, table);
    const uint64_t room = DS_SIMPLE_POSE_ * s->frames * s->things;
    s->at = status == DS_OK ? ds_simple_params(host, params, room) : NULL;
    if (s->at == NULL) {
        ds_simple_seen_end(s);
        return status != DS_OK ? status : DS_E_PARAM;
    }
    s->param = s->at + room;
    *out = s;
    return DS_OK;
}

/* Before the simulation of evaluate(): whether this episode is to be seen, and nothing told
 * yet. [instance] */
static inline void ds_simple_seen_begin(ds_simple_seen *s, uint32_t want)
{
    s->kept = (want & DS_WANT_SCENE) != 0;
    ds_simple_watched = s->kept ? s : NULL;
    for (uint64_t i = 0; s->kept && i < DS_SIMPLE_POSE_ * s->frames * s->things; i++) {
        s->at[i] = NAN;
    }
}

/* How far a thing reaches around its position, with some room. [any] */
static inline double ds_simple_reach(const ds_thing *t)
{
    const double *a = t->size, turned = 1.3;
    switch (t->shape) {
    case DS_BODY_BOX:
        return turned * sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    case DS_BODY_CAPSULE:
        return turned * (a[0] + 0.5 * a[1]);
    case DS_BODY_CYLINDER:
        return turned * sqrt(a[0] * a[0] + 0.25 * a[1] * a[1]);
    case DS_BODY_TORUS:
        return turned * (a[0] + a[1]);
    default:
        return 3 * a[0];
    }
}

/* Adds a place to a box. [any] */
static inline void ds_simple_widen(double box[6], int some, const double *at, double reach)
{
    for (int c = 0; c < 3; c++) {
        const double low = at[c] - reach, high = at[c] + reach;
        box[c] = some && box[c] < low ? box[c] : low;
        box[3 + c] = some && box[3 + c] > high ? box[3 + c] : high;
    }
}

/* ds_scene.info: the box is that of all that was told, and room around it. DS_E_STATE where the last episode
 * was not to be seen. [instance] */
static inline ds_status ds_simple_seen_info(void *self, ds_scene_info *out)
{
    static const double middle[3] = {0, 0, 0};
    const ds_simple_seen *s = (const ds_simple_seen *)self;
    int some = 0, flat = 1;
    if (!s->kept) {
        return DS_E_STATE;
    }
    for (uint64_t k = 0; k < s->kinds; k++) {
        const ds_thing *t = &s->kind[k];
        const uint64_t count = t->shape == DS_BODY_LINES ? 0 : t->count;
        for (uint64_t i = 0; i < s->frames * count; i++) {
            const double *at = s->at + DS_SIMPLE_POSE_ * (i / count * s->things + s->first[k] + i % count);
            if (isfinite(at[0]) && isfinite(at[1]) && isfinite(at[2])) {
                flat = flat && at[2] == 0;
                ds_simple_widen(out->box, some, at, ds_simple_reach(t));
                some = 1;
            }
        }
    }
    if (!some) { /* room around what nobody has told */
        ds_simple_widen(out->box, 0, middle, ds_simple_reach(&s->kind[0]));
    }
    out->flat = (uint32_t)flat;
    out->frames = s->frames;
    out->bodies = s->kinds;
    out->metrics = 0;
    out->dt = s->dt;
    out->ground = -INFINITY;
    return DS_OK;
}

/* ds_scene.body: the things of a row are elements of one body. [instance] */
static inline ds_status ds_simple_seen_body(void *self, uint64_t b, ds_scene_body *out)
{
    const ds_simple_seen *s = (const ds_simple_seen *)self;
    const ds_thing *t = &s->kind[b];
    const int lines = t->shape == DS_BODY_LINES;
    out->shape = t->shape;
    out->role = t->role;
    out->variety = t->variety;
    out->count = lines ? 2 * t->count : t->count;
    memcpy(out->size, t->size, sizeof out->size);
    out->name = t->name;
    out->index = lines ? s->segment : NULL;
    out->index_count = lines ? 2 * t->count : 0;
    return DS_OK;
}

/* Where a thing is in frame k; things that do not move by themselves stay where they were at first.
 * [instance] */
static inline const double *ds_simple_pose(const ds_simple_seen *s, uint64_t k, uint64_t thing)
{
    const double *at = s->at + DS_SIMPLE_POSE_ * (k * s->things + thing);
    uint64_t row = s->kinds - 1;
    while (s->kind[row].shape == DS_BODY_LINES || s->first[row] > thing) {
        row--;
    }
    const int stays = s->kind[row].role == DS_ROLE_FIXED || s->kind[row].role == DS_ROLE_TARGET;
    return stays && isnan(at[0]) ? s->at + DS_SIMPLE_POSE_ * thing : at;
}

/* ds_scene.frame. [instance] */
static inline ds_status ds_simple_seen_frame(void *self, uint64_t k, uint64_t b, uint64_t capacity,
                                             double *out)
{
    const ds_simple_seen *s = (const ds_simple_seen *)self;
    const ds_thing *t = &s->kind[b];
    const int lines = t->shape == DS_BODY_LINES;
    const uint64_t width = lines || t->shape == DS_BODY_POINTS ? 3 : DS_SIMPLE_POSE_;
    const uint64_t count = lines ? 2 * t->count : t->count;
    if (capacity < width * count) {
        return DS_E_ARG;
    }
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t thing = lines ? (i % 2 == 0 ? t->from : t->to) + i / 2 : s->first[b] + i;
        const double *at = ds_simple_pose(s, k, thing);
        memcpy(out + width * i, at, width * sizeof *out);
        if (width == DS_SIMPLE_POSE_ && isnan(at[0])) { /* nobody has told: not drawn, and not turned */
            memcpy(out + width * i + 3, ((const double[4]){1, 0, 0, 0}), 4 * sizeof *out);
        }
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
        const ds_thing balls = {                                                                             \
            .name = "things", .shape = DS_BODY_SPHERE, .count = (things_), .size = {radius_}};               \
        return ds_simple_seen_start(host, params_, steps_, dt_, &balls, 1, out);                             \
    }                                                                                                        \
    DS_SIMPLE_SEEN_(id_, summary_, params_, flags_, n_, lower_, upper_, start_, steps_, dt_, loss_)

/* The same with things of several kinds: table_ is a const array of ds_thing. */
#define DS_SIMPLE_THINGS(id_, summary_, params_, flags_, n_, lower_, upper_, start_, steps_, dt_, table_,    \
                         loss_)                                                                              \
    static ds_status ds_simple_create(const ds_host *host, void **out)                                       \
    {                                                                                                        \
        return ds_simple_seen_start(host, params_, steps_, dt_, table_, sizeof(table_) / sizeof *(table_),   \
                                    out);                                                                    \
    }                                                                                                        \
    DS_SIMPLE_SEEN_(id_, summary_, params_, flags_, n_, lower_, upper_, start_, steps_, dt_, loss_)

/* What both have but for create(). */
#define DS_SIMPLE_SEEN_(id_, summary_, params_, flags_, n_, lower_, upper_, start_, steps_, dt_, loss_)      \
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
