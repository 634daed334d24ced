/* SPDX-License-Identifier: Apache-2.0 */
/* error.h - how functions of the host report failure: an exit status of the program and one line of text. */
#ifndef DS_BASE_ERROR_H
#define DS_BASE_ERROR_H

#include <diffsim/base.h>

/* Exit statuses of dshost: a contract with users' scripts. 77, 99 and 126-128 are never used. */
enum {
    DS_EXIT_OK = 0,
    DS_EXIT_UNMET = 1,    /* a requested target or check was not met */
    DS_EXIT_USAGE = 2,    /* syntax or range of a flag */
    DS_EXIT_CONFIG = 3,   /* anything in an .ini file or --set, and files named there */
    DS_EXIT_PLUGIN = 4,   /* plugin not found, refused, failed, or crashed in the host */
    DS_EXIT_ENV = 5,      /* the environment failed too often */
    DS_EXIT_IO = 6,       /* input or output */
    DS_EXIT_MEMORY = 7,   /* out of memory */
    DS_EXIT_CHECK = 8,    /* conformance or gradient check failed */
    DS_EXIT_LOCKED = 75,  /* the run is locked by another process */
    DS_EXIT_SIGINT = 130, /* stopped by a signal, everything saved */
    DS_EXIT_SIGTERM = 143
};

/* One line without a newline: what went wrong, where, and what to do. */
typedef struct ds_error {
    int status; /* DS_EXIT_*, 0 = no error */
    char text[1024];
} ds_error;

/* Fills *e (may be NULL) and returns `status`. A longer text is cut. */
int ds_fail(ds_error *e, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Fills *e with "out of memory" and returns DS_EXIT_MEMORY. */
int ds_no_memory(ds_error *e);

/* Reports that a thread could not be started ("of the store"); `code` is the result of pthread_create(). */
int ds_no_thread(const char *what, int code, ds_error *e);

/* "DS_E_PARAM" and "bad or unknown parameter"; "?" for unknown numbers. */
const char *ds_status_name(ds_status s);
const char *ds_status_text(ds_status s);

/* "ok", "diverged", ...; "?" for unknown numbers. */
const char *ds_outcome_name(uint32_t outcome);

/* "none", "adjoint", ... for DS_GRAD_*; "?" for unknown numbers. */
const char *ds_gradient_name(uint32_t kind);

/* The exit status for an error status of a plugin. */
int ds_status_exit(ds_status s);

#endif
