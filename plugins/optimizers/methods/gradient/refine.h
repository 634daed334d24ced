/* SPDX-License-Identifier: Apache-2.0 */
/* refine.h - refinement of the best point of a run in [-1, 1]^n, after its basin is found.
 *
 * Several local searches ("arms") alternate, each beginning at the best point known:
 *     L-BFGS-B    for smooth losses;
 *     Adam        with a learning rate that is halved after every descent without progress;
 *     samples     generations of CMA-ES around the point, which need no gradient; up to REFINE_SAMPLES_MOST
 *                 variables, as their matrix costs n^3 a generation.
 * The next turn goes to the arm that gained most per evaluation in its last turn (each has one turn first).
 * An arm that gains nothing with its smallest steps pauses until another one moves the point. With Adam alone
 * this is the "polish" of a run: increasingly careful descents from the best point. */
#ifndef DS_METHODS_REFINE_H
#define DS_METHODS_REFINE_H

#include <diffsim/base.h>
#include <diffsim/helper/random.h>
#include <stddef.h>

enum { REFINE_LBFGSB, REFINE_ADAM, REFINE_SAMPLES, REFINE_ARMS };
enum { REFINE_SAMPLES_MOST = 400 };

/* Simulates `count` points; `gradient` is NULL where none is wanted. As ds_evaluator_run(), DS_STOPPED
 * ends the refinement. */
typedef ds_status (*refine_evaluate)(void *ctx, const char *tag, size_t count, const double *v, double *loss,
                                     double *gradient, uint32_t *outcome);

typedef struct refine refine;

/* Is any of the arms one for n variables? */
int refine_suits(size_t n, unsigned arms);

/* The most points that one call of refine_evaluate holds. */
size_t refine_rows(size_t n);

/* `arms`: bits 1 << REFINE_..., of which those that suit n variables take part; NULL without memory. */
refine *refine_create(size_t n, unsigned arms, uint64_t seed);
void refine_destroy(refine *r);

/* A lower bound of the loss, from which the possible gain is computed. -INFINITY = none, the default. */
void refine_know_floor(refine *r, double floor);

/* Refines `best` (n values, loss *best_loss), both updated, until no arm gains any more (DS_OK) or `evaluate`
 * answers something else than DS_OK. */
ds_status refine_run(refine *r, double *best, double *best_loss, refine_evaluate evaluate, void *ctx);

#endif
