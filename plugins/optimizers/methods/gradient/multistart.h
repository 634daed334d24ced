/* SPDX-License-Identifier: Apache-2.0 */
/* multistart.h - local searches from random starts, one after the other or several in step ("arms").
 *
 * Each arm runs a local search; all arms advance together, so that one batch of simulations holds the next
 * point of each. An arm whose search has ended begins the next one at once: the batch stays full. Starts are
 * numbered from 1 over all arms in the order they begin; start i is drawn uniformly from the box, from its
 * own random stream. */
#ifndef DS_METHODS_MULTISTART_H
#define DS_METHODS_MULTISTART_H

#include <diffsim/helper/opt_kit.h>

/* Schema entries of the options. */
#define MULTISTART_PARAMS                                                                                    \
    DS_INT("arms", "1", 1, 1e4, "",                                                                          \
           "Searches that advance in step; their next points are simulated in parallel, as one batch."),     \
        DS_OPT_START_PARAMS("false")

/* The local search of the optimizer `self`: each arm has a state machine. Points are in [-1, 1]^n. */
typedef struct local_search {
    void (*begin)(void *self, size_t arm, const double *start);
    const double *(*point)(void *self, size_t arm); /* the next point to simulate */
    /* Takes the result (gradient with respect to the point); returns 1 while the search continues. */
    int (*tell)(void *self, size_t arm, double loss, const double *gradient, uint32_t outcome);
} local_search;

/* What an optimizer made of such searches begins with. */
typedef struct multistart {
    ds_opt_kit kit;
    const local_search *search;
    size_t arms;
    uint64_t starts;  /* begun so far */
    uint64_t *number; /* of the start of each arm */
    int *fresh;       /* the arm is at its start */
    double *v, *loss, *gradient, *start;
    uint32_t *outcome;
} multistart;

/* Reads the options and allocates. 0 without memory; all is released with the kit. */
void multistart_read(multistart *m, ds_param_reader *in, const local_search *search);
int multistart_allocate(multistart *m);

/* ds_opt_table.begin and round: the first starts; the next point of every arm. Batches carry the tag "init"
 * where every row is a start, else "descent", and as their group the least start number among their rows. */
ds_status multistart_begin(void *self);
ds_status multistart_round(void *self);

#endif
