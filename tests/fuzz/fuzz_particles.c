/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_particles.c - scene files of material points, from the text to the task: each is refused with one
 * line, or gives bodies inside the grid, tools with bounds in order, and terms that name bodies and tools. */
#include "engines/physics/mpm/env/setup.h"
#include "tests/fuzz/listener.h"

#include <math.h>
#include <string.h>

static void check_task(const mpm_task *task)
{
    const mpm_scene *scene = &task->scene;
    FUZZ_REQUIRE(scene->n_bodies > 0 && scene->n_bodies <= MPM_MAX_BODIES && scene->n_tools <= MPM_MAX_TOOLS);
    for (uint32_t t = 0; t < scene->n_tools; t++) {
        const mpm_tool *tool = &scene->tools[t];
        FUZZ_REQUIRE(isfinite(tool->friction) && tool->action_dim <= MPM_MAX_ACTION);
        for (int d = 0; d < 3; d++) {
            FUZZ_REQUIRE(tool->lower[d] < tool->upper[d]);
        }
    }
    FUZZ_REQUIRE(task->terms.count <= MPM_MAX_TERMS && (task->terms.count > 0 || !task->no_target));
    for (uint32_t k = 0; k < task->terms.count; k++) {
        const mpm_term *t = &task->terms.term[k];
        FUZZ_REQUIRE(t->body < scene->n_bodies && (!t->to_tool || t->tool < scene->n_tools));
        FUZZ_REQUIRE(isfinite(t->weight) && t->weight >= 0);
    }
    for (uint32_t i = 0; i < task->n_variables; i++) {
        const mpm_variable *v = &task->variables[i];
        FUZZ_REQUIRE(v->lower < v->upper && v->start >= v->lower && v->start <= v->upper);
    }
    if (task->domain) {
        FUZZ_REQUIRE(task->domain->n <= 128 && task->domain->substeps >= 1 && task->domain->dt > 0);
    }
}

int fuzz_particles(const uint8_t *data, size_t size)
{
    listener l = listener_open();
    mpm_setup *setup = calloc(1, sizeof *setup);
    FUZZ_REQUIRE(setup != NULL);
    const ds_status status =
        mpm_setup_read(setup, scene_file_parse((const char *)data, size, "input", ""), &l.host);
    FUZZ_REQUIRE((status == DS_OK) == (l.lines == 0) && l.lines <= 1);
    if (status == DS_OK) {
        check_task(&setup->task);
    }
    mpm_setup_free(setup);
    free(setup);
    return 0;
}
