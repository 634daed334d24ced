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

ds_status cloth_camera_open(cloth_camera *c, const film_subject *subject, size_t stride,
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
        film_subject at_rest = *subject;
        gather(c, points, start, p);
        at_rest.rest = p;
        gather(c, points, target, p + 3 * points);
        status = sight_open(&c->sight, &at_rest, 1, &(const sight_points){2 * points, p}, host);
    }
    ds_memory_free(&room);
    return status;
}

void cloth_camera_close(cloth_camera *c)
{
    sight_close(&c->sight);
}

static const double *state_of(const cloth_camera *c, const double *states, uint64_t step)
{
    return states + step * 3 * c->stride;
}

static ds_status take_target(cloth_camera *c, const double *states, uint64_t k, uint64_t step)
{
    gather(c, c->sight.points, state_of(c, states, step), c->sight.p);
    return sight_target(&c->sight, k);
}

ds_status cloth_camera_target(cloth_camera *c, const double *states)
{
    ds_status status = DS_OK;
    for (uint64_t k = 0; status == DS_OK && k < c->sight.frames; k++) {
        status = take_target(c, states, k, sight_step(&c->sight, k));
    }
    return status != DS_OK ? status : sight_target_file(&c->sight);
}

ds_status cloth_camera_target_all(cloth_camera *c, const double *state)
{
    ds_status status = DS_OK;
    for (uint64_t k = 0; status == DS_OK && k < c->sight.frames; k++) {
        status = take_target(c, state, k, 0);
    }
    return status != DS_OK ? status : sight_target_file(&c->sight);
}

ds_status cloth_camera_loss(cloth_camera *c, const double *states, uint64_t last, double *loss)
{
    ds_status status = DS_OK;
    *loss = 0;
    for (uint64_t k = 0; status == DS_OK && k < c->sight.frames && sight_step(&c->sight, k) <= last; k++) {
        double share = 0;
        gather(c, c->sight.points, state_of(c, states, sight_step(&c->sight, k)), c->sight.p);
        status = sight_show(&c->sight, k, &share);
        *loss += share;
    }
    return status;
}

ds_status cloth_camera_state(cloth_camera *c, const double *state, double *loss)
{
    gather(c, c->sight.points, state, c->sight.p);
    return sight_show(&c->sight, 0, loss);
}

void cloth_camera_bar(cloth_camera *c, uint64_t step, const double *states, double *x_bar)
{
    const int64_t k = sight_frame(&c->sight, step);
    if (k < 0 || c->failed != DS_OK) {
        return;
    }
    gather(c, c->sight.points, state_of(c, states, step), c->sight.p);
    c->failed = sight_adjoint(&c->sight, (uint64_t)k);
    for (size_t q = 0; c->failed == DS_OK && q < c->sight.points; q++) {
        for (size_t i = 0; i < 3; i++) {
            x_bar[at(c, q, i)] += c->sight.p_bar[3 * q + i];
        }
    }
}

ds_status cloth_camera_status(cloth_camera *c, ds_status status)
{
    const ds_status failed = c->failed;
    c->failed = DS_OK;
    return status != DS_OK ? status : failed;
}
