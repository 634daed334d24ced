/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/scene.h - one-line environments with a scene (diffsim/ext/scene.h), in C: the function of
 * DS_SIMPLE_ENV reports by ds_see() where its things are.
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
 * Things of different kinds have a table (diffsim/helper/things.h):
 *
 *     static const ds_thing things[] = {DS_THING("ball", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 0.1),
 *                                       DS_THING("hand", DS_BODY_BOX, DS_ROLE_TOOL, 0.1, 0.3, 0.1),
 *                                       DS_LINK("string", DS_ROLE_MATERIAL, 1, 0, 0.01)};
 *     ...
 *     DS_SIMPLE_THINGS("catch", "A ball on a string.", params, 0, 6, -1, 1, 0, 500, 0.002, things, loss)
 *
 * examples/hill.c is one. DS_DEFINE_SIMPLE of simple.h combines a scene with channels, stepwise control and
 * names of the variables.
 *
 * The host draws `best.png` next to a run, with the first, the middle and the last moment; `dshost view`
 * makes pages, films and files for other programs; `dshost eval --trajectory` writes arrays, one for each
 * row of the table (with DS_SIMPLE_SCENE the one body is called `things`). The host evaluates a point once
 * more for its scene, and `dshost check` tests that the loss is the same.
 */
#ifndef DIFFSIM_HELPER_SCENE_H
#define DIFFSIM_HELPER_SCENE_H

#include <diffsim/helper/simple.h>

#ifndef __cplusplus

/* Defines the whole plugin of an environment with a scene; use it once, at file scope, after its functions.
 *   id_ ... start_   as in DS_SIMPLE_ENV
 *   steps_    steps of an episode; frames 0 .. steps_ can be reported
 *   dt_       seconds from one to the next; 0 where time has no meaning
 *   things_   how many things ds_see() reports, all of them balls
 *   radius_   metres, above 0: how large they are drawn
 *   loss_     as in DS_SIMPLE_ENV; calls ds_see() in the thread in which it was called */
#define DS_SIMPLE_SCENE(id_, summary_, params_, flags_, n_, lower_, upper_, start_, steps_, dt_, things_,    \
                        radius_, loss_)                                                                      \
    static const ds_thing ds_simple_balls_[] = {                                                             \
        {.name = "things", .shape = DS_BODY_SPHERE, .count = (things_), .size = {radius_}}};                 \
    DS_SIMPLE_THINGS(id_, summary_, params_, flags_, n_, lower_, upper_, start_, steps_, dt_,                \
                     ds_simple_balls_, loss_)

/* The same with things of several kinds: table_ is a const array of ds_thing. */
#define DS_SIMPLE_THINGS(id_, summary_, params_, flags_, n_, lower_, upper_, start_, steps_, dt_, table_,    \
                         loss_)                                                                              \
    DS_SIMPLE_LOSS_(loss_)                                                                                   \
    DS_DEFINE_SIMPLE(DS_SIMPLE_FIELDS_(id_, summary_, params_, flags_, n_, lower_, upper_, start_),          \
                     .steps = (steps_), .dt = (dt_), DS_THINGS(table_), .loss = ds_simple_loss_)

#endif
#endif
