/* SPDX-License-Identifier: Apache-2.0 */
/* identified.h - how far what an episode was to identify is from what it is, as the last metrics of a scene:
 * the mean error, and that of each quantity where there are a few. No optimizer sees them. */
#ifndef DS_ENGINES_KIT_IDENTIFIED_H
#define DS_ENGINES_KIT_IDENTIFIED_H

#include <diffsim/helper/scene_kit.h>

enum { IDENTIFIED_PARTS = 8, IDENTIFIED_NAME = 48 };

typedef struct identified {
    double mean;                   /* over the variables */
    uint64_t parts;                /* 0 where there are fewer than 2 or more than IDENTIFIED_PARTS */
    double part[IDENTIFIED_PARTS]; /* of each quantity */
    char name[IDENTIFIED_PARTS][IDENTIFIED_NAME];
} identified;

/* Room for so many quantities, if they are a few; then the name of each: "velocity.x"
 * becomes error_velocity_x. */
void identified_open(identified *d, uint64_t parts);
void identified_name(identified *d, uint64_t part, const char *quantity);
void identified_set(identified *d, uint64_t part, double error);

/* Where `error` is the last metric so far, those of the quantities follow it. */
void identified_metrics(const identified *d, ds_scene_kit *s);
/* Values of `error` and of those behind it. */
void identified_put(const identified *d, double *out);

#endif
