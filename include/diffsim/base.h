/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/base.h - version, status codes and the few types that both plugin interfaces share.
 *
 * Rules of every struct in these headers:
 *   - Only fixed-width integers, double, pointers and function pointers cross the interface; no enum, bool,
 *     size_t, long, bit-field, or struct by value. Named constants are values for uint32_t or uint64_t.
 *   - `struct_size` comes first where the reader and the writer of the struct may have been compiled against
 *     different minor versions. The writer sets it to its own sizeof; the reader looks at a field only where
 *     DS_HAS() says that it is there. New fields are appended, never inserted.
 *   - `reserved` fields are written as 0 and ignored by the reader.
 *   - Strings are UTF-8, NUL-terminated, and never NULL unless the comment says so.
 *   - Units are SI (metre, kilogram, second, radian) unless the comment names another.
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
#define DS_ABI_MINOR 1u

/* First word of the data returned by a plugin: the bytes 'D' 'S' 'P' '1' on a little-endian machine. */
#define DS_MAGIC 0x31505344u

/* What the compiler of the plugin believed about the machine: byte order, size of a pointer, of
 * double, of int. */
#define DS_LAYOUT                                                                                            \
    ((1u << 24) | ((uint32_t)sizeof(void *) << 16) | ((uint32_t)sizeof(double) << 8) | (uint32_t)sizeof(int))

/* Marks the one function that a plugin exports. Everything else should be static or hidden. */
#if defined(__GNUC__)
#define DS_EXPORT __attribute__((visibility("default")))
#else
#define DS_EXPORT
#endif

/* Is field `f` of `*ptr` inside the part of the struct that the other side wrote? */
#define DS_HAS(type, ptr, f) ((ptr)->struct_size >= offsetof(type, f) + sizeof(((type *)0)->f))

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
 * there is no loss: the optimizer is then told loss = +INFINITY and a zero gradient. */
#define DS_OUTCOME_LIST(X)                                                                                   \
    X(DS_EVAL_OK, 0, "ok")                                                                                   \
    X(DS_EVAL_BAD_GRAD, 1, "bad_gradient") /* the loss is valid, the gradient is not (told as zero) */       \
    X(DS_EVAL_DIVERGED, 2, "diverged")     /* the simulation left its valid range */                         \
    X(DS_EVAL_INFEASIBLE, 3, "infeasible") /* x describes no simulation */                                   \
    X(DS_EVAL_STOPPED, 4, "stopped")       /* set by the host: interrupted, not counted */                   \
    X(DS_EVAL_INVALID, 5, "invalid")       /* set by the host: non-finite result or broken contract */       \
    X(DS_EVAL_CRASHED, 6, "crashed")       /* set by the host: the worker process died */                    \
    X(DS_EVAL_TIMEOUT, 7, "timeout")       /* set by the host: time limit of one evaluation */               \
    X(DS_EVAL_ERROR, 8, "error")           /* set by the host: evaluate() returned an error status */
#define DS_OUTCOME_ENUM_(name, value, text) name = (value),
enum { DS_OUTCOME_LIST(DS_OUTCOME_ENUM_) DS_OUTCOME_END_ = 0x7fffffff };

/* What a caller may ask of one evaluation, besides the loss. */
enum {
    DS_WANT_GRAD = 1, /* d loss / d x */
    DS_WANT_SCENE = 2 /* keep frames and metrics for the scene extension (diffsim/ext/scene.h) */
};

/* How a gradient was made. */
enum {
    DS_GRAD_NONE = 0,
    DS_GRAD_ADJOINT = 1, /* reverse mode, exact to round-off */
    DS_GRAD_FORWARD = 2, /* forward mode, exact to round-off */
    DS_GRAD_FD = 3,      /* finite differences */
    DS_GRAD_SMOOTHED = 4 /* of a smoothed loss */
};

#ifdef __cplusplus
}
#endif
#endif
