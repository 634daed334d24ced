/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/base.h - version, limits, status codes, and the tables of points that all interfaces share.
 *
 * Rules of every struct in these headers:
 *   - Only fixed-width integers, double, pointers and function pointers cross the interface; no enum, bool,
 *     size_t, long, bit-field, or struct by value. Named constants are values for uint32_t or uint64_t.
 *   - `struct_size` comes first where the reader and the writer of the struct may have different minor
 *     versions. The writer sets it to its own sizeof; the reader reads a field only where DS_HAS() is true.
 *     New fields are appended, never inserted. DS_..._SIZE_1_0 is the length of a struct when it was frozen:
 *     a reader refuses a shorter struct, and reads the fields of a longer one that it knows.
 *   - Structs are passed by pointer, lists of structs by pointers to pointers, because sizes differ.
 *   - The writer sets `reserved` fields to 0, the reader ignores them.
 *   - Strings are UTF-8, NUL-terminated, and never NULL unless the comment says so.
 *   - Units are SI (metre, kilogram, second, radian) unless the comment names another.
 *
 * What a reader does with a value that it does not know, because the other side is newer:
 *   - a bit in `want` or in `flags`: ignore it, unless the comment of the field says to refuse it;
 *   - a kind of memory: refuse the call with DS_E_UNSUPPORTED;
 *   - an outcome of DS_EVAL_OUTCOMES or more: a failure without a name, as DS_EVAL_ERROR;
 *   - a positive ds_status: return it, it is not an error; a negative one: as DS_E_GENERIC;
 *   - a kind of gradient: as DS_GRAD_SMOOTHED; the shape of a body: leave the body out; its role: as
 *     DS_ROLE_MATERIAL; the role, type or operation of a channel: ignore the channel, or the operation;
 *   - the type of a parameter, the kind of a plugin, the operation of a query: refuse it with one line that
 *     names the value.
 *
 * Ids of extensions are "ds.SIDE.NAME/REVISION": SIDE offers the table (env, opt, objective or host), and an
 * id means one table for ever. Third-party ids begin with a domain in reverse, "org.example.NAME/1". Headers
 * in diffsim/ext/draft/ may still change; their ids are "ds.draft.SIDE.NAME/N".
 *
 * Thread tags used in the comments:
 *   [any]       callable from any thread, also concurrently.
 *   [instance]  one thread at a time per instance; the thread may change between calls.
 */
#ifndef DIFFSIM_BASE_H
#define DIFFSIM_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the binary interface. While the major number is 0 the minor numbers of host and plugin must be
 * equal; from 1.0 on, a host accepts every plugin of its own major number. */
#define DS_ABI_MAJOR 0u
#define DS_ABI_MINOR 3u

/* First word of the data returned by a plugin: the bytes 'D' 'S' 'P' '1' on a little-endian machine. */
#define DS_MAGIC 0x31505344u

/* Machine of the plugin: byte order (1 = little, 2 = big), size of a pointer, of double, of int. */
#if defined(__BYTE_ORDER__) && defined(__ORDER_BIG_ENDIAN__)
#define DS_BYTE_ORDER_ (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 2u : 1u)
#else
#define DS_BYTE_ORDER_ 1u
#endif
#define DS_LAYOUT                                                                                            \
    ((DS_BYTE_ORDER_ << 24) | ((uint32_t)sizeof(void *) << 16) | ((uint32_t)sizeof(double) << 8) |           \
     (uint32_t)sizeof(int))

/* Marks the one function that a plugin exports. Everything else should be static or hidden. */
#if defined(_WIN32)
#define DS_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define DS_EXPORT __attribute__((visibility("default")))
#else
#define DS_EXPORT
#endif

/* The calling convention of every function pointer in these headers. Empty where a machine has only one. */
#if defined(_WIN32)
#define DS_CALL __cdecl
#else
#define DS_CALL
#endif

/* Bytes of a struct up to and with field `f`. */
#define DS_SIZE_WITH(type, f) (offsetof(type, f) + sizeof(((type *)0)->f))

/* Is field `f` of `*ptr` inside the part of the struct that the other side wrote? */
#define DS_HAS(type, ptr, f) ((ptr)->struct_size >= DS_SIZE_WITH(type, f))

/* Limits of the host. It refuses more with one line, and cuts texts that are too long. */
#define DS_MAX_VARIABLES 16777216u /* decision variables, 2^24 */
#define DS_MAX_PARAMS 256u         /* parameters of a plugin, and choices of one of them */
#define DS_MAX_NAME 47u            /* bytes of an id or a name without its NUL */
#define DS_MAX_TAG 15u             /* bytes of ds_label.tag without its NUL */
#define DS_MAX_ERROR 511u          /* bytes of a line of ds_host.error() */
#define DS_MAX_LOG 1023u           /* bytes of a line of ds_host.log() */
#define DS_MAX_OBSERVED 1048576u   /* numbers of an observation, 2^20 */
#define DS_MAX_CHANNELS 256u       /* channels of an environment */
#define DS_MAX_DIMENSIONS 8u       /* of the shape of a channel or an array */
#define DS_MAX_ELEMENTS 67108864u  /* elements of a channel, 2^26 */
#define DS_MAX_QUERIES 16u         /* queries of one evaluation */

/* Status of a function: 0 is success, a positive value a normal outcome that is not success, a negative value
 * an error. Before a plugin returns an error it calls host->error() with one line of text. */
typedef int32_t ds_status;

enum {
    DS_OK = 0,
    DS_STOPPED = 1,        /* stopped on request of the host */
    DS_E_GENERIC = -1,     /* any other error */
    DS_E_ARG = -2,         /* invalid argument */
    DS_E_NOMEM = -3,       /* out of memory */
    DS_E_STATE = -4,       /* call not allowed in this state */
    DS_E_UNSUPPORTED = -5, /* not supported */
    DS_E_PARAM = -6,       /* bad or unknown parameter */
    DS_E_IO = -7,          /* input or output failed */
    DS_E_DATA = -8,        /* malformed data */
    DS_E_NUMERIC = -9,     /* numerical failure */
    DS_STATUS_FORCE_INT32_ = 0x7fffffff
};

/* Outcome of the evaluation of one row. With every outcome but DS_EVAL_OK and DS_EVAL_BAD_GRAD there is no
 * loss: the optimizer gets loss = +INFINITY and zeros for everything else. */
enum {
    DS_EVAL_OK = 0,
    DS_EVAL_BAD_GRAD = 1,   /* the loss is valid; gradient and products are not (zeros) */
    DS_EVAL_DIVERGED = 2,   /* the simulation left its valid range */
    DS_EVAL_INFEASIBLE = 3, /* x describes no simulation */
    DS_EVAL_STOPPED = 4,    /* set by the host: interrupted, not counted */
    DS_EVAL_INVALID = 5,    /* set by the host: a result that is not finite, or a broken contract */
    DS_EVAL_CRASHED = 6,    /* set by the host: the worker process died */
    DS_EVAL_TIMEOUT = 7,    /* set by the host: time limit of one evaluation */
    DS_EVAL_ERROR = 8,      /* set by the host: evaluate() returned an error status */
    DS_EVAL_FORCE_INT32_ = 0x7fffffff
};
#define DS_EVAL_OUTCOMES 9u /* outcomes that these headers define */

/* Bits of ds_rows.want: what a request wants of each row, besides the loss. */
enum {
    DS_WANT_GRAD = 1, /* d loss / d x */
    DS_WANT_SCENE = 2 /* keep frames and metrics for diffsim/ext/scene.h; one row only */
};

/* How a gradient, or a product with a derivative, was computed. */
enum {
    DS_GRAD_NONE = 0,
    DS_GRAD_ADJOINT = 1, /* reverse mode, exact to round-off */
    DS_GRAD_FORWARD = 2, /* forward mode, exact to round-off */
    DS_GRAD_FD = 3,      /* finite differences */
    DS_GRAD_SMOOTHED = 4 /* of a smoothed loss */
};

/* Where the arrays of a table are. */
enum {
    DS_MEMORY_HOST = 0 /* main memory; other values are reserved, and refused */
};

/* ---- tables ----
 *
 * A table of points is the unit of every request: between an optimizer and the host (optimizer.h), between
 * the host and an environment (env.h), and between a program and libdiffsim (lib/environment.h). ds_rows is
 * the request and is constant; the callee writes to the arrays of ds_results. All arrays belong to the caller
 * and are valid during the call only. Arrays of `count` values have one value for each row. */

/* Operations of a query about a channel (diffsim/ext/channel.h). */
enum {
    DS_QUERY_VALUE = 1, /* its elements c(x) */
    DS_QUERY_JV = 2,    /* J v with J_ij = d c_i / d x_j */
    DS_QUERY_JTV = 3,   /* J' v */
    DS_QUERY_HV = 4     /* (sum over i of w_i Hessian of c_i) v */
};

/* One query about a channel, for every row; the evaluation that computes the loss answers it. With n
 * variables and `elements` of the channel, each row has
 *
 *              v, doubles    w, doubles    reply
 *     VALUE    NULL          NULL          elements, of the channel's type
 *     JV       n             NULL          elements, doubles
 *     JTV      elements      NULL          n doubles
 *     HV       n             elements      n doubles
 */
typedef struct ds_query {
    uint32_t struct_size; /* sizeof(ds_query) of the caller */
    uint32_t op;          /* DS_QUERY_* */
    uint32_t channel;     /* its number, from 0 */
    uint32_t reserved;
    const double *v;   /* finite values, see above: row r begins at v + r * v_stride */
    const double *w;   /* HV: finite weights, NULL = all 1; else NULL; row r at w + r * w_stride */
    uint64_t v_stride; /* doubles */
    uint64_t w_stride; /* doubles */
} ds_query;
#define DS_QUERY_SIZE_1_0 DS_SIZE_WITH(ds_query, w_stride)

/* Where the replies to one query go. The caller sets the struct, the callee writes to the arrays. */
typedef struct ds_reply {
    uint32_t struct_size; /* sizeof(ds_reply) of the caller */
    uint32_t reserved;
    void *out;       /* the reply of row r begins at byte r * stride; failed rows are zeros */
    uint64_t stride; /* bytes from row to row, a multiple of 8 */
    uint64_t bytes;  /* bytes of one reply, exactly */
    uint32_t *kind;  /* count: how a product was computed, DS_GRAD_*; DS_GRAD_NONE for VALUE */
} ds_reply;
#define DS_REPLY_SIZE_1_0 DS_SIZE_WITH(ds_reply, kind)

/* A table of points, and what the caller wants of each. */
typedef struct ds_rows {
    uint32_t struct_size; /* sizeof(ds_rows) of the caller */
    uint32_t want;        /* DS_WANT_*, for every row; the callee ignores bits that it does not know */
    uint64_t count;       /* rows, at least 1 */
    uint64_t n;           /* decision variables of a row */
    uint64_t stride;      /* doubles from row to row of x, at least n */
    const double *x;      /* finite values inside the bounds: row r begins at x + r * stride */
    /* count keys that select the noise of a stochastic environment, 0 = no noise; NULL = all 0. An optimizer
     * sets NULL: the host chooses the keys, see ds_label.noise. */
    const uint64_t *noise_key;
    uint64_t queries; /* 0 .. DS_MAX_QUERIES; 0 unless the environment lists channels */
    const ds_query *const *query;
    uint32_t memory; /* DS_MEMORY_* of all arrays, those of the results included */
    uint32_t device; /* 0 */
} ds_rows;
#define DS_ROWS_SIZE_1_0 DS_SIZE_WITH(ds_rows, device)

/* Results of a table: the struct is constant, the callee writes to its arrays. Between host and environment
 * no array is NULL, but for grad where DS_WANT_GRAD is not set. The host presets all values (loss NaN,
 * outcome DS_EVAL_OK, DS_GRAD_NONE, bad_step -1, cost_steps 0), so that an environment writes only what
 * differs. From an optimizer or a program all arrays but loss may be NULL. */
typedef struct ds_results {
    uint32_t struct_size; /* sizeof(ds_results) of the caller */
    uint32_t reserved;
    uint64_t stride;      /* doubles from row to row of grad, at least n */
    double *loss;         /* count: to be minimised; finite, or +INFINITY where the outcome says that there
                           * is none */
    double *grad;         /* n values a row, where DS_WANT_GRAD is set */
    uint32_t *outcome;    /* count: DS_EVAL_OK, _BAD_GRAD, _DIVERGED, _INFEASIBLE; the host adds its own */
    uint32_t *grad_kind;  /* count: DS_GRAD_* */
    int64_t *bad_step;    /* count: first output step that went wrong, or -1 */
    uint64_t *cost_steps; /* count: simulation steps spent, forward and backward, repeated ones included */
    const ds_reply *const *reply; /* one for each query; NULL where there are none */
} ds_results;
#define DS_RESULTS_SIZE_1_0 DS_SIZE_WITH(ds_results, reply)

#ifdef __cplusplus
}
#endif
#endif
