/* SPDX-License-Identifier: Apache-2.0 */
/* loads.c - driven velocities and shared forces (see loads.h). */
#include "engines/physics/soft/loads.h"

#include <string.h>

/* Adds the particles of a load to the list of all; listed[i]: 1 + the place of particle i in it, or 0. */
static void list_particles(body_loads *all, body_load *l, uint32_t *listed)
{
    for (size_t k = 0; k < l->particles; k++) {
        uint32_t *place = &listed[l->particle[k]];
        if (*place == 0) {
            all->particle[all->particles] = l->particle[k];
            *place = (uint32_t)++all->particles;
        }
        l->place[k] = *place - 1;
    }
}

void body_loads_open(body_loads *all, size_t particles, ds_memory *room)
{
    uint32_t *listed = ds_memory_take(room, particles + 1, sizeof *listed);
    all->particles = 0;
    all->particle = ds_memory_take(room, particles + 1, sizeof *all->particle);
    for (size_t i = 0; i < all->count; i++) {
        body_load *l = &all->load[i];
        ds_memory_each(room, 3 * l->segments, (double **const[]){&l->value, &l->bar, &l->dot, NULL});
        l->place = ds_memory_take(room, l->particles + 1, sizeof *l->place);
        if (!room->failed) {
            list_particles(all, l, listed);
            body_load_put(l, NULL);
        }
    }
}

size_t body_load_numbers(const body_load *l)
{
    return l->segments * l->axes;
}

void body_load_put(body_load *l, const double *x)
{
    for (size_t i = 0; i < 3 * l->segments; i++) {
        l->value[i] = l->still[i % 3];
    }
    for (size_t i = 0; x != NULL && i < body_load_numbers(l); i++) {
        l->value[3 * (i / l->axes) + l->axis[i % l->axes]] = x[i];
    }
}

void body_load_gather(const body_load *l, double *grad)
{
    for (size_t i = 0; i < body_load_numbers(l); i++) {
        grad[i] += l->bar[3 * (i / l->axes) + l->axis[i % l->axes]];
    }
}

void body_load_spread(body_load *l, const double *v)
{
    memset(l->dot, 0, 3 * l->segments * sizeof *l->dot);
    for (size_t i = 0; i < body_load_numbers(l); i++) {
        l->dot[3 * (i / l->axes) + l->axis[i % l->axes]] = v[i];
    }
}

void body_load_name(const body_load *l, size_t j, const char *name, ds_env_variable *out)
{
    const char axis = "xyz"[l->axis[j % l->axes]];
    if (l->segments > 1) {
        ds_env_variable_put(out->name, "%s.%zu.%c", name, j / l->axes, axis);
    } else {
        ds_env_variable_put(out->name, "%s.%c", name, axis);
    }
}

/* ---- a step ---- */

/* Place of the numbers of a step in value, bar and dot. */
static size_t interval(const body_load *l, uint64_t step)
{
    return 3 * (size_t)(step * l->segments / l->steps);
}

static void add_step(const body_load *l, const double *numbers, double *out)
{
    for (size_t i = 0; i < 3 * l->particles; i++) {
        out[3 * l->place[i / 3] + i % 3] += l->share * numbers[i % 3];
    }
}

void body_loads_set(const body_loads *all, uint64_t step, double *value)
{
    memset(value, 0, 3 * all->particles * sizeof *value);
    for (size_t i = 0; i < all->count; i++) {
        add_step(&all->load[i], all->load[i].value + interval(&all->load[i], step), value);
    }
}

void body_loads_clear(body_loads *all)
{
    for (size_t i = 0; i < all->count; i++) {
        memset(all->load[i].bar, 0, 3 * all->load[i].segments * sizeof(double));
    }
}

void body_loads_bar(const body_loads *all, uint64_t step, const double *value_bar)
{
    for (size_t i = 0; i < all->count; i++) {
        const body_load *l = &all->load[i];
        double *bar = l->bar + interval(l, step);
        for (size_t k = 0; k < 3 * l->particles; k++) {
            bar[k % 3] += l->share * value_bar[3 * l->place[k / 3] + k % 3];
        }
    }
}

void body_loads_dot(const body_loads *all, uint64_t step, double *value_dot)
{
    memset(value_dot, 0, 3 * all->particles * sizeof *value_dot);
    for (size_t i = 0; i < all->count; i++) {
        add_step(&all->load[i], all->load[i].dot + interval(&all->load[i], step), value_dot);
    }
}
