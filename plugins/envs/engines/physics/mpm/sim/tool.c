/* SPDX-License-Identifier: Apache-2.0 */
/* Signed distances and normals of the tools (PlasticineLab: primitive/primitives.py; the ladle is ours) with
 * adjoints. First in the tool's own frame, shape by shape; then in the world. */
#include "engines/physics/mpm/sim/tool.h"

#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"

/* ---- shape: in the tool's own frame ---- */

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

/* ---- capsule: subtracts from x the nearest point of the axis, y in -h/2..h/2 ---- */

/* Returns whether y still varies with x (beyond one of the ends). */
static bool capsule_offset(double h, const double x[3], double y[3])
{
    double along = x[1] + 0.5 * h;
    y[0] = x[0];
    y[1] = along - clamp(along, 0.0, h);
    y[2] = x[2];
    return along <= 0.0 || along >= h;
}

/* Adds the adjoint of capsule_offset(). */
static void capsule_offset_adjoint(double h, const double x[3], bool beyond, const double y_bar[3],
                                   double size_bar[3], double x_bar[3])
{
    x_bar[0] += y_bar[0];
    x_bar[1] += beyond ? y_bar[1] : 0.0;
    x_bar[2] += y_bar[2];
    if (beyond) {
        size_bar[1] += x[1] + 0.5 * h <= 0.0 ? 0.5 * y_bar[1] : -0.5 * y_bar[1];
    }
}

static double capsule_distance(const double size[3], const double x[3])
{
    double y[3];
    capsule_offset(size[1], x, y);
    return length(y) - size[0];
}

static void capsule_distance_adjoint(const double size[3], const double x[3], double d_bar,
                                     double size_bar[3], double x_bar[3])
{
    double y[3];
    bool beyond = capsule_offset(size[1], x, y);
    double scale = d_bar / length(y);
    const double y_bar[3] = {scale * y[0], scale * y[1], scale * y[2]};
    capsule_offset_adjoint(size[1], x, beyond, y_bar, size_bar, x_bar);
    size_bar[0] -= d_bar;
}

static void capsule_normal(const double size[3], const double x[3], double n[3])
{
    double y[3];
    capsule_offset(size[1], x, y);
    unit(y, n);
}

static void capsule_normal_adjoint(const double size[3], const double x[3], const double n_bar[3],
                                   double size_bar[3], double x_bar[3])
{
    double y[3], y_bar[3] = {0.0};
    bool beyond = capsule_offset(size[1], x, y);
    unit_adjoint(y, n_bar, y_bar);
    capsule_offset_adjoint(size[1], x, beyond, y_bar, size_bar, x_bar);
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

static void cylinder_distance_adjoint(const double size[3], const double x[3], double d_bar,
                                      double size_bar[3], double x_bar[3])
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
    size_bar[0] -= p_bar[0];
    size_bar[1] -= p_bar[1];
    double r = radius_of(x);
    x_bar[0] += p_bar[0] * x[0] / r;
    x_bar[1] += p_bar[1] * sign(x[1]);
    x_bar[2] += p_bar[0] * x[2] / r;
}

/* Profile of the normal before normalisation: the outside distance, or the nearer face if x is inside. */
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
                                    double size_bar[3], double x_bar[3])
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
        size_bar[0] -= e_bar[0];
    }
    if (d[1] > 0.0) {
        x_bar[1] += e_bar[1] * sign(x[1]);
        size_bar[1] -= e_bar[1];
    }
}

/* ---- torus ---- */

static double torus_distance(const double size[3], const double x[3])
{
    const double q[3] = {radius_of(x) - size[0], x[1], 0.0};
    return length(q) - size[1];
}

static void torus_distance_adjoint(const double size[3], const double x[3], double d_bar, double size_bar[3],
                                   double x_bar[3])
{
    double r = radius_of(x);
    const double q[3] = {r - size[0], x[1], 0.0};
    double scale = d_bar / length(q);
    x_bar[0] += scale * q[0] * x[0] / r;
    x_bar[1] += scale * q[1];
    x_bar[2] += scale * q[0] * x[2] / r;
    size_bar[0] -= scale * q[0];
    size_bar[1] -= d_bar;
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
                                 double size_bar[3], double x_bar[3])
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
    size_bar[0] -= q_bar[0];
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

static void shell_distance_adjoint(const double size[3], const double x[3], double d_bar, double size_bar[3],
                                   double x_bar[3])
{
    vec3_add_scaled(x_bar, shell_side(size, x) * d_bar / length(x), x);
    size_bar[0] -= shell_side(size, x) * d_bar;
    size_bar[1] -= d_bar;
}

static void shell_normal(const double size[3], const double x[3], double n[3])
{
    unit(x, n);
    for (int k = 0; k < 3; k++) {
        n[k] *= shell_side(size, x);
    }
}

static void shell_normal_adjoint(const double size[3], const double x[3], const double n_bar[3],
                                 double size_bar[3], double x_bar[3])
{
    double side = shell_side(size, x);
    const double m_bar[3] = {side * n_bar[0], side * n_bar[1], side * n_bar[2]};
    (void)size_bar; /* it points away from the middle of the shell */
    unit_adjoint(x, m_bar, x_bar);
}

/* ---- box: the normal is a central difference, as in PlasticineLab ---- */

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

static void box_distance_adjoint(const double size[3], const double x[3], double d_bar, double size_bar[3],
                                 double x_bar[3])
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
        size_bar[k] -= q_bar;
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
                               double size_bar[3], double x_bar[3])
{
    double m[3], m_bar[3] = {0.0};
    box_difference(size, x, m);
    unit_adjoint(m, n_bar, m_bar);
    for (int k = 0; k < 3; k++) {
        double a[3] = {x[0], x[1], x[2]}, b[3] = {x[0], x[1], x[2]};
        a[k] += box_step;
        b[k] -= box_step;
        box_distance_adjoint(size, a, 0.5 / box_step * m_bar[k], size_bar, x_bar);
        box_distance_adjoint(size, b, -0.5 / box_step * m_bar[k], size_bar, x_bar);
    }
}

/* ---- all shapes, in the tool's own frame ---- */

typedef struct tool_shape {
    double (*distance)(const double size[3], const double x[3]);
    void (*distance_adjoint)(const double size[3], const double x[3], double d_bar, double size_bar[3],
                             double x_bar[3]);
    void (*normal)(const double size[3], const double x[3], double n[3]);
    void (*normal_adjoint)(const double size[3], const double x[3], const double n_bar[3], double size_bar[3],
                           double x_bar[3]);
} tool_shape;

#define TOOL_SHAPE(name_)                                                                                    \
    {                                                                                                        \
        name_##_distance, name_##_distance_adjoint, name_##_normal, name_##_normal_adjoint                   \
    }

/* A sphere is a capsule of length 0; a rolling pin is a capsule with its own motion; chopsticks are two
 * capsules. */
static const tool_shape shapes[] = {
    [MPM_SPHERE] = TOOL_SHAPE(capsule),      [MPM_CAPSULE] = TOOL_SHAPE(capsule),
    [MPM_CYLINDER] = TOOL_SHAPE(cylinder),   [MPM_TORUS] = TOOL_SHAPE(torus),
    [MPM_ROLLING_PIN] = TOOL_SHAPE(capsule), [MPM_BOX] = TOOL_SHAPE(box),
    [MPM_CHOPSTICKS] = TOOL_SHAPE(capsule),  [MPM_LADLE] = TOOL_SHAPE(shell)};

static const tool_shape *shape_at(const mpm_tool *tool, const double x[3])
{
    return &shapes[tool->shape == MPM_LADLE && x[1] > 0.0 ? MPM_TORUS : tool->shape];
}

/* The upper ends of the chopsticks are at x = -/+ gap/2, y = 0. y is x relative to the nearer stick, the
 * first one on a tie if `tie` is set. Returns the stick, or -1 with y = x for other tools. */
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

static void stick_adjoint(const double y_bar[3], int stick, mpm_pose *pose_bar, double x_bar[3])
{
    vec3_add_scaled(x_bar, 1.0, y_bar);
    pose_bar->gap += stick == 0 ? -0.5 * y_bar[0] : 0.5 * y_bar[0];
    pose_bar->constants.size[1] += 0.5 * y_bar[1];
}

/* ---- mesh: s d(x / s) with the distance d of its grid and its size s, which is exact for a body s times
 * larger; the normal is the unit vector along the gradient ---- */

static double mesh_distance(const mpm_tool *tool, const double x[3], double own[3], double gradient[3],
                            double hessian[9])
{
    for (int k = 0; k < 3; k++) {
        own[k] = x[k] / tool->size[0];
    }
    return tool->size[0] * distance_grid_at(&tool->mesh->distance, own, gradient, hessian);
}

static void mesh_distance_adjoint(const mpm_tool *tool, const double x[3], double d_bar, double size_bar[3],
                                  double x_bar[3])
{
    double own[3], gradient[3];
    const double d = mesh_distance(tool, x, own, gradient, NULL);
    vec3_add_scaled(x_bar, d_bar, gradient);
    size_bar[0] += d_bar * (d / tool->size[0] - vec3_dot(own, gradient));
}

static void mesh_normal(const mpm_tool *tool, const double x[3], double n[3])
{
    double own[3], gradient[3];
    mesh_distance(tool, x, own, gradient, NULL);
    unit(gradient, n);
}

static void mesh_normal_adjoint(const mpm_tool *tool, const double x[3], const double n_bar[3],
                                double size_bar[3], double x_bar[3])
{
    double own[3], gradient[3], hessian[9], bar[3] = {0.0};
    mesh_distance(tool, x, own, gradient, hessian);
    unit_adjoint(gradient, n_bar, bar);
    for (int k = 0; k < 3; k++) {
        const double own_bar = bar[k] / tool->size[0];
        vec3_add_scaled(x_bar, own_bar, hessian + 3 * k);
        size_bar[0] -= own_bar * vec3_dot(own, hessian + 3 * k);
    }
}

static double local_distance(const mpm_tool *tool, double gap, const double x[3])
{
    double y[3];
    if (tool->shape == MPM_MESH) {
        return mesh_distance(tool, x, y, NULL, NULL);
    }
    to_stick(tool, gap, x, false, y);
    return shape_at(tool, y)->distance(tool->size, y);
}

/* Adds to the adjoints of the gap and of the constants of the tool. */
static void local_distance_adjoint(const mpm_tool *tool, double gap, const double x[3], double d_bar,
                                   mpm_pose *pose_bar, double x_bar[3])
{
    double y[3], y_bar[3] = {0.0};
    if (tool->shape == MPM_MESH) {
        mesh_distance_adjoint(tool, x, d_bar, pose_bar->constants.size, x_bar);
        return;
    }
    int stick = to_stick(tool, gap, x, false, y);
    shape_at(tool, y)->distance_adjoint(tool->size, y, d_bar, pose_bar->constants.size,
                                        stick < 0 ? x_bar : y_bar);
    if (stick >= 0) {
        stick_adjoint(y_bar, stick, pose_bar, x_bar);
    }
}

static void local_normal(const mpm_tool *tool, double gap, const double x[3], double n[3])
{
    double y[3];
    if (tool->shape == MPM_MESH) {
        mesh_normal(tool, x, n);
        return;
    }
    to_stick(tool, gap, x, true, y);
    shape_at(tool, y)->normal(tool->size, y, n);
}

static void local_normal_adjoint(const mpm_tool *tool, double gap, const double x[3], const double n_bar[3],
                                 mpm_pose *pose_bar, double x_bar[3])
{
    double y[3], y_bar[3] = {0.0};
    if (tool->shape == MPM_MESH) {
        mesh_normal_adjoint(tool, x, n_bar, pose_bar->constants.size, x_bar);
        return;
    }
    int stick = to_stick(tool, gap, x, true, y);
    shape_at(tool, y)->normal_adjoint(tool->size, y, n_bar, pose_bar->constants.size,
                                      stick < 0 ? x_bar : y_bar);
    if (stick >= 0) {
        stick_adjoint(y_bar, stick, pose_bar, x_bar);
    }
}

/* ---- in the world ---- */

/* The point in the tool's frame; that of a sphere does not rotate. */
static void mpm_tool_local(const mpm_tool *tool, const mpm_pose *pose, const double x[3], double out[3])
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

static void mpm_tool_local_adjoint(const mpm_tool *tool, const mpm_pose *pose, const double x[3],
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

double mpm_tool_distance(const mpm_tool *tool, const mpm_pose *pose, const double x[3])
{
    double local[3];
    mpm_tool_local(tool, pose, x, local);
    return local_distance(tool, pose->gap, local);
}

double mpm_tool_distance_bound(const mpm_tool *tool, const mpm_pose *pose, const double x[3])
{
    double local[3];
    mpm_tool_local(tool, pose, x, local);
    if (tool->shape != MPM_MESH) {
        return local_distance(tool, pose->gap, local);
    }
    for (int k = 0; k < 3; k++) {
        local[k] /= tool->size[0];
    }
    return tool->size[0] * distance_grid_bound(&tool->mesh->distance, local);
}

void mpm_tool_distance_adjoint(const mpm_tool *tool, const mpm_pose *pose, const double x[3], double d_bar,
                               mpm_pose *pose_bar, double x_bar[3])
{
    double local[3], local_bar[3] = {0.0};
    mpm_tool_local(tool, pose, x, local);
    local_distance_adjoint(tool, pose->gap, local, d_bar, pose_bar, local_bar);
    mpm_tool_local_adjoint(tool, pose, x, local_bar, pose_bar, x_bar);
}

/* The normal, in the world, at a point of the tool's frame. */
static void mpm_tool_local_normal(const mpm_tool *tool, const mpm_pose *pose, const double local[3],
                                  double n[3])
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

static void mpm_tool_local_normal_adjoint(const mpm_tool *tool, const mpm_pose *pose, const double local[3],
                                          const double n_bar[3], mpm_pose *pose_bar, double local_bar[3])
{
    double m[3], m_bar[3] = {0.0};
    if (tool->shape == MPM_SPHERE) {
        memcpy(m_bar, n_bar, sizeof m_bar);
    } else {
        local_normal(tool, pose->gap, local, m);
        quat_rotate_adjoint(pose->rotation, m, n_bar, pose_bar->rotation, m_bar);
    }
    local_normal_adjoint(tool, pose->gap, local, m_bar, pose_bar, local_bar);
}

void mpm_tool_normal_adjoint(const mpm_tool *tool, const mpm_pose *pose, const double x[3],
                             const double n_bar[3], mpm_pose *pose_bar)
{
    double local[3], local_bar[3] = {0.0};
    mpm_tool_local(tool, pose, x, local);
    mpm_tool_local_normal_adjoint(tool, pose, local, n_bar, pose_bar, local_bar);
    mpm_tool_local_adjoint(tool, pose, x, local_bar, pose_bar, NULL);
}

/* ---- motion ----
 *
 * Motion of the rigid tools (PlasticineLab: primive_base.py, primitives.py): one substep forward, and its
 * adjoint. */

/* Distance that a rolling pin rolls per radian: its radius, a constant in PlasticineLab. */
static const double pin_radius = 0.03;

/* Displacement of a rolling pin for the control (roll, yaw, lift): along the floor, perpendicular to its
 * axis. */
static void pin_shift(const mpm_pose *pose, const mpm_control *control, double shift[3])
{
    static const double down[3] = {0.0, -1.0, 0.0}, up[3] = {0.0, 1.0, 0.0};
    double axis[3];
    quat_rotate(pose->rotation, down, axis);
    vec3_cross(up, axis, shift);
    for (int k = 0; k < 3; k++) {
        shift[k] *= control->value[0] * pin_radius;
    }
    shift[1] = control->value[2];
}

/* The two rotations of a rolling pin: about its own axis, then about the vertical. */
static void pin_turns(const mpm_control *control, double spin[4], double yaw[4])
{
    const double about_axis[3] = {0.0, control->value[0], 0.0};
    const double about_up[3] = {0.0, -control->value[1], 0.0};
    quat_from_vector(about_axis, spin);
    quat_from_vector(about_up, yaw);
}

void mpm_tool_move(const mpm_tool *tool, const mpm_pose *pose, const mpm_control *control, mpm_pose *next)
{
    double shift[3], turn[4], yaw[4], spun[4];
    memcpy(shift, control->value, sizeof shift);
    next->gap = pose->gap;
    if (tool->shape == MPM_ROLLING_PIN) {
        pin_shift(pose, control, shift);
        pin_turns(control, turn, yaw);
        quat_multiply(pose->rotation, turn, spun);
        quat_multiply(yaw, spun, next->rotation);
    } else if (tool->shape == MPM_CHOPSTICKS) {
        quat_from_vector(control->value + 3, turn);
        quat_multiply(pose->rotation, turn, next->rotation); /* about body axes */
        double gap = pose->gap - control->value[6];
        next->gap = gap > tool->min_gap ? gap : tool->min_gap;
    } else {
        quat_from_vector(control->value + 3, turn);
        quat_multiply(turn, pose->rotation, next->rotation); /* about world axes */
    }
    for (int k = 0; k < 3; k++) {
        next->position[k] = clamp(pose->position[k] + shift[k], tool->lower[k], tool->upper[k]);
    }
}

static void pin_adjoint(const mpm_pose *pose, const mpm_control *control, const mpm_pose *next_bar,
                        const double shift_bar[3], mpm_pose *pose_bar, mpm_control *control_bar)
{
    static const double down[3] = {0.0, -1.0, 0.0}, up[3] = {0.0, 1.0, 0.0};
    double axis[3], roll[3], axis_bar[3], unused[3] = {0.0, 0.0, 0.0};
    quat_rotate(pose->rotation, down, axis);
    vec3_cross(up, axis, roll);
    const double roll_bar[3] = {shift_bar[0], 0.0, shift_bar[2]};
    control_bar->value[0] += pin_radius * vec3_dot(roll, roll_bar);
    control_bar->value[2] += shift_bar[1];
    vec3_cross(roll_bar, up, axis_bar);
    for (int k = 0; k < 3; k++) {
        axis_bar[k] *= control->value[0] * pin_radius;
    }
    quat_rotate_adjoint(pose->rotation, down, axis_bar, pose_bar->rotation, unused);

    double spin[4], yaw[4], spun[4];
    double spin_bar[4] = {0.0}, yaw_bar[4] = {0.0}, spun_bar[4] = {0.0};
    double spin_vec_bar[3] = {0.0}, yaw_vec_bar[3] = {0.0};
    pin_turns(control, spin, yaw);
    quat_multiply(pose->rotation, spin, spun);
    quat_multiply_adjoint(yaw, spun, next_bar->rotation, yaw_bar, spun_bar);
    quat_multiply_adjoint(pose->rotation, spin, spun_bar, pose_bar->rotation, spin_bar);
    const double about_axis[3] = {0.0, control->value[0], 0.0};
    const double about_up[3] = {0.0, -control->value[1], 0.0};
    quat_from_vector_adjoint(about_axis, spin_bar, spin_vec_bar);
    quat_from_vector_adjoint(about_up, yaw_bar, yaw_vec_bar);
    control_bar->value[0] += spin_vec_bar[1];
    control_bar->value[1] -= yaw_vec_bar[1];
}

void mpm_tool_move_adjoint(const mpm_tool *tool, const mpm_pose *pose, const mpm_control *control,
                           const mpm_pose *next_bar, mpm_pose *pose_bar, mpm_control *control_bar)
{
    double shift[3], shift_bar[3];
    memcpy(shift, control->value, sizeof shift);
    if (tool->shape == MPM_ROLLING_PIN) {
        pin_shift(pose, control, shift);
    }
    for (int k = 0; k < 3; k++) {
        double p = pose->position[k] + shift[k];
        shift_bar[k] = p > tool->lower[k] && p < tool->upper[k] ? next_bar->position[k] : 0.0;
        pose_bar->position[k] += shift_bar[k];
    }
    if (tool->shape == MPM_ROLLING_PIN) {
        pose_bar->gap += next_bar->gap;
        pin_adjoint(pose, control, next_bar, shift_bar, pose_bar, control_bar);
        return;
    }
    double turn[4], turn_bar[4] = {0.0};
    vec3_add_scaled(control_bar->value, 1.0, shift_bar);
    quat_from_vector(control->value + 3, turn);
    if (tool->shape == MPM_CHOPSTICKS) {
        quat_multiply_adjoint(pose->rotation, turn, next_bar->rotation, pose_bar->rotation, turn_bar);
        if (pose->gap - control->value[6] > tool->min_gap) {
            pose_bar->gap += next_bar->gap;
            control_bar->value[6] -= next_bar->gap;
        }
    } else {
        pose_bar->gap += next_bar->gap;
        quat_multiply_adjoint(turn, pose->rotation, next_bar->rotation, turn_bar, pose_bar->rotation);
    }
    quat_from_vector_adjoint(control->value + 3, turn_bar, control_bar->value + 3);
}

/* ---- contact ----
 *
 * Rigid-to-grid coupling (PlasticineLab, Huang et al. 2021, section 3.3): inside a soft layer around a tool,
 * a node takes the tool's velocity along the normal and feels friction along the surface. */

static const double influence_cut = 0.1; /* weaker influences are ignored */
static const double speed_eps = 1e-8;    /* regularises the tangential speed */

typedef struct contact_state {
    double distance, influence;
    double normal[3];
    double local[3];        /* the node in the tool's frame */
    double surface[3];      /* velocity of the tool at the node */
    double relative[3];     /* node velocity minus surface velocity */
    double approach;        /* its normal part; negative = closing in */
    double tangent[3];      /* relative velocity without its closing part */
    double speed;           /* regularised |tangent| */
    double friction_factor; /* factor of the tangent after friction */
    bool rubbing;           /* the friction branch was taken */
    double result[3];       /* tangent after friction */
} contact_state;

/* Velocity of the point x of a tool that moves from pose `now` to `next` in dt; local: x in its frame. */
static void surface_velocity(const mpm_contact *contact, const double x[3], const double local[3],
                             double out[3])
{
    double moved[3];
    quat_rotate(contact->next->rotation, local, moved);
    for (int k = 0; k < 3; k++) {
        out[k] = (moved[k] + contact->next->position[k] - x[k]) / contact->dt;
    }
}

/* x in the frame of a rotated tool of any shape. */
static void turned_local(const mpm_pose *pose, const double x[3], double local[3])
{
    double inverse[4], offset[3];
    for (int k = 0; k < 3; k++) {
        offset[k] = x[k] - pose->position[k];
    }
    quat_inverse(pose->rotation, inverse);
    quat_rotate(inverse, offset, local);
}

/* Computes everything up to the new velocity; returns false if the tool does not reach the node. */
static bool contact_evaluate(const mpm_contact *contact, const double x[3], const double u[3],
                             contact_state *s)
{
    double k = contact->softness;
    mpm_tool_local(contact->tool, contact->now, x, s->local);
    s->distance = local_distance(contact->tool, contact->now->gap, s->local);
    if (s->distance > 0.0) {
        /* exp(-3) is below the cut: not evaluated for the many nodes far away */
        if (!(k > 0.0) || s->distance * k > 3.0) {
            return false;
        }
    }
    double e = exp(-s->distance * k);
    s->influence = e < 1.0 ? e : 1.0;
    if (s->distance > 0.0 && s->influence <= influence_cut) {
        return false;
    }
    mpm_tool_local_normal(contact->tool, contact->now, s->local, s->normal);
    if (contact->tool->shape == MPM_SPHERE) {
        turned_local(contact->now, x, s->local);
    }
    surface_velocity(contact, x, s->local, s->surface);
    for (int i = 0; i < 3; i++) {
        s->relative[i] = u[i] - s->surface[i];
    }
    s->approach = vec3_dot(s->relative, s->normal);
    double closing = s->approach < 0.0 ? s->approach : 0.0;
    for (int i = 0; i < 3; i++) {
        s->tangent[i] = s->relative[i] - closing * s->normal[i];
    }
    double sq = vec3_dot(s->tangent, s->tangent);
    s->speed = sqrt(sq + speed_eps);
    s->rubbing = s->approach < 0.0 && sqrt(sq) > 1e-30;
    s->friction_factor = 1.0;
    if (s->rubbing) {
        double left = s->speed + s->approach * contact->tool->friction;
        s->friction_factor = left > 0.0 ? left : 0.0;
        for (int i = 0; i < 3; i++) {
            s->result[i] = s->tangent[i] / s->speed * s->friction_factor;
        }
    } else {
        memcpy(s->result, s->tangent, sizeof s->result);
    }
    return true;
}

bool mpm_contact_apply(const mpm_contact *contact, const double x[3], double u[3])
{
    contact_state s;
    if (!contact_evaluate(contact, x, u, &s)) {
        return false;
    }
    for (int i = 0; i < 3; i++) {
        u[i] = s.surface[i] + (1.0 - s.influence) * s.relative[i] + s.influence * s.result[i];
    }
    return true;
}

/* Adds the adjoint of surface_velocity() to the adjoints of the next pose and of `local`. */
static void surface_velocity_adjoint(const mpm_contact *contact, const double local[3],
                                     const double out_bar[3], mpm_pose *next_bar, double local_bar[3])
{
    double moved_bar[3];
    for (int k = 0; k < 3; k++) {
        moved_bar[k] = out_bar[k] / contact->dt;
        next_bar->position[k] += moved_bar[k];
    }
    quat_rotate_adjoint(contact->next->rotation, local, moved_bar, next_bar->rotation, local_bar);
}

static void turned_local_adjoint(const mpm_pose *pose, const double x[3], const double local_bar[3],
                                 mpm_pose *pose_bar)
{
    double offset[3], offset_bar[3] = {0.0}, inverse[4], inverse_bar[4] = {0.0};
    for (int k = 0; k < 3; k++) {
        offset[k] = x[k] - pose->position[k];
    }
    quat_inverse(pose->rotation, inverse);
    quat_rotate_adjoint(inverse, offset, local_bar, inverse_bar, offset_bar);
    quat_inverse_adjoint(pose->rotation, inverse_bar, pose_bar->rotation);
    vec3_add_scaled(pose_bar->position, -1.0, offset_bar);
}

void mpm_contact_adjoint(const mpm_contact *contact, const double x[3], const double u[3], double u_bar[3],
                         mpm_pose *now_bar, mpm_pose *next_bar)
{
    contact_state s;
    if (!contact_evaluate(contact, x, u, &s)) {
        return;
    }
    double surface_bar[3], relative_bar[3], result_bar[3], tangent_bar[3], normal_bar[3] = {0.0};
    double influence_bar = 0.0, approach_bar = 0.0;
    for (int i = 0; i < 3; i++) {
        surface_bar[i] = u_bar[i];
        relative_bar[i] = (1.0 - s.influence) * u_bar[i];
        result_bar[i] = s.influence * u_bar[i];
        influence_bar += u_bar[i] * (s.result[i] - s.relative[i]);
    }
    if (s.rubbing) {
        double scale = s.friction_factor / s.speed;
        double along = vec3_dot(result_bar, s.tangent);
        double speed_bar = -along * scale / s.speed;
        if (s.friction_factor > 0.0) {
            speed_bar += along / s.speed;
            approach_bar += contact->tool->friction * along / s.speed;
            now_bar->constants.friction += s.approach * along / s.speed;
        }
        for (int i = 0; i < 3; i++) {
            tangent_bar[i] = scale * result_bar[i] + s.tangent[i] * speed_bar / s.speed;
        }
    } else {
        memcpy(tangent_bar, result_bar, sizeof tangent_bar);
    }
    vec3_add_scaled(relative_bar, 1.0, tangent_bar);
    if (s.approach < 0.0) {
        vec3_add_scaled(normal_bar, -s.approach, tangent_bar);
        approach_bar -= vec3_dot(tangent_bar, s.normal);
    }
    vec3_add_scaled(relative_bar, approach_bar, s.normal);
    vec3_add_scaled(normal_bar, approach_bar, s.relative);
    vec3_add_scaled(surface_bar, -1.0, relative_bar);
    memcpy(u_bar, relative_bar, 3 * sizeof(double));

    /* everything depends on the pose through the node's position in the tool's frame, so that adjoint is
     * summed first */
    double local_bar[3] = {0.0};
    surface_velocity_adjoint(contact, s.local, surface_bar, next_bar, local_bar);
    if (contact->tool->shape == MPM_SPHERE) {
        turned_local_adjoint(contact->now, x, local_bar, now_bar);
        memset(local_bar, 0, sizeof local_bar);
        mpm_tool_local(contact->tool, contact->now, x, s.local);
    }
    mpm_tool_local_normal_adjoint(contact->tool, contact->now, s.local, normal_bar, now_bar, local_bar);
    if (s.influence < 1.0) {
        double d_bar = -contact->softness * s.influence * influence_bar;
        now_bar->constants.softness -= s.distance * s.influence * influence_bar;
        local_distance_adjoint(contact->tool, contact->now->gap, s.local, d_bar, now_bar, local_bar);
    }
    mpm_tool_local_adjoint(contact->tool, contact->now, x, local_bar, now_bar, NULL);
}
