/* SPDX-License-Identifier: Apache-2.0 */
/* task.c - reads a task of a robot by inih (task.h). */
#include "engines/physics/articulated/task.h"

#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"

#include <diffsim/helper/nearest.h>

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_ENTRIES = 2000, MOST_STEPS = 1000000, MOST_KNOWN = 500 };
enum { JOINTS = 1, BODIES = 2, SITES = 4, ACTUATORS = 8 }; /* kinds of names */

/* The task without a file: a pole on a cart swings up. */
static const char own_name[] = "built-in task";
static const char own_task[] = "[task]\nduration = 2\nstep = 0.005\ncontrol_step = 0.05\n[start]\nhinge = 3\n"
                               "[loss.upright]\nwhat = position\nof = tip\ntarget = 0 0 0.8\n"
                               "[loss.still]\nwhat = rate\nof = hinge\nweight = 0.02\n";
static const char own_model[] =
    "<mujoco><compiler angle='radian'/><worldbody><body name='cart'>"
    "<joint name='slide' type='slide' axis='1 0 0' damping='0.1'/>"
    "<geom type='box' size='0.15 0.08 0.06' mass='1' contype='0' conaffinity='0'/>"
    "<body name='pole'><joint name='hinge' axis='0 1 0' damping='0.002'/>"
    "<geom type='capsule' size='0.02' fromto='0 0 0 0 0 0.8' mass='0.2' contype='0' conaffinity='0'/>"
    "<site name='tip' pos='0 0 0.8'/></body></body></worldbody>"
    "<actuator><motor name='slide' joint='slide' ctrlrange='-20 20'/></actuator></mujoco>";

typedef struct entry {
    const char *section, *name, *value;
    int used;
} entry;

typedef struct reader {
    ds_memory *m;
    task *out;
    const char *path;
    char *error;
    int failed, entries, lost, lookups;
    entry *entry;
    entry lookup[MOST_KNOWN]; /* section and name of the settings that were looked up, for typing errors */
} reader;

DS_PRINTF(2, 3)
static void task_fail(reader *in, const char *format, ...)
{
    if (in->failed) {
        return;
    }
    in->failed = 1;
    va_list list;
    int n = snprintf(in->error, ROBOT_ERROR, "%.200s: ", in->path);
    va_start(list, format);
    vsnprintf(in->error + n, ROBOT_ERROR - (size_t)n, format, list);
    va_end(list);
}

/* ---- entries ---- */

static const char *keep(reader *in, const char *text)
{
    size_t n = strlen(text) + 1;
    char *p = ds_memory_take(in->m, n, 1);
    return p ? memcpy(p, text, n) : NULL;
}

static int add_entry(void *self, const char *section, const char *name, const char *value)
{
    reader *in = self;
    if (in->entries == MOST_ENTRIES) {
        in->lost = 1;
        return 1;
    }
    entry *e = &in->entry[in->entries++];
    *e = (entry){keep(in, section), keep(in, name), keep(in, value), 0};
    return 1;
}

/* Terms of the loss have the same names in all their sections. */
static int same_kind(const char *a, const char *b)
{
    return strcmp(a, b) == 0 || (strncmp(a, "loss.", 5) == 0 && strncmp(b, "loss.", 5) == 0);
}

static void note_lookup(reader *in, const char *section, const char *name)
{
    for (int k = 0; k < in->lookups; k++) {
        if (strcmp(in->lookup[k].name, name) == 0 && same_kind(in->lookup[k].section, section)) {
            return;
        }
    }
    if (in->lookups < MOST_KNOWN) {
        in->lookup[in->lookups++] = (entry){.section = section, .name = name};
    }
}

static const char *text_of(reader *in, const char *section, const char *name)
{
    const char *found = NULL;
    note_lookup(in, section, name);
    for (int k = 0; k < in->entries; k++) {
        entry *e = &in->entry[k];
        if (strcmp(e->section, section) == 0 && strcmp(e->name, name) == 0) {
            if (found) {
                task_fail(in, "[%s] %s is set twice", section, name);
            }
            e->used = 1;
            found = e->value;
        }
    }
    return found;
}

/* Reads up to `most` numbers from *text and moves it past them; returns how many. */
static int numbers_in(reader *in, const entry *e, const char **text, int most, double *out)
{
    int n = 0;
    while (n < most && !in->failed) {
        char *end;
        double v = strtod(*text, &end);
        if (end == *text) {
            break;
        }
        if (!(fabs(v) < 1e15) || (*end && !isspace((unsigned char)*end) && *end != ',')) {
            task_fail(in, "[%s] %s = %.60s: use finite numbers", e->section, e->name, e->value);
        }
        out[n++] = v;
        *text = end + (*end == ',');
    }
    while (isspace((unsigned char)**text)) {
        (*text)++;
    }
    return n;
}

/* Reads a list of exactly `count` numbers if the entry exists. */
static int values_of(reader *in, const char *section, const char *name, int count, double *out)
{
    const char *text = text_of(in, section, name);
    if (text == NULL || in->failed) {
        return 0;
    }
    const entry e = {section, name, text, 1};
    int n = numbers_in(in, &e, &text, count, out);
    if (n != count || *text) {
        task_fail(in, "[%s] %s = %.60s: give %d number%s", section, name, e.value, count,
                  count > 1 ? "s" : "");
    }
    return !in->failed;
}

/* A positive number. */
static double positive(reader *in, const char *name, double usual)
{
    double v = usual;
    values_of(in, "task", name, 1, &v);
    if (!(v > 0)) {
        task_fail(in, "[task] %s must be above 0", name);
    }
    return v;
}

/* The index of a choice; `usual` where the entry is missing. */
static int choice(reader *in, const char *section, const char *name, const char *const *list, int usual)
{
    const char *text = text_of(in, section, name);
    char all[200] = "";
    for (int k = 0; list[k]; k++) {
        if (text && strcmp(text, list[k]) == 0) {
            return k;
        }
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", k ? ", " : "", list[k]);
    }
    if (text) {
        task_fail(in, "[%s] %s = %.40s: use one of %s", section, name, text, all);
    }
    return usual;
}

/* A file next to the task file. */
static void beside(const reader *in, const char *file, char path[ROBOT_PATH])
{
    const char *slash = strrchr(in->path, '/');
    int folder = slash && *file != '/' ? (int)(slash - in->path) + 1 : 0;
    snprintf(path, ROBOT_PATH, "%.*s%s", folder, in->path, file);
}

static void copy_name(reader *in, const char *from, char to[TREE_NAME])
{
    if (strlen(from) >= TREE_NAME) {
        task_fail(in, "the name %.40s... has more than %d characters", from, TREE_NAME - 1);
        return;
    }
    memcpy(to, from, strlen(from) + 1);
}

/* ---- typing errors ---- */

/* "; did you mean 'x'?", or nothing where no known name is near. */
static const char *suggest(const char *name, const char *const *known, size_t count,
                           char text[TREE_NAME + 24])
{
    const char *near = ds_nearest(name, known, count);
    snprintf(text, TREE_NAME + 24, near ? "; did you mean '%.63s'?" : "%.0s", near ? near : "");
    return text;
}

/* The same for a name that the model lacks, among its names of these kinds. */
static const char *suggest_name(const reader *in, int kinds, const char *name, char text[TREE_NAME + 24])
{
    const robot *r = &in->out->robot;
    const tree *t = r->tree;
    const char *known[MOST_KNOWN];
    size_t n = 0;
    for (int i = 0; i < t->links && n + 2 <= MOST_KNOWN; i++) {
        if ((kinds & JOINTS) && t->link[i].kind != TREE_FIXED) {
            known[n++] = t->link[i].joint;
        }
        if (kinds & BODIES) {
            known[n++] = t->link[i].name;
        }
    }
    for (int i = 0; (kinds & SITES) && i < t->sites && n < MOST_KNOWN; i++) {
        known[n++] = t->site[i].name;
    }
    for (int i = 0; (kinds & ACTUATORS) && i < r->actuators && n < MOST_KNOWN; i++) {
        known[n++] = r->actuator[i].name;
    }
    return suggest(name, known, n, text);
}

/* A file that is not a task, and sections that no task has. */
static void check_sections(reader *in)
{
    static const char *const sections[] = {"task", "start", "controls", "loss.NAME", "variables", "noise"};
    const size_t n = sizeof sections / sizeof *sections;
    char near[TREE_NAME + 24];
    for (int i = 0; i < in->entries && !in->failed; i++) {
        const char *section = in->entry[i].section;
        size_t k = 0;
        while (k < n && strcmp(sections[k], section) != 0) {
            k++;
        }
        if (!*section) {
            task_fail(in, "%.40s: a setting before the first section; begin with [task]", in->entry[i].name);
        } else if (k == n && strncmp(section, "loss.", 5) != 0) {
            task_fail(in,
                      "unknown section [%.40s]: use [task], [start], [controls], [loss.NAME], [variables] or "
                      "[noise]%s",
                      section, suggest(section, sections, n, near));
        }
    }
}

/* Settings that nothing looked up. */
static void check_settings(reader *in)
{
    const char *known[MOST_KNOWN];
    char near[TREE_NAME + 24];
    for (int i = 0; i < in->entries && !in->failed; i++) {
        const entry *e = &in->entry[i];
        size_t n = 0;
        for (int k = 0; !e->used && k < in->lookups; k++) {
            if (same_kind(in->lookup[k].section, e->section)) {
                known[n++] = in->lookup[k].name;
            }
        }
        if (!e->used) {
            task_fail(in, "[%.40s] %.40s: unknown setting%s", e->section, e->name,
                      suggest(e->name, known, n, near));
        }
    }
}

static int joint_named(reader *in, const entry *e, const char *name, int single)
{
    const tree *t = in->out->robot.tree;
    int link = tree_find_joint(t, name);
    char near[TREE_NAME + 24];
    if (link < 0) {
        task_fail(in, "[%s] %s: joint \"%.40s\" does not exist in the model%s", e->section, e->name, name,
                  suggest_name(in, JOINTS, name, near));
    } else if (single && t->link[link].nv != 1) {
        task_fail(in, "[%s] %s: joint \"%.40s\" has no single position", e->section, e->name, name);
    }
    return link;
}

/* A joint whose start is free. */
static int starting_joint(reader *in, const entry *e, const char *name, int single)
{
    int link = joint_named(in, e, name, single);
    if (link >= 0 && tree_follows(in->out->robot.tree, link) >= 0) {
        task_fail(in, "[%s] %s: joint \"%.40s\" follows another one, whose start counts", e->section, e->name,
                  name);
    }
    return link;
}

/* ---- model and settings ---- */

static void read_model(reader *in, const char *model)
{
    static const char *const bases[] = {"fixed", "free", NULL}, *const meshes[] = {"check", "skip", NULL},
                             *const mimics[] = {"follow", "ignore", NULL};
    char path[ROBOT_PATH], error[ROBOT_ERROR];
    const char *own = text_of(in, "task", "model");
    robot_options options = {.packages = text_of(in, "task", "packages")};
    options.free_base = choice(in, "task", "base", bases, 0);
    options.skip_meshes = choice(in, "task", "meshes", meshes, 0);
    options.free_mimics = choice(in, "task", "mimic", mimics, 0);
    if (in->path == own_name) {
        if (*model) {
            task_fail(in, "parameter model needs a task: set parameter task");
        } else {
            in->failed =
                robot_parse(in->m, own_model, strlen(own_model), own_name, &options, &in->out->robot, error);
        }
        return;
    }
    if (*model == '\0' && own == NULL) {
        task_fail(in, "[task] model is missing: name a URDF or MJCF file");
    }
    if (in->failed) {
        return;
    }
    if (*model) {
        snprintf(path, sizeof path, "%s", model);
    } else {
        beside(in, own, path);
    }
    in->failed = robot_read(in->m, path, &options, &in->out->robot, error);
    if (in->failed) {
        memcpy(in->error, error, sizeof error);
    }
}

/* Rows of heights in m, the row of the largest y first, as on a map. */
static void read_terrain(reader *in, const char *file, double cell)
{
    enum { MOST_LINES = 2000, MOST_LINE = 65536 };
    char path[ROBOT_PATH];
    beside(in, file, path);
    double *kept = ds_memory_doubles(in->m, MOST_LINE / 2), *rows[MOST_LINES];
    char *line = ds_memory_take(in->m, MOST_LINE, 1);
    int count = 0, columns = 0, number = 0;
    FILE *f = fopen(path, "r");
    if (f == NULL || kept == NULL || line == NULL) {
        task_fail(in, "[task] terrain: %.100s: %s", path, strerror(f ? ENOMEM : errno));
        if (f) {
            fclose(f);
        }
        return;
    }
    while (fgets(line, MOST_LINE, f) && !in->failed) {
        const char *text = line;
        const entry e = {"task", "terrain", line, 1};
        number++;
        line[strcspn(line, "#\n")] = '\0';
        int n = numbers_in(in, &e, &text, MOST_LINE / 2, kept);
        if (n == 0 && *text == '\0') {
            continue;
        }
        if (*text || n < 2 || n > MOST_LINES || (count > 0 && n != columns) || count == MOST_LINES) {
            task_fail(in, "[task] terrain: line %d of %.100s: give rows of equally many heights, 2 to %d",
                      number, path, MOST_LINES);
            break;
        }
        columns = n;
        rows[count] = ds_memory_doubles(in->m, (size_t)n);
        if (rows[count] == NULL) {
            in->failed = 2;
            break;
        }
        memcpy(rows[count++], kept, (size_t)n * sizeof *kept);
    }
    fclose(f);
    if (!in->failed && count < 2) {
        task_fail(in, "[task] terrain: %.100s has fewer than 2 rows", path);
    }
    tree *t = in->out->robot.tree;
    double *height = in->failed ? NULL : tree_add_terrain(t, columns, count, cell, cell);
    for (int row = 0; height && row < count; row++) {
        memcpy(height + row * columns, rows[count - 1 - row], (size_t)columns * sizeof *height);
    }
    if (!in->failed && (height == NULL || !tree_draw_terrain(t, &t->shape[t->shapes - 1]))) {
        in->failed = 2;
    }
}

/* Contact that acts before solids touch, in the motion or in its derivatives alone. */
static void read_softness(reader *in)
{
    static const char *const far[] = {"softplus", "barrier", "gaussian", NULL};
    task *k = in->out;
    tree *t = k->robot.tree;
    int kernel = choice(in, "task", "softness", softness_kernels, SOFTNESS_NONE);
    int distant = choice(in, "task", "contact_grad", contact_grads, 0);
    double width = positive(in, "width", 0.01), grad_width = positive(in, "grad_width", 0.1);
    int ramp = 1 + choice(in, "task", "grad_softness", far, 0);
    t->pull = positive(in, "grad_stiffness", 100);
    t->soft = (softness){kernel, width, distant, ramp, grad_width};
    /* Beyond it softplus and gaussian are below 1e-8, and barrier is cut. */
    t->margin = kernel != SOFTNESS_NONE ? 20 * width : distant ? 20 * grad_width : 0;
    if (kernel != SOFTNESS_NONE && (k->contact != TREE_COMPLIANT || distant)) {
        task_fail(in, "[task] softness needs contact = compliant and contact_grad = exact");
    }
    if (distant && k->contact == TREE_NO_CONTACT) {
        task_fail(in, "[task] contact_grad = distance has no effect with contact = none");
    }
}

static void read_settings(reader *in)
{
    static const char *const rules[] = {"euler", "rk4", NULL};
    static const char *const contacts[] = {"compliant", "none", "complementarity", NULL};
    static const tree_law laws[] = {TREE_COMPLIANT, TREE_NO_CONTACT, TREE_COMPLEMENTARITY};
    static const char *const shapes[] = {"constant", "linear", "spline", NULL}, *const yes[] = {"no", "yes",
                                                                                                NULL};
    static const char *const slidings[] = {"root", "tanh", NULL};
    static const struct {
        const char *name;
        int number;
    } numbers[] = {{"stiffness", TREE_STIFFNESS},
                   {"dissipation", TREE_DISSIPATION},
                   {"friction", TREE_FRICTION},
                   {"restitution", TREE_RESTITUTION},
                   {"mixing", TREE_MIXING},
                   {"correction", TREE_CORRECTION},
                   {"limit_stiffness", TREE_LIMIT_STIFFNESS},
                   {"limit_damping", TREE_LIMIT_DAMPING}};
    task *k = in->out;
    tree *t = k->robot.tree;
    k->rule = (motion_rule)choice(in, "task", "integrator", rules, 0);
    k->contact = laws[choice(in, "task", "contact", contacts, 0)];
    if (k->contact == TREE_COMPLEMENTARITY && k->rule != MOTION_EULER) {
        task_fail(in, "[task] contact = complementarity needs integrator = euler");
    }
    k->shape = (task_shape)choice(in, "task", "shape", shapes, 0);
    k->step = positive(in, "step", k->robot.step > 0 ? k->robot.step : 0.002);
    double duration = positive(in, "duration", 1), control = positive(in, "control_step", 0.02);
    double pieces = rint(duration / control), substeps = rint(control / k->step);
    if (!(fabs(duration - pieces * control) < 1e-6 * duration && pieces >= 1)) {
        task_fail(in, "[task] duration %g s is not a multiple of control_step %g s", duration, control);
    }
    if (!(fabs(control - substeps * k->step) < 1e-6 * control && substeps >= 1)) {
        task_fail(in, "[task] control_step %g s is not a multiple of step %g s", control, k->step);
    }
    if (!(pieces * substeps <= MOST_STEPS)) {
        task_fail(in, "[task] more than %d steps: reduce duration or raise step", MOST_STEPS);
    }
    k->pieces = in->failed ? 1 : (int)pieces;
    k->substeps = in->failed ? 1 : (int)substeps;
    t->slip = positive(in, "slip", t->slip);
    t->sliding = (tree_friction)choice(in, "task", "sliding", slidings, TREE_ROOT);
    t->joint_slip = positive(in, "joint_slip", t->joint_slip);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        values_of(in, "task", numbers[i].name, 1, &t->number[numbers[i].number]);
        if (!(t->number[numbers[i].number] >= 0)) {
            task_fail(in, "[task] %s must not be negative", numbers[i].name);
        }
    }
    t->bounce = positive(in, "bounce", t->bounce);
    if (!(t->number[TREE_MIXING] >= 1e-9)) { /* contacts may be redundant */
        task_fail(in, "[task] mixing must be at least 1e-9");
    }
    values_of(in, "task", "gravity", 3, t->number + TREE_GRAVITY);
    read_softness(in);
    int ground = choice(in, "task", "ground", yes, 0);
    const char *terrain = text_of(in, "task", "terrain");
    double cell = terrain ? positive(in, "terrain_cell", 0.1) : 0;
    if (ground && !in->failed) {
        tree_add_shape(t, -1, TREE_PLANE);
    }
    if (terrain && !in->failed) {
        read_terrain(in, terrain, cell);
    }
    if ((ground || terrain) && !in->failed) {
        in->failed = tree_contacts(t) ? 0 : 2;
    }
}

static void read_noise(reader *in)
{
    task *k = in->out;
    const struct {
        const char *name;
        double *to;
    } entries[] = {{"start", &k->noise_start},
                   {"velocity", &k->noise_rate},
                   {"control", &k->noise_control},
                   {"observe", &k->noise_observe}};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        values_of(in, "noise", entries[i].name, 1, entries[i].to);
        if (!(*entries[i].to >= 0)) {
            task_fail(in, "[noise] %s must not be negative", entries[i].name);
        }
    }
}

/* ---- start ---- */

static void unit_quaternions(reader *in, double *q)
{
    const tree *t = in->out->robot.tree;
    for (int i = 0; i < t->links; i++) {
        double *turn = q + t->link[i].q + t->link[i].nq - 4;
        if (t->link[i].nq >= 4 && !(quat_normalise(turn) > 1e-6)) {
            task_fail(in, "[start] the quaternion of joint %.40s has no length", t->link[i].joint);
        }
    }
}

static void read_start(reader *in)
{
    task *k = in->out;
    const tree *t = k->robot.tree;
    k->q = ds_memory_doubles(in->m, (size_t)t->nq + 1);
    k->v = ds_memory_doubles(in->m, (size_t)t->nv + 1);
    if (in->m->failed) {
        in->failed = 2;
        return;
    }
    memcpy(k->q, t->start, (size_t)t->nq * sizeof *k->q);
    const char *key = text_of(in, "task", "key");
    const robot_key *found = NULL;
    for (int i = 0; key && i < k->robot.keys; i++) {
        found = strcmp(k->robot.key[i].name, key) == 0 ? &k->robot.key[i] : found;
    }
    if (key && !found) {
        task_fail(in, "[task] key: the model has no keyframe \"%.40s\"", key);
    }
    if (found && found->q) {
        memcpy(k->q, found->q, (size_t)t->nq * sizeof *k->q);
    }
    if (found && found->v) {
        memcpy(k->v, found->v, (size_t)t->nv * sizeof *k->v);
    }
    for (int i = 0; i < in->entries && !in->failed; i++) {
        entry *e = &in->entry[i];
        if (strcmp(e->section, "start") != 0) {
            continue;
        }
        int rate = strncmp(e->name, "velocity.", 9) == 0;
        int link = starting_joint(in, e, e->name + (rate ? 9 : 0), 0);
        if (!in->failed) {
            const tree_link *l = &t->link[link];
            values_of(in, "start", e->name, rate ? l->nv : l->nq, rate ? k->v + l->v : k->q + l->q);
        }
    }
    if (!in->failed) {
        unit_quaternions(in, k->q);
        tree_couple(t, k->q, k->v);
    }
}

/* ---- tables ---- */

/* Rows of numbers: seconds, and `columns` others; '#' begins a comment, a first line of names is skipped. */
static double *read_table(reader *in, const char *section, const char *file, int columns, int *rows)
{
    char path[ROBOT_PATH], line[4096];
    beside(in, file, path);
    int row = columns + 1, room = 0, number = 0;
    double *table = NULL;
    FILE *f = fopen(path, "r");
    if (f == NULL) {
        task_fail(in, "[%s] file: %.100s: %s", section, path, strerror(errno));
        return NULL;
    }
    *rows = 0;
    while (fgets(line, sizeof line, f) && !in->failed) {
        const char *text = line;
        line[strcspn(line, "#\n")] = '\0';
        number++;
        while (isspace((unsigned char)*text)) {
            text++;
        }
        if (*text == '\0' || (*rows == 0 && isalpha((unsigned char)*text))) {
            continue;
        }
        if (*rows == room) {
            double *more = ds_memory_doubles(in->m, (size_t)(2 * room + 64) * (size_t)row);
            if (more == NULL) {
                in->failed = 2;
                break;
            }
            memcpy(more, table ? table : more, (size_t)(room * row) * sizeof *more);
            table = more;
            room = 2 * room + 64;
        }
        const entry e = {section, "file", line, 1};
        double *at = table + (size_t)*rows * (size_t)row;
        if (numbers_in(in, &e, &text, row, at) != row || *text) {
            task_fail(in, "[%s] file: line %d of %.100s does not have %d numbers (seconds, then the %s)",
                      section, number, path, row, strcmp(section, "controls") == 0 ? "controls" : "joints");
        } else if (*rows > 0 && !(at[0] > at[-row])) {
            task_fail(in, "[%s] file: line %d of %.100s: time does not increase", section, number, path);
        }
        (*rows)++;
    }
    fclose(f);
    if (!in->failed && *rows < 2) {
        task_fail(in, "[%s] file: %.100s has fewer than 2 rows", section, path);
    }
    return table;
}

/* ---- controls ---- */

static void add_control(reader *in, const task_control *c)
{
    task *k = in->out;
    if (k->controls == TASK_MOST) {
        task_fail(in, "more than %d controls", TASK_MOST);
    } else if (!(c->lower < c->upper) || !isfinite(c->upper - c->lower)) {
        task_fail(in, "[controls] %.40s: give a lower and a higher value, as in %.40s = -1 1", c->name,
                  c->name);
    } else {
        k->control[k->controls++] = *c;
    }
}

static task_control control_of(const robot *r, int actuator)
{
    const robot_actuator *a = &r->actuator[actuator];
    task_control c = {.link = a->link, .position = a->kind == 1, .lower = a->lower, .upper = a->upper};
    c.gear = a->kind == 0 ? a->gear : a->kind == 1 ? 1 / a->gear : a->rate_gain / a->gear;
    c.start = NAN;
    memcpy(c.name, a->name, sizeof c.name);
    return c;
}

/* force.JOINT = lower upper; position.JOINT = lower upper gain rate_gain; ACTUATOR = [lower upper] */
static void read_control(reader *in, entry *e)
{
    task *k = in->out;
    tree *t = k->robot.tree;
    double v[4];
    const char *text = e->value;
    int force = strncmp(e->name, "force.", 6) == 0, position = strncmp(e->name, "position.", 9) == 0;
    int n = numbers_in(in, e, &text, 4, v), actuator = -1;
    e->used = 1;
    for (int i = 0; i < k->robot.actuators; i++) {
        actuator = strcmp(k->robot.actuator[i].name, e->name) == 0 ? i : actuator;
    }
    if (*text || (n != 2 && !(n == 0 && actuator >= 0) && !(n == 4 && position && actuator < 0))) {
        task_fail(in, "[controls] %s = %.60s: give a lower and a higher value%s", e->name, e->value,
                  position ? ", gain and rate gain" : "");
        return;
    }
    task_control c = {.gear = 1, .start = NAN, .position = position};
    if (actuator >= 0) {
        c = control_of(&k->robot, actuator);
    } else if (force || position) {
        c.link = joint_named(in, e, e->name + (force ? 6 : 9), 1);
        copy_name(in, e->name, c.name);
    } else {
        char near[TREE_NAME + 24];
        task_fail(in, "[controls] %.40s: the model has no such actuator; use force.JOINT or position.JOINT%s",
                  e->name, suggest_name(in, ACTUATORS, e->name, near));
    }
    if (n >= 2) {
        c.lower = v[0];
        c.upper = v[1];
    }
    if (n == 4 && !in->failed) {
        int at = t->link[c.link].v;
        if (v[2] < 0 || v[3] < 0) {
            task_fail(in, "[controls] %s: gains are not negative", e->name);
        }
        t->number[tree_joint_number(t, TREE_GAIN, at)] += v[2];
        t->number[tree_joint_number(t, TREE_RATE_GAIN, at)] += v[3];
    }
    if (!in->failed) {
        add_control(in, &c);
    }
}

/* Controls of a file: each control step begins with the ones of its time, between rows by straight lines. */
static void read_known(reader *in, const char *file)
{
    task *k = in->out;
    int rows = 0, row = k->controls + 1, at = 0;
    const double *table = read_table(in, "controls", file, k->controls, &rows);
    k->known = ds_memory_doubles(in->m, (size_t)k->pieces * (size_t)k->controls);
    if (in->m->failed) {
        in->failed = 2;
    }
    for (int p = 0; p < k->pieces && !in->failed; p++) {
        double time = p * k->step * k->substeps;
        while (at < rows - 2 && table[(at + 1) * row] <= time) {
            at++;
        }
        const double *from = table + at * row, *to = from + row;
        double share = clamp((time - from[0]) / (to[0] - from[0]), 0, 1);
        for (int c = 0; c < k->controls; c++) {
            const task_control *a = &k->control[c];
            double u = (1 - share) * from[1 + c] + share * to[1 + c];
            k->known[p * k->controls + c] = 2 * (u - a->lower) / (a->upper - a->lower) - 1;
        }
    }
}

static void read_controls(reader *in)
{
    task *k = in->out;
    tree *t = k->robot.tree;
    const char *file = text_of(in, "controls", "file");
    int listed = 0;
    for (int i = 0; i < k->robot.actuators; i++) {
        const robot_actuator *a = &k->robot.actuator[i];
        t->number[tree_joint_number(t, TREE_GAIN, t->link[a->link].v)] += a->gain;
        t->number[tree_joint_number(t, TREE_RATE_GAIN, t->link[a->link].v)] += a->rate_gain;
    }
    for (int i = 0; i < in->entries && !in->failed; i++) {
        if (strcmp(in->entry[i].section, "controls") == 0 && strcmp(in->entry[i].name, "file") != 0) {
            listed = 1;
            read_control(in, &in->entry[i]);
        }
    }
    for (int i = 0; !listed && i < k->robot.actuators && !in->failed; i++) {
        task_control c = control_of(&k->robot, i);
        if (isfinite(c.lower) && isfinite(c.upper)) {
            add_control(in, &c);
        }
    }
    /* A controller of the position begins where the joint is. */
    for (int i = 0; i < k->controls; i++) {
        task_control *c = &k->control[i];
        double u = c->position ? k->q[t->link[c->link].q] / c->gear : 0;
        double x = 2 * (u - c->lower) / (c->upper - c->lower) - 1;
        c->start = clamp(x, -1, 1);
    }
    if (file != NULL && !in->failed) {
        read_known(in, file);
    }
}

/* ---- terms of the loss ---- */

static void read_joints(reader *in, task_term *term, const char *section)
{
    const char *list = text_of(in, section, "joints");
    const entry e = {section, "joints", list, 1};
    char word[TREE_NAME];
    int used = 0;
    term->column = ds_memory_take(in->m, TASK_MOST, sizeof *term->column);
    if (list == NULL || term->column == NULL) {
        task_fail(in, "[%s] joints is missing: list the columns of the file after the first one", section);
        return;
    }
    while (!in->failed && term->columns < TASK_MOST && sscanf(list, " %63[^ ,\t]%n", word, &used) == 1) {
        term->column[term->columns++] = joint_named(in, &e, word, 1);
        list += used + (list[used] == ',');
    }
}

/* Finds a site or a link. */
static void find_place(reader *in, task_term *term, const char *section, const char *name)
{
    const tree *t = in->out->robot.tree;
    int site = tree_find_site(t, name), link = tree_find_link(t, name);
    if (site < 0 && link < 0) {
        char near[TREE_NAME + 24];
        task_fail(in, "[%s] of = %.40s: the model has no such site or body%s", section, name,
                  suggest_name(in, SITES | BODIES, name, near));
        return;
    }
    term->link = site >= 0 ? t->site[site].link : link;
    if (site >= 0) {
        memcpy(term->at, t->site[site].at, sizeof term->at);
    }
}

static void read_target(reader *in, task_term *term, const char *section)
{
    int count = term->what == TASK_JOINT || term->what == TASK_RATE ? 1 : term->what == TASK_TURN ? 4 : 3;
    double v[4] = {term->what == TASK_TURN, 0, 0, 0};
    if (term->what != TASK_EFFORT && term->what != TASK_RECORDING) {
        values_of(in, section, "target", count, v);
    }
    if (term->what == TASK_TURN) {
        if (!(quat_normalise(v) > 1e-6)) {
            task_fail(in, "[%s] target: the quaternion has no length", section);
        }
        quat_matrix(v, term->target);
    } else {
        memcpy(term->target, v, 3 * sizeof *v);
    }
}

static void read_term(reader *in, const char *section)
{
    static const char *const whats[] = {"position", "velocity",  "turn", "angular_velocity",
                                        "joint",    "rate",      "com",  "com_velocity",
                                        "effort",   "recording", NULL};
    static const char *const norms[] = {"square", "distance", "sum", NULL};
    task *k = in->out;
    double duration = k->step * k->substeps * k->pieces;
    if (k->terms == TASK_MOST) {
        task_fail(in, "more than %d terms of the loss", TASK_MOST);
        return;
    }
    task_term *term = &k->term[k->terms++];
    *term = (task_term){.weight = 1, .axis = {1, 1, 1}, .link = -1, .joint = -1, .when = duration};
    copy_name(in, section + 5, term->name);
    term->what = (task_quantity)choice(in, section, "what", whats, -1);
    if ((int)term->what < 0) {
        task_fail(in, "[%s] what is missing, as in what = position", section);
        return;
    }
    term->norm = (task_norm)choice(in, section, "norm", norms, term->what == TASK_TURN ? TASK_SUM : 0);
    const char *of = text_of(in, section, "of"), *at = text_of(in, section, "at");
    int none = term->what == TASK_COM || term->what == TASK_COM_RATE || term->what == TASK_EFFORT ||
               term->what == TASK_RECORDING;
    if (none != (of == NULL)) {
        task_fail(in, none ? "[%s] of has no meaning here" : "[%s] of is missing: name a site, body or joint",
                  section);
    } else if (term->what == TASK_JOINT || term->what == TASK_RATE) {
        const entry e = {section, "of", of, 1};
        term->joint = joint_named(in, &e, of, 1);
    } else if (of) {
        find_place(in, term, section, of);
    }
    if (term->what == TASK_EFFORT || term->what == TASK_RECORDING) {
        at = at ? at : "mean";
    }
    if (at && strcmp(at, "mean") == 0) {
        term->when = -1;
    } else if (at && strcmp(at, "end") != 0) {
        values_of(in, section, "at", 1, &term->when);
        if (!(term->when > 0 && term->when <= duration * (1 + 1e-9))) {
            task_fail(in, "[%s] at = %s: use end, mean, or seconds up to %g", section, at, duration);
        }
    }
    if (term->when >= 0 && (term->what == TASK_EFFORT || term->what == TASK_RECORDING)) {
        task_fail(in, "[%s] at: this term is a mean over time", section);
    }
    values_of(in, section, "weight", 1, &term->weight);
    values_of(in, section, "axes", 3, term->axis);
    read_target(in, term, section);
    const char *file = text_of(in, section, "file");
    if (term->what == TASK_RECORDING) {
        read_joints(in, term, section);
        if (file == NULL) {
            task_fail(in, "[%s] file is missing", section);
        } else if (!in->failed) {
            term->table = read_table(in, section, file, term->columns, &term->rows);
        }
    } else if (file) {
        task_fail(in, "[%s] file belongs to what = recording", section);
    }
}

static void read_terms(reader *in)
{
    for (int i = 0; i < in->entries && !in->failed; i++) {
        const char *section = in->entry[i].section;
        int first = strncmp(section, "loss.", 5) == 0;
        for (int j = 0; first && j < i; j++) {
            first = strcmp(in->entry[j].section, section) != 0;
        }
        if (first) {
            read_term(in, section);
        }
    }
    if (!in->failed && in->out->terms == 0) {
        task_fail(in, "section [loss.NAME] is missing");
    }
}

/* ---- decision variables ---- */

static void read_variable(reader *in, entry *e)
{
    static const char *const of_links[] = {"mass", "length"};
    static const char *const of_joints[] = {"damping", "spring", "rest", "armature", "friction", "gain"};
    static const char *const globals[] = {"stiffness", "dissipation", "friction", "restitution"};
    task *k = in->out;
    const tree *t = k->robot.tree;
    const char *dot = strchr(e->name, '.'), *text = e->value;
    size_t length = dot ? (size_t)(dot - e->name) : strlen(e->name);
    double v[2], now = 0;
    task_variable *x = &k->variable[k->variables];
    if (k->variables == TASK_MOST) {
        task_fail(in, "more than %d variables", TASK_MOST);
        return;
    }
    text_of(in, "variables", e->name); /* once */
    *x = (task_variable){.number = -1, .q = -1, .v = -1};
    copy_name(in, e->name, x->name);
    for (int i = 0; i < 4 && !dot; i++) {
        x->number = strcmp(globals[i], e->name) == 0 ? TREE_STIFFNESS + i : x->number;
    }
    for (int i = 0; i < 2 && dot; i++) {
        if (strlen(of_links[i]) == length && strncmp(e->name, of_links[i], length) == 0) {
            int link = tree_find_link(t, dot + 1);
            if (link < 0) {
                char near[TREE_NAME + 24];
                task_fail(in, "[variables] %s: the model has no such body%s", e->name,
                          suggest_name(in, BODIES, dot + 1, near));
                return;
            }
            x->number = tree_link_number(t, (enum tree_link_number)i, link);
        }
    }
    for (int i = 0; i < 6 && dot && x->number < 0; i++) {
        if (strlen(of_joints[i]) == length && strncmp(e->name, of_joints[i], length) == 0) {
            int link = joint_named(in, e, dot + 1, 1);
            x->number = link < 0 ? -1 : tree_joint_number(t, (enum tree_joint_number)i, t->link[link].v);
        }
    }
    int impulses = k->contact == TREE_COMPLEMENTARITY, elastic = x->number == TREE_RESTITUTION;
    if (!dot && x->number >= 0 && x->number != TREE_FRICTION && impulses != elastic) {
        task_fail(in, "[variables] %s has no effect with contact = %s", e->name,
                  impulses     ? "complementarity"
                  : k->contact ? "compliant"
                               : "none");
    }
    int position = dot && strncmp(e->name, "start.", 6) == 0,
        rate = dot && strncmp(e->name, "velocity.", 9) == 0;
    if (position || rate) {
        int link = starting_joint(in, e, dot + 1, 1);
        x->q = position && link >= 0 ? t->link[link].q : -1;
        x->v = rate && link >= 0 ? t->link[link].v : -1;
    } else if (x->number < 0) {
        task_fail(in,
                  "[variables] %.40s: use mass.BODY, length.BODY, damping.JOINT, spring.JOINT, rest.JOINT, "
                  "armature.JOINT, friction.JOINT, gain.JOINT, start.JOINT, velocity.JOINT, stiffness, "
                  "dissipation, friction or "
                  "restitution",
                  e->name);
    }
    if (in->failed) {
        return;
    }
    now = x->number >= 0 ? t->number[x->number] : x->q >= 0 ? k->q[x->q] : k->v[x->v];
    int n = numbers_in(in, e, &text, 2, v);
    x->log = strcmp(text, "log") == 0;
    if (n != 2 || (*text && !x->log) || !(v[0] < v[1])) {
        task_fail(in,
                  "[variables] %s = %.60s: give a lower and a higher value, then log for a logarithmic scale",
                  e->name, e->value);
    } else if ((x->log || (x->number >= TREE_GLOBALS && x->number < tree_joint_number(t, TREE_DAMPING, 0))) &&
               !(v[0] > 0)) {
        task_fail(in, "[variables] %s: the lower value must be above 0", e->name);
    } else if (x->number >= 0 && v[0] < 0 && strncmp(e->name, "rest.", 5) != 0) {
        task_fail(in, "[variables] %s: the lower value must not be negative", e->name);
    }
    now = clamp(now, v[0], v[1]);
    x->lower = x->log ? log10(v[0]) : v[0];
    x->upper = x->log ? log10(v[1]) : v[1];
    x->start = x->log ? log10(now) : now;
    k->variables++;
}

int task_read(ds_memory *m, const char *path, const char *model, task *out, char error[ROBOT_ERROR])
{
    reader in = {.m = m, .out = out, .path = path, .error = error};
    memset(out, 0, sizeof *out);
    error[0] = '\0';
    in.entry = ds_memory_take(m, MOST_ENTRIES, sizeof *in.entry);
    in.path = *path ? path : own_name;
    int line = -2;
    if (in.entry) {
        line = *path ? ini_parse(path, add_entry, &in) : ini_parse_string(own_task, add_entry, &in);
    }
    in.failed = line == -2 || m->failed ? 2 : 0;
    if (line == -1) {
        task_fail(&in, "%s", strerror(errno));
    } else if (line > 0 && in.entries > 0 && in.entry[0].name && in.entry[0].name[0] == '<') {
        task_fail(&in, "a model, not a task: name it by model in section [task] of a task file");
    } else if (line > 0) {
        task_fail(&in, "line %d is not a section, a setting or a comment", line);
    } else if (in.lost) {
        task_fail(&in, "more than %d settings", MOST_ENTRIES);
    }
    check_sections(&in);
    static void (*const parts[])(reader *) = {read_settings, read_noise, read_start, read_controls,
                                              read_terms};
    if (!in.failed) {
        read_model(&in, model);
    }
    for (size_t k = 0; !in.failed && k < sizeof parts / sizeof *parts; k++) {
        parts[k](&in);
    }
    for (int i = 0; i < in.entries && !in.failed; i++) {
        if (strcmp(in.entry[i].section, "variables") == 0) {
            read_variable(&in, &in.entry[i]);
        }
    }
    check_settings(&in);
    if (!in.failed && (out->controls == 0 || out->known != NULL) && out->variables == 0) {
        task_fail(
            &in,
            out->known != NULL
                ? "nothing to decide: a file gives the controls; add [variables]"
                : "nothing to decide: the model has no actuator with bounds; add [controls] or [variables]");
    }
    if (in.failed == 2) {
        snprintf(error, ROBOT_ERROR, "%.200s: out of memory", in.path);
    }
    return in.failed;
}
