/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_soft.c - scene files of elastic bodies, from the text to the model: each is refused with one line, or
 * gives a model whose numbers are finite and whose variables start between their bounds. */
#include "engines/physics/soft/scene/setup.h"
#include "tests/fuzz/listener.h"

#include <math.h>
#include <string.h>

static void check_model(const soft_scene *e)
{
    const fem_model *m = &e->soft.model;
    const body_variables *set = &e->soft.unknown;
    FUZZ_REQUIRE(m->particles > 0 && set->n > 0 && e->soft.env.kit.n == set->n);
    for (size_t i = 0; i < m->particles; i++) {
        FUZZ_REQUIRE(m->mass[i] > 0 && isfinite(m->mass[i]) && isfinite(m->q[3 * i]) &&
                     isfinite(m->u[3 * i + 2]));
    }
    for (size_t t = 0; t < m->tets; t++) {
        FUZZ_REQUIRE(m->tet_volume[t] > 0 && m->solid[t].mu > 0 && m->solid[t].lambda > 0);
    }
    for (uint64_t i = 0; i < set->n; i++) {
        double lower, upper, start;
        body_variables_range(set, i, &lower, &upper, &start);
        FUZZ_REQUIRE(lower < upper && isfinite(start));
    }
}

int fuzz_soft(const uint8_t *data, size_t size)
{
    static const soft_choices choices = {.duration = 0.05};
    listener l = listener_open();
    soft_scene *e = calloc(1, sizeof *e);
    FUZZ_REQUIRE(e != NULL);
    const ds_status status =
        soft_setup_read(e, scene_file_parse((const char *)data, size, "input", ""), &choices, &l.host);
    FUZZ_REQUIRE((status == DS_OK) == (l.lines == 0) && l.lines <= 1);
    if (status == DS_OK) {
        check_model(e);
    }
    fem_model_close(&e->soft.model);
    fem_mesh_free(&e->soft.mesh);
    ds_memory_free(&e->soft.env.kit.memory);
    soft_setup_free(&e->setup);
    free(e);
    return 0;
}
