/* SPDX-License-Identifier: Apache-2.0 */
/* setup.c - scene files of deformable bodies (see setup.h): what holds, moves and touches the bodies, the
 * controller, target and loss, and the whole scene in the order in which one part needs another. */
#include "engines/physics/soft/scene/setup.h"

#include "engines/data/scene_camera.h"
#include "engines/physics/soft/scene/setup_bodies.h"

#include <diffsim/helper/fail.h>

#include <math.h>
#include <string.h>

enum { MOST_MUSCLES = 64, MOST_PHASES = 16 };

static const char *const kinds[] = {"scene",  "material", "body",   "cloth",    "anchor",  "region", "hold",
                                    "drive",  "force",    "ground", "obstacle", "control", "muscle", "marker",
                                    "target", "loss",     "camera", "contact",  NULL};
static const char can_vary[] =
    "gravity and wind of [scene], numbers of [material], [ground], [contact] and [control], place, rotation, "
    "sizes, "
    "scale "
    "and velocity of bodies, stiffness and density of a [region] of cloth, velocity of [drive], force of "
    "[force], offset, stiffness, damping and rest of [anchor], place, rotation, sizes, scale and contact of "
    "[obstacle]";
static const char *const frictions[] = {"box", "isotropic", "coulomb", NULL};
static const char *const moves[] = {"x", "y", "z", "xy", "xz", "yz", "xyz", NULL};
static const char *const compared[] = {"image", "points", "centre", NULL};
static const char *const drawn[] = {"body", "cloth", "obstacle", NULL}, *const reserved[] = {"body", "target",
                                                                                             "springs", NULL};
static const char *const obstacle_shapes[] = {"sphere", "box", "capsule", "mesh", NULL};

static const char cure[] = "raise substeps, or lower stiffness or damping";

/* ---- what holds and moves vertices ---- */

static void read_hold(setup_reader *r, const scene_section *s)
{
    fem_model *m = &r->soft->model;
    const part p = setup_part(r, s);
    uint8_t *of = ds_memory_take(&r->setup->memory, m->particles + 1, 1);
    if (of == NULL || scene_failed(r->f) || setup_mark(r, s, &p, of) == 0) {
        return;
    }
    for (size_t i = 0; i < m->particles; i++) {
        if (of[i]) {
            m->fixed[i] = 1;
            memset(m->u + 3 * i, 0, 3 * sizeof *m->u);
        }
    }
}

/* [drive NAME] and [force NAME]. */
static void read_load(setup_reader *r, const scene_section *s, body_loads *all, const char *key,
                      const char *unit, double most)
{
    static const uint8_t axes_of[][4] = {{1, 0},    {1, 1},    {1, 2},      {2, 0, 1},
                                         {2, 0, 2}, {2, 1, 2}, {3, 0, 1, 2}};
    fem_model *m = &r->soft->model;
    const int drives = all == &r->soft->drive;
    const part p = setup_part(r, s);
    body_variable *v;
    if (all->count == BODY_LOADS_MOST) {
        scene_fail(r->f, s, NULL, "more than %d sections of this kind", BODY_LOADS_MOST);
        return;
    }
    body_load *l = &all->load[all->count];
    scene_needs(r->f, s, key);
    setup_vector(r, s, key, unit, -most, most, l->still, &v);
    if (v != NULL && v->axes != NULL && v->axes->fixed[0] + v->axes->fixed[1] + v->axes->fixed[2] > 0) {
        scene_fail(r->f, s, key, "give a range for each of the 3 numbers; key 'move' names the axes");
    }
    l->segments = scene_whole(r->f, s, "segments", 1, 1000, 1);
    l->steps = r->soft->steps;
    const uint32_t move = scene_choice(r->f, s, "move", moves, 6);
    uint8_t *of = ds_memory_take(&r->setup->memory, m->particles + 1, 1);
    uint32_t *list = ds_memory_take(&r->setup->memory, m->particles + 1, sizeof *list);
    if (of == NULL || list == NULL || scene_failed(r->f) || setup_mark(r, s, &p, of) == 0) {
        return;
    }
    for (size_t i = 0; i < m->particles; i++) {
        if (of[i] && drives && m->fixed[i]) {
            scene_fail(r->f, s, NULL, "vertex %zu of [body %s] is held or driven already", i - p.of->particle,
                       scene_name(p.of->section));
        } else if (of[i]) {
            list[l->particles++] = (uint32_t)i;
            m->fixed[i] = drives ? 1 : m->fixed[i];
        }
    }
    if (v == NULL && (l->segments > 1 || scene_has(r->f, s, "move"))) {
        scene_fail(r->f, s, scene_has(r->f, s, "move") ? "move" : "segments",
                   "segments and move belong to variables, and %s is a number", key);
    }
    l->particle = list;
    l->share = drives ? 1 : 1 / (double)l->particles;
    if (v != NULL) {
        const double truth[3] = {l->still[0], l->still[1], l->still[2]};
        memset(l->still, 0, sizeof l->still);
        for (l->axes = 0; l->axes < axes_of[move][0]; l->axes++) {
            l->axis[l->axes] = axes_of[move][l->axes + 1];
            l->still[l->axis[l->axes]] = truth[l->axis[l->axes]];
        }
        v->kind = BODY_VARIABLE_LOAD;
        v->load = l;
    }
    all->count++;
}

static void read_ground(setup_reader *r)
{
    fem_ground *g = &r->soft->model.ground;
    const scene_section *s = scene_find(r->f, "ground", "");
    if (s == NULL) {
        return;
    }
    g->on = 1;
    g->ke = setup_quantity(r, s, "stiffness", "N/m", BODY_VARIABLE_GROUND_KE, 0, 1e9, 1e4, NULL);
    g->kd = setup_quantity(r, s, "damping", "N s/m", BODY_VARIABLE_GROUND_KD, 0, 1e9, 1, NULL);
    g->kf = setup_quantity(r, s, "sliding", "N s/m", BODY_VARIABLE_GROUND_KF, 0, 1e9, 10, NULL);
    g->mu = setup_quantity(r, s, "friction", "", BODY_VARIABLE_GROUND_MU, 0, 100, 0.5, NULL);
    g->friction = (int)scene_choice(r->f, s, "law", frictions, FEM_FRICTION_BOX);
    g->offset = setup_number(
        r, s, "offset", "m",
        (body_place){offsetof(fem_model, ground.offset), offsetof(fem_variation, offset), .scale = 1}, 0, 1,
        0.01);
    g->height = setup_number(
        r, s, "height", "m",
        (body_place){offsetof(fem_model, ground.height), offsetof(fem_variation, offset), .scale = 1},
        -setup_most_size, setup_most_size, 0);
    const fem_model *m = &r->soft->model;
    for (size_t i = 0; i < m->particles && !r->setup->memory.failed && !scene_failed(r->f); i++) {
        const double *at = m->q + 3 * i;
        if (at[1] < g->height && !m->fixed[i]) {
            scene_fail(r->f, s, NULL,
                       "a body begins %.3g m below the ground, at %.3g %.3g %.3g: raise it, or lower height",
                       g->height - at[1], at[0], at[1], at[2]);
        }
    }
}

/* A constant of the next obstacle: member `model` of fem_obstacle and `variation` of fem_obstacle_bar. */
static body_place of_obstacle(const setup_reader *r, size_t model, size_t variation, double scale)
{
    const size_t k = r->soft->model.obstacles;
    return (body_place){offsetof(fem_model, obstacle) + k * sizeof(fem_obstacle) + model,
                        offsetof(fem_variation, obstacle) + k * sizeof(fem_obstacle_bar) + variation,
                        .scale = scale};
}

#define OF_OBSTACLE(member_, scale_)                                                                         \
    of_obstacle(r, offsetof(fem_obstacle, member_), offsetof(fem_obstacle_bar, member_), scale_)

/* Size of an obstacle. */
static void read_obstacle_size(setup_reader *r, const scene_section *s, fem_obstacle *o)
{
    if (o->shape == FEM_SURFACE) {
        setup_surface(r, s, OF_OBSTACLE(scale, 1), o);
        return;
    }
    if (o->shape == FEM_BOX) {
        scene_needs(r->f, s, "size");
        setup_numbers(r, s, "size", "m", OF_OBSTACLE(size, 0.5), 1e-6, setup_most_size, o->size);
        return;
    }
    scene_needs(r->f, s, "radius");
    o->size[0] = setup_number(r, s, "radius", "m", OF_OBSTACLE(size[0], 1), 1e-6, setup_most_size, 1);
    if (o->shape == FEM_CAPSULE) {
        scene_needs(r->f, s, "length");
        o->size[1] = setup_number(r, s, "length", "m", OF_OBSTACLE(size[1], 0.5), 1e-6, setup_most_size, 1);
    }
}

/* The name of a section, which may outlive the file. */
static const char *kept_name(setup_reader *r, const scene_section *s)
{
    const size_t bytes = strlen(scene_name(s)) + 1;
    char *name = bytes > 1 ? ds_memory_take(&r->setup->memory, bytes, 1) : NULL;
    return name != NULL ? memcpy(name, scene_name(s), bytes) : NULL;
}

/* Shape and place of the next obstacle; returns 0 where they are missing. */
static int read_obstacle_shape(setup_reader *r, const scene_section *s, fem_obstacle *out)
{
    static const fem_obstacle_shape shape_of[] = {FEM_SPHERE, FEM_BOX, FEM_CAPSULE, FEM_SURFACE};
    fem_obstacle o = {.rotation = {1, 0, 0, 0}, .scale = 1};
    if (r->soft->model.obstacles == FEM_MOST_OBSTACLES) {
        scene_fail(r->f, s, NULL, "more than %d obstacles", FEM_MOST_OBSTACLES);
        return 0;
    }
    if (!scene_needs(r->f, s, "shape") || !scene_needs(r->f, s, "position")) {
        return 0;
    }
    o.name = kept_name(r, s);
    o.shape = shape_of[scene_choice(r->f, s, "shape", obstacle_shapes, 0)];
    setup_numbers(r, s, "position", "m", OF_OBSTACLE(position, 1), -setup_most_size, setup_most_size,
                  o.position);
    body_place turn = OF_OBSTACLE(rotation, 1);
    turn.count = 4;
    setup_check_rotation(r, s);
    setup_numbers(r, s, "rotation", "", turn, -1e3, 1e3, o.rotation);
    o.turns = scene_varies(r->f, s, "rotation");
    const double *w = o.rotation, length = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2] + w[3] * w[3]);
    if (!(length > 0)) {
        scene_fail(r->f, s, "rotation", "rotation is a quaternion w x y z, and this one is zero%s",
                   o.turns ? ": give its start" : "");
    }
    for (int d = 0; d < 4 && !o.turns; d++) {
        o.rotation[d] /= length;
    }
    read_obstacle_size(r, s, &o);
    *out = o;
    return !scene_failed(r->f);
}

/* Calls vary() for the numbers of variable v, of the last obstacle `o` with the derivatives `bar`. */
static void report_variable(const setup_reader *r, size_t v, fem_obstacle *o, const fem_obstacle_bar *bar,
                            void (*vary)(void *self, const soft_obstacle_number *number), void *self)
{
    static const char *const parts[][4] = {{""}, {"", ""}, {".x", ".y", ".z"}, {".w", ".x", ".y", ".z"}};
    const body_variable *q = &r->setup->variable[v];
    const place *from = &r->variable[v];
    const body_place none = of_obstacle(r, 0, 0, 1), where = q->place;
    scene_quantity number[SCENE_MOST_QUANTITIES] = {{0}};
    if (where.count == 1) {
        number[0] = scene_quantity_of(r->f, from->section, from->key, -HUGE_VAL, HUGE_VAL, 0);
    } else {
        scene_components(r->f, from->section, from->key, where.count, -HUGE_VAL, HUGE_VAL, number);
    }
    for (size_t d = 0; d < where.count && !scene_failed(r->f); d++) {
        if (number[d].variable) {
            const size_t shift = d * sizeof(double);
            vary(self,
                 &(soft_obstacle_number){
                     from->section, from->key, parts[where.count - 1][d], q->unit, number[d], where.scale,
                     (double *)((char *)o + (where.in_model - none.in_model + shift)),
                     (const double *)((const char *)bar + (where.in_variation - none.in_variation + shift))});
        }
    }
}

size_t soft_setup_obstacles(scene_file *f, ds_memory *memory, fem_obstacle *out, fem_obstacle_bar *bar,
                            void (*vary)(void *self, const soft_obstacle_number *number), void *self)
{
    soft_scene *e = calloc(1, sizeof *e);
    setup_reader *r = calloc(1, sizeof *r);
    size_t count = 0, known = 0;
    if (e != NULL && r != NULL) {
        *r = (setup_reader){.setup = &e->setup, .soft = &e->soft, .f = f};
        e->setup.memory = *memory;
    }
    for (const scene_section *s = NULL; e != NULL && r != NULL && (s = scene_next(f, s, "obstacle"));) {
        fem_obstacle *o = &e->soft.model.obstacle[count];
        if (!read_obstacle_shape(r, s, o)) {
            break;
        }
        o->mu = setup_number(r, s, "friction", "", OF_OBSTACLE(mu, 1), 0, 100, 0.3);
        o->offset = setup_number(r, s, "offset", "m", OF_OBSTACLE(offset, 1), 0, 1, 0.005);
        out[count] = *o;
        for (; known < r->variables && !scene_failed(f); known++) {
            report_variable(r, known, out + count, bar + count, vary, self);
        }
        e->soft.model.obstacles = ++count;
    }
    if (e != NULL && r != NULL) {
        *memory = e->setup.memory;
    }
    memory->failed |= e == NULL || r == NULL;
    free(e);
    free(r);
    return count;
}

static void read_obstacle(setup_reader *r, const scene_section *s)
{
    fem_obstacle o;
    fem_model *m = &r->soft->model;
    if (!read_obstacle_shape(r, s, &o)) {
        return;
    }
    o.ke = setup_number(r, s, "stiffness", "N/m", OF_OBSTACLE(ke, 1), 0, 1e9, 1e4);
    o.kd = setup_number(r, s, "damping", "N s/m", OF_OBSTACLE(kd, 1), 0, 1e9, 1);
    o.kf = setup_number(r, s, "sliding", "N s/m", OF_OBSTACLE(kf, 1), 0, 1e9, 10);
    o.mu = setup_number(r, s, "friction", "", OF_OBSTACLE(mu, 1), 0, 100, 0.5);
    o.offset = setup_number(r, s, "offset", "m", OF_OBSTACLE(offset, 1), 0, 1, 0.01);
    double n[3], turn[9], slope;
    for (size_t i = 0; i < m->particles && !r->setup->memory.failed && !scene_failed(r->f); i++) {
        const double phi = fem_obstacle_distance(&o, m->q + 3 * i, n, turn, &slope);
        if (phi < 0 && !m->fixed[i]) {
            scene_fail(r->f, s, NULL,
                       "a body begins %.3g m inside [obstacle %s], at %.3g %.3g %.3g: move one of them", -phi,
                       scene_name(s), m->q[3 * i], m->q[3 * i + 1], m->q[3 * i + 2]);
        }
    }
    if (!scene_failed(r->f)) {
        fem_add_obstacle(m, &o);
    }
}

/* ---- controller ---- */

/* Sectors about the z axis through the center of the body, by the middle of each element. */
static void divide_sectors(const setup_reader *r, const body *b, uint32_t sectors, uint32_t *group)
{
    const fem_mesh *mesh = &r->soft->mesh;
    const size_t corners = b->of->membrane ? 3 : 4;
    const uint32_t *vertex = b->of->membrane ? mesh->triangle : mesh->tet;
    const size_t from = b->of->membrane ? b->triangle : b->tet, n = b->of->membrane ? b->triangles : b->tets;
    for (size_t t = from; t < from + n; t++) {
        double x = 0, y = 0;
        for (size_t k = 0; k < corners; k++) {
            x += mesh->point[3 * (size_t)vertex[corners * t + k]];
            y += mesh->point[3 * (size_t)vertex[corners * t + k] + 1];
        }
        const double turn = atan2(y, x) / (2 * 3.14159265358979323846) + 0.5;
        group[t] = (uint32_t)fmin(sectors - 1, floor(sectors * turn));
    }
}

/* An element belongs to the first muscle that has its middle. Returns how many muscles there are; their
 * number is the group of the others. */
static uint32_t divide_muscles(setup_reader *r, int triangles, size_t elements, uint32_t *group, size_t *idle)
{
    const scene_section *section[MOST_MUSCLES];
    uint32_t muscles = 0;
    for (const scene_section *s = NULL; (s = scene_next(r->f, s, "muscle"));) {
        if (muscles == MOST_MUSCLES) {
            scene_fail(r->f, s, NULL, "more than %d muscles", MOST_MUSCLES);
            return muscles;
        }
        section[muscles++] = s;
    }
    for (size_t t = 0; t < elements; t++) {
        group[t] = muscles;
    }
    for (uint32_t k = muscles; k-- > 0 && !scene_failed(r->f);) {
        const part p = setup_part(r, section[k]);
        size_t count = 0;
        for (size_t t = 0; t < elements && !scene_failed(r->f); t++) {
            if (triangles ? setup_holds_triangle(r, &p, t) : setup_holds_tet(r, &p, t)) {
                group[t] = k;
                count++;
            }
        }
        if (count == 0) {
            scene_fail(r->f, section[k], NULL, "this muscle has no elements");
        }
    }
    for (size_t t = 0; t < elements; t++) {
        *idle += group[t] == muscles;
    }
    return muscles;
}

static double control_number(setup_reader *r, const scene_section *s, const char *key, const char *unit,
                             size_t which, double low, double high, double otherwise)
{
    body_variable *v;
    const double value = setup_quantity(r, s, key, unit, BODY_VARIABLE_CONTROL, low, high, otherwise, &v);
    if (v != NULL) {
        v->first = which;
        v->place.count = 1;
    }
    return value;
}

/* Returns how many phases there are, 0 without the key. */
static size_t read_phases(setup_reader *r, const scene_section *s, double phase[MOST_PHASES])
{
    body_variable *v = NULL;
    if (!scene_varies(r->f, s, "phases")) {
        return scene_list(r->f, s, "phases", MOST_PHASES, -1e3, 1e3, phase);
    }
    const size_t n = scene_count(r->f, s, "phases");
    if (n < 1 || n > MOST_PHASES) {
        scene_fail(r->f, s, "phases", "phases has %zu numbers: give 1 to %d", n, MOST_PHASES);
        return 0;
    }
    if (n == 1) {
        phase[0] = control_number(r, s, "phases", "rad", CONTROL_PHASE, -1e3, 1e3, 0);
        return 1;
    }
    if (setup_components(r, s, "phases", n, "rad", -1e3, 1e3, phase, &v)) {
        v->kind = BODY_VARIABLE_CONTROL;
        v->first = CONTROL_PHASE;
        v->place.count = n;
    }
    setup_refuse_random(r, s, "phases", v);
    return n;
}

static void read_control(setup_reader *r)
{
    soft *to = r->soft;
    const scene_section *s = scene_find(r->f, "control", ""), *muscle = scene_next(r->f, NULL, "muscle");
    if (s == NULL) {
        if (muscle != NULL) {
            scene_fail(r->f, muscle, NULL, "[muscle %s] needs a section [control]", scene_name(muscle));
        }
        return;
    }
    double phase[MOST_PHASES] = {1.5707963267948966};
    const uint32_t sectors = scene_whole(r->f, s, "sectors", 2, 1000, 2);
    const int by_sectors = scene_has(r->f, s, "sectors"), all = scene_has(r->f, s, "weights");
    const size_t from = r->variables;
    const double rate = control_number(r, s, "rate", "rad/s", CONTROL_RATE, 0, 1e4, 0);
    const double scale = control_number(r, s, "scale", "", CONTROL_SCALE, 0, 1, 0.3);
    size_t phases = read_phases(r, s, phase), idle = 0;
    const int tunable = r->variables > from;
    scene_quantity w = {.value = 0};
    const int of_muscle = muscle != NULL && !scene_has(r->f, s, "body");
    body *b = setup_body_of(r, of_muscle ? muscle : s, NULL);
    if (!all || (by_sectors && muscle != NULL) || (!by_sectors && muscle == NULL)) {
        scene_fail(r->f, s, NULL,
                   !all ? "[control] needs the key 'weights', such as variable -3..3 start 0"
                        : "[control] has the key 'sectors' or sections [muscle NAME]: give one of them");
    }
    scene_quantities(r->f, s, "weights", 1, -1e3, 1e3, &w);
    if (!scene_failed(r->f) && (!w.variable || w.log)) {
        scene_fail(r->f, s, "weights",
                   "weights are variables: weights = variable LOWER..UPPER [start VALUE]");
    }
    if (scene_failed(r->f)) {
        return;
    }
    const int triangles = b->of->membrane;
    const size_t elements = triangles ? to->model.triangles : to->model.tets;
    uint32_t *group = ds_memory_take(&r->setup->memory, elements + 1, sizeof *group);
    if (group == NULL) {
        return;
    }
    if (by_sectors && b->tets + b->triangles != elements + (triangles ? to->model.tets : 0) &&
        r->n_bodies > 1) {
        scene_fail(r->f, s, "sectors", "sectors divide the only body; give muscles to several");
    }
    if (by_sectors) {
        divide_sectors(r, b, sectors, group);
    }
    const uint32_t groups = by_sectors ? sectors : divide_muscles(r, triangles, elements, group, &idle);
    if (phases == 0 && scene_has(r->f, s, "phases")) {
        scene_fail(r->f, s, "phases", "phases needs at least one number, in rad");
    }
    phases = phases > 0 ? phases : 1;
    if (scene_failed(r->f)) {
        return;
    }
    body_variable *v = setup_variable(r, s, "weights", 0);
    if (v == NULL) {
        return;
    }
    *v = (body_variable)BODY_VARIABLE_RANDOM(v->name, "", BODY_VARIABLE_WEIGHTS, w.lower, w.upper, w.value,
                                             w.random);
    const ds_status opened = soft_control_as(to, triangles ? SOFT_TRIANGLES : SOFT_TETS,
                                             (control_options){.groups = groups + (idle > 0 ? 1 : 0),
                                                               .group = group,
                                                               .phases = phases,
                                                               .phase = phase,
                                                               .rate = rate,
                                                               .scale = scale,
                                                               .tunable = tunable});
    to->unknown.idle = idle > 0 ? phases : 0;
    to->unknown.weights = ds_memory_doubles(&r->setup->memory, (groups + 1) * phases);
    r->setup->memory.failed |= opened != DS_OK;
}

/* ---- target and loss ---- */

static void give_goal(const soft *s, double *q)
{
    memcpy(q, ((const soft_scene *)s)->setup.goal, 3 * s->model.particles * sizeof *q);
}

static void give_goal_at(const soft *s, uint64_t k, double *q)
{
    const size_t numbers = 3 * s->model.particles;
    memcpy(q, ((const soft_scene *)s)->setup.goal + k * numbers, numbers * sizeof *q);
}

/* [target BODY]: the body at the start, moved, or recorded vertices. */
static void read_target(setup_reader *r, const scene_section *s)
{
    const soft *to = r->soft;
    const body *b = setup_body_of(r, s, scene_name(s));
    double by[3] = {0, 0, 0};
    const bool shift = scene_numbers(r->f, s, "shift", 3, false, -setup_most_size, setup_most_size, by);
    const bool center = scene_numbers(r->f, s, "center", 3, false, -setup_most_size, setup_most_size, by);
    const bool file = scene_has(r->f, s, "file");
    if (shift + center + file != 1) {
        scene_fail(r->f, s, NULL, "[target %s] needs one of: shift, center, file", scene_name(s));
        return;
    }
    if (file) {
        setup_recorded(r, s, b);
        return;
    }
    for (size_t i = b->particle; i < b->particle + b->particles; i++) {
        for (size_t d = 0; d < 3; d++) {
            const double about =
                b->turned ? to->model.q[3 * i + d] - b->center[d] : to->mesh.point[3 * i + d];
            r->setup->goal[3 * i + d] = (shift ? to->model.q[3 * i + d] : about) + by[d];
        }
    }
}

/* Compares a part of the vertices only. */
static void choose_part(setup_reader *r, const scene_section *s)
{
    soft *to = r->soft;
    const part p = setup_part(r, s);
    uint8_t *of = ds_memory_take(&r->setup->memory, to->model.particles + 1, 1);
    if (to->observe == OBSERVE_IMAGE) {
        scene_fail(r->f, s, NULL, "images show all vertices: compare a part of them as points or centre");
    }
    if (of == NULL || r->setup->chosen == NULL || scene_failed(r->f)) {
        return;
    }
    setup_mark(r, s, &p, of);
    for (size_t i = 0; i < to->model.particles && to->observe == OBSERVE_POINTS; i++) {
        if (of[i]) {
            r->setup->chosen[to->choices++] = (uint32_t)i;
        }
    }
    to->chosen = to->observe == OBSERVE_POINTS ? r->setup->chosen : NULL;
    to->counted = r->setup->counted = of;
}

static void read_targets(setup_reader *r)
{
    const soft *to = r->soft;
    const size_t n = to->model.particles;
    const scene_section *first = scene_next(r->f, NULL, "target"), *marker = scene_next(r->f, NULL, "marker");
    r->setup->goal = ds_memory_doubles(&r->setup->memory, 3 * n + 1);
    if (r->setup->goal == NULL) {
        return;
    }
    memcpy(r->setup->goal, to->model.q, 3 * n * sizeof(double));
    r->setup->goals = 1;
    if (marker != NULL) {
        setup_markers(r, marker);
    }
    for (const scene_section *s = NULL; (s = scene_next(r->f, s, "target"));) {
        if (marker != NULL && scene_name(s)[0] != '\0') {
            scene_fail(r->f, s, NULL, "with markers the recording is the only target: remove this section");
        } else if (marker == NULL && !scene_has(r->f, s, "file")) {
            read_target(r, s);
        }
    }
    for (const scene_section *s = NULL; marker == NULL && (s = scene_next(r->f, s, "target"));) {
        if (scene_has(r->f, s, "file")) { /* last: they may make several states of one */
            read_target(r, s);
        }
    }
    r->soft->target_at = r->setup->goals > 1 ? give_goal_at : NULL;
    r->setup->task.target = first != NULL ? give_goal : NULL;
    for (size_t k = 0; k < r->variables && !scene_failed(r->f); k++) {
        const place *at = &r->variable[k];
        if (first == NULL && !at->has_truth) {
            scene_fail(
                r->f, at->section, at->key,
                "%s is a variable, and an episode makes the target: add 'truth VALUE' to the variable, or "
                "a section [target BODY]",
                at->key);
        } else if (first != NULL && at->has_truth) {
            scene_fail(r->f, at->section, at->key,
                       "the target is a shape or a recording, not an episode: remove 'truth'");
        }
    }
}

static void read_loss(setup_reader *r)
{
    soft *to = r->soft;
    const scene_section *s = scene_find(r->f, "loss", "");
    to->first = scene_whole(r->f, s, "first", 0, UINT32_MAX, (uint32_t)to->first);
    if (to->first + (to->compared - 1) * to->each > to->steps) {
        scene_fail(r->f, s, "first", "the last compared state is step %llu of %llu: reduce first or frames",
                   (unsigned long long)(to->first + (to->compared - 1) * to->each),
                   (unsigned long long)to->steps);
    }
    if (scene_has(r->f, s, "box") || scene_has(r->f, s, "sphere") || scene_has(r->f, s, "group") ||
        scene_has(r->f, s, "body")) {
        choose_part(r, s);
    }
}

/* ---- the whole scene ---- */

static const ds_param *const settings[] = {DS_ENUM("observe", "image", compared, ""),
                                           DS_PATH("target_image", "", ""),
                                           CAMERAS_PARAMS("64", "8, 30, 0", "alpha"),
                                           DS_LIST("color", "1, 1, 0", 0, 1, 3, "", ""),
                                           DS_INT("seed", "0", 0, 1000000000, "", ""),
                                           SOFT_TIME_PARAMS("2", "32", "1"),
                                           NULL};

static const scene_key keys[] = {{"scene", "duration", "duration"},
                                 {"scene", "substeps", "substeps"},
                                 {"loss", "frames", "frames"},
                                 {"loss", "compare", "observe"},
                                 {"loss", "images", "target_image"},
                                 {"camera", "position", "camera"},
                                 {"camera", "size", "image_size"},
                                 {"camera", "threads", "image_threads"},
                                 {"camera", "obs", "obs"},
                                 {"camera", "renderer", "renderer"},
                                 {"camera", "shading", "shading"},
                                 {"camera", "texture", "texture"},
                                 {"camera", "antialias", "antialias"},
                                 {"camera", "sigma_scale", "sigma_scale"},
                                 {"camera", "color", "color"},
                                 {NULL, NULL, NULL}};

/* Settings of the file that parameters replace. */
static void replace_settings(soft_setup *setup, const soft_choices *c)
{
    if (c->duration > 0) {
        scene_params_set(&setup->params, "duration", c->duration);
    }
    if (c->substeps > 0) {
        scene_params_set(&setup->params, "substeps", c->substeps);
    }
    if (c->frames > 0) {
        scene_params_set(&setup->params, "frames", c->frames);
    }
    if (c->observe > 0) {
        scene_params_set(&setup->params, "observe", c->observe - 1);
    }
    if (c->image_size > 0) {
        scene_params_set(&setup->params, "image_size", c->image_size);
    }
}

static void read_gravity(setup_reader *r)
{
    const scene_section *s = scene_find(r->f, "scene", "");
    double *g = r->soft->model.gravity;
    scene_text(r->f, s, "include", "");
    const char *text = scene_text(r->f, s, "gravity", ""), *range = strstr(text, "..");
    const int vector = range != NULL && strstr(range + 2, "..") != NULL;
    if (vector) {
        setup_numbers(
            r, s, "gravity", "m/s^2",
            (body_place){offsetof(fem_model, gravity), offsetof(fem_variation, gravity), .scale = 1}, -1e3,
            1e3, g);
    } else if (range != NULL) {
        g[1] = -setup_quantity(r, s, "gravity", "m/s^2", BODY_VARIABLE_GRAVITY, -100, 100, 9.8, NULL);
    } else {
        scene_numbers(r->f, s, "gravity", 3, false, -1e3, 1e3, g);
    }
    setup_numbers(r, s, "wind", "m/s",
                  (body_place){offsetof(fem_model, wind), offsetof(fem_variation, wind), .scale = 1}, -1e3,
                  1e3, r->soft->model.wind);
}

static void each(setup_reader *r, const char *kind, void (*read)(setup_reader *r, const scene_section *s))
{
    for (const scene_section *s = NULL; (s = scene_next(r->f, s, kind)) && !scene_failed(r->f);) {
        read(r, s);
    }
}

static void read_region(setup_reader *r, const scene_section *s)
{
    const part p = setup_part(r, s);
    if (p.of->of->membrane) {
        setup_cloth_region(r, s, &p);
    } else {
        setup_region(r, s);
    }
}

static void read_bodies(setup_reader *r)
{
    each(r, "body", setup_body);
    each(r, "cloth", setup_cloth);
    each(r, "anchor", setup_anchor);
    if (r->n_bodies == 0) {
        scene_fail(r->f, NULL, NULL, "section [body] or [cloth] is missing");
    }
}

/* Works through the file in the order in which one part needs another. */
static void read_scene(setup_reader *r)
{
    scene_file *f = r->f;
    soft *s = r->soft;
    read_gravity(r);
    setup_materials(r);
    read_bodies(r);
    setup_own_tets(r);
    if (scene_failed(f) || s->model.status != DS_OK || r->setup->memory.failed) {
        return;
    }
    each(r, "region", read_region);
    setup_end_materials(r);
    each(r, "hold", read_hold);
    for (const scene_section *t = NULL; (t = scene_next(f, t, "drive")) && !scene_failed(f);) {
        read_load(r, t, &s->drive, "velocity", "m/s", 1e3);
    }
    for (const scene_section *t = NULL; (t = scene_next(f, t, "force")) && !scene_failed(f);) {
        read_load(r, t, &s->push, "force", "N", 1e6);
    }
    read_ground(r);
    each(r, "obstacle", read_obstacle);
    setup_contact(r);
    r->setup->chosen = ds_memory_take(&r->setup->memory, s->model.particles + 1, sizeof *r->setup->chosen);
    if (!scene_failed(f)) {
        read_control(r);
        read_loss(r);
        read_targets(r);
    }
    if (!scene_failed(f) && r->variables == 0) {
        scene_fail(f, NULL, NULL,
                   "the scene has no variables: write one of its numbers as 'variable LOWER..UPPER'");
    }
    scene_done(f);
    body_loads_open(&s->drive, s->model.particles, &r->setup->memory);
    body_loads_open(&s->push, s->model.particles, &r->setup->memory);
    for (size_t i = 0; i < r->variables && !scene_failed(f) && !r->setup->memory.failed; i++) {
        body_variables_add(&s->unknown, &r->setup->variable[i]);
    }
}

ds_status soft_setup_read(soft_scene *scene, scene_file *file, const soft_choices *choices,
                          const ds_host *host)
{
    soft_setup *setup = &scene->setup;
    soft *s = &scene->soft;
    setup_reader r = {.setup = setup, .soft = s, .f = file, .host = host};
    if (file == NULL) {
        return ds_host_fail(host, DS_E_NOMEM, "no memory for the scene");
    }
    setup->file = file;
    scene_kinds(file, kinds);
    scene_names(file, drawn, reserved, true);
    scene_variables(file, can_vary);
    ds_status status = scene_params_open(&setup->params, file, host, settings, keys, &setup->memory);
    s->env.kit.camera = scene_camera_read(file, "position", false);
    if (status != DS_OK || scene_failed(file)) {
        return ds_host_fail(host, status != DS_OK ? status : DS_E_DATA, "%s",
                            status != DS_OK ? "no memory for the scene" : scene_error(file));
    }
    replace_settings(setup, choices);
    ds_param_reader in = {&setup->params.host, DS_OK};
    soft_read(s, &in, &setup->task);
    ds_param_values(&in, "color", 3, s->color);
    if (in.status != DS_OK) {
        return in.status;
    }
    setup->task.state = s->observe == OBSERVE_CENTRE ? COMPARISON_CENTRE : COMPARISON_POINTS;
    setup->task.cure = cure;
    s->unknown.seed = choices->seed;
    read_scene(&r);
    if (r.n_bodies == 1) {
        const scene_section *of = scene_next(file, NULL, "body");
        s->name = kept_name(&r, of != NULL ? of : scene_next(file, NULL, "cloth"));
    }
    for (size_t i = 0; i < r.n_bodies; i++) {
        fem_mesh_free(&r.bodies[i].file);
    }
    if (scene_failed(file)) {
        return ds_host_fail(host, DS_E_DATA, "%s", scene_error(file));
    }
    if (setup->memory.failed || s->model.status == DS_E_NOMEM) {
        return ds_host_fail(host, DS_E_NOMEM, "no memory for the scene");
    }
    if (s->model.status != DS_OK) {
        return ds_host_fail(host, DS_E_DATA, "%s: %s", scene_file_name(file), s->model.problem);
    }
    soft_end(s);
    return DS_OK;
}

void soft_setup_free(soft_setup *setup)
{
    scene_file_free(setup->file);
    ds_memory_free(&setup->memory);
    memset(setup, 0, sizeof *setup);
}
