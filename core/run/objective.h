/* SPDX-License-Identifier: Apache-2.0 */
/* objective.h - the objective that the optimizer of a run gets, with its extensions: channels, variables,
 * files, progress, and stepwise control. */
#ifndef DS_RUN_OBJECTIVE_H
#define DS_RUN_OBJECTIVE_H

#include "protect/call_state.h"
#include "run/free_variables.h"
#include "run/journal.h"
#include "store/optimizer_output.h"

#include <diffsim/ext/draft/files.h>
#include <diffsim/ext/steps.h>
#include <diffsim/ext/variables.h>
#include <diffsim/optimizer.h>

#include <jansson.h>
#include <pthread.h>

/* A file that the optimizer saved: its bytes are here until they are on the disk. */
typedef struct ds_kept_file {
    char name[DS_MAX_FILE_NAME + 1];
    void *data; /* NULL = written */
    uint64_t bytes;
} ds_kept_file;

typedef struct ds_client {
    ds_journal *journal;
    const ds_module *optimizer; /* in this process, computing except during calls of the objective; or NULL */
    ds_free_variables free_variables;
    ds_problem problem;     /* of the free variables, as the optimizer gets it */
    ds_objective objective; /* its ctx is this struct */
    ds_objective_channels channels;
    ds_objective_variables variables; /* count 0 until the optimizer requests them */
    ds_variable *variable;            /* n of them, or NULL */
    const ds_variable **variable_list;
    /* Stepwise control: NULL where it is not offered, and until the optimizer requests it; open episodes. */
    const void *(*offer)(struct ds_client *c, int gradients);
    struct ds_run_episodes *episodes;
    uint64_t open;
    ds_objective_files files_table; /* empty until the optimizer requests it */
    char *settings;                 /* text of the table */
    ds_kept_file file[DS_MAX_FILES];
    uint32_t files;
    ds_objective_progress progress;
    /* Calls come from the thread of run(), one at a time; others are refused and noted. */
    pthread_t thread;
    int busy;
    atomic_int strayed;
    ds_call_state ours; /* the call state in which calls are answered, whatever the optimizer has set */
} ds_client;

/* Fills c->objective. Set journal and problem before. */
void ds_client_init(ds_client *c);
void ds_client_close(ds_client *c);

/* From here on this thread may call it: run() begins. */
void ds_client_begin(ds_client *c);

/* Ends the run with an error where another thread has called. */
void ds_client_check_calls(ds_client *c);

/* Is the run over? True as well where another thread has called. */
int ds_client_over(ds_client *c);

/* Answers a call of the optimizer by function(c, argument), or refuses it (DS_E_ARG). */
typedef ds_status ds_client_call(ds_client *c, void *argument);
ds_status ds_client_guard(const ds_objective *objective, ds_client_call *function, void *argument);

/* ---- stepwise control (episodes.c) ---- */

/* Offers stepwise control where the environment has it. Call it after ds_client_init(). */
void ds_episodes_offer(ds_client *c);
void ds_episodes_close(ds_client *c);

/* Open episodes that are replayed from the record. */
uint64_t ds_episodes_repeated(const ds_client *c);

/* ---- files of the optimizer (diffsim/ext/draft/files.h) ---- */

/* Writes the waiting files. Returns 0, or the status of the first that could not be written. */
int ds_client_write_files(ds_client *c, ds_error *e);

/* Their names for summary.json: a new list, NULL where there are none. */
json_t *ds_client_file_names(const ds_client *c);

#endif
