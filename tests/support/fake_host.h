/* SPDX-License-Identifier: Apache-2.0 */
/* A small host for tests of one plugin: loads it with dlopen and gives it parameters written as text, like a
 * user would. Arrays are set as data. No validation beyond what the tests need. */
#ifndef TEST_FAKE_HOST_H
#define TEST_FAKE_HOST_H

#include <diffsim/plugin.h>

enum { FAKE_PARAMS = 64, FAKE_LIST = 512 };

typedef struct fake_host {
    ds_host host; /* what the plugin sees */
    void *module;
    const ds_plugin *plugin;
    const char *folder; /* where resource() looks */
    const char *text[FAKE_PARAMS];
    double list[FAKE_PARAMS][FAKE_LIST];
    const double *array[FAKE_PARAMS];
    uint64_t shape[FAKE_PARAMS][8], ndim[FAKE_PARAMS];
    long stop_after;  /* should_stop() answers 1 after this many calls; negative = never */
    char error[1024]; /* last error line */
    char log[1024];   /* last log line */
} fake_host;

/* Loads plugins/envs/<id>.so of the build tree, all parameters at their defaults. Fails the test on errors.
 */
void fake_host_open(fake_host *f, const char *id);
void fake_host_close(fake_host *f);
/* The text must stay valid. Fails the test for an unknown name. */
void fake_host_set(fake_host *f, const char *name, const char *text);
void fake_host_set_array(fake_host *f, const char *name, const double *data, uint64_t ndim,
                         const uint64_t *shape);

#endif
