/* SPDX-License-Identifier: Apache-2.0 */
/* call.h - calls a function of a third-party library: its address, its signature, memory for its arguments
 * with guard bytes, and capture of what it prints. */
#ifndef DS_ENGINES_FFI_CALL_H
#define DS_ENGINES_FFI_CALL_H

#include <diffsim/helper/memory.h>

#include <stddef.h>
#include <stdint.h>

/* ---- signatures ---- */

/* How to call a C function, written as one line: type and role of each argument.
 *
 *     signature := type "(" [ role ":" type { "," role ":" type } ] ")"
 *     type      := ( "void" | "i32" | "i64" | "u32" | "u64" | "f32" | "f64" ) [ "*" ]
 *     role      := "n" number of variables       "x" all variables, an array      "x0", "x1", ... one of them
 *                | "g" receives the gradient     "f" receives the loss            "ctx" a null pointer
 *                | "r" receives the residuals    "m" number of residuals          a number: that constant
 *                | "J" receives d r_i / d x_j, m x n by rows
 *
 *     f64(n:i32, x:f64*)             returns the loss
 *     f64(x:f64*, g:f64*)            also writes the gradient if it is wanted (else g is NULL)
 *     void(n:i32*, x:f64*, f:f64*)   Fortran: everything by reference
 *     f64(x0:f64, 2.5:f64)           takes numbers, here one variable and a constant
 *     i32(x:f64*, f:f64*)            returns an integer status: 0 = ok, else there is no loss */

enum { SIGNATURE_ARGUMENTS = 64, SIGNATURE_ERROR = 256 };

typedef enum scalar {
    SCALAR_VOID,
    SCALAR_I32,
    SCALAR_I64,
    SCALAR_U32,
    SCALAR_U64,
    SCALAR_F32,
    SCALAR_F64
} scalar;

typedef enum argument_role {
    ROLE_N,
    ROLE_M,
    ROLE_X,
    ROLE_COMPONENT, /* variable `index` */
    ROLE_G,
    ROLE_F,
    ROLE_R,
    ROLE_J,
    ROLE_CTX,
    ROLE_CONSTANT /* `value` */
} argument_role;

typedef struct argument {
    argument_role role;
    scalar type;
    int pointer;
    uint64_t index;
    double value;
} argument;

typedef struct signature {
    scalar result; /* never a pointer */
    size_t count;
    argument argument[SIGNATURE_ARGUMENTS];
} signature;

/* Reads a signature. Returns 0 with one line in `error` if it is invalid. */
int signature_parse(const char *text, signature *out, char error[SIGNATURE_ERROR]);

/* The first argument with this role, or NULL. */
const argument *signature_find(const signature *s, argument_role wanted);

/* ---- calls ---- */

typedef struct foreign foreign;

/* Result of a call. */
enum {
    FOREIGN_OK = 0,
    FOREIGN_FAILED,  /* it returned a nonzero status */
    FOREIGN_OUTSIDE, /* it wrote outside its arguments */
};

/* Prepares calls of `address` with n variables and m residuals (0 = none); allocates from `room`. On failure
 * returns NULL with one line in `error`, empty if memory is short. */
foreign *foreign_open(ds_memory *room, void *address, const signature *s, uint64_t n, uint64_t m,
                      char error[SIGNATURE_ERROR]);

/* Where results go; NULL: not wanted. */
typedef struct foreign_results {
    double *value;    /* the returned number, or f */
    double *gradient; /* n: g; if NULL, the function gets NULL for g */
    double *jacobian; /* m x n: J, likewise */
    double *residual; /* m: r */
} foreign_results;

/* Calls the function at x and restores the floating-point mode. */
int foreign_call(foreign *f, const double *x, const foreign_results *out);

/* Opens a library (a path with a slash, or a name for the dynamic loader), or finds a function in it. On
 * failure returns NULL with one line in `error`. A library stays loaded, because it may have left threads or
 * handlers. Libraries that it loads see the symbols of a `global` one. */
void *foreign_library(const char *name, int global, char error[SIGNATURE_ERROR]);
void *foreign_symbol(void *library, const char *name, char error[SIGNATURE_ERROR]);

/* ---- stderr during a call ----
 *
 * Many libraries report failures only on stderr. This works in worker processes, which have a stderr of their
 * own; elsewhere nothing is captured. */

/* Redirects stderr to a buffer. One call at a time in a process. */
void printed_begin(void);

/* Restores stderr and forwards the captured text; returns 1 if there was any. Text of a call that exits or
 * dies by a signal is forwarded too, unless it is killed. */
int printed_end(void);

#endif
