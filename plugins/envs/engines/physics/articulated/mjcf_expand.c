/* SPDX-License-Identifier: Apache-2.0 */
/* mjcf_expand.c - elements of MJCF that stand for others: files that a file includes, copies of bodies
 * (robot_parts.h). */
#include "engines/physics/articulated/robot_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- included files ---- */

static void include_below(robot_reader *in, robot_node *n, int depth)
{
    const char *slash = strrchr(in->file, '/');
    robot_node *before = NULL;
    for (robot_node *c = n->first; c && !in->failed; c = c->next) {
        const char *file = robot_text(c, "file"), *own = in->file;
        if (strcmp(c->name, "include") != 0) {
            include_below(in, c, depth);
            before = c;
            continue;
        }
        char *path = file ? robot_take(in, ROBOT_PATH, 1) : NULL;
        if (path == NULL) {
            robot_fail(in, c, "the attribute file is missing");
            return;
        }
        snprintf(path, ROBOT_PATH, "%.*s%s", slash && *file != '/' ? (int)(slash - own) + 1 : 0, own, file);
        if (depth == 0) {
            robot_fail(in, c, "files include each other: \"%.100s\"", file);
            return;
        }
        if (access(path, R_OK) != 0) {
            robot_fail(in, c, "the file \"%.200s\" does not exist or cannot be read", file);
            return;
        }
        in->file = path;
        robot_node *other = robot_elements_of(in, path);
        in->file = own;
        if (other == NULL) {
            return;
        }
        include_below(in, other, depth - 1);
        for (robot_node *o = other->first; o; o = o->next) {
            o->parent = n;
        }
        /* The list: before, other->first .. other->last, c->next. */
        robot_node *first = other->first ? other->first : c->next;
        *(before ? &before->next : &n->first) = first;
        if (other->first) {
            other->last->next = c->next;
            before = other->last;
        }
        n->last = n->last == c ? before : n->last;
    }
}

/* ---- copies ---- */

enum { MOST_COPIES = 2000 };

/* A copy of an element and what is in it; names end with `suffix`. */
static robot_node *copy_of(robot_reader *in, const robot_node *n, robot_node *parent, const char *suffix)
{
    size_t count = 0;
    while (n->attribute[count] != NULL) {
        count++;
    }
    robot_node *c = robot_take(in, 1, sizeof *c);
    const char **attribute = robot_take(in, count + 1, sizeof *attribute);
    if (c == NULL || attribute == NULL) {
        return NULL;
    }
    if (++in->nodes > ROBOT_MOST_NODES) {
        robot_fail(in, n, "more than %d elements with their copies", ROBOT_MOST_NODES);
        return NULL;
    }
    *c = (robot_node){n->name, attribute, n->file, n->text, n->line, parent, NULL, NULL, NULL};
    for (size_t k = 0; k < count; k += 2) {
        attribute[k] = n->attribute[k];
        attribute[k + 1] = n->attribute[k + 1];
        if (strcmp(attribute[k], "name") == 0) {
            size_t room = strlen(attribute[k + 1]) + strlen(suffix) + 1;
            char *name = robot_take(in, room, 1);
            if (name == NULL) {
                return NULL;
            }
            snprintf(name, room, "%s%s", attribute[k + 1], suffix);
            attribute[k + 1] = name;
        }
    }
    for (const robot_node *inside = n->first; inside; inside = inside->next) {
        robot_node *copy = copy_of(in, inside, c, suffix);
        if (copy == NULL) {
            return NULL;
        }
        *(c->last ? &c->last->next : &c->first) = copy;
        c->last = copy;
    }
    return c;
}

/* A <frame> in `parent` with some attributes of n. */
static robot_node *frame_in(robot_reader *in, const robot_node *n, robot_node *parent, int moved)
{
    robot_node *frame = robot_take(in, 1, sizeof *frame);
    const char **attribute = robot_take(in, 5, sizeof *attribute);
    const char *offset = robot_text(n, "offset"), *euler = robot_text(n, "euler");
    int k = 0;
    if (frame == NULL || attribute == NULL) {
        return NULL;
    }
    if (moved && offset) {
        attribute[k++] = "pos";
        attribute[k++] = offset;
    }
    if (moved && euler) {
        attribute[k++] = "euler";
        attribute[k++] = euler;
    }
    *frame = (robot_node){
        .name = "frame", .attribute = attribute, .file = n->file, .line = n->line, .parent = parent};
    return frame;
}

/* Puts frames for a <replicate> that holds no other one: each has a copy and the frame of the next copy. */
static robot_node *replicate(robot_reader *in, const robot_node *n, robot_node *parent)
{
    double count = 0;
    const char *sep = robot_text(n, "sep");
    char suffix[80], whole[16];
    if (!robot_values(in, n, "count", 1, &count) ||
        !(count >= 1 && count <= MOST_COPIES && count == rint(count))) {
        robot_fail(in, n, "count must be 1 to %d", MOST_COPIES);
        return NULL;
    }
    int digits = snprintf(whole, sizeof whole, "%d", (int)count);
    robot_node *outer = NULL, *up = parent;
    for (int k = 0; k < (int)count && !in->failed; k++) {
        robot_node *frame = frame_in(in, n, up, k > 0);
        snprintf(suffix, sizeof suffix, "%.60s%0*d", sep ? sep : "", digits, k);
        for (const robot_node *c = n->first; c && frame; c = c->next) {
            robot_node *copy = copy_of(in, c, frame, suffix);
            if (copy == NULL) {
                return NULL;
            }
            *(frame->last ? &frame->last->next : &frame->first) = copy;
            frame->last = copy;
        }
        if (frame == NULL) {
            return NULL;
        }
        if (outer == NULL) {
            outer = frame;
        } else {
            *(up->last ? &up->last->next : &up->first) = frame;
            up->last = frame;
        }
        up = frame;
    }
    return outer;
}

static void replicate_below(robot_reader *in, robot_node *n)
{
    robot_node *before = NULL;
    for (robot_node *c = n->first; c && !in->failed; c = c->next) {
        replicate_below(in, c);
        if (strcmp(c->name, "replicate") == 0 && !in->failed) {
            robot_node *frame = replicate(in, c, n);
            if (frame == NULL) {
                return;
            }
            frame->next = c->next;
            *(before ? &before->next : &n->first) = frame;
            n->last = n->last == c ? frame : n->last;
            c = frame;
        }
        before = c;
    }
}

void robot_expand(robot_reader *in, robot_node *root)
{
    include_below(in, root, 10);
    if (!in->failed) {
        replicate_below(in, root);
    }
}
