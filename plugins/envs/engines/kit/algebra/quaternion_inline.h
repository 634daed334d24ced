/* SPDX-License-Identifier: Apache-2.0 */
/* quaternion_inline.h - what kernels need of quaternion.h, for the numbers of mat3.h. */
#ifndef DS_ENGINES_QUATERNION_INLINE_H
#define DS_ENGINES_QUATERNION_INLINE_H

#include "engines/kit/algebra/mat3.h"

/* quat_matrix() */
static inline void quat_matrix_inline(const mat3_number q[4], mat3_number m[9])
{
    const mat3_number w = q[0], x = q[1], y = q[2], z = q[3];
    m[0] = 1.0 - 2.0 * (y * y + z * z);
    m[1] = 2.0 * (x * y - w * z);
    m[2] = 2.0 * (x * z + w * y);
    m[3] = 2.0 * (x * y + w * z);
    m[4] = 1.0 - 2.0 * (x * x + z * z);
    m[5] = 2.0 * (y * z - w * x);
    m[6] = 2.0 * (x * z - w * y);
    m[7] = 2.0 * (y * z + w * x);
    m[8] = 1.0 - 2.0 * (x * x + y * y);
}

/* quat_product() */
static inline void quat_product_inline(const mat3_number a[4], const mat3_number b[4], mat3_number out[4])
{
    out[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
    out[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
    out[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
    out[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
}

#endif
