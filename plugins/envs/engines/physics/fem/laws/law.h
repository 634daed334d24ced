/* SPDX-License-Identifier: Apache-2.0 */
/* law.h - the force laws of single elements in scalar code: force, vector-Jacobian product, Jacobian-vector
 * product. They serve the tangent and are the oracle of the vectorised kernels (kernels/).
 *
 * With n corners and positions q, velocities u: force() sets f[n]; vjp() sets the derivatives of fb . f by q,
 * u and the constants, in the order of the element's structure; jvp() sets the change of f along dq, du and
 * the change of the constants. */
#ifndef DS_ENGINES_FEM_LAW_H
#define DS_ENGINES_FEM_LAW_H

#include <math.h>

/* ---- vectors of three numbers ---- */

typedef struct vec3 {
    double x, y, z;
} vec3;

static inline vec3 v3(const double *p)
{
    return (vec3){p[0], p[1], p[2]};
}

static inline vec3 v3_plus(vec3 a, vec3 b)
{
    return (vec3){a.x + b.x, a.y + b.y, a.z + b.z};
}

static inline vec3 v3_minus(vec3 a, vec3 b)
{
    return (vec3){a.x - b.x, a.y - b.y, a.z - b.z};
}

static inline vec3 v3_times(double s, vec3 a)
{
    return (vec3){s * a.x, s * a.y, s * a.z};
}

/* a + s b */
static inline vec3 v3_along(vec3 a, double s, vec3 b)
{
    return (vec3){a.x + s * b.x, a.y + s * b.y, a.z + s * b.z};
}

static inline double v3_dot(vec3 a, vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline vec3 v3_cross(vec3 a, vec3 b)
{
    return (vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static inline double v3_length(vec3 a)
{
    return sqrt(v3_dot(a, a));
}

/* ---- laws ---- */

/* Spring: f_0 = -(ke (l - rest) + kd l') d; no force if l = 0. */
typedef struct fem_spring_law {
    double ke, kd, rest;
} fem_spring_law;
void fem_spring_force(const fem_spring_law *s, const vec3 q[2], const vec3 u[2], vec3 f[2]);
void fem_spring_vjp(const fem_spring_law *s, const vec3 q[2], const vec3 u[2], const vec3 fb[2], vec3 qb[2],
                    vec3 ub[2], fem_spring_law *bar);
void fem_spring_jvp(const fem_spring_law *s, const vec3 q[2], const vec3 u[2], const vec3 dq[2],
                    const vec3 du[2], const fem_spring_law *dot, vec3 df[2]);

/* Membrane: area (mu/2 F:F + lambda/2 (J - 1 - mu/lambda + act)^2), damped by kd J'; F is 3 x 2. */
typedef struct fem_triangle_rest {
    double inverse[4], area;
} fem_triangle_rest;
typedef struct fem_triangle_law {
    double mu, lambda, kd, act;
} fem_triangle_law;
void fem_triangle_force(const fem_triangle_rest *r, const fem_triangle_law *t, const vec3 q[3],
                        const vec3 u[3], vec3 f[3]);
void fem_triangle_vjp(const fem_triangle_rest *r, const fem_triangle_law *t, const vec3 q[3], const vec3 u[3],
                      const vec3 fb[3], vec3 qb[3], vec3 ub[3], fem_triangle_law *bar);
void fem_triangle_jvp(const fem_triangle_rest *r, const fem_triangle_law *t, const vec3 q[3], const vec3 u[3],
                      const vec3 dq[3], const vec3 du[3], const fem_triangle_law *dot, vec3 df[3]);

/* Lift and drag in a wind: the same force on each corner. */
typedef struct fem_air_law {
    double drag, lift;
    vec3 wind;
} fem_air_law;
void fem_air_force(const fem_air_law *a, const vec3 q[3], const vec3 u[3], vec3 f[3]);
void fem_air_vjp(const fem_air_law *a, const vec3 q[3], const vec3 u[3], const vec3 fb[3], vec3 qb[3],
                 vec3 ub[3], fem_air_law *bar);
void fem_air_jvp(const fem_air_law *a, const vec3 q[3], const vec3 u[3], const vec3 dq[3], const vec3 du[3],
                 const fem_air_law *dot, vec3 df[3]);

/* Bending: f_i = -length (ke (theta - rest - act) + kd theta') d theta / d x_i; `rest` holds rest + act. */
typedef struct fem_edge_law {
    double ke, kd, rest;
} fem_edge_law;
void fem_edge_force(double length, const fem_edge_law *e, const vec3 x[4], const vec3 u[4], vec3 f[4]);
void fem_edge_vjp(double length, const fem_edge_law *e, const vec3 x[4], const vec3 u[4], const vec3 fb[4],
                  vec3 qb[4], vec3 ub[4], fem_edge_law *bar);
void fem_edge_jvp(double length, const fem_edge_law *e, const vec3 x[4], const vec3 u[4], const vec3 dx[4],
                  const vec3 du[4], const fem_edge_law *dot, vec3 df[4]);
double fem_edge_angle(const vec3 x[4]);

/* Tetrahedron: P = mu (1 - 1/(Ic + 1)) F + kd F' + (lambda (J - 1 + act) - 3/4 mu + kd G:F') G, G = dJ/dF. */
typedef struct fem_tet_rest {
    double inverse[9], volume;
} fem_tet_rest;
typedef struct fem_tet_law {
    double mu, lambda, kd, act;
} fem_tet_law;
void fem_tet_force(const fem_tet_rest *r, const fem_tet_law *t, const vec3 q[4], const vec3 u[4], vec3 f[4]);
void fem_tet_vjp(const fem_tet_rest *r, const fem_tet_law *t, const vec3 q[4], const vec3 u[4],
                 const vec3 fb[4], vec3 qb[4], vec3 ub[4], fem_tet_law *bar);
void fem_tet_jvp(const fem_tet_rest *r, const fem_tet_law *t, const vec3 q[4], const vec3 u[4],
                 const vec3 dq[4], const vec3 du[4], const fem_tet_law *dot, vec3 df[4]);

/* Elastic energies. */
double fem_triangle_energy(const fem_triangle_rest *r, const fem_triangle_law *t, const vec3 q[3]);
double fem_tet_energy(const fem_tet_rest *r, const fem_tet_law *t, const vec3 q[4]);

#endif
