/* SPDX-License-Identifier: Apache-2.0 */
/* pack.c - a model in the layout of the kernels (see pack.h). */
#include "pack.h"

#include <string.h>

static void open_set(fem_set *s, ds_memory *room, size_t count, size_t *slots, size_t corners, size_t fields,
                     size_t bars)
{
    s->count = count;
    s->chunks = (count + FEM_CHUNK - 1) / FEM_CHUNK;
    s->first = *slots;
    *slots += s->chunks * corners * FEM_CHUNK;
    s->vertex = ds_memory_take(room, s->chunks * corners * FEM_CHUNK + 1, sizeof *s->vertex);
    s->constant = ds_memory_doubles(room, s->chunks * fields * FEM_CHUNK + 1);
    s->act = ds_memory_doubles(room, s->chunks * FEM_CHUNK + 1);
    s->bar = ds_memory_doubles(room, (s->chunks + 1) * bars * FEM_CHUNK);
    s->act_bar = ds_memory_doubles(room, s->chunks * FEM_CHUNK + 1);
}

static void set_vertices(fem_set *s, const uint32_t *vertex, size_t corners)
{
    for (size_t i = 0; i < s->count * corners; i++) {
        size_t element = i / corners, corner = i % corners;
        s->vertex[(element / FEM_CHUNK * corners + corner) * FEM_CHUNK + element % FEM_CHUNK] = vertex[i];
    }
}

/* Copies `per` numbers of each element to the fields from `field` on. */
static void set_constants(fem_set *s, const double *from, size_t per, size_t field, size_t fields)
{
    for (size_t i = 0; i < s->count * per; i++) {
        size_t element = i / per, f = field + i % per;
        s->constant[(element / FEM_CHUNK * fields + f) * FEM_CHUNK + element % FEM_CHUNK] = from[i];
    }
}

/* Counts the slots of each particle (`fill` 0) or lists them; begin[i + 1] advances. */
static void list_slots(fem_pack *p, const fem_set *s, const uint32_t *vertex, size_t corners, int fill)
{
    for (size_t i = 0; i < s->count * corners; i++) {
        size_t element = i / corners, corner = i % corners;
        uint32_t *at = &p->begin[vertex[i] + (fill ? 0 : 1)];
        if (fill) {
            p->list[*at] = (uint32_t)(s->first + (element / FEM_CHUNK * corners + corner) * FEM_CHUNK +
                                      element % FEM_CHUNK);
        }
        ++*at;
    }
}

static void list_all(fem_pack *p, const fem_model *m, int fill)
{
    list_slots(p, &p->spring, m->spring, 2, fill);
    list_slots(p, &p->triangle, m->triangle, 3, fill);
    list_slots(p, &p->edge, m->edge, 4, fill);
    list_slots(p, &p->tet, m->tet, 4, fill);
}

/* Counting sort: kinds in this order, elements ascending. */
static void gather_lists(fem_pack *p, const fem_model *m)
{
    list_all(p, m, 0);
    for (size_t i = 0; i < p->particles; i++) {
        p->begin[i + 1] += p->begin[i];
    }
    list_all(p, m, 1); /* now begin[i] is the end of particle i */
    memmove(p->begin + 1, p->begin, p->particles * sizeof *p->begin);
    p->begin[0] = 0;
}

void fem_pack_open(fem_pack *p, ds_memory *room, const fem_model *m)
{
    *p = (fem_pack){.particles = m->particles};
    open_set(&p->spring, room, m->springs, &p->slots, 2, FEM_SPRING_FIELDS, FEM_SPRING_BARS);
    open_set(&p->triangle, room, m->triangles, &p->slots, 3, FEM_TRIANGLE_FIELDS, FEM_TRIANGLE_BARS);
    open_set(&p->edge, room, m->edges, &p->slots, 4, FEM_EDGE_FIELDS, FEM_EDGE_BARS);
    open_set(&p->tet, room, m->tets, &p->slots, 4, FEM_TET_FIELDS, FEM_TET_BARS);
    p->inverse_mass = ds_memory_doubles(room, m->particles);
    p->share = ds_memory_doubles(room, (p->slots + 1) * FEM_WIDTH);
    p->begin = ds_memory_take(room, m->particles + 2, sizeof *p->begin);
    p->list = ds_memory_take(room, p->slots + 1, sizeof *p->list);
    if (room->failed) {
        return;
    }
    set_vertices(&p->spring, m->spring, 2);
    set_vertices(&p->triangle, m->triangle, 3);
    set_vertices(&p->edge, m->edge, 4);
    set_vertices(&p->tet, m->tet, 4);
    gather_lists(p, m);
}

static void load_solids(fem_pack *p, const fem_model *m)
{
    for (size_t t = 0; t < m->tets; t++) {
        double *to = p->tet.constant + t / FEM_CHUNK * FEM_TET_FIELDS * FEM_CHUNK + t % FEM_CHUNK;
        to[FEM_TET_MU * FEM_CHUNK] = m->solid[t].mu;
        to[FEM_TET_LAMBDA * FEM_CHUNK] = m->solid[t].lambda;
        to[FEM_TET_KD * FEM_CHUNK] = m->solid[t].kd;
    }
}

/* The constants of each membrane. */
static void load_sheets(fem_pack *p, const fem_model *m)
{
    p->membrane = m->membrane[0];
    p->bending = m->bending[0];
    p->mixed = m->sheets > 1;
    p->air = 0;
    for (size_t i = 0; i < m->sheets; i++) {
        p->air |= m->membrane[i].drag != 0 || m->membrane[i].lift != 0;
    }
    for (size_t t = 0; t < m->triangles && p->mixed; t++) {
        const fem_membrane *law = &m->membrane[m->triangle_sheet[t]];
        double *to = p->triangle.constant + t / FEM_CHUNK * FEM_TRIANGLE_FIELDS * FEM_CHUNK + t % FEM_CHUNK;
        const double value[] = {law->mu, law->lambda, law->kd, law->drag, law->lift};
        for (size_t k = 0; k < sizeof value / sizeof *value; k++) {
            to[(FEM_TRIANGLE_MEMBRANE + k) * FEM_CHUNK] = value[k];
        }
    }
    for (size_t e = 0; e < m->edges && p->mixed; e++) {
        double *to = p->edge.constant + e / FEM_CHUNK * FEM_EDGE_FIELDS * FEM_CHUNK + e % FEM_CHUNK;
        to[FEM_EDGE_BENDING * FEM_CHUNK] = m->bending[m->edge_sheet[e]].ke;
        to[(FEM_EDGE_BENDING + 1) * FEM_CHUNK] = m->bending[m->edge_sheet[e]].kd;
    }
}

/* Sizes of triangles and edges with their factors of stiffness. */
static void load_sizes(fem_set *s, const double *size, const double *factor, size_t field, size_t fields)
{
    for (size_t i = 0; i < s->count; i++) {
        s->constant[(i / FEM_CHUNK * fields + field) * FEM_CHUNK + i % FEM_CHUNK] = size[i] * factor[i];
    }
}

static void load_activations(fem_set *s, const double *act)
{
    if (s->count > 0) {
        memcpy(s->act, act, s->count * sizeof *act);
    }
}

void fem_pack_load(fem_pack *p, const fem_model *m)
{
    for (size_t i = 0; i < m->particles; i++) {
        p->inverse_mass[i] = m->fixed[i] ? 0 : 1 / m->mass[i];
    }
    memcpy(p->gravity, m->gravity, sizeof m->gravity);
    p->ground = m->ground;
    memcpy(p->wind, m->wind, sizeof m->wind);
    load_sheets(p, m);
    set_constants(&p->spring, m->spring_ke, 1, FEM_SPRING_KE, FEM_SPRING_FIELDS);
    set_constants(&p->spring, m->spring_kd, 1, FEM_SPRING_KD, FEM_SPRING_FIELDS);
    set_constants(&p->spring, m->spring_rest, 1, FEM_SPRING_REST, FEM_SPRING_FIELDS);
    set_constants(&p->triangle, m->triangle_inverse, 4, FEM_TRIANGLE_INVERSE, FEM_TRIANGLE_FIELDS);
    load_sizes(&p->triangle, m->triangle_area, m->triangle_factor, FEM_TRIANGLE_AREA, FEM_TRIANGLE_FIELDS);
    set_constants(&p->edge, m->edge_rest, 1, FEM_EDGE_REST, FEM_EDGE_FIELDS);
    load_sizes(&p->edge, m->edge_length, m->edge_factor, FEM_EDGE_LENGTH, FEM_EDGE_FIELDS);
    set_constants(&p->tet, m->tet_inverse, 9, FEM_TET_INVERSE, FEM_TET_FIELDS);
    set_constants(&p->tet, m->tet_volume, 1, FEM_TET_VOLUME, FEM_TET_FIELDS);
    load_solids(p, m);
    load_activations(&p->triangle, m->triangle_act);
    load_activations(&p->edge, m->edge_act);
    load_activations(&p->tet, m->tet_act);
}

static void clear_set(fem_set *s, size_t bars)
{
    memset(s->bar, 0, (s->chunks + 1) * bars * FEM_CHUNK * sizeof *s->bar);
    memset(s->act_bar, 0, s->chunks * FEM_CHUNK * sizeof *s->act_bar);
}

void fem_pack_clear(fem_pack *p)
{
    clear_set(&p->spring, FEM_SPRING_BARS);
    clear_set(&p->triangle, FEM_TRIANGLE_BARS);
    clear_set(&p->edge, FEM_EDGE_BARS);
    clear_set(&p->tet, FEM_TET_BARS);
    p->ground_bar = (fem_ground_bar){0};
}

void fem_pack_to_state(size_t particles, const double *from, double *state, size_t component)
{
    for (size_t i = 0; i < particles; i++) {
        memcpy(state + FEM_WIDTH * i + component, from + 3 * i, 3 * sizeof *from);
        state[FEM_WIDTH * i + component + 3] = 0;
    }
}

void fem_pack_from_state(size_t particles, const double *state, size_t component, double *to)
{
    for (size_t i = 0; i < particles; i++) {
        memcpy(to + 3 * i, state + FEM_WIDTH * i + component, 3 * sizeof *to);
    }
}
