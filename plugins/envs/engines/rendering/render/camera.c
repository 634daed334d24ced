/* SPDX-License-Identifier: Apache-2.0 */
/* camera.c - projection and its derivatives. */
#include "engines/rendering/render/camera.h"

#include "engines/rendering/render/vec3.h"

#include <stdio.h>
#include <string.h>

/* Derived from a pose: unit axes, the lengths before normalising, and s = 1 / tan(half angle). */
typedef struct frame {
    double x[3], y[3], z[3];
    double view, side; /* |target - eye|, |up x z| */
    double sign;       /* +1: z along the view, -1: against it */
    double scale;
} frame;

static const double pi = 3.14159265358979323846;

static frame frame_of(const camera *c)
{
    frame f = {.sign = c->kind == CAMERA_DIBR ? -1 : 1, .scale = 1 / tan(c->pose.half_angle)};
    for (int i = 0; i < 3; i++) {
        f.z[i] = f.sign * (c->pose.target[i] - c->pose.eye[i]);
    }
    f.view = vec3_unit(f.z);
    vec3_cross(c->pose.up, f.z, f.x);
    f.side = vec3_unit(f.x);
    vec3_cross(f.z, f.x, f.y);
    return f;
}

camera camera_orbit(camera_kind kind, double distance, double elevation, double azimuth)
{
    double sign = kind == CAMERA_DIBR ? 1 : -1;
    return (camera){
        .kind = kind,
        .pose = {.eye = {distance * cos(elevation) * sin(azimuth), distance * sin(elevation),
                         sign * distance * cos(elevation) * cos(azimuth)},
                 .up = {0, 1, 0},
                 .half_angle = (kind == CAMERA_DIBR ? 49.13434 / 2 : 30) * pi / 180},
        .near = 1,
        .far = 100,
    };
}

void camera_orbit_adjoint(camera_kind kind, double distance, double elevation, double azimuth,
                          const camera_pose *bar, double out[3])
{
    double sign = kind == CAMERA_DIBR ? 1 : -1;
    double ce = cos(elevation), se = sin(elevation), ca = cos(azimuth), sa = sin(azimuth);
    const double *e = bar->eye;
    out[0] += e[0] * ce * sa + e[1] * se + sign * e[2] * ce * ca;
    out[1] += distance * (-e[0] * se * sa + e[1] * ce - sign * e[2] * se * ca);
    out[2] += distance * ce * (e[0] * ca - sign * e[2] * sa);
}

static int says(char text[RENDER_TEXT], const char *what)
{
    snprintf(text, RENDER_TEXT, "%s", what);
    return 1;
}

int camera_check(const camera *c, char text[RENDER_TEXT])
{
    const camera_pose *p = &c->pose;
    if (!vec3_finite(p->eye) || !vec3_finite(p->target) || !vec3_finite(p->up)) {
        return says(text, "camera: eye, target and up must be finite");
    }
    if (!(p->half_angle > 0 && p->half_angle < pi / 2)) {
        return says(text, "camera: the half angle must be above 0 and below 90 degrees");
    }
    if (!(c->near > 0 && c->near < c->far && isfinite(c->far))) {
        return says(text, "camera: near and far must be 0 < near < far");
    }
    frame f = frame_of(c);
    if (!(f.view > 0 && isfinite(f.view))) {
        return says(text, "camera: eye and target must differ");
    }
    if (!(f.side > 1e-9 * sqrt(vec3_dot(p->up, p->up)) && isfinite(f.side))) {
        return says(text, "camera: `up` must not be 0 or along the view");
    }
    return 0;
}

/* X, Y and depth of a point from its vector to the eye. */
static void coordinates(const frame *f, const double v[3], double out[3])
{
    out[0] = vec3_dot(f->x, v);
    out[1] = vec3_dot(f->y, v);
    out[2] = f->sign * vec3_dot(f->z, v);
}

void camera_project(const camera *c, size_t n, const double *p, double *q)
{
    const frame f = frame_of(c);
    for (size_t i = 0; i < n; i++) {
        double v[3], at[3];
        vec3_minus(p + 3 * i, c->pose.eye, v);
        coordinates(&f, v, at);
        q[3 * i] = f.scale * at[0] / at[2];
        q[3 * i + 1] = f.scale * at[1] / at[2];
        q[3 * i + 2] = at[2];
    }
}

/* Turns derivatives by the axes and the scale (in `bar`, a frame, overwritten) into derivatives by the pose.
 */
static void frame_adjoint(const camera *c, const frame *f, frame *bar, camera_pose *out)
{
    double n_bar[3], d_bar[3];
    /* y = z x x */
    vec3_add_cross(bar->z, 1, f->x, bar->y);
    vec3_add_cross(bar->x, 1, bar->y, f->z);
    /* x = unit(up x z) */
    vec3_unit_adjoint(f->x, f->side, bar->x, n_bar);
    vec3_add_cross(out->up, 1, f->z, n_bar);
    vec3_add_cross(bar->z, 1, n_bar, c->pose.up);
    vec3_unit_adjoint(f->z, f->view, bar->z, d_bar);
    vec3_add(out->target, f->sign, d_bar);
    vec3_add(out->eye, -f->sign, d_bar);
    out->half_angle -= bar->scale * (1 + f->scale * f->scale);
}

void camera_project_adjoint(const camera *c, size_t n, const double *p, const double *q_bar, double *p_bar,
                            camera_pose *bar)
{
    const frame f = frame_of(c);
    frame f_bar = {.scale = 0};
    double eye_bar[3] = {0};
    for (size_t i = 0; i < n; i++) {
        const double *g = q_bar + 3 * i;
        double v[3], at[3], v_bar[3] = {0};
        if (g[0] == 0 && g[1] == 0 && g[2] == 0) {
            continue;
        }
        vec3_minus(p + 3 * i, c->pose.eye, v);
        coordinates(&f, v, at);
        double gx = g[0] * f.scale / at[2], gy = g[1] * f.scale / at[2];
        double gz = f.sign * (g[2] - (gx * at[0] + gy * at[1]) / at[2]);
        vec3_add(v_bar, gx, f.x);
        vec3_add(v_bar, gy, f.y);
        vec3_add(v_bar, gz, f.z);
        if (p_bar) {
            vec3_add(p_bar + 3 * i, 1, v_bar);
        }
        vec3_add(eye_bar, -1, v_bar);
        vec3_add(f_bar.x, gx, v);
        vec3_add(f_bar.y, gy, v);
        vec3_add(f_bar.z, gz, v);
        f_bar.scale += (g[0] * at[0] + g[1] * at[1]) / at[2];
    }
    if (bar) {
        vec3_add(bar->eye, 1, eye_bar);
        frame_adjoint(c, &f, &f_bar, bar);
    }
}

/* Change of the axes and the scale along `dot`. */
static frame frame_tangent(const camera *c, const frame *f, const camera_pose *dot)
{
    frame t = {.scale = -dot->half_angle * (1 + f->scale * f->scale)};
    double d[3], n[3] = {0};
    for (int i = 0; i < 3; i++) {
        d[i] = f->sign * (dot->target[i] - dot->eye[i]);
    }
    vec3_unit_adjoint(f->z, f->view, d, t.z);
    vec3_add_cross(n, 1, dot->up, f->z);
    vec3_add_cross(n, 1, c->pose.up, t.z);
    vec3_unit_adjoint(f->x, f->side, n, t.x);
    vec3_add_cross(t.y, 1, t.z, f->x);
    vec3_add_cross(t.y, 1, f->z, t.x);
    return t;
}

void camera_project_tangent(const camera *c, size_t n, const double *p, const double *p_dot,
                            const camera_pose *dot, double *q_dot)
{
    static const camera_pose still;
    const camera_pose *pose_dot = dot ? dot : &still;
    const frame f = frame_of(c), t = frame_tangent(c, &f, pose_dot);
    for (size_t i = 0; i < n; i++) {
        double v[3], v_dot[3] = {0}, at[3], at_dot[3];
        vec3_minus(p + 3 * i, c->pose.eye, v);
        vec3_add(v_dot, -1, pose_dot->eye);
        if (p_dot) {
            vec3_add(v_dot, 1, p_dot + 3 * i);
        }
        coordinates(&f, v, at);
        coordinates(&f, v_dot, at_dot);
        at_dot[0] += vec3_dot(t.x, v);
        at_dot[1] += vec3_dot(t.y, v);
        at_dot[2] += f.sign * vec3_dot(t.z, v);
        for (int k = 0; k < 2; k++) {
            q_dot[3 * i + (size_t)k] =
                (t.scale * at[k] + f.scale * (at_dot[k] - at[k] * at_dot[2] / at[2])) / at[2];
        }
        q_dot[3 * i + 2] = at_dot[2];
    }
}
