/* SPDX-License-Identifier: Apache-2.0 */
/* parameter_sets.h - random parameters for the environments, as a user could write them: usual ones, extreme
 * ones, and some that no schema allows. Parameters that make an episode long stay small, so that most sets
 * take less than a millisecond. */
#ifndef DS_TESTS_PARAMETER_SETS_H
#define DS_TESTS_PARAMETER_SETS_H

#include <diffsim/helper/random.h>

#include "config/settings.h"
#include "plugin/loader.h"

enum { HINTS = 8, SCENE_FILES = 32 };

/* A parameter that determines the length of an episode, and the range of values it gets instead of its own.
 */
typedef struct hint {
    const char *name;  /* NULL = the end */
    double low, high;  /* an INT is uniform, a REAL uniform in its logarithm */
    const char *times; /* NULL, or a parameter of which this one is an integer multiple */
} hint;

/* An environment to be tested. */
typedef struct scene {
    const char *id;
    hint hints[HINTS];
    const char *file;  /* parameter that names a file, or NULL */
    double file_share; /* how often it is set */
    void (*write_file)(ds_random *r, const char *path, int number);
    uint64_t pose_numbers; /* numbers of tool_start */
    int heavy;             /* a set takes milliseconds: try fewer */
    const char *words;     /* what parameter `variables` may name, or NULL */
} scene;

extern const scene scenes[];
extern const int scene_count;

/* How a set was made. */
enum {
    SET_ORDINARY = 0,
    SET_BROKEN = 1, /* one value probably has another type or is out of range */
    /* the parameters that determine the length of an episode take the largest allowed values */
    SET_LONG = 2
};

/* Appends values for some or all parameters to the empty *out. `folder` holds the scene's files. Returns
 * SET_*. */
int draw_parameters(ds_random *r, const scene *s, const ds_param *const *schema, const char *folder,
                    ds_settings *out);

/* The longest episode that an ordinary set can have, other parameters at their defaults. */
void longest_parameters(const scene *s, const ds_param *const *schema, ds_settings *out);

/* Writes the scene's files 0..SCENE_FILES - 1 into a folder that exists. */
void write_scene_files(const scene *s, const char *folder);

#endif
