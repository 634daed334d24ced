/* SPDX-License-Identifier: Apache-2.0 */
/* bench_lines.c - collects the lines of an experiment file. */
#include "config.h"

#include "bench/bench_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int add_line(ds_bench_lines *all, const char *key, const char *value, const char *origin, int more,
                    ds_error *e)
{
    if (all->count == all->capacity) {
        size_t capacity = all->capacity == 0 ? 64 : 2 * all->capacity;
        ds_bench_line *grown = realloc(all->item, capacity * sizeof(*grown));
        if (grown == NULL) {
            return ds_no_memory(e);
        }
        all->item = grown;
        all->capacity = capacity;
    }
    ds_bench_line *l = &all->item[all->count];
    *l = (ds_bench_line){all->kind,
                         strdup(all->names),
                         key != NULL ? strdup(key) : NULL,
                         value != NULL ? strdup(value) : NULL,
                         strdup(origin),
                         more};
    all->count++;
    return l->names == NULL || l->origin == NULL || (key != NULL && l->key == NULL) ||
                   (value != NULL && l->value == NULL)
               ? ds_no_memory(e)
               : 0;
}

void ds_bench_lines_clear(ds_bench_lines *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->item[i].names);
        free(all->item[i].key);
        free(all->item[i].value);
        free(all->item[i].origin);
    }
    free(all->item);
}

#define SECTIONS "[bench], [run], [env NAME], [opt NAME] or [sweep env|opt NAME]"

static int on_section(void *user, const char *name, const char *origin, ds_error *e)
{
    static const struct {
        const char *begin;
        int named;
    } known[] = {[DS_BENCH_IN_BENCH] = {"bench", 0},      [DS_BENCH_IN_RUN] = {"run", 0},
                 [DS_BENCH_IN_ENV] = {"env", 1},          [DS_BENCH_IN_OPT] = {"opt", 1},
                 [DS_BENCH_SWEEP_ENV] = {"sweep env", 1}, [DS_BENCH_SWEEP_OPT] = {"sweep opt", 1}};
    ds_bench_lines *all = user;
    for (int k = 0; k <= DS_BENCH_SWEEP_OPT; k++) {
        size_t n = strlen(known[k].begin);
        if (strncmp(name, known[k].begin, n) == 0 && (name[n] == '\0' || name[n] == ' ')) {
            const char *names = name + n + strspn(name + n, " ,");
            if ((names[0] != '\0') != known[k].named) {
                return ds_fail(e, DS_EXIT_CONFIG, "%s: section [%s]: %s", origin, name,
                               known[k].named
                                   ? "name the environments or optimizers it is for, as in [env torus]"
                                   : "no names are possible here");
            }
            all->kind = k;
            snprintf(all->names, sizeof(all->names), "%s", names);
            return add_line(all, NULL, NULL, origin, 0, e);
        }
    }
    return ds_fail(e, DS_EXIT_CONFIG, "%s: unknown section [%s]: use " SECTIONS, origin, name);
}

static int on_value(void *user, const char *key, const char *value, const char *origin, int more, ds_error *e)
{
    return add_line(user, key, value, origin, more, e);
}

ds_ini_handler ds_bench_lines_handler(ds_bench_lines *all)
{
    return (ds_ini_handler){all, SECTIONS, on_section, on_value};
}
