/* SPDX-License-Identifier: Apache-2.0 */
/* setup_contact.c - [contact]: the solid bodies of a scene file touch each other. */
#include "engines/physics/soft/scene/setup_bodies.h"

#include <math.h>

#define OF_CONTACT(member_)                                                                                  \
    ((body_place){.in_model = offsetof(fem_model, contact.law.member_),                                      \
                  .in_variation = offsetof(fem_variation, contact.member_),                                  \
                  .scale = 1})

/* The solid bodies: their triangles, with particles of the model, and the body of each. */
static fem_surfaces *open_surfaces(setup_reader *r, const body *solid[SETUP_BODIES])
{
    const fem_mesh *mesh = &r->soft->mesh;
    ds_memory *room = &r->setup->memory;
    uint32_t *triangle = ds_memory_take(room, 3 * mesh->triangles + 1, sizeof *triangle);
    uint32_t *of = ds_memory_take(room, mesh->triangles + 1, sizeof *of);
    size_t bodies = 0, n = 0;
    for (size_t i = 0; i < r->n_bodies && !room->failed; i++) {
        const body *b = &r->bodies[i];
        for (size_t t = b->face; t < b->face + b->faces && b->tets > 0; t++) {
            for (size_t k = 0; k < 3; k++) {
                triangle[3 * n + k] = mesh->triangle[3 * t + k];
            }
            of[n++] = (uint32_t)bodies;
        }
        if (b->tets > 0) {
            solid[bodies++] = b;
        }
    }
    return bodies > 1 && !room->failed ? fem_surfaces_open(room, triangle, of, n, bodies) : NULL;
}

static const body *body_of(const setup_reader *r, uint32_t particle)
{
    size_t i = 0;
    while (i + 1 < r->n_bodies && particle >= r->bodies[i + 1].particle) {
        i++;
    }
    return &r->bodies[i];
}

static void warn_of_overlap(const setup_reader *r, const fem_contact *c, const body *const solid[], int touch)
{
    fem_near_pair pair;
    const double depth = fem_contact_overlap(c, r->soft->model.q, &pair);
    if (depth > 0) {
        const double *q = r->soft->model.q + 3 * (size_t)pair.vertex;
        ds_host_say(r->host, DS_LOG_WARNING,
                    "%s: [body %s] begins %.3g m inside [body %s], at %.3g %.3g %.3g: %s",
                    scene_file_name(r->f), scene_name(body_of(r, pair.vertex)->section), depth,
                    scene_name(solid[pair.body]->section), q[0], q[1], q[2],
                    touch ? "contact throws them apart; move one of them"
                          : "without a section [contact] they pass through each other");
    }
}

void setup_contact(setup_reader *r)
{
    const scene_section *s = scene_find(r->f, "contact", "");
    fem_contact *c = &r->soft->model.contact;
    const body *solid[SETUP_BODIES];
    c->law.ke = setup_number(r, s, "stiffness", "N/m", OF_CONTACT(ke), 0, 1e9, 1e4);
    c->law.kd = setup_number(r, s, "damping", "N s/m", OF_CONTACT(kd), 0, 1e9, 1);
    c->law.kf = setup_number(r, s, "sliding", "N s/m", OF_CONTACT(kf), 0, 1e9, 10);
    c->law.mu = setup_number(r, s, "friction", "", OF_CONTACT(mu), 0, 100, 0.5);
    c->law.offset = setup_number(r, s, "offset", "m", OF_CONTACT(offset), 1e-6, 1, 0.01);
    if (scene_failed(r->f)) {
        return;
    }
    c->surfaces = open_surfaces(r, solid);
    if (c->surfaces == NULL) {
        if (s != NULL && !r->setup->memory.failed) {
            scene_fail(r->f, s, NULL, "[contact] needs two bodies of tetrahedra: remove it");
        }
        return;
    }
    c->reach = fem_surfaces_edge(c->surfaces, r->soft->model.q);
    warn_of_overlap(r, c, solid, s != NULL);
    c->surfaces = s != NULL ? c->surfaces : NULL;
}
