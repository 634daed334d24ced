/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/plugin.h - the exported function, the descriptor and the parameter schema of a plugin.
 *
 * A plugin is one shared object that exports exactly one symbol, ds_plugin_query(), and is an environment or
 * an optimizer. Its id is its file name without ".so". All data reached from ds_plugin are static and
 * constant.
 */
#ifndef DIFFSIM_PLUGIN_H
#define DIFFSIM_PLUGIN_H

#include <diffsim/base.h>
#include <diffsim/env.h>
#include <diffsim/host.h>
#include <diffsim/optimizer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Types of a parameter, and the text that a user writes for a value. */
enum {
    DS_PARAM_BOOL = 1, /* true false yes no on off 1 0 */
    DS_PARAM_INT = 2,  /* decimal, -2^53 .. 2^53: a double holds it exactly, as min and max do */
    DS_PARAM_REAL = 3, /* decimal point, exponent; inf and -inf where the range allows them; never nan */
    DS_PARAM_ENUM = 4, /* one of `choices` */
    DS_PARAM_TEXT = 5, /* any text */
    DS_PARAM_PATH = 6, /* a file; the host makes it absolute and checks that it can be read; empty = none */
    DS_PARAM_LIST = 7, /* reals separated by blanks or commas; `v*k` repeats v k times; may be empty */
    DS_PARAM_ARRAY = 8 /* a .npy or .txt file that the host reads, see ds_host.get_array; empty = none */
};

/* Flags of a parameter. */
enum {
    DS_PARAM_REQUIRED = 1, /* has no default: the user must set it */
    DS_PARAM_ADVANCED = 2, /* left out of the short help and of templates */
    DS_PARAM_SHAPE = 4,    /* changes the number of decision variables */
    DS_PARAM_LOG = 8       /* a positive number that is varied by factors, not by steps */
    /* The bits from 24 on belong to the host: a schema leaves them 0. */
};

/* One parameter. The host makes help, templates and validation from it. */
typedef struct ds_param {
    uint32_t struct_size;
    uint32_t type;      /* DS_PARAM_* */
    uint32_t flags;     /* DS_PARAM_REQUIRED ... */
    uint32_t max_count; /* LIST: most elements, 0 = DS_MAX_VARIABLES; else 0 */
    double min, max;    /* inclusive range of a number, or of each element; -INFINITY, INFINITY = none */
    const char *name;   /* [a-z][a-z0-9_]{0,46}; keeps its meaning for ever */
    const char *default_text;   /* as a user would write it */
    const char *unit;           /* "m", "m/s", "rad"; "" for a pure number or text */
    const char *doc;            /* one or two sentences */
    const char *const *choices; /* ENUM: NULL-terminated; else NULL */
} ds_param;
#define DS_PARAM_SIZE_1_0 DS_SIZE_WITH(ds_param, choices)

/* Descriptor of a plugin, shown by `dshost list` and `dshost help ID`. */
typedef struct ds_desc {
    uint32_t struct_size;
    uint32_t kind;                 /* DS_KIND_* */
    uint64_t flags;                /* DS_ENV_* or DS_OPT_* */
    const char *id;                /* [a-z][a-z0-9_]{0,46}, equal to the file name without ".so" */
    const char *version;           /* of the plugin, free text */
    const char *license;           /* SPDX expression */
    const char *summary;           /* one line */
    const char *description;       /* paragraphs separated by "\n"; may be "" */
    const char *citation;          /* the paper it implements, or "" */
    const ds_param *const *params; /* NULL-terminated, in the order shown to users; may be NULL */
    const char *const *extensions; /* ids that get_extension may return, NULL-terminated; may be NULL */
    /* Features of the other side, as ids of its extensions (an optimizer names those of environments, an
     * environment those of hosts), DS_HAS_GRADIENT, or DS_HAS_RESIDUALS. The host refuses a pair where one of
     * `needs` is missing, before it makes an instance. The plugin uses those of `uses` where they exist,
     * perhaps with some parameters only. NULL-terminated; may be NULL. An id that the host does not know is
     * missing. */
    const char *const *needs;
    const char *const *uses;
} ds_desc;
#define DS_DESC_SIZE_1_0 DS_SIZE_WITH(ds_desc, uses)

enum { DS_KIND_ENV = 1, DS_KIND_OPTIMIZER = 2 };

/* For ds_desc.needs and uses: d loss / d x in evaluate(); a channel of DS_CHANNEL_RESIDUAL. */
#define DS_HAS_GRADIENT "ds.env.gradient/1"
#define DS_HAS_RESIDUALS "ds.env.residuals/1"

/* ds_desc.flags of an environment. */
enum {
    DS_ENV_GRADIENT = 1,        /* evaluate() can return d loss / d x */
    DS_ENV_STOCHASTIC = 2,      /* results may depend on the noise key */
    DS_ENV_OWN_PROCESS = 4,     /* each instance owns a process, or the host refuses it (env.h) */
    DS_ENV_INEXACT = 8,         /* results may differ by ds_env_info.tolerance (env.h) */
    DS_ENV_GRADIENT_HOLES = 16, /* some points have a loss but no gradient (env.h) */
    /* its parameters name code that it runs (a library, a script): a host does not run it with parameters of
     * a result folder unless the user trusts them */
    DS_ENV_RUNS_CODE = 32
};

/* ds_desc.flags of an optimizer. */
enum {
    DS_OPT_USES_BUDGET = 1 /* its requests depend on ds_problem.budget */
};

/* Data that ds_plugin_query() returns. */
typedef struct ds_plugin {
    uint32_t magic;       /* DS_MAGIC */
    uint32_t struct_size; /* sizeof(ds_plugin) */
    uint32_t abi_major;   /* DS_ABI_MAJOR and DS_ABI_MINOR of the headers it was compiled with */
    uint32_t abi_minor;
    uint32_t layout; /* DS_LAYOUT */
    uint32_t reserved;
    const char *build; /* compiler, flags, revision: free text for bug reports; may be "" */
    const ds_desc *desc;
    const ds_env_vtable *env;             /* kind DS_KIND_ENV, else NULL */
    const ds_optimizer_vtable *optimizer; /* kind DS_KIND_OPTIMIZER, else NULL */
} ds_plugin;
#define DS_PLUGIN_SIZE_1_0 DS_SIZE_WITH(ds_plugin, optimizer)

/* The only symbol that a plugin exports. The host passes its version of the interface, so that one file can
 * serve hosts of several major versions; returns NULL where it cannot serve this one. Returns a pointer to
 * static constant data and does nothing else: no allocation, no input or output, no thread. [any] */
DS_EXPORT const ds_plugin *DS_CALL ds_plugin_query(uint32_t host_major, uint32_t host_minor);

/* Macros for authors in C, not part of the binary interface (diffsim/helper/plugin.hpp is for C++). At file
 * scope each parameter macro makes a pointer to a constant with static storage:
 *
 *     static const ds_param *const params[] = {
 *         DS_INT("steps", "50", 1, 1000, "", "Number of steps of an episode."),
 *         DS_REAL("mass", "1", 0, 10, "kg", "Mass of the ball.", .flags = DS_PARAM_LOG),
 *         NULL};
 *
 * Further fields, such as flags, follow the documentation. */
#ifndef __cplusplus
#include <math.h>
#define DS_PARAM_(type_, name_, def_, ...)                                                                   \
    (&(const ds_param){.struct_size = sizeof(ds_param),                                                      \
                       .type = (type_),                                                                      \
                       .name = (name_),                                                                      \
                       .default_text = (def_),                                                               \
                       __VA_ARGS__})
#define DS_BOOL(name_, def_, ...)                                                                            \
    DS_PARAM_(DS_PARAM_BOOL, name_, def_, .max = 1, .unit = "", .doc = __VA_ARGS__)
#define DS_INT(name_, def_, min_, max_, unit_, ...)                                                          \
    DS_PARAM_(DS_PARAM_INT, name_, def_, .min = (min_), .max = (max_), .unit = (unit_), .doc = __VA_ARGS__)
#define DS_REAL(name_, def_, min_, max_, unit_, ...)                                                         \
    DS_PARAM_(DS_PARAM_REAL, name_, def_, .min = (min_), .max = (max_), .unit = (unit_), .doc = __VA_ARGS__)
#define DS_ENUM(name_, def_, choices_, ...)                                                                  \
    DS_PARAM_(DS_PARAM_ENUM, name_, def_, .choices = (choices_), .unit = "", .doc = __VA_ARGS__)
#define DS_TEXT(name_, def_, ...) DS_PARAM_(DS_PARAM_TEXT, name_, def_, .unit = "", .doc = __VA_ARGS__)
#define DS_PATH(name_, def_, ...) DS_PARAM_(DS_PARAM_PATH, name_, def_, .unit = "", .doc = __VA_ARGS__)
#define DS_LIST(name_, def_, min_, max_, count_, unit_, ...)                                                 \
    DS_PARAM_(DS_PARAM_LIST, name_, def_, .min = (min_), .max = (max_), .max_count = (count_),               \
              .unit = (unit_), .doc = __VA_ARGS__)
#define DS_ARRAY(name_, def_, ...)                                                                           \
    DS_PARAM_(DS_PARAM_ARRAY, name_, def_, .min = -INFINITY, .max = INFINITY, .unit = "", .doc = __VA_ARGS__)

/* Defines ds_plugin_query() of an environment or of an optimizer from its descriptor and vtable. */
#define DS_DEFINE_PLUGIN_(desc_, ...)                                                                        \
    const ds_plugin *DS_CALL ds_plugin_query(uint32_t host_major, uint32_t host_minor)                       \
    {                                                                                                        \
        static const ds_plugin plugin = {.magic = DS_MAGIC,                                                  \
                                         .struct_size = sizeof(ds_plugin),                                   \
                                         .abi_major = DS_ABI_MAJOR,                                          \
                                         .abi_minor = DS_ABI_MINOR,                                          \
                                         .layout = DS_LAYOUT,                                                \
                                         .build = __VERSION__,                                               \
                                         .desc = &(desc_),                                                   \
                                         __VA_ARGS__};                                                       \
        (void)host_major; /* the host compares the versions, and names both where it refuses */              \
        (void)host_minor;                                                                                    \
        return &plugin;                                                                                      \
    }
#define DS_DEFINE_ENV(desc_, vtable_) DS_DEFINE_PLUGIN_(desc_, .env = &(vtable_))
#define DS_DEFINE_OPTIMIZER(desc_, vtable_) DS_DEFINE_PLUGIN_(desc_, .optimizer = &(vtable_))
#endif

#ifdef __cplusplus
}
#endif
#endif
