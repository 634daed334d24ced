/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_list.c - `dshost list`: the plugins on the search path, and why others were refused. */
#include "config.h"

#include <diffsim/ext/rl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json_text.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "plugin/descriptor.h"
#include "catalog/describe.h"
#include "catalog/plugin_list.h"

static const char *kind_word(uint32_t kind)
{
    return kind == DS_KIND_ENV ? "environment" : kind == DS_KIND_OPTIMIZER ? "optimizer" : "unknown";
}

static int print_json(const ds_found *list, size_t count, ds_error *e)
{
    json_t *all = json_array();
    for (size_t i = 0; i < count; i++) {
        const ds_found *f = &list[i];
        const ds_desc *d = f->module != NULL ? f->module->plugin->desc : NULL;
        json_array_append_new(
            all,
            json_pack("{s:o, s:s, s:o, s:b, s:s*, s:s*, s:o, s:o, s:o, s:s*}", "id", ds_json_text(f->id),
                      "kind", kind_word(f->kind), "path", ds_json_text(f->path), "shadowed", f->shadowed,
                      "version", d != NULL ? d->version : NULL, "summary", d != NULL ? d->summary : NULL,
                      "extensions", ds_describe_ids(d != NULL ? d->extensions : NULL), "needs",
                      ds_describe_ids(d != NULL ? d->needs : NULL), "uses",
                      ds_describe_ids(d != NULL ? d->uses : NULL), "refused", d == NULL ? f->refusal : NULL));
    }
    int status = ds_json_write(all, stdout, "standard output", e);
    json_decref(all);
    return status;
}

static void print_kind(const ds_found *list, size_t count, uint32_t kind, const char *title)
{
    printf("%s\n", title);
    for (size_t i = 0; i < count; i++) {
        if (list[i].module != NULL && list[i].kind == kind && !list[i].shadowed) {
            const ds_desc *d = list[i].module->plugin->desc;
            int rl = kind == DS_KIND_ENV && ds_desc_offers(d, DS_EXT_RL);
            printf("  %-14s %s%s", list[i].id, d->summary, rl ? " [stepwise control]" : "");
            ds_describe_needs(stdout, " [needs ", d->needs, "]");
            ds_describe_needs(stdout, " [uses ", d->uses, "]");
            printf("\n");
        }
    }
}

/* Two empty lists would leave the user without a clue. */
static void print_nothing(void)
{
    const char *const *dirs = ds_loader_path();
    printf("no plugins were found; these folders were searched:\n");
    for (size_t i = 0; dirs[i] != NULL; i++) {
        printf("  %s%s\n", dirs[i], access(dirs[i], F_OK) == 0 ? "" : " (not there)");
    }
    printf("put plugins into one of them, or name their folder in DS_PLUGIN_PATH\n");
}

static void print_text(const ds_found *list, size_t count)
{
    if (count == 0) {
        print_nothing();
        return;
    }
    print_kind(list, count, DS_KIND_ENV, "environments");
    print_kind(list, count, DS_KIND_OPTIMIZER, "optimizers");
    int first = 1;
    for (size_t i = 0; i < count; i++) {
        if (list[i].module == NULL || list[i].shadowed) {
            printf("%s", first ? "not used\n" : "");
            first = 0;
            if (list[i].module == NULL) {
                printf("  %s\n", list[i].refusal);
            } else {
                printf("  %s: shadowed by another %s.so earlier on the path\n", list[i].path, list[i].id);
            }
        }
    }
}

static int command(int argc, char **argv, ds_error *e)
{
    static const char usage[] =
        "usage: dshost list [--json]\n"
        "Lists the plugins on the search path, and the files there that were refused.\n"
        "  --json       an array with one object per file\n";
    ds_found *list = NULL;
    size_t count = 0;
    int json = 0;
    const ds_flag flags[] = {{"json", .set = &json}, {"help", .usage = usage}, {0}};
    int rc = ds_arguments_read(argc, argv, "list", flags, -1, NULL, e);
    rc = rc != 0 ? rc : ds_arguments_end(argc, argv, "list", e);
    rc = rc != 0 ? rc : ds_loader_list(&list, &count, e);
    if (rc == 0 && json) {
        rc = print_json(list, count, e);
    } else if (rc == 0) {
        print_text(list, count);
    }
    ds_found_free(list, count);
    return rc;
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
