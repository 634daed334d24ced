/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_mesh.h - what must hold after any bytes have been given to a reader of meshes: elements that can be
 * simulated, or one line that says why not. */
#ifndef DS_TESTS_FUZZ_MESH_H
#define DS_TESTS_FUZZ_MESH_H

#include <math.h>
#include <string.h>

#include "engines/physics/fem/model.h"
#include "engines/physics/fem/read.h"
#include "tests/fuzz/fuzz.h"

static inline void fuzz_check_mesh(int status, fem_mesh *m, const char *error)
{
    if (status != 0) {
        FUZZ_REQUIRE(status <= 2 && error[0] != '\0' && strchr(error, '\n') == NULL && m->point == NULL);
        return;
    }
    FUZZ_REQUIRE(m->points > 0 && m->points <= FEM_MOST_POINTS && m->triangles + m->tets > 0);
    for (size_t i = 0; i < 3 * m->points; i++) {
        FUZZ_REQUIRE(isfinite(m->point[i]));
    }
    for (size_t i = 0; i < 3 * m->triangles; i++) {
        FUZZ_REQUIRE(m->triangle[i] < m->points);
    }
    for (size_t i = 0; i < 4 * m->tets; i++) {
        FUZZ_REQUIRE(m->tet[i] < m->points);
    }
    fem_model body;
    fem_model_open(&body);
    fem_add_soft(&body, m, &(fem_placing){.angle = 0}, 1, (fem_solid){1, 1, 1});
    FUZZ_REQUIRE(body.status == DS_OK && body.tets == m->tets);
    fem_model_close(&body);
    fem_mesh_free(m);
}

#endif
