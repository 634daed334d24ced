/* SPDX-License-Identifier: Apache-2.0 */
/* sight.c - the loss of an environment as cameras see it, and where they stand. */
#include "engines/rendering/film/sight.h"
#include "engines/rendering/render/vec3.h"

#include <diffsim/helper/fail.h>
#include <math.h>
#include <string.h>

/* ---- parameters ---- */

static void read_places(sight *s, ds_param_reader *in)
{
    uint64_t count = 0;
    s->orbit = look_read_orbits(&s->look, in);
    s->at = ds_param_list(in, "look_at", &count);
    s->at = count > 0 ? s->at : NULL;
    s->shared = count == 3;
    if (in->status == DS_OK && count != 0 && count != 3 && count != 3 * (uint64_t)s->look.cameras) {
        const unsigned long long has = count;
        in->status =
            ds_host_fail(in->host, DS_E_PARAM,
                         "parameter look_at has %llu values: give x, y and z of one point, of one for "
                         "each of the %u cameras, or nothing",
                         has, s->look.cameras);
    }
}

void sight_read(sight *s, ds_param_reader *in, int wanted, uint64_t steps, int mesh)
{
    memset(s, 0, sizeof *s);
    if (!wanted || in->status != DS_OK) {
        return;
    }
    const uint64_t frames = (uint64_t)ds_param_int(in, "frames");
    s->wanted = 1;
    s->steps = steps;
    s->frames = frames < steps ? frames : steps;
    s->image = ds_param_text(in, "target_image");
    s->radius = mesh ? 0 : ds_param_real(in, "disc_radius");
    s->opacity = mesh ? 0 : ds_param_real(in, "disc_opacity");
    look_read_pictures(&s->look, in, mesh);
    read_places(s, in);
}

int64_t sight_frame(const sight *s, uint64_t step)
{
    const uint64_t each = s->steps / s->frames, left = s->steps - step;
    return left % each == 0 && left / each < s->frames ? (int64_t)(s->frames - 1 - left / each) : -1;
}

uint64_t sight_step(const sight *s, uint64_t k)
{
    return s->steps - (s->frames - 1 - k) * (s->steps / s->frames);
}

/* ---- cameras ---- */

static void middle_of(size_t count, const sight_points *seen, double out[3])
{
    double low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
    for (size_t g = 0; g < count; g++) {
        for (size_t i = 0; i < 3 * seen[g].points; i++) {
            low[i % 3] = fmin(low[i % 3], seen[g].p[i]);
            high[i % 3] = fmax(high[i % 3], seen[g].p[i]);
        }
    }
    for (int d = 0; d < 3; d++) {
        out[d] = 0.5 * (low[d] + high[d]);
    }
}

/* From how far a camera that looks at `at` from these angles sees all points, or discs, with a margin. */
static double distance_for(sight *s, uint32_t i, const double orbit[3], const double at[3], size_t count,
                           const sight_points *seen)
{
    look *l = &s->look;
    const double margin = 1.25;
    const camera_pose *pose = &l->camera[i].pose;
    double x[3], y[3], z[3], distance = 0;
    char text[RENDER_TEXT];
    if (look_place(l, i, (const double[3]){1, orbit[1], orbit[2]}, text) != 0) {
        return 1; /* that it cannot be used is said later */
    }
    const double slope = tan(pose->half_angle);
    for (int d = 0; d < 3; d++) {
        z[d] = -pose->eye[d];
    }
    vec3_cross(pose->up, z, x);
    vec3_unit(x);
    vec3_cross(z, x, y);
    for (size_t g = 0; g < count; g++) {
        for (size_t k = 0; k < seen[g].points; k++) {
            double v[3];
            vec3_minus(seen[g].p + 3 * k, at, v);
            const double aside = fmax(fabs(vec3_dot(x, v)), fabs(vec3_dot(y, v)));
            distance = fmax(distance, margin * (aside + s->radius) / slope - vec3_dot(z, v));
        }
    }
    return distance;
}

/* None of the points is behind the camera, or nearer than it draws. */
static ds_status check_outside(const sight *s, uint32_t i, size_t count, const sight_points *seen)
{
    const camera *c = &s->look.camera[i];
    for (size_t g = 0; g < count; g++) {
        for (size_t k = 0; k < seen[g].points; k++) {
            double q[3];
            camera_project(c, 1, seen[g].p + 3 * k, q);
            if (q[2] < c->near) {
                return ds_host_fail(
                    s->host, DS_E_PARAM,
                    "parameter camera: camera %u, at (%.3g, %.3g, %.3g), is inside of what it is "
                    "to see: raise its distance; 0 finds one",
                    i + 1, c->pose.eye[0], c->pose.eye[1], c->pose.eye[2]);
            }
        }
    }
    return DS_OK;
}

static ds_status place_cameras(sight *s, size_t count, const sight_points *seen)
{
    double middle[3];
    ds_status status = DS_OK;
    middle_of(count, seen, middle);
    for (uint32_t i = 0; status == DS_OK && i < s->look.cameras; i++) {
        const double *at = s->at == NULL ? middle : s->shared ? s->at : s->at + 3 * (size_t)i;
        double orbit[3];
        char text[RENDER_TEXT];
        memcpy(orbit, s->orbit + 3 * (size_t)i, sizeof orbit);
        if (!(fabs(orbit[0]) > 0)) {
            orbit[0] = distance_for(s, i, orbit, at, count, seen);
        }
        camera *c = &s->look.camera[i];
        const int unusable = look_place(&s->look, i, orbit, text);
        vec3_add(c->pose.eye, 1, at);
        vec3_add(c->pose.target, 1, at);
        c->near = 0.1 * fabs(orbit[0]);
        c->far = 10 * fabs(orbit[0]);
        status = unusable
                     ? ds_host_fail(s->host, DS_E_PARAM, "parameter camera: camera %u: %.200s", i + 1, text)
                     : check_outside(s, i, count, seen);
    }
    return status;
}

/* ---- what is made once ---- */

static ds_status say(const sight *s, ds_status status)
{
    return status == DS_OK
               ? DS_OK
               : ds_host_fail(s->host, status, "no memory for a picture: reduce parameter image_size");
}

ds_status sight_open(sight *s, const film_subject *subject, size_t count, const sight_points *seen,
                     const ds_host *host)
{
    s->host = host;
    s->points = subject->mesh.faces > 0 ? subject->mesh.vertices : subject->particles;
    ds_memory_each(&s->memory, 3 * s->points, (double **const[]){&s->p, &s->p_bar, NULL});
    if (s->memory.failed) {
        return say(s, DS_E_NOMEM);
    }
    const ds_status status = place_cameras(s, count, seen);
    return status != DS_OK ? status : film_open(&s->film, &s->look, subject, s->frames, host);
}

void sight_close(sight *s)
{
    film_close(s->film);
    ds_memory_free(&s->memory);
    memset(s, 0, sizeof *s);
}

ds_status sight_target(sight *s, uint64_t k)
{
    const ds_status status = film_shoot(s->film, k, s->p);
    film_target(s->film, k);
    return say(s, status);
}

ds_status sight_target_cloud(sight *s, sight_points target)
{
    return film_target_cloud(s->film, (uint32_t)target.points, target.p, s->host);
}

ds_status sight_target_file(sight *s)
{
    return s->image[0] != '\0' ? film_read_targets(s->film, s->image, "target_image", s->host) : DS_OK;
}

/* ---- an episode ---- */

ds_status sight_show(sight *s, uint64_t k, double *share)
{
    const ds_status status = film_shoot(s->film, k, s->p);
    *share = film_frame_loss(s->film, k);
    return say(s, status);
}

ds_status sight_adjoint(sight *s, uint64_t k)
{
    memset(s->p_bar, 0, 3 * s->points * sizeof *s->p_bar);
    const double *w = s->w != NULL ? s->w + k * film_frame_size(s->film) : NULL;
    return say(s, film_adjoint(s->film, k, s->p, w, s->p_bar));
}
