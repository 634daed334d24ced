/* SPDX-License-Identifier: Apache-2.0 */
/* instance.h - an instance of an FMU: the functions of FMI 2.0 and 3.0 under one interface.
 *
 * Every function returns 0, or the status of the FMU (2 discard, 3 error, 4 fatal) after which `last`
 * holds its message. An instance is used by one thread. fmi_begin() starts each episode, whatever the
 * state of the instance. */
#ifndef DS_ADAPTERS_FMI_INSTANCE_H
#define DS_ADAPTERS_FMI_INSTANCE_H

#include "adapters/fmi/description.h"

typedef struct fmi_functions fmi_functions;

typedef struct fmi_instance {
    const fmi_description *d;
    int me; /* model exchange, else co-simulation */
    void *library;
    fmi_functions *f;
    void *component;  /* NULL: is instantiated by the next fmi_begin() */
    int ended;        /* it ended the simulation: some do not start again by Reset */
    double *array;    /* the values of all arrays that were set, as fmi_description.values */
    void *work;       /* for calls with arrays */
    char folder[512]; /* where the FMU was unpacked */
    char last[256];   /* what the FMU said last, or what is missing */
} fmi_instance;

/* The folder of the archive with the libraries for this machine, and the name of the library in it. */
void fmi_library(const fmi_description *d, int me, char folder[64], char *name, size_t room);

/* Loads the library from a file; `folder` is where the FMU was unpacked, "" if it has no resources. 0, or -1
 * and one line; fmi_unload() in both cases. */
int fmi_load(fmi_instance *i, const fmi_description *d, int me, const char *folder, const char *file,
             char *why, size_t room);
void fmi_unload(fmi_instance *i);

/* Resets or instantiates it, sets `count` start values, and initialises it; model exchange is then in
 * continuous-time mode, and *next_event is the time of the next time event, INFINITY = none. */
int fmi_begin(fmi_instance *i, double start, double stop, size_t count, const fmi_variable *const *v,
              const double *value, double *next_event);

/* Variables that are numbers. The other elements of an array keep their values. */
int fmi_set(fmi_instance *i, size_t count, const fmi_variable *const *v, const double *value);
int fmi_get(fmi_instance *i, size_t count, const fmi_variable *const *v, double *value);

/* Co-simulation: from t to t + h. *ended: the FMU ends the simulation. */
int fmi_do_step(fmi_instance *i, double t, double h, int *ended);

/* Model exchange. */
int fmi_set_time(fmi_instance *i, double t);
int fmi_set_states(fmi_instance *i, const double *x);
int fmi_get_states(fmi_instance *i, double *x);
int fmi_get_derivatives(fmi_instance *i, double *dx);
int fmi_get_indicators(fmi_instance *i, double *z);
int fmi_completed(fmi_instance *i, int *event, int *ended);
/* Handles an event: event mode, discrete states until they are stable, continuous-time mode. */
int fmi_event(fmi_instance *i, double *next_event, int *ended);

/* out = d unknowns / d knowns times seed; and with its transpose. At most FMI_KNOWNS more than the states. */
enum { FMI_KNOWNS = 512 };
int fmi_directional(fmi_instance *i, size_t m, const fmi_variable *const *unknown, size_t n,
                    const fmi_variable *const *known, const double *seed, double *out);
int fmi_adjoint(fmi_instance *i, size_t m, const fmi_variable *const *unknown, size_t n,
                const fmi_variable *const *known, const double *seed, double *out);

#endif
