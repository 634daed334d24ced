/* SPDX-License-Identifier: Apache-2.0 */
/* robot_parts.c - elements of XML by expat, numbers, rotations and mass properties (robot_parts.h). */
#include "engines/physics/articulated/robot_parts.h"

#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"

#include <diffsim/helper/nearest.h>

#include <ctype.h>
#include <errno.h>
#include <expat.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 500, MOST_BYTES = 64 << 20 };

/* ---- errors ---- */

void robot_fail(robot_reader *in, const robot_node *at, const char *format, ...)
{
    if (in->failed) {
        return;
    }
    in->failed = 1;
    va_list list;
    int n = 0;
    if (at != NULL) {
        const char *name = robot_text(at, "name");
        n = snprintf(in->error, ROBOT_ERROR, "%.200s:%d: <%.30s%s%.40s%s>: ", at->file, at->line, at->name,
                     name ? " \"" : "", name ? name : "", name ? "\"" : "");
    } else {
        n = snprintf(in->error, ROBOT_ERROR, "%.200s: ", in->file);
    }
    va_start(list, format);
    vsnprintf(in->error + n, ROBOT_ERROR - (size_t)n, format, list);
    va_end(list);
    for (char *c = in->error; *c; c++) {
        if ((unsigned char)*c < ' ') {
            *c = ' ';
        }
    }
}

void *robot_take(robot_reader *in, size_t count, size_t size)
{
    void *p = in->failed ? NULL : ds_memory_take(in->m, count, size);
    if (p == NULL && !in->failed) {
        in->failed = 2;
    }
    return p;
}

/* ---- elements ---- */

typedef struct builder {
    robot_reader *in;
    XML_Parser parser;
    robot_node *root, *open;
    int depth;
    char *text; /* of the open element */
    size_t length, room;
} builder;

static char *copy(robot_reader *in, const char *text)
{
    size_t n = strlen(text) + 1;
    char *p = robot_take(in, n, 1);
    return p ? memcpy(p, text, n) : NULL;
}

static void begin_element(void *self, const char *name, const char **attribute)
{
    builder *b = self;
    robot_reader *in = b->in;
    if (in->failed) {
        return;
    }
    size_t n = 0;
    while (attribute[n] != NULL) {
        n++;
    }
    robot_node *node = robot_take(in, 1, sizeof *node);
    const char **list = robot_take(in, n + 1, sizeof *list);
    if (node == NULL || list == NULL) {
        return;
    }
    for (size_t k = 0; k < n; k++) {
        list[k] = copy(in, attribute[k]);
    }
    *node = (robot_node){.name = copy(in, name), .attribute = list, .file = in->file, .parent = b->open};
    node->line = (int)XML_GetCurrentLineNumber(b->parser);
    b->length = 0;
    if (in->failed) {
        return;
    }
    if (b->open == NULL) {
        b->root = node;
    } else if (b->open->last) {
        b->open->last->next = node;
    } else {
        b->open->first = node;
    }
    if (b->open) {
        b->open->last = node;
    }
    b->open = node;
    if (++in->nodes > ROBOT_MOST_NODES || ++b->depth > MOST_DEPTH) {
        robot_fail(in, node, "the file has more than %d elements or %d levels", ROBOT_MOST_NODES, MOST_DEPTH);
    }
}

static void end_element(void *self, const char *name)
{
    builder *b = self;
    (void)name;
    if (!b->in->failed && b->open) {
        if (b->length > 0) {
            b->text[b->length] = '\0';
            b->open->text = copy(b->in, b->text);
            b->length = 0;
        }
        b->open = b->open->parent;
        b->depth--;
    }
}

static void add_text(void *self, const char *text, int length)
{
    builder *b = self;
    size_t need = b->length + (size_t)length + 1;
    if (need > b->room) {
        char *more = realloc(b->text, 2 * need);
        if (more == NULL) {
            b->in->failed = b->in->failed ? b->in->failed : 2;
            return;
        }
        b->text = more;
        b->room = 2 * need;
    }
    memcpy(b->text + b->length, text, (size_t)length);
    b->length += (size_t)length;
}

static void refuse_document_type(void *self, const char *name, const char *system, const char *public_id,
                                 int internal)
{
    builder *b = self;
    (void)name, (void)system, (void)public_id, (void)internal;
    robot_fail(b->in, b->open, "a document type is not supported: remove <!DOCTYPE>");
    XML_StopParser(b->parser, XML_FALSE);
}

robot_node *robot_elements(robot_reader *in, const char *data, size_t size)
{
    builder b = {.in = in, .parser = XML_ParserCreate(NULL)};
    if (b.parser == NULL) {
        in->failed = 2;
        return NULL;
    }
    XML_SetUserData(b.parser, &b);
    XML_SetElementHandler(b.parser, begin_element, end_element);
    XML_SetStartDoctypeDeclHandler(b.parser, refuse_document_type);
    if (in->keep_text) {
        XML_SetCharacterDataHandler(b.parser, add_text);
    }
    if (XML_Parse(b.parser, data, (int)size, 1) != XML_STATUS_OK) {
        const char *why = XML_ErrorString(XML_GetErrorCode(b.parser));
        robot_fail(in, NULL, "line %lu: not valid XML: %s", (unsigned long)XML_GetCurrentLineNumber(b.parser),
                   why ? why : "?");
    }
    XML_ParserFree(b.parser);
    free(b.text);
    return in->failed ? NULL : b.root;
}

robot_node *robot_elements_of(robot_reader *in, const char *path)
{
    FILE *f = fopen(path, "rb");
    char *data = NULL;
    size_t size = 0, room = 0, got = 0;
    robot_node *root = NULL;
    if (f == NULL) {
        robot_fail(in, NULL, "%s", strerror(errno));
        return NULL;
    }
    do {
        size += got;
        if (size == room) {
            char *more = room > MOST_BYTES ? NULL : realloc(data, room = room ? 2 * room : 65536);
            if (more == NULL) {
                robot_fail(in, NULL, "too large");
                break;
            }
            data = more;
        }
        got = fread(data + size, 1, room - size, f);
    } while (got > 0);
    if (!in->failed && ferror(f)) {
        robot_fail(in, NULL, "cannot be read: %s", strerror(errno));
    }
    fclose(f);
    root = in->failed ? NULL : robot_elements(in, data, size);
    free(data);
    return root;
}

/* ---- spelling ---- */

static int has_word(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at++) {
        if (at[-1] == ' ' && at[n] == ' ') {
            return 1;
        }
    }
    return 0;
}

/* The word of the list that is nearest to another one, in `copy`, which has room for the list; or NULL. */
static const char *nearest_word(const char *list, const char *word, char *copy)
{
    enum { MOST_WORDS = 64 };
    const char *known[MOST_WORDS];
    size_t count = 0;
    strcpy(copy, list);
    for (char *rest = copy, *at; count < MOST_WORDS && (at = strtok_r(rest, " ", &rest)) != NULL;) {
        known[count++] = at;
    }
    return ds_nearest(word, known, count);
}

void robot_check_spelling(robot_reader *in, const robot_node *n, const robot_spelling *list)
{
    const robot_spelling *own = list;
    while (own->element && strcmp(own->element, n->name) != 0) {
        own++;
    }
    for (const char **a = n->attribute; own->element && *a && !in->failed; a += 2) {
        char copy[1024];
        const char *near = has_word(own->attributes, *a) ? NULL : nearest_word(own->attributes, *a, copy);
        if (near != NULL) {
            robot_fail(in, n, "unknown attribute %.30s; did you mean %s?", *a, near);
        }
    }
    for (const robot_node *c = n->first; c && !in->failed; c = c->next) {
        robot_check_spelling(in, c, list);
    }
}

const char *robot_text(const robot_node *n, const char *attribute)
{
    for (const char **a = n->attribute; *a; a += 2) {
        if (strcmp(*a, attribute) == 0) {
            return a[1];
        }
    }
    return NULL;
}

robot_node *robot_child(const robot_node *n, const char *name)
{
    for (robot_node *c = n->first; c; c = c->next) {
        if (strcmp(c->name, name) == 0) {
            return c;
        }
    }
    return NULL;
}

robot_node *robot_next(const robot_node *n, const char *name)
{
    for (robot_node *c = n->next; c; c = c->next) {
        if (strcmp(c->name, name) == 0) {
            return c;
        }
    }
    return NULL;
}

int robot_numbers(robot_reader *in, const robot_node *at, const char *attribute, const char *text, int least,
                  int most, double *out)
{
    int n = 0;
    const char *c = text;
    while (!in->failed) {
        while (isspace((unsigned char)*c)) {
            c++;
        }
        if (*c == '\0') {
            break;
        }
        char *end;
        double v = strtod(c, &end);
        if (end == c || (*end && !isspace((unsigned char)*end)) || !(fabs(v) < 1e15)) {
            robot_fail(in, at, "%s=\"%.60s\" is not a list of finite numbers", attribute, text);
        } else if (n == most) {
            robot_fail(in, at, "%s=\"%.60s\" has more than %d numbers", attribute, text, most);
        } else {
            out[n++] = v;
        }
        c = end;
    }
    if (n < least) {
        robot_fail(in, at, "%s=\"%.60s\" has %d numbers, not %d", attribute, text, n, least);
    }
    return in->failed ? 0 : n;
}

int robot_values(robot_reader *in, const robot_node *n, const char *attribute, int count, double *out)
{
    const char *text = robot_text(n, attribute);
    return text && robot_numbers(in, n, attribute, text, count, count, out) == count;
}

void robot_name(robot_reader *in, const robot_node *at, const char *from, char to[TREE_NAME])
{
    size_t n = strlen(from);
    if (n >= TREE_NAME) {
        robot_fail(in, at, "the name \"%.60s...\" has more than %d characters", from, TREE_NAME - 1);
        return;
    }
    memcpy(to, from, n + 1);
}

/* ---- rotations ---- */

void robot_axis_angle(const double axis[3], double angle, double R[9])
{
    const double r[3] = {angle * axis[0], angle * axis[1], angle * axis[2]};
    double q[4];
    quat_from_vector(r, q);
    quat_matrix(q, R);
}

void robot_euler(const double angle[3], const char *sequence, double R[9])
{
    mat3_identity(R);
    for (int k = 0; k < 3; k++) {
        double axis[3] = {0}, turn[9];
        axis[tolower((unsigned char)sequence[k]) - 'x'] = 1;
        robot_axis_angle(axis, angle[k], turn);
        if (islower((unsigned char)sequence[k])) {
            mat3_mul(R, turn, R);
        } else {
            mat3_mul(turn, R, R);
        }
    }
}

int robot_quaternion(const double q[4], double R[9])
{
    double unit[4] = {q[0], q[1], q[2], q[3]}, norm = quat_normalise(unit);
    if (!(norm > 1e-10)) {
        return 0;
    }
    quat_matrix(unit, R);
    return 1;
}

int robot_normalise(double v[3])
{
    double norm = sqrt(vec3_dot(v, v));
    if (!(norm > 1e-10)) {
        return 0;
    }
    for (int k = 0; k < 3; k++) {
        v[k] /= norm;
    }
    return 1;
}

/* ---- mass ---- */

double robot_solid(const tree_shape *s, double mass, robot_mass *out)
{
    static const double pi = 3.14159265358979323846;
    double r = s->size[0], h = s->size[1], d[3] = {0}, volume = 0, T[9];
    if (s->form == TREE_SPHERE) {
        volume = 4.0 / 3 * pi * r * r * r;
        d[0] = d[1] = d[2] = 0.4 * r * r;
    } else if (s->form == TREE_BOX) {
        const double *b = s->size;
        volume = 8 * b[0] * b[1] * b[2];
        for (int k = 0; k < 3; k++) {
            double y = b[(k + 1) % 3], z = b[(k + 2) % 3];
            d[k] = (y * y + z * z) / 3;
        }
    } else if (s->form == TREE_CYLINDER) {
        volume = 2 * pi * r * r * h;
        d[0] = d[1] = r * r / 4 + h * h / 3;
        d[2] = r * r / 2;
    } else if (s->form == TREE_CAPSULE) {
        double tube = 2 * pi * r * r * h, ends = 4.0 / 3 * pi * r * r * r;
        volume = tube + ends;
        /* A half ball has its centre 3/8 r from its disc. */
        d[0] = d[1] = (tube * (r * r / 4 + h * h / 3) + ends * (0.4 * r * r + h * h + 0.75 * h * r)) / volume;
        d[2] = (tube * r * r / 2 + ends * 0.4 * r * r) / volume;
    }
    memset(out, 0, sizeof *out);
    out->mass = mass;
    memcpy(out->centre, s->at, sizeof out->centre);
    const double D[9] = {mass * d[0], 0, 0, 0, mass * d[1], 0, 0, 0, mass * d[2]};
    mat3_mul(s->rotation, D, T);
    mat3_mult(T, s->rotation, out->inertia);
    return volume;
}

/* Adds the inertia of mass m at distance r. */
static void add_point(double I[9], double m, const double r[3])
{
    mat3_add_outer(I, -m, r, r);
    I[0] += m * vec3_dot(r, r);
    I[4] += m * vec3_dot(r, r);
    I[8] += m * vec3_dot(r, r);
}

void robot_add_mass(robot_mass *sum, const robot_mass *part)
{
    double total = sum->mass + part->mass, d[3];
    if (!(total > 0)) {
        return;
    }
    for (int k = 0; k < 3; k++) {
        d[k] = part->centre[k] - sum->centre[k];
        sum->centre[k] += part->mass / total * d[k];
    }
    for (int k = 0; k < 9; k++) {
        sum->inertia[k] += part->inertia[k];
    }
    add_point(sum->inertia, sum->mass * part->mass / total, d);
    sum->mass = total;
}

void robot_set_mass(robot_reader *in, const robot_node *at, int link, const robot_mass *m)
{
    /* Principal moments of which one exceeds the sum of the others belong to no body, but many files have
     * them; they make a motion, which negative ones do not. */
    const double *I = m->inertia;
    double trace = I[0] + I[4] + I[8], slack = 1e-6 * fabs(trace) + 1e-15, S[9];
    memcpy(S, I, sizeof S);
    for (int k = 0; k < 9; k += 4) {
        S[k] += slack;
    }
    int positive = S[0] >= 0 && S[4] >= 0 && S[8] >= 0 && S[0] * S[4] - S[1] * S[3] >= 0 &&
                   S[0] * S[8] - S[2] * S[6] >= 0 && S[4] * S[8] - S[5] * S[7] >= 0 && mat3_det(S) >= 0;
    if (!(m->mass >= 0) || !isfinite(m->mass)) {
        robot_fail(in, at, "mass %g: use a value of at least 0 kg", m->mass);
    } else if (!isfinite(trace) || !positive) {
        robot_fail(in, at, "the inertia %g %g %g (xx, yy, zz) has a negative principal moment", I[0], I[4],
                   I[8]);
    }
    if (!in->failed) {
        tree_link *l = &in->out->tree->link[link];
        l->mass = m->mass;
        memcpy(l->centre, m->centre, sizeof l->centre);
        memcpy(l->inertia, m->inertia, sizeof l->inertia);
    }
}
