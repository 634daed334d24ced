/* SPDX-License-Identifier: Apache-2.0 */
/* bench_sweep.c - makes the variants, and names them. */
#include "config.h"

#include "bench/bench_sweep.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VARIANTS = 1000 };

/* "boleap" and k = 5 -> "boleap@k=5"; what cannot stand in a name becomes '_'. */
static char *variant_name(const char *name, const char *key, const char *value)
{
    char *out = NULL;
    if (asprintf(&out, "%s@%s=%s", name, key, value) < 0) {
        return NULL;
    }
    for (char *c = out; *c != '\0'; c++) {
        *c = isalnum((unsigned char)*c) || strchr("_.+-@=", *c) != NULL ? *c : '_';
    }
    return out;
}

/* One variant of *from with key = value, in *out. The value wins over one in the section of the name. */
static int make_variant(const ds_bench_part *from, int section, const ds_bench_line *l, const char *value,
                        const char *base, ds_bench_part *out, ds_error *e)
{
    const ds_setting *old = ds_settings_find(&from->settings, section, l->key);
    if (old != NULL && old->layer == DS_LAYER_SET) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: '%s' is swept twice (first at %s)", l->origin, l->key,
                       old->origin);
    }
    out->name = variant_name(from->name, l->key, value);
    out->plugin = strdup(from->plugin);
    out->origin = strdup(l->origin);
    out->stem = from->stem > 0 ? from->stem : strlen(from->name);
    if (out->name == NULL || out->plugin == NULL || out->origin == NULL) {
        return ds_no_memory(e);
    }
    int rc = ds_settings_copy(&out->settings, &from->settings, e);
    return rc != 0 ? rc
                   : ds_settings_add(&out->settings, section, l->key, value, l->origin, base, DS_EXIT_CONFIG,
                                     DS_LAYER_SET, e);
}

/* Is a part the one that a sweep names, or a variant of it? */
static int is_variant_of(const ds_bench_part *p, const char *name)
{
    size_t stem = p->stem > 0 ? p->stem : strlen(p->name);
    return strlen(name) == stem && strncmp(p->name, name, stem) == 0;
}

static int too_many(const char *origin, ds_error *e)
{
    return ds_fail(e, DS_EXIT_CONFIG, "%s: more than %d variants", origin, VARIANTS);
}

/* Appends the variants of *from for all values. */
static int add_variants(const ds_bench_part *from, int section, const ds_bench_line *l,
                        const ds_bench_words *values, const char *base, ds_bench_parts *to, ds_error *e)
{
    int rc = 0;
    for (size_t k = 0; k < values->count && rc == 0; k++) {
        const char *value = values->item[k];
        size_t length = strlen(value);
        ds_ini_trim(&value, &length);
        char *copy = strndup(value, length);
        ds_bench_part *fresh = &to->item[to->count++];
        rc = copy == NULL ? ds_no_memory(e) : make_variant(from, section, l, copy, base, fresh, e);
        free(copy);
    }
    return rc;
}

/* Replaces the parts that a sweep line names (also variants by earlier lines) by their variants. */
static int sweep_one(ds_bench_parts *list, int which, const char *name, const ds_bench_line *l,
                     const char *base, ds_error *e)
{
    int section = which == DS_BENCH_ENV ? DS_SECTION_ENV : DS_SECTION_OPT;
    ds_bench_parts fresh = {NULL, 0};
    ds_bench_words values;
    int rc = ds_bench_split(l->value, "|", l->origin, &values, e);
    if (rc != 0) {
        return rc;
    }
    size_t most = list->count;
    for (size_t i = 0; i < list->count; i++) {
        most += is_variant_of(&list->item[i], name) ? values.count : 0;
    }
    if (strcmp(l->key, "plugin") == 0 || values.count == 0) {
        rc = ds_fail(e, DS_EXIT_CONFIG, "%s: sweep of %s: expected VALUE | VALUE | ... of a parameter",
                     l->origin, l->key);
    } else if (most > 2 * VARIANTS) {
        rc = too_many(l->origin, e);
    } else if ((fresh.item = calloc(most + 1, sizeof(*fresh.item))) == NULL) {
        rc = ds_no_memory(e);
    }
    for (size_t i = 0; i < list->count && rc == 0; i++) {
        ds_bench_part *from = &list->item[i];
        if (is_variant_of(from, name)) {
            rc = add_variants(from, section, l, &values, base, &fresh, e);
        } else {
            fresh.item[fresh.count++] = *from;
            memset(from, 0, sizeof(*from));
        }
    }
    if (rc == 0 && fresh.count > VARIANTS) {
        rc = too_many(l->origin, e);
    }
    free(values.text);
    if (rc != 0) {
        ds_bench_parts_clear(&fresh);
        return rc;
    }
    ds_bench_parts_clear(list);
    *list = fresh;
    return 0;
}

/* ---- names ---- */

static int is_sibling(const ds_bench_part *a, const ds_bench_part *b)
{
    return a->stem == b->stem && strncmp(a->name, b->name, a->stem) == 0;
}

static int rename_variant(ds_bench_part *v, int number, ds_error *e)
{
    char *name = NULL;
    if (asprintf(&name, "%.*s@%d", (int)v->stem, v->name, number) < 0) {
        return ds_no_memory(e);
    }
    free(v->name);
    v->name = name;
    return 0;
}

/* Variants of one name of which one would be too long for a folder and a section are numbered, all of them:
 * "boleap@1", "boleap@2", ... */
static int number_variants(ds_bench_parts *list, size_t first, ds_error *e)
{
    const ds_bench_part *p = &list->item[first];
    int number = 0, long_one = 0;
    for (size_t i = first; i < list->count && !long_one; i++) {
        long_one = is_sibling(&list->item[i], p) && strlen(list->item[i].name) > DS_BENCH_NAME;
    }
    if (!long_one) {
        return 0;
    }
    if (p->stem + sizeof("@1000") - 1 > DS_BENCH_NAME) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: the name '%.*s' is too long for variants: at most %d bytes",
                       p->origin, (int)p->stem, p->name, (int)(DS_BENCH_NAME + 1 - sizeof("@1000")));
    }
    for (size_t i = first; i < list->count; i++) {
        ds_bench_part *v = &list->item[i];
        if (is_sibling(v, p)) { /* the stem stays, so that the next one still is */
            int rc = rename_variant(v, ++number, e);
            if (rc != 0) {
                return rc;
            }
        }
    }
    return 0;
}

static int check_names(const ds_bench_parts *list, ds_error *e)
{
    for (size_t i = 0; i < list->count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(list->item[i].name, list->item[k].name) == 0) {
                return ds_fail(e, DS_EXIT_CONFIG,
                               "%s: two variants would be called '%s': write them as sections with names of "
                               "their own",
                               list->item[i].origin, list->item[i].name);
            }
        }
    }
    return 0;
}

int ds_bench_sweep(const ds_bench_lines *all, const char *base, ds_bench_parts part[2], ds_error *e)
{
    int rc = 0;
    for (size_t i = 0; i < all->count && rc == 0; i++) {
        const ds_bench_line *l = &all->item[i];
        ds_bench_words w;
        if ((l->kind != DS_BENCH_SWEEP_ENV && l->kind != DS_BENCH_SWEEP_OPT) || l->key == NULL) {
            continue;
        }
        rc = ds_bench_split(l->names, " \t,", l->origin, &w, e);
        if (rc != 0) {
            return rc;
        }
        for (size_t k = 0; k < w.count && rc == 0; k++) {
            int which = l->kind == DS_BENCH_SWEEP_ENV ? DS_BENCH_ENV : DS_BENCH_OPT;
            rc = sweep_one(&part[which], which, w.item[k], l, base, e);
        }
        free(w.text);
    }
    for (int which = 0; which < 2 && rc == 0; which++) {
        ds_bench_parts *list = &part[which];
        for (size_t i = 0; i < list->count && rc == 0; i++) {
            rc = list->item[i].stem > 0 ? number_variants(list, i, e) : 0;
        }
        rc = rc != 0 ? rc : check_names(list, e);
    }
    return rc;
}
