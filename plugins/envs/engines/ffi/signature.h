/* SPDX-License-Identifier: Apache-2.0 */
/* signature.h - how to call a C function, written as one line: type and role of each argument.
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
#ifndef FOREIGN_SIGNATURE_H
#define FOREIGN_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

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

#endif
