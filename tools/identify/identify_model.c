/* SPDX-License-Identifier: Apache-2.0 */
/* identify_model.c - the model of a robot with the estimate: a copy of its URDF or MJCF file in which the
 * numbers are replaced and all else stays, byte by byte.
 *
 * Variables of environment `robot` (docs/robots.md) and where they are written:
 *
 *     mass.BODY     factor of mass and inertia of a link and of those fixed to it; in MJCF of <inertial>, or
 *                   of the mass or density of the geoms
 *     length.BODY   factor of all origins in a link and of the origins of the joints on it (URDF)
 *     damping, spring, rest, armature.JOINT    attributes of the joint (URDF: damping alone)
 *
 * expat gives the place of each element; attributes are found in the text of its tag. */
#include "config.h"

#include "identify/identify.h"

#include "base/file.h"
#include "base/log.h"
#include "config/inifile.h"
#include "store/run_folder.h"

#include <expat.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 128, MOST = 512, DEPTH = 64, MODEL_BYTES = 16 << 20 };

typedef struct number {
    const char *name; /* "mass.link1" */
    double value;
    int used;
} number;

/* A body or link: the one that it is fixed to, itself if it can move. */
typedef struct body {
    char name[NAME];
    int owner, jointed;
} body;

typedef struct urdf_joint {
    char name[NAME], parent[NAME], child[NAME];
    int fixed;
} urdf_joint;

/* Defaults of geoms: -1 = not given. */
typedef struct geom_class {
    char name[NAME];
    double mass, density;
} geom_class;

typedef struct change {
    size_t at, drop;
    char text[200];
} change;

typedef struct editor {
    const char *data;
    size_t size, tag, tag_end; /* the tag of the current element */
    XML_Parser parser;
    number *number;
    size_t numbers;
    body *body;
    urdf_joint *joint;
    geom_class *class;
    change *change;
    size_t bodies, joints, classes, changes;
    int second, lost, radian, dynamics;
    int stack[DEPTH], depth, level; /* open bodies; open elements */
    int default_stack[DEPTH], defaults;
    char childclass[DEPTH][NAME];
    char parts[DEPTH][32]; /* names of the open elements */
    int link, at_joint;
} editor;

/* ---- text of a tag ---- */

static const char *attribute(const char **atts, const char *name)
{
    for (; *atts != NULL; atts += 2) {
        if (strcmp(atts[0], name) == 0) {
            return atts[1];
        }
    }
    return NULL;
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The value of an attribute of the current tag in the text. */
static int find_value(const editor *ed, const char *name, size_t *at, size_t *length)
{
    size_t i = ed->tag;
    while (i < ed->tag_end && !is_blank(ed->data[i])) {
        i++;
    }
    while (i < ed->tag_end) {
        while (i < ed->tag_end && is_blank(ed->data[i])) {
            i++;
        }
        const size_t from = i;
        while (i < ed->tag_end && ed->data[i] != '=' && !is_blank(ed->data[i])) {
            i++;
        }
        const size_t n = i - from;
        while (i < ed->tag_end && ed->data[i] != '"' && ed->data[i] != '\'') {
            i++;
        }
        if (i >= ed->tag_end) {
            break;
        }
        const char quote = ed->data[i++];
        *at = i;
        while (i < ed->tag_end && ed->data[i] != quote) {
            i++;
        }
        *length = i++ - *at;
        if (n == strlen(name) && strncmp(ed->data + from, name, n) == 0) {
            return 1;
        }
    }
    return 0;
}

/* The end of the tag: its '>' outside of quotes. */
static void find_tag(editor *ed)
{
    char quote = '\0';
    ed->tag = (size_t)XML_GetCurrentByteIndex(ed->parser);
    ed->tag_end = ed->tag;
    while (ed->tag_end < ed->size && (quote != '\0' || ed->data[ed->tag_end] != '>')) {
        const char c = ed->data[ed->tag_end++];
        quote = quote != '\0' ? (c == quote ? '\0' : quote) : c == '"' || c == '\'' ? c : '\0';
    }
}

static change *add_change(editor *ed, size_t at, size_t drop)
{
    if (ed->changes == MOST * 8) {
        ed->lost = 1;
        return NULL;
    }
    change *c = &ed->change[ed->changes++];
    *c = (change){.at = at, .drop = drop};
    return c;
}

static void set(editor *ed, const char *name, double value)
{
    char digits[DS_REAL_TEXT];
    size_t at, n;
    if (find_value(ed, name, &at, &n)) {
        change *c = add_change(ed, at, n);
        if (c != NULL) {
            snprintf(c->text, sizeof c->text, "%s", ds_real_text(value, digits));
        }
        return;
    }
    at = ed->tag;
    while (at < ed->tag_end && !is_blank(ed->data[at]) && ed->data[at] != '/') {
        at++;
    }
    change *c = add_change(ed, at, 0);
    if (c != NULL) {
        snprintf(c->text, sizeof c->text, " %.40s=\"%s\"", name, ds_real_text(value, digits));
    }
}

/* Multiplies all numbers of an attribute; 0 where it is missing. */
static int scale(editor *ed, const char **atts, const char *name, double factor)
{
    const char *text = attribute(atts, name);
    char digits[DS_REAL_TEXT];
    size_t at, n, used = 0;
    if (text == NULL || !find_value(ed, name, &at, &n)) {
        return 0;
    }
    change *c = add_change(ed, at, n);
    for (char *end; c != NULL; text = end) {
        const double v = ds_strtod(text, &end);
        if (end == text || used + DS_REAL_TEXT + 1 >= sizeof c->text) {
            break;
        }
        used += (size_t)snprintf(c->text + used, sizeof c->text - used, "%s%s", used > 0 ? " " : "",
                                 ds_real_text(v * factor, digits));
    }
    return 1;
}

/* ---- numbers ---- */

static number *find(editor *ed, const char *what, const char *of)
{
    const size_t n = strlen(what);
    for (size_t i = 0; of != NULL && i < ed->numbers; i++) {
        const char *name = ed->number[i].name;
        if (strncmp(name, what, n) == 0 && name[n] == '.' && strcmp(name + n + 1, of) == 0) {
            return &ed->number[i];
        }
    }
    return NULL;
}

/* A factor; 1 where it was not sought. */
static double factor_of(editor *ed, const char *what, int owner)
{
    number *x = owner >= 0 ? find(ed, what, ed->body[owner].name) : NULL;
    if (x == NULL) {
        return 1;
    }
    x->used = 1;
    return x->value;
}

static void set_number(editor *ed, const char *what, const char *of, const char *name, double unit)
{
    number *x = find(ed, what, of);
    if (x != NULL) {
        x->used = 1;
        set(ed, name, x->value * unit);
    }
}

/* ---- bodies ---- */

static int body_named(const editor *ed, const char *name)
{
    for (size_t i = 0; i < ed->bodies; i++) {
        if (strcmp(ed->body[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static int add_body(editor *ed, const char *name, int owner)
{
    if (ed->bodies == MOST) {
        ed->lost = 1;
        return -1;
    }
    body *b = &ed->body[ed->bodies];
    *b = (body){.owner = owner};
    snprintf(b->name, sizeof b->name, "%s", name != NULL ? name : "");
    return (int)ed->bodies++;
}

/* ---- URDF ---- */

static int is_part(const editor *ed, int above, const char *name)
{
    return ed->level > above && strcmp(ed->parts[ed->level - 1 - above], name) == 0;
}

static void urdf_first(editor *ed, const char **atts)
{
    const char *name = attribute(atts, "name");
    urdf_joint *j = ed->joints > 0 ? &ed->joint[ed->joints - 1] : NULL;
    if (ed->level == 2 && is_part(ed, 0, "link")) {
        add_body(ed, name, -1);
    } else if (ed->level == 2 && is_part(ed, 0, "joint") && ed->joints < MOST) {
        const char *type = attribute(atts, "type");
        j = &ed->joint[ed->joints++];
        *j = (urdf_joint){.fixed = type != NULL && strcmp(type, "fixed") == 0};
        snprintf(j->name, sizeof j->name, "%s", name != NULL ? name : "");
    } else if (ed->level == 3 && j != NULL && is_part(ed, 1, "joint")) {
        const char *link = attribute(atts, "link");
        if (is_part(ed, 0, "parent") || is_part(ed, 0, "child")) {
            snprintf(is_part(ed, 0, "parent") ? j->parent : j->child, NAME, "%s", link != NULL ? link : "");
        }
    }
}

/* After the first pass: a link at the end of a fixed joint belongs to the other one. */
static void urdf_owners(editor *ed)
{
    for (size_t i = 0; i < ed->bodies; i++) {
        ed->body[i].owner = (int)i;
    }
    for (size_t round = 0, changed = 1; changed && round < ed->bodies; round++) {
        changed = 0;
        for (size_t k = 0; k < ed->joints; k++) {
            const int child = body_named(ed, ed->joint[k].child),
                      parent = body_named(ed, ed->joint[k].parent);
            if (ed->joint[k].fixed && child >= 0 && parent >= 0 &&
                ed->body[child].owner != ed->body[parent].owner) {
                ed->body[child].owner = ed->body[parent].owner;
                changed = 1;
            }
        }
    }
}

static void urdf_second(editor *ed, const char **atts)
{
    static const char *const moments[] = {"ixx", "ixy", "ixz", "iyy", "iyz", "izz"};
    const char *name = attribute(atts, "name");
    if (ed->level == 2) {
        const int b = is_part(ed, 0, "link") && name != NULL ? body_named(ed, name) : -1;
        ed->link = b >= 0 ? ed->body[b].owner : -1;
        ed->at_joint = is_part(ed, 0, "joint") ? (int)ed->joints++ : -1;
        ed->dynamics = 0;
        return;
    }
    if (ed->level == 3 && ed->at_joint >= 0) {
        const urdf_joint *j = &ed->joint[ed->at_joint];
        const int parent = body_named(ed, j->parent);
        if (is_part(ed, 0, "origin") && parent >= 0) {
            const double f = factor_of(ed, "length", ed->body[parent].owner);
            (void)(f != 1 && scale(ed, atts, "xyz", f));
        } else if (is_part(ed, 0, "dynamics")) {
            ed->dynamics = 1;
            set_number(ed, "damping", j->name, "damping", 1);
        }
    } else if (ed->level == 4 && ed->link >= 0) {
        const double mass = factor_of(ed, "mass", ed->link), length = factor_of(ed, "length", ed->link);
        if (is_part(ed, 0, "mass") && mass != 1) {
            scale(ed, atts, "value", mass);
        } else if (is_part(ed, 0, "inertia") && mass != 1) {
            for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
                scale(ed, atts, moments[i], mass);
            }
        } else if (is_part(ed, 0, "origin") && length != 1) {
            scale(ed, atts, "xyz", length);
        }
    }
}

/* A joint without dampers gets them before its end. */
static void urdf_end(editor *ed)
{
    number *x = ed->at_joint >= 0 ? find(ed, "damping", ed->joint[ed->at_joint].name) : NULL;
    if (ed->second && ed->level == 2 && is_part(ed, 0, "joint") && x != NULL && !ed->dynamics) {
        char digits[DS_REAL_TEXT];
        change *c = add_change(ed, (size_t)XML_GetCurrentByteIndex(ed->parser), 0);
        if (c != NULL) {
            snprintf(c->text, sizeof c->text, "<dynamics damping=\"%s\"/>", ds_real_text(x->value, digits));
            x->used = 1;
        }
    }
}

/* ---- MJCF ---- */

static const geom_class *class_named(const editor *ed, const char *name)
{
    for (size_t i = 0; i < ed->classes; i++) {
        if (strcmp(ed->class[i].name, name) == 0) {
            return &ed->class[i];
        }
    }
    return NULL;
}

static double value_or(const char **atts, const char *name, double usual)
{
    const char *text = attribute(atts, name);
    return text != NULL ? ds_strtod(text, NULL) : usual;
}

/* Elements of <default>: a class begins with the numbers of the one around it. */
static void read_default(editor *ed, const char **atts)
{
    if (is_part(ed, 0, "default") && !ed->second && ed->classes < MOST) {
        const char *name = attribute(atts, "class");
        geom_class *c = &ed->class[ed->classes];
        *c = ed->defaults > 0 ? ed->class[ed->default_stack[ed->defaults - 1]] : (geom_class){"", -1, -1};
        snprintf(c->name, sizeof c->name, "%s", name != NULL ? name : "main");
        ed->default_stack[ed->defaults++] = (int)ed->classes++;
    } else if (is_part(ed, 0, "geom") && !ed->second && ed->defaults > 0) {
        geom_class *c = &ed->class[ed->default_stack[ed->defaults - 1]];
        c->mass = value_or(atts, "mass", c->mass);
        c->density = value_or(atts, "density", c->density);
    }
}

static void scale_geom(editor *ed, const char **atts, double factor)
{
    const char *name = attribute(atts, "class");
    const geom_class *c = NULL;
    for (int k = ed->depth - 1; k >= 0 && name == NULL; k--) {
        name = ed->childclass[k][0] != '\0' ? ed->childclass[k] : NULL;
    }
    c = class_named(ed, name != NULL ? name : "main");
    if (!scale(ed, atts, "mass", factor) && !scale(ed, atts, "density", factor)) {
        if (c != NULL && c->mass >= 0) {
            set(ed, "mass", c->mass * factor);
        } else {
            set(ed, "density", (c != NULL && c->density >= 0 ? c->density : 1000) * factor);
        }
    }
}

static int in_default(const editor *ed)
{
    for (int k = 0; k < ed->level; k++) {
        if (strcmp(ed->parts[k], "default") == 0) {
            return 1;
        }
    }
    return 0;
}

static void mjcf_start(editor *ed, const char **atts)
{
    const char *name = attribute(atts, "name");
    if (in_default(ed)) {
        read_default(ed, atts);
        return;
    }
    if (is_part(ed, 0, "compiler")) {
        const char *angle = attribute(atts, "angle");
        ed->radian = angle != NULL && strcmp(angle, "radian") == 0;
    } else if (is_part(ed, 0, "body") && ed->depth < DEPTH) {
        const char *class = attribute(atts, "childclass");
        const int parent = ed->depth > 0 ? ed->stack[ed->depth - 1] : -1;
        ed->stack[ed->depth] = ed->second ? (int)ed->bodies++ : add_body(ed, name, parent);
        snprintf(ed->childclass[ed->depth++], NAME, "%s", class != NULL ? class : "");
        return;
    }
    const int b = ed->depth > 0 && is_part(ed, 1, "body") ? ed->stack[ed->depth - 1] : -1;
    const int joint = is_part(ed, 0, "joint");
    if (b < 0) {
        return;
    }
    if (!ed->second) {
        ed->body[b].jointed |= joint || is_part(ed, 0, "freejoint");
        return;
    }
    const double mass = factor_of(ed, "mass", ed->body[b].owner);
    if (is_part(ed, 0, "inertial") && mass != 1) {
        scale(ed, atts, "mass", mass);
        scale(ed, atts, "diaginertia", mass);
        scale(ed, atts, "fullinertia", mass);
    } else if (is_part(ed, 0, "geom") && mass != 1) {
        scale_geom(ed, atts, mass);
    } else if (joint) {
        const char *type = attribute(atts, "type");
        const int slides = type != NULL && strcmp(type, "slide") == 0;
        set_number(ed, "damping", name, "damping", 1);
        set_number(ed, "spring", name, "stiffness", 1);
        set_number(ed, "armature", name, "armature", 1);
        set_number(ed, "rest", name, "springref", slides || ed->radian ? 1 : 180 / acos(-1));
    }
}

/* After the first pass: a body without joints is fixed to its parent. */
static void mjcf_owners(editor *ed)
{
    for (size_t i = 0; i < ed->bodies; i++) {
        const int parent = ed->body[i].owner;
        ed->body[i].owner = ed->body[i].jointed ? (int)i : parent >= 0 ? ed->body[parent].owner : -1;
    }
}

/* ---- both ---- */

static int is_mjcf(const editor *ed)
{
    return strcmp(ed->parts[0], "mujoco") == 0;
}

static void on_start(void *user, const char *name, const char **atts)
{
    editor *ed = user;
    if (ed->level == DEPTH) {
        ed->lost = 1;
        return;
    }
    snprintf(ed->parts[ed->level++], sizeof *ed->parts, "%s", name);
    find_tag(ed);
    if (is_mjcf(ed)) {
        mjcf_start(ed, atts);
    } else if (ed->second) {
        urdf_second(ed, atts);
    } else {
        urdf_first(ed, atts);
    }
}

static void on_end(void *user, const char *name)
{
    editor *ed = user;
    if (is_mjcf(ed)) {
        ed->defaults -= !ed->second && ed->defaults > 0 && strcmp(name, "default") == 0;
        ed->depth -= ed->depth > 0 && strcmp(name, "body") == 0;
    } else {
        urdf_end(ed);
    }
    ed->level -= ed->level > 0;
}

static int parse(editor *ed, const char *path, ds_error *e)
{
    ed->level = ed->depth = ed->defaults = 0;
    ed->at_joint = ed->link = -1;
    ed->parser = XML_ParserCreate(NULL);
    if (ed->parser == NULL) {
        return ds_no_memory(e);
    }
    XML_SetUserData(ed->parser, ed);
    XML_SetElementHandler(ed->parser, on_start, on_end);
    const int good = XML_Parse(ed->parser, ed->data, (int)ed->size, 1) == XML_STATUS_OK;
    XML_ParserFree(ed->parser);
    return good ? 0 : ds_fail(e, DS_EXIT_CONFIG, "%.300s: not read again as XML: it changed", path);
}

static int ascending(const void *a, const void *b)
{
    const change *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

static int write_changed(editor *ed, const char *path, ds_error *e)
{
    char *text = NULL;
    size_t size = 0, at = 0;
    FILE *f = open_memstream(&text, &size);
    if (f == NULL) {
        return ds_no_memory(e);
    }
    qsort(ed->change, ed->changes, sizeof *ed->change, ascending);
    for (size_t k = 0; k < ed->changes; k++) {
        const change *c = &ed->change[k];
        fwrite(ed->data + at, 1, c->at - at, f);
        fputs(c->text, f);
        at = c->at + c->drop;
    }
    fwrite(ed->data + at, 1, ed->size - at, f);
    const int good = fclose(f) == 0;
    const int rc = good ? ds_file_write_atomic(path, text, size, e) : ds_no_memory(e);
    free(text);
    return rc;
}

static int edit(const char *model, number *numbers, size_t count, const char *path, ds_error *e)
{
    void *data = NULL;
    editor ed = {.number = numbers, .numbers = count};
    int rc = ds_file_read(model, MODEL_BYTES, &data, &ed.size, DS_EXIT_CONFIG, e);
    ed.data = data;
    ed.body = calloc(MOST, sizeof *ed.body);
    ed.joint = calloc(MOST, sizeof *ed.joint);
    ed.class = calloc(MOST, sizeof *ed.class);
    ed.change = calloc(MOST * 8, sizeof *ed.change);
    if (rc == 0 && (ed.body == NULL || ed.joint == NULL || ed.class == NULL || ed.change == NULL)) {
        rc = ds_no_memory(e);
    }
    rc = rc != 0 ? rc : parse(&ed, model, e);
    if (rc == 0) {
        (is_mjcf(&ed) ? mjcf_owners : urdf_owners)(&ed);
        ed.second = 1;
        ed.bodies = is_mjcf(&ed) ? 0 : ed.bodies;
        ed.joints = 0;
        rc = parse(&ed, model, e);
    }
    if (rc == 0 && ed.lost) {
        ds_log(DS_LOG_WARNING, NULL, "%s: too large to be written with the estimate", model);
    } else if (rc == 0) {
        rc = write_changed(&ed, path, e);
        for (size_t i = 0; i < count; i++) {
            if (!numbers[i].used) {
                ds_log(DS_LOG_WARNING, NULL, "%s has no place in %s: estimate.ini has it", numbers[i].name,
                       path);
            }
        }
    }
    free(ed.body), free(ed.joint), free(ed.class), free(ed.change), free(data);
    return rc;
}

/* ---- the model of a task ---- */

typedef struct named_model {
    char *text;
    int inside;
} named_model;

static int on_section(void *user, const char *name, const char *origin, ds_error *e)
{
    (void)origin, (void)e;
    ((named_model *)user)->inside = strcmp(name, "task") == 0;
    return 0;
}

static int on_value(void *user, const char *key, const char *value, const char *origin, int more, ds_error *e)
{
    named_model *m = user;
    (void)origin, (void)more;
    if (m->inside && m->text == NULL && strcmp(key, "model") == 0) {
        m->text = strdup(value);
        return m->text != NULL ? 0 : ds_no_memory(e);
    }
    return 0;
}

/* Path of the model, to be freed; NULL where the task names none. */
static char *model_of(const ds_identify_recording *q)
{
    const ds_setting *own = ds_settings_find(&q->settings, DS_SECTION_ENV, "model"),
                     *task = ds_settings_find(&q->settings, DS_SECTION_ENV, "task");
    named_model m = {NULL, 0};
    const ds_ini_handler handler = {&m, "[task], ...", on_section, on_value};
    char *folder = NULL, *path = task != NULL ? ds_identify_path(task) : NULL, *out = NULL;
    ds_error why = {0, ""};
    if (own != NULL && own->value[0] != '\0') {
        out = ds_identify_path(own);
    } else if (path != NULL && ds_ini_read(path, DS_INI_FILE_LIMIT, &handler, &folder, &why) == 0 &&
               m.text != NULL) {
        out = m.text[0] == '/' || folder == NULL ? strdup(m.text) : ds_folder_path(folder, m.text);
    }
    free(m.text), free(folder), free(path);
    return out;
}

int ds_identify_model(const char *folder, const ds_identify_recording *q, const double *x, int several,
                      ds_error *e)
{
    char *model = model_of(q), name[DS_MAX_NAME + 24], *path;
    const uint64_t n = q->env->info.n;
    const char *dot = model != NULL ? strrchr(model, '.') : NULL;
    if (dot == NULL || strchr(dot, '/') != NULL || strlen(dot) > 8) {
        free(model);
        return 0;
    }
    number *numbers = calloc(n + 1, sizeof *numbers);
    snprintf(name, sizeof name, several ? "estimate-%s%s" : "estimate%.0s%s", q->name, dot);
    path = ds_folder_path(folder, name);
    int rc = numbers == NULL || path == NULL ? ds_no_memory(e) : 0;
    for (uint64_t i = 0; rc == 0 && i < n; i++) {
        numbers[i] = (number){q->input[i], strcmp(q->unit[i], "log10") == 0 ? pow(10, x[i]) : x[i], 0};
    }
    rc = rc != 0 ? rc : edit(model, numbers, n, path, e);
    free(numbers), free(path), free(model);
    return rc;
}
