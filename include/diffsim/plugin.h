/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/plugin.h - what a plugin says about itself: the one exported function, descriptor and
 * parameter schema.
 *
 * A plugin is one shared object that exports exactly one symbol, ds_plugin_query(), and is either an
 * environment or an optimizer. Its id is its file name without ".so". All data reached from ds_plugin are
 * static and constant.
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

/* Types of a parameter, and the text that a user writes for it. */
enum {
    DS_PARAM_BOOL = 1, /* true false yes no on off 1 0 */
    DS_PARAM_INT = 2,  /* decimal */
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
    DS_PARAM_SHAPE = 4     /* changes the number of decision variables */
};

/* One parameter. The host makes help, templates and all validation from this. */
typedef struct ds_param {
    uint32_t struct_size;
    uint32_t type;      /* DS_PARAM_* */
    uint32_t flags;     /* DS_PARAM_REQUIRED ... */
    uint32_t max_count; /* LIST: most elements, 0 = no limit; else 0 */
    double min, max;    /* inclusive range of a number, or of each element; -INFINITY, INFINITY = none */
    const char *name;   /* [a-z][a-z0-9_]{0,46}; stable for ever */
    const char *default_text;   /* as a user would write it */
    const char *unit;           /* "m", "m/s", "rad"; "" for a pure number or text */
    const char *doc;            /* one or two sentences */
    const char *const *choices; /* ENUM: NULL-terminated; else NULL */
} ds_param;

/* What the plugin is. Shown by `dshost list` and `dshost help ID`. */
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
    const char *const *extensions; /* ids that get_extension may answer, NULL-terminated; may be NULL */
} ds_desc;

enum { DS_KIND_ENV = 1, DS_KIND_OPTIMIZER = 2 };

/* ds_desc.flags of an environment. */
enum {
    DS_ENV_GRADIENT = 1,  /* evaluate() can return d loss / d x */
    DS_ENV_STOCHASTIC = 2 /* the result may depend on noise_key */
};

/* ds_desc.flags of an optimizer. */
enum {
    DS_OPT_USES_GRADIENT = 1,  /* asks for gradients where the environment has them */
    DS_OPT_NEEDS_GRADIENT = 2, /* cannot work without */
    DS_OPT_USES_BUDGET = 4,    /* its choices depend on ds_problem.budget */
    DS_OPT_NEEDS_RL = 8        /* steps through episodes (diffsim/ext/rl.h), cannot work without */
};

/* The data that ds_plugin_query() returns. */
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

/* The only symbol that a plugin exports. Returns a pointer to static constant data and does nothing else: no
 * allocation, no input or output, no thread. [any] */
DS_EXPORT const ds_plugin *ds_plugin_query(void);

/* Conveniences for C authors (they change nothing of the interface). Each parameter macro makes a pointer to
 * a constant with static storage when used at file scope:
 *
 *     static const ds_param *const params[] = {
 *         DS_INT("steps", "50", 1, 1000, "", "Number of steps of an episode."),
 *         DS_REAL("mass", "1", 0, 10, "kg", "Mass of the ball."),
 *         NULL};
 */
#ifndef __cplusplus
#include <math.h>
#define DS_BOOL(name_, def_, doc_)                                                                           \
    (&(const ds_param){sizeof(ds_param), DS_PARAM_BOOL, 0, 0, 0, 1, name_, def_, "", doc_, NULL})
#define DS_INT(name_, def_, min_, max_, unit_, doc_)                                                         \
    (&(const ds_param){sizeof(ds_param), DS_PARAM_INT, 0, 0, min_, max_, name_, def_, unit_, doc_, NULL})
#define DS_REAL(name_, def_, min_, max_, unit_, doc_)                                                        \
    (&(const ds_param){sizeof(ds_param), DS_PARAM_REAL, 0, 0, min_, max_, name_, def_, unit_, doc_, NULL})
#define DS_ENUM(name_, def_, choices_, doc_)                                                                 \
    (&(const ds_param){sizeof(ds_param), DS_PARAM_ENUM, 0, 0, 0, 0, name_, def_, "", doc_, choices_})
#define DS_TEXT(name_, def_, doc_)                                                                           \
    (&(const ds_param){sizeof(ds_param), DS_PARAM_TEXT, 0, 0, 0, 0, name_, def_, "", doc_, NULL})
#define DS_PATH(name_, def_, doc_)                                                                           \
    (&(const ds_param){sizeof(ds_param), DS_PARAM_PATH, 0, 0, 0, 0, name_, def_, "", doc_, NULL})
#define DS_LIST(name_, def_, min_, max_, count_, unit_, doc_)                                                \
    (&(const ds_param){sizeof(ds_param), DS_PARAM_LIST, 0, count_, min_, max_, name_, def_, unit_, doc_,     \
                       NULL})
#define DS_ARRAY(name_, def_, doc_)                                                                          \
    (&(const ds_param){sizeof(ds_param), DS_PARAM_ARRAY, 0, 0, -INFINITY, INFINITY, name_, def_, "", doc_,   \
                       NULL})

/* Defines ds_plugin_query() of an environment or of an optimizer from its descriptor and vtable. */
#define DS_DEFINE_ENV(desc_, vtable_)                                                                        \
    const ds_plugin *ds_plugin_query(void)                                                                   \
    {                                                                                                        \
        static const ds_plugin plugin = {DS_MAGIC, sizeof(ds_plugin), DS_ABI_MAJOR, DS_ABI_MINOR, DS_LAYOUT, \
                                         0,        __VERSION__,       &(desc_),     &(vtable_),   NULL};     \
        return &plugin;                                                                                      \
    }
#define DS_DEFINE_OPTIMIZER(desc_, vtable_)                                                                  \
    const ds_plugin *ds_plugin_query(void)                                                                   \
    {                                                                                                        \
        static const ds_plugin plugin = {                                                                    \
            DS_MAGIC, sizeof(ds_plugin), DS_ABI_MAJOR, DS_ABI_MINOR, DS_LAYOUT,                              \
            0,        __VERSION__,       &(desc_),     NULL,         &(vtable_)};                            \
        return &plugin;                                                                                      \
    }
#endif

#ifdef __cplusplus
}
#endif
#endif
