/* SPDX-License-Identifier: Apache-2.0 */
/* camera.c - loss of a cloth from camera images (see camera.h). */
#include "camera.h"

/* Index of component i of point q. */
static size_t at(const cloth_camera *c, size_t q, size_t i)
{
    return i * c->stride + (c->vertex != NULL ? c->vertex[q] : q);
}

static void gather(const cloth_camera *c, size_t points, const double *state, double *p)
{
    for (size_t q = 0; q < points; q++) {
        for (size_t i = 0; i < 3; i++) {
            p[3 * q + i] = state[at(c, q, i)];
        }
    }
}

ds_status cloth_camera_open(cloth_camera *c, const frames_subject *subject, size_t stride,
                            const uint32_t *vertex, const double *start, const double *target,
                            const ds_host *host)
{
    const size_t points = subject->mesh.vertices;
    ds_memory room = {0};
    double *p = ds_memory_doubles(&room, 6 * points);
    ds_status status = DS_E_NOMEM; /* the kit reports it */
    c->stride = stride;
    c->vertex = vertex;
    if (p != NULL) {
        frames_subject at_rest = *subject;
        gather(c, points, start, p);
        at_rest.rest = p;
        gather(c, points, target, p + 3 * points);
        status =
            image_loss_open(&c->image_loss, &at_rest, 1, &(const image_loss_points){2 * points, p}, host);
    }
    ds_memory_free(&room);
    return status;
}

void cloth_camera_close(cloth_camera *c)
{
    image_loss_close(&c->image_loss);
}

static const double *state_of(const cloth_camera *c, const double *states, uint64_t step)
{
    return states + step * 3 * c->stride;
}

static ds_status take_target(cloth_camera *c, const double *states, uint64_t k, uint64_t step)
{
    gather(c, c->image_loss.points, state_of(c, states, step), c->image_loss.p);
    return image_loss_target(&c->image_loss, k);
}

ds_status cloth_camera_target(cloth_camera *c, const double *states)
{
    ds_status status = DS_OK;
    for (uint64_t k = 0; status == DS_OK && k < c->image_loss.frames; k++) {
        status = take_target(c, states, k, image_loss_step(&c->image_loss, k));
    }
    return status != DS_OK ? status : image_loss_target_file(&c->image_loss);
}

ds_status cloth_camera_target_all(cloth_camera *c, const double *state)
{
    ds_status status = DS_OK;
    for (uint64_t k = 0; status == DS_OK && k < c->image_loss.frames; k++) {
        status = take_target(c, state, k, 0);
    }
    return status != DS_OK ? status : image_loss_target_file(&c->image_loss);
}

ds_status cloth_camera_loss(cloth_camera *c, const double *states, uint64_t last, double *loss)
{
    ds_status status = DS_OK;
    *loss = 0;
    for (uint64_t k = 0;
         status == DS_OK && k < c->image_loss.frames && image_loss_step(&c->image_loss, k) <= last; k++) {
        double share = 0;
        gather(c, c->image_loss.points, state_of(c, states, image_loss_step(&c->image_loss, k)),
               c->image_loss.p);
        status = image_loss_draw(&c->image_loss, k, &share);
        *loss += share;
    }
    return status;
}

ds_status cloth_camera_state(cloth_camera *c, const double *state, double *loss)
{
    gather(c, c->image_loss.points, state, c->image_loss.p);
    return image_loss_draw(&c->image_loss, 0, loss);
}

void cloth_camera_bar(cloth_camera *c, uint64_t step, const double *states, double *x_bar)
{
    const int64_t k = image_loss_frame(&c->image_loss, step);
    if (k < 0 || c->failed != DS_OK) {
        return;
    }
    gather(c, c->image_loss.points, state_of(c, states, step), c->image_loss.p);
    c->failed = image_loss_adjoint(&c->image_loss, (uint64_t)k);
    for (size_t q = 0; c->failed == DS_OK && q < c->image_loss.points; q++) {
        for (size_t i = 0; i < 3; i++) {
            x_bar[at(c, q, i)] += c->image_loss.p_bar[3 * q + i];
        }
    }
}

ds_status cloth_camera_status(cloth_camera *c, ds_status status)
{
    const ds_status failed = c->failed;
    c->failed = DS_OK;
    return status != DS_OK ? status : failed;
}
