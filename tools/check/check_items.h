/* SPDX-License-Identifier: Apache-2.0 */
/* check_items.h - everything that can be requested of an instance, as items that can be played repeatedly:
 * evaluations with and without gradient, values and products of channels, and episodes step by step with
 * backward sweeps. An item has the same numbers in every instance, process and thread, whatever was played
 * before it. */
#ifndef DS_CHECK_CHECK_ITEMS_H
#define DS_CHECK_CHECK_ITEMS_H

#include <diffsim/ext/draft/steps_gradient.h>

#include "harness/check_host.h"
#include "plugin/channels.h"

/* What an evaluation requests in addition to its loss. */
typedef struct ds_check_request {
    uint32_t want;    /* DS_WANT_GRAD or 0 */
    uint32_t op;      /* of a product; 0 = none */
    uint64_t channel; /* of the product */
    int values;       /* also the values of all channels, as many as fit */
} ds_check_request;

/* One call of the plugin, and the place of its numbers among those of the item. */
typedef struct ds_check_item_call {
    int what; /* evaluate, reset, step, begin, back: see check_items.c */
    uint64_t step, at, count;
    uint64_t weights; /* back: the adjoints used */
    uint64_t last;    /* back: the step at which its sweep begins */
} ds_check_item_call;

typedef struct ds_check_item {
    const ds_check_request *request; /* NULL for an episode */
    uint64_t point, size, calls;
    ds_check_item_call *call;
    double seconds; /* estimate */
} ds_check_item;

enum { DS_CHECK_REQUESTS = 40 };

typedef struct ds_check_items {
    ds_check *c;
    uint64_t n, points, count, requests;
    double *x; /* points x n */
    ds_channels channels;
    uint64_t shown; /* channels whose values are requested together: the first ones */
    ds_check_request request[DS_CHECK_REQUESTS];
    int has_steps, has_sweeps;
    ds_steps_info rl;
    ds_check_item *item;
    uint64_t size;  /* numbers of all items */
    double seconds; /* estimated time of playing all items once */
} ds_check_items;

/* Makes the items of an instance for `points` points (0 = as many as there is time for), without episodes if
 * `episodes` is 0. They depend on the seed alone. 0 without memory (recorded). */
int ds_check_items_open(ds_check *c, ds_check_env *env, uint64_t points, int episodes, ds_check_items *s);
void ds_check_items_close(ds_check_items *s);

/* Buffers of one evaluation. */
typedef struct ds_check_row {
    ds_eval io;
    ds_eval_query ask[DS_MAX_QUERIES], *list[DS_MAX_QUERIES];
    double *room;
    unsigned char *out;
    double *x, *grad, *v, *w;
} ds_check_row;

int ds_check_row_open(const ds_check_items *s, ds_check_row *r); /* 0 without memory (recorded) */
void ds_check_row_close(ds_check_row *r);
/* Fills in the request of an item; copies the results, returned with `status`, into the numbers of the item.
 */
void ds_check_row_request(const ds_check_items *s, const ds_check_item *item, ds_check_row *r);
void ds_check_row_results(const ds_check_items *s, const ds_check_item *item, const ds_check_row *r,
                          ds_status status, const char *message, double *out);

/* Compares the numbers of one row among several with those of the same request alone. Row messages are
 * unknown: the host evaluates a failed row once more, alone. */
void ds_check_row_same(ds_check *c, const ds_check_items *s, const ds_check_item *item, const double *alone,
                       double *together, const char *what);

/* Plays items on one instance, one call of the plugin at a time. */
typedef struct ds_check_player {
    const ds_check_items *s;
    ds_check_env *env;
    ds_env_steps rl;
    ds_env_steps_gradient sweeps;
    ds_check_row row;
    double *action, *obs, *bar; /* scratch */
    const ds_check_item *item;
    double *out;
    uint64_t at, taken; /* next call; steps of the episode taken with outcome DS_EVAL_OK */
    uint64_t last;      /* the sweep begins after this many steps */
    int over, sweeping;
} ds_check_player;

int ds_check_player_open(const ds_check_items *s, ds_check_env *env, ds_check_player *p);
void ds_check_player_close(ds_check_player *p);
void ds_check_item_begin(ds_check_player *p, const ds_check_item *item, double *out);
int ds_check_item_next(ds_check_player *p); /* 0 = no call was left */
void ds_check_item_play(ds_check_player *p, const ds_check_item *item, double *out);
/* Plays all items in order; `out` has s->size numbers. */
void ds_check_items_play(ds_check_player *p, double *out);

/* Do the numbers of an item agree, up to the tolerance of the environment? Records a failure with `c` (of the
 * same thread) unless that is NULL. */
int ds_check_item_same(ds_check *c, const ds_check_items *s, const ds_check_item *item, const double *first,
                       const double *again, const char *what);

/* "point 1, J v of channel error", "episode 2". */
void ds_check_item_name(const ds_check_items *s, const ds_check_item *item, char *text, size_t size);

/* Do items agree in what they share: the losses, gradients, values, products, steps and sweeps of one point?
 */
void ds_check_items_agree(ds_check *c, const ds_check_items *s, const double *out, int episodes);

/* Plays all items and stores their numbers in ds_check_options.kept for other processes. */
void ds_check_items_keep(ds_check *c, ds_check_env *env);
/* Compares an instance with those numbers. */
void ds_check_items_as_kept(ds_check *c, ds_check_env *env, const char *what);

/* A number in -1..1 that depends only on the arguments. */
double ds_check_number(uint64_t a, uint64_t b, uint64_t i);

#endif
