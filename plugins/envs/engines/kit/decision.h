/* SPDX-License-Identifier: Apache-2.0 */
/* decision.h - decision variables that the user picks by name from the numbers of a scene, and how far they
 * are from the true values.
 *
 * An environment offers a table of named numbers. Parameter `variables` lists the ones to optimize; the
 * others keep their true value. A target is simulated with the true values. */
#ifndef DS_ENGINES_KIT_DECISION_H
#define DS_ENGINES_KIT_DECISION_H

#include <diffsim/helper/env_kit.h>
#include <diffsim/helper/scene_kit.h>

/* ---- errors ---- */

enum { IDENTIFIED_PARTS = 8, IDENTIFIED_NAME = 48 };

/* Distance of the variables from the true values: the last metrics of a scene. Optimizers do not see them. */
typedef struct identified {
    double mean;                   /* over the variables */
    uint64_t parts;                /* 0 if fewer than 2 or more than IDENTIFIED_PARTS */
    double part[IDENTIFIED_PARTS]; /* by number or group of numbers */
    char name[IDENTIFIED_PARTS][IDENTIFIED_NAME];
} identified;

/* Call identified_open() first, then identified_name() for each part: "velocity.x" becomes
 * error_velocity_x. */
void identified_open(identified *d, uint64_t parts);
void identified_name(identified *d, uint64_t part, const char *name);
void identified_set(identified *d, uint64_t part, double error);

/* Adds the metrics of the parts if the last metric so far is `error`. */
void identified_metrics(const identified *d, ds_scene_kit *s);
/* Writes the values of `error` and of the parts. */
void identified_put(const identified *d, double *out);

/* ---- named numbers ---- */

/* A number that can become a decision variable. The user picks "velocity.x" by this name, or by "velocity"
 * together with all numbers that have this name before the dot. */
typedef struct decision {
    const char *name, *unit;
    int log; /* the variable is log10 of the number */
    /* Of the variable, which starts at start + random U with U uniform in (0, 1). */
    double lower, upper, start, random;
} decision;

#define DECISION(name_, unit_, lower_, upper_, start_)                                                       \
    {                                                                                                        \
        .name = name_, .unit = unit_, .lower = lower_, .upper = upper_, .start = start_                      \
    }
#define DECISION_LOG(name_, unit_, lower_, upper_, start_)                                                   \
    {                                                                                                        \
        .name = name_, .unit = unit_, .log = 1, .lower = lower_, .upper = upper_, .start = start_            \
    }

enum { DECISIONS_MAX = 2420 }; /* masses and positions of 600 vertices, and some more */

typedef struct decision_set {
    /* The environment sets these: */
    const decision *offered;
    uint32_t offers; /* at most DECISIONS_MAX */
    uint64_t seed;
    uint64_t object;             /* 0, or the key from which the true values of the variables are drawn */
    double truth[DECISIONS_MAX]; /* [offers] */
    /* decision_pick() sets these: */
    uint64_t n;                 /* variables */
    uint32_t at[DECISIONS_MAX]; /* the number that variable i is */
} decision_set;

/* Picks the words of parameter `variables`. If `object` is not 0, draws the true values of the picked numbers
 * with decision_draw(). */
void decision_pick(decision_set *set, ds_param_reader *in);

/* value[offers] for the variables x[n]; for x NULL the true values. */
void decision_values(const decision_set *set, const double *x, double *value);
/* grad[n] from the derivatives by the numbers. */
void decision_gather(const decision_set *set, const double *value, const double *value_bar, double *grad);
/* value_dot[offers]: the change of the numbers along v[n]. */
void decision_spread(const decision_set *set, const double *value, const double *v, double *value_dot);

/* Names the variables in `out`. */
void decision_identify(const decision_set *set, identified *out);
/* |number / truth - 1| if the variable is a logarithm or its lower bound is above 0, else |number - truth|.
 */
void decision_error(const decision_set *set, const double *value, identified *out);

/* Entries of a ds_env_table. */
void decision_range(const decision_set *set, uint64_t i, double *lower, double *upper, double *start);
void decision_name(const decision_set *set, uint64_t i, ds_env_variable *out);

/* ---- for other tables of named numbers ---- */

static const double decision_ln10 = 2.302585092994045684;

/* Takes the next word from a list separated by blanks or commas and moves *text past it; 0 at the end. */
int decision_word(const char **text, const char **word, size_t *length);
/* Reports that `word` is not one of `names`; length 0: that the list is empty. */
ds_status decision_unknown(const ds_host *host, const char *word, size_t length, const char *names);
/* A true value for object `object`: uniform between the bounds, a tenth of their distance away from each. */
double decision_draw(uint64_t object, const char *name, uint64_t index, double lower, double upper);

#endif
