/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_v0_2.h - frozen copy of the declarations of plugin ABI 0.2 that an environment needs. It is never
 * edited: it stands for the headers of somebody who compiled a plugin with that version. */
#ifndef PLUGIN_V0_2_H
#define PLUGIN_V0_2_H

#include <stdint.h>

typedef int32_t v02_status; /* 0 = ok, -6 = bad parameter */

typedef struct v02_host v02_host;
struct v02_host {
    uint32_t struct_size;
    uint32_t abi_minor;
    void *ctx;
    uint64_t seed;
    uint32_t threads;
    uint32_t reserved;
    void (*log)(const v02_host *host, uint32_t level, const char *line);
    void (*error)(const v02_host *host, v02_status status, const char *line);
    uint32_t (*should_stop)(const v02_host *host);
    v02_status (*get_int)(const v02_host *host, const char *name, int64_t *out);
    v02_status (*get_real)(const v02_host *host, const char *name, double *out);
    v02_status (*get_text)(const v02_host *host, const char *name, const char **out);
    v02_status (*get_list)(const v02_host *host, const char *name, const double **out, uint64_t *count);
    v02_status (*get_array)(const v02_host *host, const char *name, const double **data, uint64_t *ndim,
                            uint64_t shape[8]);
    v02_status (*resource)(const v02_host *host, const char *relative, char *buf, uint64_t cap,
                           uint64_t *needed);
    const void *(*get_extension)(const v02_host *host, const char *id);
    const char *name;
    const char *version;
};

typedef struct v02_env_info {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t n;
    uint64_t steps;
    double dt;
    double loss_floor;
    double tolerance;
} v02_env_info;

typedef struct v02_eval {
    uint32_t struct_size;
    uint32_t want; /* 1 = gradient */
    uint64_t n;
    const double *x;
    uint64_t noise_key;
    double *grad;
    double loss;
    uint32_t outcome;   /* 0 = ok, 3 = infeasible */
    uint32_t grad_kind; /* 1 = adjoint */
    int64_t bad_step;
    uint64_t cost_steps;
    uint64_t asks;
    void *const *ask;
} v02_eval;

typedef struct v02_env_vtable {
    uint32_t struct_size;
    uint32_t reserved;
    v02_status (*create)(const v02_host *host, void **out);
    void (*destroy)(void *self);
    v02_status (*info)(void *self, v02_env_info *out);
    v02_status (*bounds)(void *self, uint64_t n, double *lower, double *upper, double *x0);
    v02_status (*evaluate)(void *self, v02_eval *io);
    const void *(*get_extension)(void *self, const char *id);
} v02_env_vtable;

typedef struct v02_param {
    uint32_t struct_size;
    uint32_t type; /* 2 = int, 3 = real */
    uint32_t flags;
    uint32_t max_count;
    double min, max;
    const char *name;
    const char *default_text;
    const char *unit;
    const char *doc;
    const char *const *choices;
} v02_param;

typedef struct v02_desc {
    uint32_t struct_size;
    uint32_t kind;  /* 1 = environment */
    uint64_t flags; /* 1 = has a gradient */
    const char *id;
    const char *version;
    const char *license;
    const char *summary;
    const char *description;
    const char *citation;
    const v02_param *const *params;
    const char *const *extensions;
    const char *const *needs;
    const char *const *uses;
} v02_desc;

typedef struct v02_plugin {
    uint32_t magic; /* 0x31505344 */
    uint32_t struct_size;
    uint32_t abi_major; /* 0 */
    uint32_t abi_minor; /* 2 */
    uint32_t layout;    /* 0x01080804: little-endian, 8-byte pointers, 8-byte double, 4-byte int */
    uint32_t reserved;
    const char *build;
    const v02_desc *desc;
    const v02_env_vtable *env;
    const void *optimizer;
} v02_plugin;

#endif
