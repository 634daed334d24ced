/* SPDX-License-Identifier: Apache-2.0 */
/* setup_recorded.c - recorded vertices as the target: rows of a table, or the points of a mesh, for the
 * vertices of a body; the columns of markers for single ones. */
#include "engines/physics/soft/scene/setup_bodies.h"

#include "engines/data/recording.h"
#include "engines/physics/fem/read.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MARKERS = RECORDING_COLUMNS / 3, LONGEST_COLUMNS = 400 };

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

/* ---- markers ---- */

/* The vertex that is nearest to the position of a marker. */
static uint32_t vertex_of(setup_reader *r, const scene_section *s)
{
    const fem_model *m = &r->soft->model;
    const body *b = setup_body_of(r, s, NULL);
    double at[3] = {0, 0, 0}, least = HUGE_VAL;
    size_t found = b->particle;
    scene_needs(r->f, s, "position");
    scene_numbers(r->f, s, "position", 3, false, -setup_most_size, setup_most_size, at);
    for (size_t i = b->particle; i < b->particle + b->particles; i++) {
        double distance = 0;
        for (size_t d = 0; d < 3; d++) {
            distance += (m->q[3 * i + d] - at[d]) * (m->q[3 * i + d] - at[d]);
        }
        found = distance < least ? i : found;
        least = fmin(least, distance);
    }
    return (uint32_t)found;
}

/* Chooses the vertex of a marker and adds its columns to the list. */
static void add_marker(setup_reader *r, const scene_section *s, char columns[LONGEST_COLUMNS])
{
    soft *to = r->soft;
    const uint32_t vertex = vertex_of(r, s);
    const char *words = scene_text(r->f, s, "columns", "");
    const size_t n = strlen(columns);
    if (to->choices == MARKERS) {
        scene_fail(r->f, s, NULL, "more than %d markers", MARKERS);
        return;
    }
    for (size_t i = 0; i < to->choices; i++) {
        if (r->setup->chosen[i] == vertex) {
            scene_fail(r->f, s, "position", "another marker has the same nearest vertex");
        }
    }
    scene_needs(r->f, s, "columns");
    if (snprintf(columns + n, LONGEST_COLUMNS - n, "%s ", words) >= (int)(LONGEST_COLUMNS - n)) {
        scene_fail(r->f, s, "columns", "the names of all columns have more than %d bytes", LONGEST_COLUMNS);
    }
    r->setup->chosen[to->choices++] = vertex;
}

/* Row k has the markers in compared state k. */
static void set_markers(setup_reader *r, const scene_section *s, const recording *data)
{
    const soft *to = r->soft;
    const size_t compared = (size_t)to->compared, columns = 3 * to->choices;
    const double scale = scene_number(r->f, s, "scale", 1e-6, 1e6, 1);
    if (data->columns != columns || data->rows < compared) {
        scene_fail(r->f, s, "file",
                   data->columns != columns
                       ? "the markers name %llu columns: each needs three, x y z"
                       : "the recording has %llu rows, and %llu states are compared: reduce frames",
                   (unsigned long long)(data->columns != columns ? data->columns : data->rows),
                   (unsigned long long)compared);
        return;
    }
    repeat_goal(r, compared);
    for (size_t i = 0; i < compared * columns && !r->setup->memory.failed; i++) {
        const double at = scale * data->value[i];
        const size_t vertex = r->setup->chosen[i % columns / 3];
        if (!(fabs(at) <= setup_most_size)) {
            scene_fail(r->f, s, "file", "row %zu, column %zu is missing or farther than %g m",
                       i / columns + 1, i % columns + 1, setup_most_size);
        }
        r->setup->goal[3 * (i / columns * to->model.particles + vertex) + i % 3] = at;
    }
}

void setup_markers(setup_reader *r, const scene_section *first)
{
    soft *to = r->soft;
    const scene_section *target = scene_find(r->f, "target", "");
    char columns[LONGEST_COLUMNS] = "", why[RECORDING_ERROR];
    recording data;
    to->choices = 0;
    for (const scene_section *s = first; s != NULL && !scene_failed(r->f);
         s = scene_next(r->f, s, "marker")) {
        add_marker(r, s, columns);
    }
    if (target == NULL || to->observe != OBSERVE_POINTS || to->counted != NULL) {
        scene_fail(r->f, target != NULL ? target : first, NULL, "%s",
                   target == NULL ? "markers need a section [target] with the file of the recording"
                   : to->observe != OBSERVE_POINTS
                       ? "markers are compared as points: set compare = points in [loss]"
                       : "markers are what is compared: remove the part from [loss]");
    }
    scene_needs(r->f, target, "file");
    if (scene_failed(r->f)) {
        return;
    }
    to->chosen = r->setup->chosen;
    const char *path = scene_path(r->f, target, "file");
    const recording_request q = {.columns = columns, .time = "", .rows = to->compared};
    if (recording_read(&data, &q, path, why) != RECORDING_OK) {
        scene_fail(r->f, target, "file", "%.200s: %.300s", path, why);
        return;
    }
    set_markers(r, target, &data);
    recording_free(&data);
}
