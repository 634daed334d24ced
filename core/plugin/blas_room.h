/* SPDX-License-Identifier: Apache-2.0 */
/* blas_room.h - memory for OpenBLAS under a plugin, while there is some. */
#ifndef DS_PLUGIN_BLAS_ROOM_H
#define DS_PLUGIN_BLAS_ROOM_H

/* OpenBLAS takes a large buffer with its first call and keeps it; where it gets none it tries again without
 * end. Where the library of this handle (dlopen) brings OpenBLAS, has it take the buffer now: 0, or -1 where
 * there is no room. Other libraries are fine. */
int ds_blas_reserve(void *handle);

/* The same for a plugin that is loaded, by its path. */
int ds_blas_reserve_for(const char *path);

/* Is the address space limited (ulimit -v)? */
int ds_blas_limited(void);

#endif
