/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/things.inl - the functions of things.h, which includes it. */

/* ---- what the simulation reports ---- */

static inline int ds_is_seen(void)
{
    return ds_things_watched != NULL;
}

static inline void ds_see_turned(uint64_t step, uint64_t thing, double x, double y, double z,
                                 const double quaternion[4])
{
    ds_things *t = ds_things_watched;
    if (t != NULL && step < t->frames && thing < t->count) {
        double *at = t->at + DS_THINGS_POSE * (step * t->count + thing);
        at[0] = x;
        at[1] = y;
        at[2] = z;
        memcpy(at + 3, quaternion, 4 * sizeof *at);
    }
}

static inline void ds_see(uint64_t step, uint64_t thing, double x, double y, double z)
{
    static const double straight[4] = {1, 0, 0, 0};
    ds_see_turned(step, thing, x, y, z, straight);
}

static inline void ds_see_angle(uint64_t step, uint64_t thing, double x, double y, double angle)
{
    if (ds_is_seen()) {
        const double quaternion[4] = {cos(0.5 * angle), 0, 0, sin(0.5 * angle)};
        ds_see_turned(step, thing, x, y, 0, quaternion);
    }
}

static inline void ds_things_watch(ds_things *t)
{
    ds_things_watched = t;
    for (uint64_t i = 0; t != NULL && i < DS_THINGS_POSE * t->frames * t->count; i++) {
        t->at[i] = NAN;
    }
}

/* ---- the table ---- */

/* What is wrong with row k of a table, or NULL. */
static inline const char *ds_things_problem(const ds_things *t, uint64_t k)
{
    const ds_thing *row = &t->kind[k];
    const uint64_t last = row->from > row->to ? row->from : row->to; /* first end of a line */
    return row->name == NULL                                           ? "it has no name"
           : row->shape < DS_BODY_POINTS || row->shape > DS_BODY_LINES ? "it has no shape (DS_BODY_...)"
           : row->shape == DS_BODY_MESH ? "meshes need the scene extension itself"
           : !(row->size[0] > 0)        ? "size[0] must be above 0"
           : row->shape == DS_BODY_LINES && last + row->count > t->count
               ? "its lines join things that there are not"
               : NULL;
}

/* Fills in every count, numbers the things and allocates what depends on that. */
static inline void ds_things_number(ds_things *t, ds_memory *memory)
{
    uint64_t lines = 0;
    for (uint64_t k = 0; k < t->kinds; k++) {
        ds_thing *row = &t->kind[k];
        row->count = row->count > 0 ? row->count : 1;
        t->first[k] = t->count;
        t->count += row->shape == DS_BODY_LINES ? 0 : row->count;
        lines = row->shape == DS_BODY_LINES && row->count > lines ? row->count : lines;
    }
    t->at = (double *)ds_memory_take(memory, (size_t)(t->frames * t->count), DS_THINGS_POSE * sizeof(double));
    t->segment = (uint32_t *)ds_memory_take(memory, (size_t)(2 * lines), sizeof *t->segment);
    for (uint64_t i = 0; t->segment != NULL && i < 2 * lines; i++) {
        t->segment[i] = (uint32_t)i;
    }
}

static inline ds_status ds_things_open(ds_things *t, const ds_host *host, ds_memory *memory,
                                       const ds_thing *table, uint64_t kinds, uint64_t frames)
{
    memset(t, 0, sizeof *t);
    t->frames = frames;
    t->kinds = kinds;
    t->kind = (ds_thing *)ds_memory_take(memory, (size_t)kinds, sizeof *t->kind);
    t->first = (uint64_t *)ds_memory_take(memory, (size_t)kinds, sizeof *t->first);
    if (memory->failed) {
        return DS_OK;
    }
    memcpy(t->kind, table, (size_t)kinds * sizeof *table);
    ds_things_number(t, memory);
    for (uint64_t k = 0; k < kinds; k++) {
        const char *problem = ds_things_problem(t, k);
        if (problem != NULL) {
            return ds_host_fail(host, DS_E_PARAM, "row %d of the table of things (%.60s): %s", (int)k,
                                t->kind[k].name != NULL ? t->kind[k].name : "?", problem);
        }
    }
    return DS_OK;
}

/* ---- the scene ---- */

static inline void ds_things_add(const ds_things *t, ds_scene_kit *s)
{
    for (uint64_t k = 0; k < t->kinds; k++) { /* the things of a row are elements of one body */
        const ds_thing *row = &t->kind[k];
        const int lines = row->shape == DS_BODY_LINES;
        const uint64_t count = lines ? 2 * row->count : row->count;
        ds_scene_body *b =
            ds_scene_kit_at(s, ds_scene_kit_body(s, row->name, row->shape, row->role, count, row->size));
        b->variety = row->variety;
        b->index = lines ? t->segment : NULL;
        b->index_count = lines ? count : 0;
    }
}

/* Where a thing is in frame k. FIXED things and TARGETs without a report stay where they were in frame 0. */
static inline const double *ds_things_pose(const ds_things *t, uint64_t k, uint64_t thing)
{
    const double *at = t->at + DS_THINGS_POSE * (k * t->count + thing);
    uint64_t row = t->kinds - 1;
    while (t->kind[row].shape == DS_BODY_LINES || t->first[row] > thing) {
        row--;
    }
    const int stays = t->kind[row].role == DS_ROLE_FIXED || t->kind[row].role == DS_ROLE_TARGET;
    return stays && isnan(at[0]) ? t->at + DS_THINGS_POSE * thing : at;
}

static inline void ds_things_place(const ds_things *t, uint64_t k, uint64_t b, double *out)
{
    static const double straight[4] = {1, 0, 0, 0};
    const ds_thing *row = &t->kind[b];
    const int lines = row->shape == DS_BODY_LINES;
    const uint64_t width = lines || row->shape == DS_BODY_POINTS ? 3 : DS_THINGS_POSE;
    const uint64_t count = lines ? 2 * row->count : row->count;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t thing = lines ? (i % 2 == 0 ? row->from : row->to) + i / 2 : t->first[b] + i;
        const double *at = ds_things_pose(t, k, thing);
        memcpy(out + width * i, at, (size_t)width * sizeof *out);
        if (width == DS_THINGS_POSE && isnan(at[0])) { /* without a report: not drawn, and not turned */
            memcpy(out + width * i + 3, straight, sizeof straight);
        }
    }
}

/* How far a thing extends around its position, with some room. */
static inline double ds_things_reach(const ds_thing *row)
{
    const double *a = row->size, turned = 1.3;
    switch (row->shape) {
    case DS_BODY_BOX:
        return turned * sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    case DS_BODY_CAPSULE:
        return turned * (a[0] + 0.5 * a[1]);
    case DS_BODY_CYLINDER:
        return turned * sqrt(a[0] * a[0] + 0.25 * a[1] * a[1]);
    case DS_BODY_TORUS:
        return turned * (a[0] + a[1]);
    default:
        return 3 * a[0];
    }
}

static inline void ds_things_measure(const ds_things *t, ds_scene_kit *s, uint64_t k)
{
    s->info.flat = k == 0 ? 1 : s->info.flat;
    for (uint64_t b = 0; b < t->kinds; b++) {
        const ds_thing *row = &t->kind[b];
        const uint64_t count = row->shape == DS_BODY_LINES ? 0 : row->count;
        for (uint64_t i = 0; i < count; i++) {
            const double *at = t->at + DS_THINGS_POSE * (k * t->count + t->first[b] + i);
            if (isfinite(at[0]) && isfinite(at[1]) && isfinite(at[2])) {
                s->info.flat = s->info.flat && !(fabs(at[2]) > 0);
                ds_scene_kit_include(s, at[0], at[1], at[2], ds_things_reach(row));
            }
        }
    }
    if (k + 1 == t->frames && !(s->info.box[0] <= s->info.box[3])) { /* nothing was reported */
        ds_scene_kit_include(s, 0, 0, 0, ds_things_reach(&t->kind[0]));
    }
}
