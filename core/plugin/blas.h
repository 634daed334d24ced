/* SPDX-License-Identifier: Apache-2.0 */
/* blas.h - the BLAS library that a plugin computes with: which one, whether it has locks, and memory for it.
 */
#ifndef DS_PLUGIN_BLAS_H
#define DS_PLUGIN_BLAS_H

#include <stddef.h>

#include "base/error.h"

/* Writes the name of the BLAS that the library `handle` (from dlopen) of plugin `path` uses to `name`, "" =
 * none. In portable mode, refuses a BLAS whose kernels are not the required ones. */
int ds_blas_find(const char *path, void *handle, char *name, size_t size, ds_error *e);

/* Was this OpenBLAS built without locks? Asked of OpenBLAS 0.3.28 or newer; one with threads always has
 * locks. */
int ds_blas_lacks_locks(void *handle);

/* OpenBLAS takes a large buffer in its first call and keeps it; where it gets none it retries for ever. Makes
 * the OpenBLAS of `handle` take its buffer now. Returns 0, also for other libraries, or -1 without memory. */
int ds_blas_reserve(void *handle);

/* The same for a loaded plugin, by its path. */
int ds_blas_reserve_for(const char *path);

/* Is the address space limited (ulimit -v)? */
int ds_blas_limited(void);

#endif
