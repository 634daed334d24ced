/* SPDX-License-Identifier: Apache-2.0 */
/* setup_recorded.c - recorded vertices as the target of a body: rows of a table, or the points of a mesh. */
#include "engines/physics/soft/setup_bodies.h"

#include "engines/data/recording.h"
#include "engines/physics/fem/read.h"

#include <math.h>
#include <string.h>

/* Repeats the goal for each compared state. */
static void repeat_goal(setup_reader *r, size_t states)
{
    soft_setup *setup = r->setup;
    const size_t numbers = 3 * r->soft->model.particles;
    if (states == setup->goals) {
        return;
    }
    double *all = ds_memory_doubles(&setup->memory, states * numbers);
    for (size_t k = 0; all != NULL && k < states; k++) {
        memcpy(all + k * numbers, setup->goal, numbers * sizeof *all);
    }
    setup->goal = all != NULL ? all : setup->goal;
    setup->goals = all != NULL ? states : setup->goals;
}

/* point[rows][3]: one state, or all compared ones. */
static void set_goal(setup_reader *r, const scene_section *s, const body *b, const double *point, size_t rows)
{
    const size_t compared = (size_t)r->soft->compared, n = b->particles;
    const size_t states = n > 0 ? rows / n : 0;
    if (rows == 0 || rows != states * n || (states != 1 && states != compared)) {
        scene_fail(
            r->f, s, "file",
            "the file has %zu points: give one for each of the %zu vertices of [%s], in one state or in "
            "each of the %zu compared states",
            rows, n, scene_name(b->section), compared);
        return;
    }
    for (size_t i = 0; i < 3 * rows; i++) {
        if (!(fabs(point[i]) <= setup_most_size)) {
            scene_fail(r->f, s, "file", "point %zu is missing or farther than %g m", i / 3 + 1,
                       setup_most_size);
            return;
        }
    }
    repeat_goal(r, states > 1 ? states : r->setup->goals);
    for (size_t k = 0; k < r->setup->goals; k++) {
        double *to = r->setup->goal + 3 * (k * r->soft->model.particles + b->particle);
        memcpy(to, point + (states > 1 ? 3 * k * n : 0), 3 * n * sizeof *to);
    }
}

static bool is_mesh(const char *path)
{
    static const char *const endings[] = {".obj", ".stl", ".ply", ".msh"};
    const size_t n = strlen(path);
    bool found = false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        found = found || (n > 4 && strcmp(path + n - 4, endings[i]) == 0);
    }
    return found;
}

void setup_recorded(setup_reader *r, const scene_section *s, const body *b)
{
    const char *path = scene_path(r->f, s, "file");
    char why[RECORDING_ERROR];
    recording table;
    fem_mesh mesh;
    const recording_request q = {.columns = scene_text(r->f, s, "columns", "1 2 3"), .time = ""};
    if (is_mesh(path)) {
        if (fem_read_mesh(&mesh, path, why) != 0) {
            scene_fail(r->f, s, "file", "%s", why);
            return;
        }
        set_goal(r, s, b, mesh.point, mesh.points);
        fem_mesh_free(&mesh);
        return;
    }
    if (recording_read(&table, &q, path, why) != RECORDING_OK) {
        scene_fail(r->f, s, "file", "%.200s: %.300s", path, why);
        return;
    }
    if (table.columns == 3) {
        set_goal(r, s, b, table.value, (size_t)table.rows);
    } else {
        scene_fail(r->f, s, "columns", "columns names %llu columns: give three, x y z",
                   (unsigned long long)table.columns);
    }
    recording_free(&table);
}
