/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/scene_kit.inl - the functions of scene_kit.h, which includes it. */

static inline void ds_scene_kit_open(ds_scene_kit *s, ds_memory *memory, uint64_t steps, double dt,
                                     void (*frame)(const void *self, uint64_t k, uint64_t b, double *out))
{
    memset(s, 0, sizeof *s);
    s->memory = memory;
    s->capacity = steps + 1;
    s->info.frames = steps + 1;
    s->info.dt = dt;
    s->info.ground = -HUGE_VAL;
    for (int i = 0; i < 3; i++) {
        s->info.box[i] = HUGE_VAL;
        s->info.box[3 + i] = -HUGE_VAL;
    }
    s->frame = frame;
}

/* Makes room for one more entry: returns the list of `used` entries, or a longer copy. Without memory *room
 * stays, and the list has no room. */
static inline void *ds_scene_kit_grow(ds_memory *memory, void *list, uint64_t used, uint64_t *room,
                                      size_t size)
{
    void *longer = used < *room ? NULL : ds_memory_take(memory, (size_t)(2 * used + 8), size);
    if (longer == NULL) {
        return list;
    }
    if (used > 0) {
        memcpy(longer, list, (size_t)used * size);
    }
    *room = 2 * used + 8;
    return longer;
}

static inline uint64_t ds_scene_kit_body(ds_scene_kit *s, const char *name, uint32_t shape, uint32_t role,
                                         uint64_t count, const double size[4])
{
    s->body = (ds_scene_body *)ds_scene_kit_grow(s->memory, s->body, s->info.bodies, &s->body_room,
                                                 sizeof *s->body);
    if (s->info.bodies == s->body_room) {
        return UINT64_MAX;
    }
    ds_scene_body *b = &s->body[s->info.bodies];
    b->shape = shape;
    b->role = role;
    b->count = count;
    b->name = name;
    memcpy(b->size, size, sizeof b->size);
    return s->info.bodies++;
}

static inline ds_scene_body *ds_scene_kit_at(ds_scene_kit *s, uint64_t b)
{
    return b < s->info.bodies ? &s->body[b] : &s->no_body;
}

static inline uint64_t ds_scene_kit_metric(ds_scene_kit *s, const char *name, const char *unit)
{
    s->metric = (ds_scene_kit_label *)ds_scene_kit_grow(s->memory, s->metric, s->info.metrics,
                                                        &s->metric_room, sizeof *s->metric);
    if (s->info.metrics == s->metric_room) {
        return UINT64_MAX;
    }
    s->metric[s->info.metrics].name = name;
    s->metric[s->info.metrics].unit = unit;
    return s->info.metrics++;
}

static inline void ds_scene_kit_view(ds_scene_kit *s, const ds_scene_kit_camera *from)
{
    s->info.camera = from->given != 0;
    s->info.azimuth = from->given ? from->azimuth : 0;
    s->info.elevation = from->given ? from->elevation : 0;
}

static inline void ds_scene_kit_ready(ds_scene_kit *s)
{
    memcpy(s->view, s->info.box, sizeof s->view);
    s->value = ds_memory_doubles(s->memory, (size_t)(s->info.metrics * s->capacity));
    s->row = ds_memory_doubles(s->memory, (size_t)s->info.metrics);
}

static inline void ds_scene_kit_reset_box(ds_scene_kit *s)
{
    memcpy(s->info.box, s->view, sizeof s->view);
}

static inline void ds_scene_kit_measured(ds_scene_kit *s, uint64_t k, const double *values)
{
    for (uint64_t m = 0; m < s->info.metrics; m++) {
        s->value[m * s->capacity + k] = values[m];
    }
}

static inline void ds_scene_kit_include(ds_scene_kit *s, double x, double y, double z, double r)
{
    const double at[3] = {x, y, z};
    for (int i = 0; i < 3; i++) {
        s->info.box[i] = fmin(s->info.box[i], at[i] - r);
        s->info.box[3 + i] = fmax(s->info.box[3 + i], at[i] + r);
    }
}

static inline void ds_scene_kit_pose(double x, double y, double z, double angle, double *out)
{
    const double pose[7] = {x, y, z, cos(0.5 * angle), 0, 0, sin(0.5 * angle)};
    memcpy(out, pose, sizeof pose);
}

/* ---- the extension ---- */

/* Copies what fits into a struct of the caller, whose first field is its size. */
static inline void ds_scene_kit_fill(void *out, const void *from, size_t size)
{
    uint32_t room;
    memcpy(&room, out, sizeof room);
    memcpy(out, from, room < size ? room : size);
    memcpy(out, &room, sizeof room);
}

static inline ds_status ds_scene_kit_get_info(void *self, ds_scene_info *out)
{
    const ds_scene_kit *s = (const ds_scene_kit *)self;
    if (!s->kept) {
        return DS_E_STATE;
    }
    ds_scene_kit_fill(out, &s->info, sizeof s->info);
    return DS_OK;
}

static inline ds_status ds_scene_kit_get_body(void *self, uint64_t b, ds_scene_body *out)
{
    const ds_scene_kit *s = (const ds_scene_kit *)self;
    if (b >= s->info.bodies) {
        return DS_E_ARG;
    }
    ds_scene_kit_fill(out, &s->body[b], sizeof s->body[b]);
    return DS_OK;
}

static inline ds_status ds_scene_kit_get_frame(void *self, uint64_t k, uint64_t b, uint64_t capacity,
                                               double *out)
{
    const ds_scene_kit *s = (const ds_scene_kit *)self;
    if (!s->kept) {
        return DS_E_STATE;
    }
    if (k >= s->info.frames || b >= s->info.bodies) {
        return DS_E_ARG;
    }
    const uint32_t shape = s->body[b].shape;
    const uint64_t width = shape == DS_BODY_POINTS || shape == DS_BODY_MESH || shape == DS_BODY_LINES ? 3 : 7;
    if (capacity < width * s->body[b].count) {
        return DS_E_ARG;
    }
    s->frame(self, k, b, out);
    return DS_OK;
}

static inline ds_status ds_scene_kit_get_metric(void *self, uint64_t m, ds_scene_metric *out)
{
    const ds_scene_kit *s = (const ds_scene_kit *)self;
    if (!s->kept) {
        return DS_E_STATE;
    }
    if (m >= s->info.metrics) {
        return DS_E_ARG;
    }
    out->name = s->metric[m].name;
    out->unit = s->metric[m].unit;
    out->values = s->value + m * s->capacity;
    return DS_OK;
}

static inline const ds_scene *ds_scene_kit_table(void)
{
    static const ds_scene table = {.struct_size = sizeof(ds_scene),
                                   .info = ds_scene_kit_get_info,
                                   .body = ds_scene_kit_get_body,
                                   .frame = ds_scene_kit_get_frame,
                                   .metric = ds_scene_kit_get_metric};
    return &table;
}
