/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/things.h - a scene from reports of the simulation, in C: a table of things, and one call of
 * ds_see() where the simulation makes a step.
 *
 * Header only, no part of the binary interface. Each row of the table is a kind of things: its name, shape
 * and role (diffsim/ext/scene.h), its size, or lines between things. Things are numbered from row to row:
 *
 *     static const ds_thing things[] = {
 *         DS_THING("ball", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 0.1),        // thing 0
 *         DS_THING("hand", DS_BODY_BOX, DS_ROLE_TOOL, 0.1, 0.3, 0.1),     // thing 1
 *         DS_THING("goal", DS_BODY_SPHERE, DS_ROLE_TARGET, 0.1),          // thing 2
 *         {.name = "beads", .shape = DS_BODY_SPHERE, .count = 5, .size = {0.02}}, // things 3 .. 7
 *         DS_LINK("string", DS_ROLE_MATERIAL, 1, 0, 0.01),                // from the hand to the ball
 *         {.name = "thread", .shape = DS_BODY_LINES, .count = 4, .from = 3, .to = 4, .size = {0.005}}};
 *
 * and in the simulation
 *
 *     ds_see(k, 0, p[0], p[1], p[2]);
 *     ds_see_turned(k, 1, h[0], h[1], h[2], quaternion); // in a flat scene: ds_see_angle()
 *     ds_see(0, 2, 1, 0, 0); // FIXED things and TARGETs stay where they were at step 0
 *
 * Report what does not move once, at step 0:
 *
 *     if (ds_is_seen()) {
 *         ds_see(0, GOAL, target, 0, 0);
 *     }
 *
 * Sizes, in metres, with the body's own axes (ds_see_turned() turns them into those of the world):
 *     POINTS, SPHERE  radius
 *     BOX             half extents along x, y, z
 *     CAPSULE         radius, distance of the centres of its ends along y
 *     CYLINDER        radius, height along y
 *     TORUS           major radius, minor radius; its axis is y
 *     LINES           thickness; lines join other things and are not things themselves
 *
 * The host chooses the colour by the role: what is moved (MATERIAL), what moves it (TOOL), walls and ground
 * (FIXED), where something should be (TARGET, drawn pale). Rows of one role with another `variety` get
 * another colour. It draws the path of a thing as a line. The visible part of space is the one that things
 * were in, with room around it.
 *
 * Rules: call ds_see() in the thread that simulates the episode; report steps in any order (the last report
 * of a step counts). Steps and things beyond those announced are ignored. A thing without a report, or with
 * coordinates that are not finite, is not drawn in that frame.
 *
 * Cost: one comparison per call where the episode is not shown, which is in all evaluations of a search; 56
 * bytes for each thing and step in every instance.
 *
 * diffsim/helper/simple.h has a field for the table. An environment on env_kit.h calls ds_things_open() in
 * allocate(), and ds_things_add(), ds_things_place() and ds_things_measure() in its entries bodies, place and
 * measure; around its simulation it calls ds_things_watch().
 */
#ifndef DIFFSIM_HELPER_THINGS_H
#define DIFFSIM_HELPER_THINGS_H

#include <diffsim/helper/fail.h>
#include <diffsim/helper/scene_kit.h>

#ifndef __cplusplus

/* ---- the table ---- */

/* Things of one kind, or lines between things; fields that are 0 or NULL have the value in brackets. */
typedef struct ds_thing {
    const char *name;  /* [a-z][a-z0-9_]*, unique in the table */
    uint32_t shape;    /* DS_BODY_POINTS, SPHERE, CAPSULE, CYLINDER, TORUS, BOX or LINES */
    uint32_t role;     /* DS_ROLE_* [MATERIAL] */
    uint32_t variety;  /* another number, another colour within the role */
    uint64_t count;    /* how many of them there are [1] */
    double size[4];    /* metres, see above; LINES: their thickness */
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

enum { DS_THINGS_POSE = 7 }; /* numbers of a position and a quaternion */

/* The trajectories of the things of one instance. */
typedef struct ds_things {
    uint64_t frames, count; /* frames of an episode; things */
    double *at;             /* frames x count x DS_THINGS_POSE; NaN where nothing was reported */
    uint64_t kinds;
    ds_thing *kind;    /* the table, with every count filled in */
    uint64_t *first;   /* number of the first thing of each kind */
    uint32_t *segment; /* 0 1 2 3 ...: vertices of lines */
} ds_things;

/* ---- what the simulation reports ---- */

/* The things whose episode this thread shows; NULL = none. */
static _Thread_local ds_things *ds_things_watched;

/* Is this episode shown? For reports that cost time. [instance] */
static inline int ds_is_seen(void);

/* Reports where a thing (0, 1, ...) is at a step (0 = the start), and how it is turned: metres, y is up, the
 * unit quaternion w x y z from its axes to those of the world. [instance] */
static inline void ds_see_turned(uint64_t step, uint64_t thing, double x, double y, double z,
                                 const double quaternion[4]);

/* The same of a thing that is not turned. A scene whose z are all 0 is flat. [instance] */
static inline void ds_see(uint64_t step, uint64_t thing, double x, double y, double z);

/* The same in a flat scene: turned by an angle in radians, anticlockwise. [instance] */
static inline void ds_see_angle(uint64_t step, uint64_t thing, double x, double y, double angle);

/* ---- for environments on env_kit.h ---- */

/* Copies a table of `kinds` rows and allocates the trajectories of `frames` frames in `memory`, whose
 * `failed` is set without memory. DS_E_PARAM, with a message, where a row is wrong. [any] */
static inline ds_status ds_things_open(ds_things *t, const ds_host *host, ds_memory *memory,
                                       const ds_thing *table, uint64_t kinds, uint64_t frames);

/* Begins to record what this thread reports, with nothing reported yet; NULL ends it. [instance] */
static inline void ds_things_watch(ds_things *t);

/* Adds a body for each row of the table. [any] */
static inline void ds_things_add(const ds_things *t, ds_scene_kit *s);

/* Writes the numbers of body b in frame k (ds_scene.frame). [instance] */
static inline void ds_things_place(const ds_things *t, uint64_t k, uint64_t b, double *out);

/* Grows the visible box by what frame k shows. Call it for frames 0, 1, ... in that order. [instance] */
static inline void ds_things_measure(const ds_things *t, ds_scene_kit *s, uint64_t k);

#include <diffsim/helper/things.inl>

#endif
#endif
