/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/base.h - version, limits, status codes and the few types that both plugin interfaces share.
 *
 * Rules of every struct in these headers:
 *   - Only fixed-width integers, double, pointers and function pointers cross the interface; no enum, bool,
 *     size_t, long, bit-field, or struct by value. Named constants are values for uint32_t or uint64_t.
 *   - `struct_size` comes first where the reader and the writer of the struct may have been compiled against
 *     different minor versions. The writer sets it to its own sizeof; the reader looks at a field only where
 *     DS_HAS() says that it is there. New fields are appended, never inserted. DS_..._SIZE_1_0 is how long a
 *     struct was when it was frozen: a shorter one is refused, a longer one is read as far as it is known.
 *   - Structs lie behind pointers, in lists behind pointers to pointers: nobody steps over one by its sizeof.
 *   - `reserved` fields are written as 0 and ignored by the reader.
 *   - Strings are UTF-8, NUL-terminated, and never NULL unless the comment says so.
 *   - Units are SI (metre, kilogram, second, radian) unless the comment names another.
 *
 * What a reader does with a value that it does not know, because the other side is newer:
 *   - a bit in `want` or in `flags`: ignore it, unless the comment of the field says that it is refused;
 *   - an outcome of DS_EVAL_OUTCOMES or more: a failure without a name, as DS_EVAL_ERROR;
 *   - a positive ds_status: return it, it is no error; a negative one: as DS_E_GENERIC;
 *   - a kind of gradient: as DS_GRAD_SMOOTHED; the shape of a body: leave the body out; its role: as
 *     DS_ROLE_MATERIAL; the role, type or operation of a channel: leave the channel, or the operation, alone;
 *   - the type of a parameter, the kind of a plugin, an operation that is asked for: refuse with one line
 *     that names the value.
 *
 * Ids of extensions are "ds.SIDE.NAME/REVISION": SIDE says who answers, env, opt, objective or host, and an
 * id stands for one table for ever. What others define carries their domain in reverse,
 * "org.example.NAME/1". A draft keeps its id when it is frozen unless it changes on the way.
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
#define DS_ABI_MINOR 2u

/* First word of the data returned by a plugin: the bytes 'D' 'S' 'P' '1' on a little-endian machine. */
#define DS_MAGIC 0x31505344u

/* What the compiler of the plugin believed about the machine: byte order (1 = little, 2 = big), size of a
 * pointer, of double, of int. */
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

/* Nothing. A test of the host defines DS_TEST_GROW, so that every struct is longer than plugins know it. */
#ifdef DS_TEST_GROW
#define DS_GROWN uint64_t grown[3];
#else
#define DS_GROWN
#endif

/* Bytes of a struct up to and with field `f`. */
#define DS_SIZE_WITH(type, f) (offsetof(type, f) + sizeof(((type *)0)->f))

/* Is field `f` of `*ptr` inside the part of the struct that the other side wrote? */
#define DS_HAS(type, ptr, f) ((ptr)->struct_size >= DS_SIZE_WITH(type, f))

/* The most that the host takes. It refuses more with one line; texts that are too long are cut. */
#define DS_MAX_VARIABLES 16777216u /* decision variables, 2^24 */
#define DS_MAX_PARAMS 256u         /* parameters of a plugin, and choices of one of them */
#define DS_MAX_NAME 47u            /* bytes of an id or a name without its NUL */
#define DS_MAX_TAG 15u             /* bytes of ds_batch.tag without its NUL */
#define DS_MAX_ERROR 511u          /* bytes of a line of ds_host.error() */
#define DS_MAX_LOG 1023u           /* bytes of a line of ds_host.log() */
#define DS_MAX_ROWS 64u            /* points of one call of ds_env_batch.evaluate() */
#define DS_MAX_LANES 64u           /* episodes that are open at once */
#define DS_MAX_OBSERVED 1048576u   /* numbers of an observation, 2^20 */
#define DS_MAX_CHANNELS 256u       /* channels of an environment */
#define DS_MAX_DIMENSIONS 8u       /* of the shape of a channel or an array */
#define DS_MAX_ELEMENTS 67108864u  /* elements of a channel, 2^26 */
#define DS_MAX_ASKS 16u            /* questions of one evaluation */

/* What a function of either side returns. 0 is success, a positive value a normal outcome that is not
 * success, a negative value an error. Before a plugin returns an error it calls host->error() with one line
 * of text. */
typedef int32_t ds_status;

#define DS_STATUS_LIST(X)                                                                                    \
    X(DS_OK, 0, "ok")                                                                                        \
    X(DS_STOPPED, 1, "stopped on request of the host")                                                       \
    X(DS_E_GENERIC, -1, "error")                                                                             \
    X(DS_E_ARG, -2, "invalid argument")                                                                      \
    X(DS_E_NOMEM, -3, "out of memory")                                                                       \
    X(DS_E_STATE, -4, "call not allowed in this state")                                                      \
    X(DS_E_UNSUPPORTED, -5, "not supported")                                                                 \
    X(DS_E_PARAM, -6, "bad or unknown parameter")                                                            \
    X(DS_E_IO, -7, "input or output failed")                                                                 \
    X(DS_E_DATA, -8, "malformed data")                                                                       \
    X(DS_E_NUMERIC, -9, "numerical failure")
#define DS_STATUS_ENUM_(name, value, text) name = (value),
enum { DS_STATUS_LIST(DS_STATUS_ENUM_) DS_STATUS_END_ = 0x7fffffff };

/* What became of one evaluation (of one point x). Everything but DS_EVAL_OK and DS_EVAL_BAD_GRAD means that
 * there is no loss: the optimizer is then told loss = +INFINITY and zeros for all else. */
#define DS_OUTCOME_LIST(X)                                                                                   \
    X(DS_EVAL_OK, 0, "ok")                                                                                   \
    X(DS_EVAL_BAD_GRAD, 1, "bad_gradient") /* the loss is valid; gradient and products are not (zeros) */    \
    X(DS_EVAL_DIVERGED, 2, "diverged")     /* the simulation left its valid range */                         \
    X(DS_EVAL_INFEASIBLE, 3, "infeasible") /* x describes no simulation */                                   \
    X(DS_EVAL_STOPPED, 4, "stopped")       /* set by the host: interrupted, not counted */                   \
    X(DS_EVAL_INVALID, 5, "invalid")       /* set by the host: non-finite result or broken contract */       \
    X(DS_EVAL_CRASHED, 6, "crashed")       /* set by the host: the worker process died */                    \
    X(DS_EVAL_TIMEOUT, 7, "timeout")       /* set by the host: time limit of one evaluation */               \
    X(DS_EVAL_ERROR, 8, "error")           /* set by the host: evaluate() returned an error status */
#define DS_OUTCOME_ENUM_(name, value, text) name = (value),
enum { DS_OUTCOME_LIST(DS_OUTCOME_ENUM_) DS_OUTCOME_END_ = 0x7fffffff };
#define DS_EVAL_OUTCOMES 9u /* how many these headers know */

/* What a caller may ask of one evaluation, besides the loss. */
enum {
    DS_WANT_GRAD = 1, /* d loss / d x */
    DS_WANT_SCENE = 2 /* keep frames and metrics for the scene extension (diffsim/ext/scene.h) */
};

/* How a gradient, or a product with a derivative, was made. */
enum {
    DS_GRAD_NONE = 0,
    DS_GRAD_ADJOINT = 1, /* reverse mode, exact to round-off */
    DS_GRAD_FORWARD = 2, /* forward mode, exact to round-off */
    DS_GRAD_FD = 3,      /* finite differences */
    DS_GRAD_SMOOTHED = 4 /* of a smoothed loss */
};

/* Operations on a channel (diffsim/ext/channel.h). */
enum {
    DS_ASK_VALUE = 1, /* its elements c(x) */
    DS_ASK_JV = 2,    /* J v with J_ij = d c_i / d x_j */
    DS_ASK_JTV = 3,   /* J' v */
    DS_ASK_HV = 4     /* (sum over i of w_i Hessian of c_i) v */
};

/* One question about a channel, answered by the same evaluation as the loss. In ds_eval it is about one
 * point. In ds_batch it is about every row: v, w and out then hold that of row 0, that of row 1, and so on.
 * With n variables and `elements` of the channel:
 *
 *              v, doubles    w, doubles    out
 *     VALUE    NULL          NULL          elements, of the channel's type
 *     JV       n             NULL          elements, doubles
 *     JTV      elements      NULL          n doubles
 *     HV       n             elements      n doubles
 *
 * Buffers belong to the caller and are dead when the call returns. */
typedef struct ds_ask {
    uint32_t struct_size; /* set by the caller */
    uint32_t op;          /* in: DS_ASK_* */
    uint32_t channel;     /* in: its number, from 0 */
    uint32_t kind;        /* out: how a product was made, DS_GRAD_*; for VALUE DS_GRAD_NONE */
    const double *v;      /* in: finite values, see above */
    const double *w;      /* in: HV: finite weights, NULL = all 1; else NULL */
    void *out;            /* out: where there is an answer; for a row without one the host writes zeros */
    uint64_t out_bytes;   /* in: bytes at `out`, exactly what the answer takes */
    DS_GROWN
} ds_ask;
#define DS_ASK_SIZE_1_0 DS_SIZE_WITH(ds_ask, out_bytes)

#ifdef __cplusplus
}
#endif
#endif
