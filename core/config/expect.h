/* SPDX-License-Identifier: Apache-2.0 */
/* expect.h - draws the settings of episodes whose mean is one evaluation, from the host's parameters expect,
 * expect_over, expect_draws and expect_seed (ds_expect_schema).
 *
 * `expect_over` lists terms between blanks or commas, NAME OP DISTRIBUTION(...):
 *
 *     mass=uniform(0.9,1.1)        a number between the two (a whole one for an integer parameter)
 *     mass*=loguniform(0.5,2)      the value of the setting times a number, uniform in its logarithm
 *     start[0]+=normal(0,0.1)      element 0 of a list plus a number; without [0], every element on its own
 *     target=choice(a.npy,b.npy)   one of these texts
 *     x+=normal(0,0.05)            every decision variable plus a number, then clamped to its bounds
 *
 * A draw outside the range of its parameter is drawn again. All numbers come from the stream "expect/NAME" of
 * a seed (diffsim/helper/random.h), with the number of the draw as index: they depend on nothing else. */
#ifndef DS_CONFIG_EXPECT_H
#define DS_CONFIG_EXPECT_H

#include "config/params.h"

/* One term. */
typedef struct ds_expect_term {
    char name[DS_MAX_NAME + 1];
    const ds_param *info; /* NULL = the decision variables */
    uint64_t element;     /* of a list or of x; UINT64_MAX = all */
    char op;              /* '=', '+' or '*' */
    int distribution;
    double a, b;   /* of uniform, loguniform, normal */
    char **choice; /* of choice, and their number */
    uint64_t choices;
    double value;       /* of a number setting */
    const double *list; /* of a list setting; belongs to the parameters */
    uint64_t elements;  /* numbers that it draws; 0 for x */
} ds_expect_term;

typedef struct ds_expect {
    uint64_t episodes; /* of one evaluation; 0 = nothing is averaged, and all else is empty */
    int each_row;      /* new draws for every evaluation */
    uint64_t seed;
    size_t count;
    ds_expect_term *term;
    uint64_t numbers; /* that one draw sets in parameters */
    int parameters;   /* does a term change a parameter? */
    int variables;    /* does a term move x? */
} ds_expect;

/* Reads the parameters, which stay in use, for an environment called `id`. Returns 0, or an exit status and
 * one line that names the setting. */
int ds_expect_make(const ds_settings *settings, const ds_params *params, const char *id, ds_expect *out,
                   ds_error *e);
void ds_expect_clear(ds_expect *x);

/* Episodes of one evaluation with these settings, at least 1. Trusts nothing: ds_expect_make() tests. */
uint64_t ds_expect_episodes(const ds_settings *settings);

/* The seed of the draws of an evaluation: with each_row they depend on its noise key, 0 = none. */
uint64_t ds_expect_seed_of(const ds_expect *x, uint64_t noise_key);

/* The noise key of episode k. */
uint64_t ds_expect_noise_key(uint64_t seed, uint64_t k);

/* The settings of episode k: those in `params` that the user gave, without the four, with its draws. `to` is
 * empty. number[] (x->numbers values, or NULL) gets the drawn values; a choice counts 0, 1, ... `text` gets
 * them in words, "mass = 0.95, start[0] = 0.1". */
enum { DS_EXPECT_TEXT = 160 };
int ds_expect_draw(const ds_expect *x, const ds_params *params, uint64_t seed, uint64_t k, ds_settings *to,
                   double *number, char text[DS_EXPECT_TEXT], ds_error *e);

/* Moves x (n values) for episode k and clamps it to the bounds. `free` (n flags, or NULL) gets 0 where a
 * variable was clamped, so that the loss does not depend on it. */
void ds_expect_move(const ds_expect *x, uint64_t seed, uint64_t k, uint64_t n, const double *lower,
                    const double *upper, double *at, unsigned char *free);

#endif
