/* SPDX-License-Identifier: Apache-2.0 */
/* balls.h - spheres of one size and a colour each, whose centres move in the plane z = 0: what is seen of
 * pendula and of a ball in the plane. */
#ifndef DS_ENGINES_SWEPT_BALLS_H
#define DS_ENGINES_SWEPT_BALLS_H

#include "engines/rendering/film/film.h"

#include <diffsim/base.h>
#include <diffsim/helper/memory.h>

enum { BALLS = 2 };

/* Colours of gradSim's bobs. */
extern const double balls_red[3], balls_blue[3];

typedef struct balls {
    uint32_t count; /* at most BALLS */
    size_t points;  /* of one */
    double *shape;  /* [count][points][3], each about its centre, m */
    uint32_t *face; /* of all, those of ball 0 first */
    double *color;  /* of the faces */
} balls;

/* Takes its arrays of `m`. Sets `subject` to show each ball in a picture of its own; its points are those of
 * ball 0, then those of ball 1. DS_OK or DS_E_NOMEM. */
ds_status balls_open(balls *b, ds_memory *m, uint32_t count, double radius, const double *const *color,
                     film_subject *subject);

/* Points [count][points][3] of balls about centre[count][2]; the adjoint sets centre_bar, the
 * tangent points_dot. */
void balls_place(const balls *b, const double *centre, double *points);
void balls_place_adjoint(const balls *b, const double *points_bar, double *centre_bar);
void balls_place_tangent(const balls *b, const double *centre_dot, double *points_dot);

#endif
