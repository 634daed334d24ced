/* SPDX-License-Identifier: Apache-2.0 */
/* point.h - points of an environment as users specify them: a file, a word, a random point, or an evaluation
 * of a run; and the environment and parameters of a run's points. */
#ifndef DS_RESULTS_POINT_H
#define DS_RESULTS_POINT_H

#include "config/params.h"
#include "evaluate/pool.h"
#include "store/store.h"

/* Where a point comes from, for messages. */
typedef struct ds_point_request {
    const char *origin; /* "--x" */
    const char *id;     /* of the environment */
    const ds_pool_env *env;
} ds_point_request;

/* Fills x (n values) from
 *   start            the start point of the environment
 *   center           the centre of its box
 *   random:SEED      a uniform point of its box
 *   DIR, DIR:ID      the best point, or evaluation ID, of the run in folder DIR; another environment is
 *                    refused, other parameters cost a warning
 *   FILE, -          n numbers of a .npy or text file, or of the standard input
 *   1,2,3            n numbers
 * All points must be inside the box. Returns 0, or an exit status with a message that begins with the
 * origin. */
int ds_point_read(const ds_point_request *q, const char *spec, double *x, ds_error *e);

/* Does the text name a run, as DIR or DIR:ID? Then *folder is to be freed; *id is 0 for the best point. */
int ds_point_names_run(const char *spec, char **folder, uint64_t *id);

/* Fails (DS_EXIT_CONFIG) if it names a run but has no evaluation number after the colon. */
int ds_point_check_run(const char *origin, const char *spec, ds_error *e);

/* Fails if a value is outside the box. */
int ds_point_check(const ds_point_request *q, const double *x, ds_error *e);

/* Fails (DS_EXIT_CONFIG): `count` numbers were given, but the environment has n variables. */
int ds_point_wrong_count(const char *origin, const char *id, uint64_t count, uint64_t n, ds_error *e);

/* Fails (DS_EXIT_CONFIG) if the run in the store has another environment than `id`; warns, with names, if it
 * has other parameters. `what` ("--x results/a") begins the message. */
int ds_provenance_compare(ds_store *store, const char *what, const char *id, const ds_params *params,
                          ds_error *e);

/* Adds the environment of the run in a folder, its parameters and its seed to settings that do not name an
 * environment. Values that are already set stay. */
int ds_provenance_load(const char *folder, ds_settings *settings, ds_error *e);

/* The same from the settings of a run. */
int ds_provenance_adopt(const ds_settings *from, ds_settings *settings, ds_error *e);

#endif
