/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - how an episode is compared with its target: by pictures, by the places of its points, or by the
 * place of their centre, at some of its states. One loss, its residuals, and exact derivatives by the points.
 *
 *   pictures  mean over all numbers of the pictures of (picture - target)^2 (film.h)
 *   points    mean over states and points of the squared distance to the target, m^2
 *   centre    mean over states and the three coordinates of (centre - target)^2, m^2; the centre is
 *             weighted by mass
 *
 * The loss is the sum of the squared residuals. Points are [points][3], in m. */
#ifndef DS_ENGINES_FILM_WATCH_H
#define DS_ENGINES_FILM_WATCH_H

#include "engines/rendering/film/film.h"

#include <diffsim/helper/memory.h>

typedef enum watch_kind { WATCH_PICTURES = 0, WATCH_POINTS = 1, WATCH_CENTRE = 2 } watch_kind;

typedef struct watch {
    watch_kind kind;
    uint64_t states; /* that are compared */
    size_t points;
    film *film;            /* of pictures */
    double *weight;        /* of points in their centre, sum 1; NULL: all the same */
    double *here, *target; /* [states][size]: points or centres */
    size_t size;           /* residuals of one state */
    ds_memory memory;
} watch;

/* Compares `states` states of `points` points. Pictures: of `subject`, whose vertices or particles the points
 * are, as `l` says. weight[points] (may be NULL) is copied. A failure is said to the host. */
ds_status watch_open(watch *w, watch_kind kind, uint64_t states, size_t points, const double *weight,
                     const look *l, const film_subject *subject, const ds_host *host);
void watch_close(watch *w);

/* State k is this one. DS_OK or DS_E_NOMEM. */
ds_status watch_show(watch *w, uint64_t k, const double *p);
/* State k, or all states, shall be as state k was shown. */
void watch_target(watch *w, uint64_t k);
void watch_target_all(watch *w, uint64_t k);

double watch_loss(const watch *w);
size_t watch_residuals(const watch *w); /* how many there are: states x size */
void watch_residual(const watch *w, double *out);

/* p_bar += the derivatives by the points in state k, p as they were shown, of sum(r_bar * residuals), r_bar
 * those of state k; NULL: of the loss. DS_OK or DS_E_NOMEM. */
ds_status watch_adjoint(watch *w, uint64_t k, const double *p, const double *r_bar, double *p_bar);
/* out = the change of the residuals of state k along p_dot. */
ds_status watch_tangent(watch *w, uint64_t k, const double *p, const double *p_dot, double *out);

#endif
