/* SPDX-License-Identifier: Apache-2.0 */
/* Signed distances and normals of the tools (PlasticineLab: primitive/primitives.py; the ladle is ours) with
 * adjoints. First in the tool's own frame, shape by shape; then in the world. */
#include "tool.h"

#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"

/* Lengths are regularised as sqrt(a.a + 1e-14). */
static double length(const double a[3])
{
    return sqrt(vec3_dot(a, a) + 1e-14);
}

/* n = a / length(a) */
static void unit(const double a[3], double n[3])
{
    double l = length(a);
    for (int k = 0; k < 3; k++) {
        n[k] = a[k] / l;
    }
}

static void unit_adjoint(const double a[3], const double n_bar[3], double a_bar[3])
{
    double l = length(a);
    double along = vec3_dot(a, n_bar) / (l * l);
    for (int k = 0; k < 3; k++) {
        a_bar[k] += (n_bar[k] - along * a[k]) / l;
    }
}

static double sign(double a)
{
    return (a > 0.0) - (a < 0.0);
}

/* ---- capsule: the nearest point of the axis, y in -h/2..h/2, is subtracted from x ---- */

/* Returns whether y still varies with x (beyond one of the ends). */
static bool capsule_offset(double h, const double x[3], double y[3])
{
    double along = x[1] + 0.5 * h;
    y[0] = x[0];
    y[1] = along - clamp(along, 0.0, h);
    y[2] = x[2];
    return along <= 0.0 || along >= h;
}

static double capsule_distance(const double size[3], const double x[3])
{
    double y[3];
    capsule_offset(size[1], x, y);
    return length(y) - size[0];
}

static void capsule_distance_adjoint(const double size[3], const double x[3], double d_bar, double x_bar[3])
{
    double y[3];
    bool beyond = capsule_offset(size[1], x, y);
    double scale = d_bar / length(y);
    x_bar[0] += scale * y[0];
    x_bar[1] += beyond ? scale * y[1] : 0.0;
    x_bar[2] += scale * y[2];
}

static void capsule_normal(const double size[3], const double x[3], double n[3])
{
    double y[3];
    capsule_offset(size[1], x, y);
    unit(y, n);
}

static void capsule_normal_adjoint(const double size[3], const double x[3], const double n_bar[3],
                                   double x_bar[3])
{
    double y[3], y_bar[3] = {0.0};
    bool beyond = capsule_offset(size[1], x, y);
    unit_adjoint(y, n_bar, y_bar);
    x_bar[0] += y_bar[0];
    x_bar[1] += beyond ? y_bar[1] : 0.0;
    x_bar[2] += y_bar[2];
}

/* ---- bodies of revolution about y: profile coordinates (radius, height) ---- */

static double radius_of(const double x[3])
{
    return sqrt(x[0] * x[0] + x[2] * x[2] + 1e-14);
}

/* The direction with profile components e = (radial, axial) at x, normalised. */
static void profile_direction(const double x[3], const double e[2], double m[3])
{
    double l = radius_of(x);
    m[0] = x[0] / l * e[0];
    m[1] = e[1];
    m[2] = x[2] / l * e[0];
}

static void profile_direction_adjoint(const double x[3], const double e[2], const double m_bar[3],
                                      double e_bar[2], double x_bar[3])
{
    double l = radius_of(x);
    double along = (x[0] * m_bar[0] + x[2] * m_bar[2]) / l;
    e_bar[0] += along;
    e_bar[1] += m_bar[1];
    x_bar[0] += e[0] / l * (m_bar[0] - along * x[0] / l);
    x_bar[2] += e[0] / l * (m_bar[2] - along * x[2] / l);
}

/* ---- cylinder ---- */

static void cylinder_profile(const double size[3], const double x[3], double d[2])
{
    d[0] = radius_of(x) - size[0];
    d[1] = fabs(x[1]) - size[1];
}

static double cylinder_distance(const double size[3], const double x[3])
{
    double d[2];
    cylinder_profile(size, x, d);
    double inside = d[0] > d[1] ? d[0] : d[1];
    const double out[3] = {d[0] > 0.0 ? d[0] : 0.0, d[1] > 0.0 ? d[1] : 0.0, 0.0};
    return (inside < 0.0 ? inside : 0.0) + length(out);
}

static void cylinder_distance_adjoint(const double size[3], const double x[3], double d_bar, double x_bar[3])
{
    double d[2], p_bar[2] = {0.0, 0.0};
    cylinder_profile(size, x, d);
    int larger = d[0] > d[1] ? 0 : 1;
    if (d[larger] < 0.0) {
        p_bar[larger] += d_bar;
    }
    const double out[3] = {d[0] > 0.0 ? d[0] : 0.0, d[1] > 0.0 ? d[1] : 0.0, 0.0};
    double l = length(out);
    p_bar[0] += d_bar * out[0] / l;
    p_bar[1] += d_bar * out[1] / l;
    double r = radius_of(x);
    x_bar[0] += p_bar[0] * x[0] / r;
    x_bar[1] += p_bar[1] * sign(x[1]);
    x_bar[2] += p_bar[0] * x[2] / r;
}

/* Profile of the normal before normalisation: the outside distance, or the nearer face where x is inside. */
static void cylinder_profile_normal(const double size[3], const double x[3], double d[2], double e[3])
{
    cylinder_profile(size, x, d);
    e[0] = d[0] > 0.0 ? d[0] : 0.0;
    e[1] = d[1] > 0.0 ? d[1] : 0.0;
    e[2] = 0.0;
    if ((d[0] > d[1] ? d[0] : d[1]) <= 0.0) {
        e[d[0] > d[1] ? 0 : 1] += 1.0;
    }
}

static void cylinder_normal(const double size[3], const double x[3], double n[3])
{
    double d[2], e[3], eu[3], m[3];
    cylinder_profile_normal(size, x, d, e);
    unit(e, eu);
    const double profile[2] = {eu[0], x[1] >= 0.0 ? eu[1] : -eu[1]};
    profile_direction(x, profile, m);
    unit(m, n);
}

static void cylinder_normal_adjoint(const double size[3], const double x[3], const double n_bar[3],
                                    double x_bar[3])
{
    double d[2], e[3], eu[3], m[3];
    double m_bar[3] = {0.0}, profile_bar[2] = {0.0}, e_bar[3] = {0.0};
    double side = x[1] >= 0.0 ? 1.0 : -1.0;
    cylinder_profile_normal(size, x, d, e);
    unit(e, eu);
    const double profile[2] = {eu[0], side * eu[1]};
    profile_direction(x, profile, m);
    unit_adjoint(m, n_bar, m_bar);
    profile_direction_adjoint(x, profile, m_bar, profile_bar, x_bar);
    const double eu_bar[3] = {profile_bar[0], side * profile_bar[1], 0.0};
    unit_adjoint(e, eu_bar, e_bar);
    double r = radius_of(x);
    if (d[0] > 0.0) {
        x_bar[0] += e_bar[0] * x[0] / r;
        x_bar[2] += e_bar[0] * x[2] / r;
    }
    if (d[1] > 0.0) {
        x_bar[1] += e_bar[1] * sign(x[1]);
    }
}

/* ---- torus ---- */

static double torus_distance(const double size[3], const double x[3])
{
    const double q[3] = {radius_of(x) - size[0], x[1], 0.0};
    return length(q) - size[1];
}

static void torus_distance_adjoint(const double size[3], const double x[3], double d_bar, double x_bar[3])
{
    double r = radius_of(x);
    const double q[3] = {r - size[0], x[1], 0.0};
    double scale = d_bar / length(q);
    x_bar[0] += scale * q[0] * x[0] / r;
    x_bar[1] += scale * q[1];
    x_bar[2] += scale * q[0] * x[2] / r;
}

static void torus_normal(const double size[3], const double x[3], double n[3])
{
    const double q[3] = {radius_of(x) - size[0], x[1], 0.0};
    double m[3], l = length(q);
    profile_direction(x, q, m);
    for (int k = 0; k < 3; k++) {
        m[k] /= l;
    }
    unit(m, n);
}

static void torus_normal_adjoint(const double size[3], const double x[3], const double n_bar[3],
                                 double x_bar[3])
{
    double r = radius_of(x);
    const double q[3] = {r - size[0], x[1], 0.0};
    double m[3], l = length(q), m_bar[3] = {0.0}, q_bar[2] = {0.0};
    profile_direction(x, q, m);
    for (int k = 0; k < 3; k++) {
        m[k] /= l;
    }
    unit_adjoint(m, n_bar, m_bar);
    double along = vec3_dot(m, m_bar) / l; /* through the length of q */
    for (int k = 0; k < 3; k++) {
        m_bar[k] /= l;
    }
    profile_direction_adjoint(x, q, m_bar, q_bar, x_bar);
    q_bar[0] -= along * q[0] / l;
    q_bar[1] -= along * q[1] / l;
    x_bar[0] += q_bar[0] * x[0] / r;
    x_bar[1] += q_bar[1];
    x_bar[2] += q_bar[0] * x[2] / r;
}

/* ---- ladle: half a spherical shell, y <= 0, of middle radius size[0] and half thickness size[1]. Above its
 * rim it is a torus of the same two numbers, see shape_at(). ---- */

static double shell_side(const double size[3], const double x[3])
{
    return sign(length(x) - size[0]);
}

static double shell_distance(const double size[3], const double x[3])
{
    return fabs(length(x) - size[0]) - size[1];
}

static void shell_distance_adjoint(const double size[3], const double x[3], double d_bar, double x_bar[3])
{
    vec3_add_scaled(x_bar, shell_side(size, x) * d_bar / length(x), x);
}

static void shell_normal(const double size[3], const double x[3], double n[3])
{
    unit(x, n);
    for (int k = 0; k < 3; k++) {
        n[k] *= shell_side(size, x);
    }
}

static void shell_normal_adjoint(const double size[3], const double x[3], const double n_bar[3],
                                 double x_bar[3])
{
    double side = shell_side(size, x);
    const double m_bar[3] = {side * n_bar[0], side * n_bar[1], side * n_bar[2]};
    unit_adjoint(x, m_bar, x_bar);
}

/* ---- box: the normal is a central difference, as in the original ---- */

static const double box_step = 1e-4;

static double box_distance(const double size[3], const double x[3])
{
    double out[3], inside = -INFINITY;
    for (int k = 0; k < 3; k++) {
        double q = fabs(x[k]) - size[k];
        out[k] = q > 0.0 ? q : 0.0;
        inside = q > inside ? q : inside;
    }
    return length(out) + (inside < 0.0 ? inside : 0.0);
}

static void box_distance_adjoint(const double size[3], const double x[3], double d_bar, double x_bar[3])
{
    double out[3], inside = -INFINITY;
    int face = 0;
    for (int k = 0; k < 3; k++) {
        double q = fabs(x[k]) - size[k];
        out[k] = q > 0.0 ? q : 0.0;
        if (q > inside) {
            inside = q;
            face = k;
        }
    }
    double l = length(out);
    for (int k = 0; k < 3; k++) {
        double q_bar = d_bar * out[k] / l + (k == face && inside < 0.0 ? d_bar : 0.0);
        x_bar[k] += q_bar * sign(x[k]);
    }
}

static void box_difference(const double size[3], const double x[3], double m[3])
{
    for (int k = 0; k < 3; k++) {
        double a[3] = {x[0], x[1], x[2]}, b[3] = {x[0], x[1], x[2]};
        a[k] += box_step;
        b[k] -= box_step;
        m[k] = 0.5 / box_step * (box_distance(size, a) - box_distance(size, b));
    }
}

static void box_normal(const double size[3], const double x[3], double n[3])
{
    double m[3];
    box_difference(size, x, m);
    unit(m, n);
}

static void box_normal_adjoint(const double size[3], const double x[3], const double n_bar[3],
                               double x_bar[3])
{
    double m[3], m_bar[3] = {0.0};
    box_difference(size, x, m);
    unit_adjoint(m, n_bar, m_bar);
    for (int k = 0; k < 3; k++) {
        double a[3] = {x[0], x[1], x[2]}, b[3] = {x[0], x[1], x[2]};
        a[k] += box_step;
        b[k] -= box_step;
        box_distance_adjoint(size, a, 0.5 / box_step * m_bar[k], x_bar);
        box_distance_adjoint(size, b, -0.5 / box_step * m_bar[k], x_bar);
    }
}

/* ---- all shapes, in the tool's own frame ---- */

typedef struct tool_shape {
    double (*distance)(const double size[3], const double x[3]);
    void (*distance_adjoint)(const double size[3], const double x[3], double d_bar, double x_bar[3]);
    void (*normal)(const double size[3], const double x[3], double n[3]);
    void (*normal_adjoint)(const double size[3], const double x[3], const double n_bar[3], double x_bar[3]);
} tool_shape;

#define TOOL_SHAPE(name_)                                                                                    \
    {                                                                                                        \
        name_##_distance, name_##_distance_adjoint, name_##_normal, name_##_normal_adjoint                   \
    }

/* A sphere is a capsule of length 0, a rolling pin one that moves in its way, chopsticks are two. */
static const tool_shape shapes[] = {
    [MPM_SPHERE] = TOOL_SHAPE(capsule),      [MPM_CAPSULE] = TOOL_SHAPE(capsule),
    [MPM_CYLINDER] = TOOL_SHAPE(cylinder),   [MPM_TORUS] = TOOL_SHAPE(torus),
    [MPM_ROLLING_PIN] = TOOL_SHAPE(capsule), [MPM_BOX] = TOOL_SHAPE(box),
    [MPM_CHOPSTICKS] = TOOL_SHAPE(capsule),  [MPM_LADLE] = TOOL_SHAPE(shell)};

static const tool_shape *shape_at(const mpm_tool *tool, const double x[3])
{
    return &shapes[tool->shape == MPM_LADLE && x[1] > 0.0 ? MPM_TORUS : tool->shape];
}

/* The upper ends of the chopsticks are at x = -/+ gap/2, y = 0: y is x as the nearer stick sees it, the first
 * of both with `tie`. Returns that one, or -1 and x itself for other tools. */
static int to_stick(const mpm_tool *tool, double gap, const double x[3], bool tie, double y[3])
{
    const double half = 0.5 * gap, up = x[1] + 0.5 * tool->size[1];
    if (tool->shape != MPM_CHOPSTICKS) {
        memcpy(y, x, 3 * sizeof *y);
        return -1;
    }
    const double at[2][3] = {{x[0] - half, up, x[2]}, {x[0] + half, up, x[2]}};
    const double d[2] = {capsule_distance(tool->size, at[0]), capsule_distance(tool->size, at[1])};
    int nearer = d[0] < d[1] || (tie && d[0] == d[1]) ? 0 : 1;
    memcpy(y, at[nearer], sizeof at[nearer]);
    return nearer;
}

static void stick_adjoint(const double y_bar[3], int stick, double *gap_bar, double x_bar[3])
{
    vec3_add_scaled(x_bar, 1.0, y_bar);
    *gap_bar += stick == 0 ? -0.5 * y_bar[0] : 0.5 * y_bar[0];
}

static double local_distance(const mpm_tool *tool, double gap, const double x[3])
{
    double y[3];
    to_stick(tool, gap, x, false, y);
    return shape_at(tool, y)->distance(tool->size, y);
}

static void local_distance_adjoint(const mpm_tool *tool, double gap, const double x[3], double d_bar,
                                   double *gap_bar, double x_bar[3])
{
    double y[3], y_bar[3] = {0.0};
    int stick = to_stick(tool, gap, x, false, y);
    shape_at(tool, y)->distance_adjoint(tool->size, y, d_bar, stick < 0 ? x_bar : y_bar);
    if (stick >= 0) {
        stick_adjoint(y_bar, stick, gap_bar, x_bar);
    }
}

static void local_normal(const mpm_tool *tool, double gap, const double x[3], double n[3])
{
    double y[3];
    to_stick(tool, gap, x, true, y);
    shape_at(tool, y)->normal(tool->size, y, n);
}

static void local_normal_adjoint(const mpm_tool *tool, double gap, const double x[3], const double n_bar[3],
                                 double *gap_bar, double x_bar[3])
{
    double y[3], y_bar[3] = {0.0};
    int stick = to_stick(tool, gap, x, true, y);
    shape_at(tool, y)->normal_adjoint(tool->size, y, n_bar, stick < 0 ? x_bar : y_bar);
    if (stick >= 0) {
        stick_adjoint(y_bar, stick, gap_bar, x_bar);
    }
}

/* ---- in the world ---- */

/* A sphere ignores its rotation. */
void mpm_tool_local(const mpm_tool *tool, const mpm_pose *pose, const double x[3], double out[3])
{
    double offset[3], inverse[4];
    for (int k = 0; k < 3; k++) {
        offset[k] = x[k] - pose->position[k];
    }
    if (tool->shape == MPM_SPHERE) {
        memcpy(out, offset, sizeof offset);
        return;
    }
    quat_inverse(pose->rotation, inverse);
    quat_rotate(inverse, offset, out);
}

void mpm_tool_local_adjoint(const mpm_tool *tool, const mpm_pose *pose, const double x[3],
                            const double out_bar[3], mpm_pose *pose_bar, double x_bar[3])
{
    double offset[3], offset_bar[3] = {0.0}, inverse[4], inverse_bar[4] = {0.0};
    if (tool->shape == MPM_SPHERE) {
        memcpy(offset_bar, out_bar, sizeof offset_bar);
    } else {
        for (int k = 0; k < 3; k++) {
            offset[k] = x[k] - pose->position[k];
        }
        quat_inverse(pose->rotation, inverse);
        quat_rotate_adjoint(inverse, offset, out_bar, inverse_bar, offset_bar);
        quat_inverse_adjoint(pose->rotation, inverse_bar, pose_bar->rotation);
    }
    vec3_add_scaled(pose_bar->position, -1.0, offset_bar);
    if (x_bar) {
        vec3_add_scaled(x_bar, 1.0, offset_bar);
    }
}

double mpm_tool_local_distance(const mpm_tool *tool, const mpm_pose *pose, const double local[3])
{
    return local_distance(tool, pose->gap, local);
}

double mpm_tool_distance(const mpm_tool *tool, const mpm_pose *pose, const double x[3])
{
    double local[3];
    mpm_tool_local(tool, pose, x, local);
    return local_distance(tool, pose->gap, local);
}

void mpm_tool_local_distance_adjoint(const mpm_tool *tool, const mpm_pose *pose, const double local[3],
                                     double d_bar, mpm_pose *pose_bar, double local_bar[3])
{
    local_distance_adjoint(tool, pose->gap, local, d_bar, &pose_bar->gap, local_bar);
}

void mpm_tool_distance_adjoint(const mpm_tool *tool, const mpm_pose *pose, const double x[3], double d_bar,
                               mpm_pose *pose_bar, double x_bar[3])
{
    double local[3], local_bar[3] = {0.0};
    mpm_tool_local(tool, pose, x, local);
    mpm_tool_local_distance_adjoint(tool, pose, local, d_bar, pose_bar, local_bar);
    mpm_tool_local_adjoint(tool, pose, x, local_bar, pose_bar, x_bar);
}

void mpm_tool_local_normal(const mpm_tool *tool, const mpm_pose *pose, const double local[3], double n[3])
{
    double m[3];
    if (tool->shape == MPM_SPHERE) {
        local_normal(tool, pose->gap, local, n);
        return;
    }
    local_normal(tool, pose->gap, local, m);
    quat_rotate(pose->rotation, m, n);
}

void mpm_tool_normal(const mpm_tool *tool, const mpm_pose *pose, const double x[3], double n[3])
{
    double local[3];
    mpm_tool_local(tool, pose, x, local);
    mpm_tool_local_normal(tool, pose, local, n);
}

void mpm_tool_local_normal_adjoint(const mpm_tool *tool, const mpm_pose *pose, const double local[3],
                                   const double n_bar[3], mpm_pose *pose_bar, double local_bar[3])
{
    double m[3], m_bar[3] = {0.0};
    if (tool->shape == MPM_SPHERE) {
        memcpy(m_bar, n_bar, sizeof m_bar);
    } else {
        local_normal(tool, pose->gap, local, m);
        quat_rotate_adjoint(pose->rotation, m, n_bar, pose_bar->rotation, m_bar);
    }
    local_normal_adjoint(tool, pose->gap, local, m_bar, &pose_bar->gap, local_bar);
}

void mpm_tool_normal_adjoint(const mpm_tool *tool, const mpm_pose *pose, const double x[3],
                             const double n_bar[3], mpm_pose *pose_bar)
{
    double local[3], local_bar[3] = {0.0};
    mpm_tool_local(tool, pose, x, local);
    mpm_tool_local_normal_adjoint(tool, pose, local, n_bar, pose_bar, local_bar);
    mpm_tool_local_adjoint(tool, pose, x, local_bar, pose_bar, NULL);
}
