/* SPDX-License-Identifier: Apache-2.0 */
/* What cameras see of particles as the loss of an episode, see image.h. */
#include "image.h"

#include <string.h>

/* Puts the particles of a state where they are drawn from. */
static void gather(const mpm_image *image, const mpm_particle *particles)
{
    for (uint32_t p = 0; p < image->count; p++) {
        memcpy(image->sight.p + 3 * (size_t)p, particles[image->first + p].x, sizeof particles->x);
    }
}

/* Stepwise control asks for losses of states that are not compared: against the first target. */
static uint64_t frame_of(const mpm_image *image, uint32_t step)
{
    const int64_t k = sight_frame(&image->sight, step);
    return k < 0 ? 0 : (uint64_t)k;
}

/* Draws the gathered particles. */
static mpm_result show(mpm_image *image, uint32_t step, double *loss)
{
    image->shown = step;
    return sight_show(&image->sight, frame_of(image, step), loss) == DS_OK ? MPM_OK : MPM_NO_MEMORY;
}

static mpm_result image_loss(void *self, uint32_t step, const mpm_particle *particles, const mpm_pose *poses,
                             double *loss)
{
    mpm_image *image = self;
    (void)poses;
    gather(image, particles);
    return show(image, step, loss);
}

static mpm_result image_adjoint(void *self, uint32_t step, const mpm_particle *particles,
                                const mpm_pose *poses, mpm_particle *bar, mpm_pose *poses_bar)
{
    mpm_image *image = self;
    const double *p_bar = image->sight.p_bar;
    double unused;
    (void)poses;
    (void)poses_bar;
    gather(image, particles);
    /* The rewards of a sweep share the only frame: its picture may be that of a later state. */
    if (image->sight.frames == 1 && image->shown != step && show(image, step, &unused) != MPM_OK) {
        return MPM_NO_MEMORY;
    }
    if (sight_adjoint(&image->sight, frame_of(image, step)) != DS_OK) {
        return MPM_NO_MEMORY;
    }
    for (uint32_t p = 0; p < image->count; p++, p_bar += 3) {
        for (int d = 0; d < 3; d++) {
            bar[image->first + p].x[d] += p_bar[d];
        }
    }
    return MPM_OK;
}

void mpm_image_goal(mpm_image *image, mpm_goal *goal, mpm_episode_spec *spec)
{
    if (!image->sight.wanted) {
        return;
    }
    image->sight.single = spec->fast.bits == 32;
    *goal = (mpm_goal){.self = image, .loss = image_loss, .adjoint = image_adjoint};
    spec->goal = goal;
    spec->frames = (uint32_t)image->sight.frames;
    spec->loss_mode = spec->frames > 1 ? MPM_LOSS_FRAMES : MPM_LOSS_FINAL;
}

ds_status mpm_image_open(mpm_image *image, const mpm_episode *e, uint32_t first, uint32_t count,
                         sight_points target, const ds_host *host)
{
    sight *s = &image->sight;
    ds_memory room = {0};
    double *start = ds_memory_doubles(&room, 3 * (size_t)count + 1);
    image->first = first;
    image->count = count;
    s->radius = s->radius > 0.0 ? s->radius : 0.5 * e->sim.domain.dx;
    for (uint32_t p = 0; start && p < count; p++) {
        memcpy(start + 3 * (size_t)p, e->start[first + p].x, sizeof e->start->x);
    }
    const film_subject subject = {.particles = count, .radius = s->radius, .opacity = s->opacity};
    const sight_points seen[2] = {{count, start}, target};
    ds_status status = start ? sight_open(s, &subject, 2, seen, host)
                             : ds_host_fail(host, DS_E_NOMEM, "no memory for the pictures");
    ds_memory_free(&room);
    status = status != DS_OK ? status : sight_target_cloud(s, target);
    return status != DS_OK ? status : sight_target_file(s);
}
