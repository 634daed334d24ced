/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_list.c - `dshost list`: the plugins on the search path, and why others were refused. */
#include "config.h"

#include <diffsim/ext/steps.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json_text.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "plugin/descriptor.h"
#include "catalog/catalog.h"
#include "plugin/instance.h"

/* Families of the bundled environments, as in docs/environments.md. */
static const char *family_of(const char *id)
{
    static const struct {
        const char *family, *ids;
    } known[] = {
        {"PlasticineLab", " assembly chopsticks move pinch rollingpin rope table torus triplemove writer "},
        {"rigid", " bounce cartpole cartpole_gym pinball cube_throw billiards robot "},
        {"cloth", " swing flip realtosim "},
        {"fluid", " fluid smoke "},
        {"gradSim",
         " beam soft_ball cloth_velocity cloth_throw walker gear jellyfish spring_cage rigid_contact "
         "rigid_mass pendulum_id "
         "double_pendulum ball2d "},
        {"smoothing", " heaviside soft_heaviside sine_quadratic lp_norm momentum ball_wall ball_wall_soft "
                      "pivot planar_hand push push_far "
                      "friction spring_wall roomba pendulum tennis lqr pusher1d hydro2d "},
        {"functions", " analytic ffi "},
        {"scenes", " particles cloth soft "},
    };
    char word[80];
    snprintf(word, sizeof word, " %.70s ", id);
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        if (strstr(known[k].ids, word) != NULL) {
            return known[k].family;
        }
    }
    return NULL;
}

/* What an instance with default parameters reports; `known` = 0: a third-party plugin, which is not loaded
 * into the host, or it cannot be created. */
typedef struct facts {
    int known;
    uint64_t n;
    const char *gradient; /* "yes", "no", or "some": with other parameters */
} facts;

static facts facts_of(const ds_found *f)
{
    const ds_settings none = {0};
    ds_error e = {0, ""};
    ds_env *env = NULL;
    facts out = {0, 0, "?"};
    if (f->module == NULL || f->kind != DS_KIND_ENV) {
        return out;
    }
    const int has = (f->module->plugin->desc->flags & DS_ENV_GRADIENT) != 0;
    out.gradient = has ? "yes" : "no";
    if (f->module->own && !f->shadowed && ds_env_open(f->module, &none, 0, 1, NULL, &env, &e) == 0) {
        const ds_env_facts now = ds_env_facts_of(env);
        out = (facts){1, now.info.n, now.has_gradient ? "yes" : has ? "some" : "no"};
        ds_env_close(env);
    }
    return out;
}

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
        const facts now = facts_of(f);
        const char *family = f->module != NULL && f->module->own ? family_of(f->id) : NULL;
        json_t *one =
            json_pack("{s:o, s:s, s:o, s:b, s:s*, s:s*, s:o, s:o, s:o, s:s*}", "id", ds_json_text(f->id),
                      "kind", kind_word(f->kind), "path", ds_json_text(f->path), "shadowed", f->shadowed,
                      "version", d != NULL ? d->version : NULL, "summary", d != NULL ? d->summary : NULL,
                      "extensions", ds_describe_ids(d != NULL ? d->extensions : NULL), "needs",
                      ds_describe_ids(d != NULL ? d->needs : NULL), "uses",
                      ds_describe_ids(d != NULL ? d->uses : NULL), "refused", d == NULL ? f->refusal : NULL);
        if (f->kind == DS_KIND_ENV) {
            json_object_set_new(one, "variables", now.known ? json_integer((json_int_t)now.n) : json_null());
            json_object_set_new(one, "gradient", json_string(now.gradient));
            json_object_set_new(one, "family", family != NULL ? json_string(family) : json_null());
        }
        json_array_append_new(all, one);
    }
    int status = ds_json_write(all, stdout, "standard output", e);
    json_decref(all);
    return status;
}

static void print_kind(const ds_found *list, size_t count, uint32_t kind, const char *title)
{
    if (kind == DS_KIND_ENV) {
        printf("%-16s %9s  %-8s  %s\n", title, "variables", "gradient", "family");
    } else {
        printf("%s\n", title);
    }
    for (size_t i = 0; i < count; i++) {
        if (list[i].module != NULL && list[i].kind == kind && !list[i].shadowed) {
            const ds_desc *d = list[i].module->plugin->desc;
            int rl = kind == DS_KIND_ENV && ds_desc_offers(d, DS_EXT_STEPS);
            printf("  %-15s", list[i].id);
            if (kind == DS_KIND_ENV) {
                const facts now = facts_of(&list[i]);
                const char *family = list[i].module->own ? family_of(list[i].id) : NULL;
                char n[24] = "?";
                if (now.known) {
                    snprintf(n, sizeof n, "%llu", (unsigned long long)now.n);
                }
                printf("%9s  %-8s  %-13s  ", n, now.gradient, family != NULL ? family : "-");
            }
            printf("%s%s", d->summary, rl ? " [stepwise control]" : "");
            ds_describe_needs(stdout, " [needs ", d->needs, "]");
            ds_describe_needs(stdout, " [uses ", d->uses, "]");
            printf("\n");
        }
    }
}

/* Two empty lists would give the user no clue. */
static void print_nothing(void)
{
    const char *const *dirs = ds_loader_path();
    printf("no plugins were found; these folders were searched:\n");
    for (size_t i = 0; dirs[i] != NULL; i++) {
        printf("  %s%s\n", dirs[i], access(dirs[i], F_OK) == 0 ? "" : " (missing)");
    }
    printf("put plugins into one of them, or add their folder to DS_PLUGIN_PATH\n");
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
        "usage: dshost list [--json]\nLists the plugins on the search path, and the files there that were "
        "refused. For an environment, with its default\nparameters, also the number of variables, whether it "
        "has a gradient (some: with other parameters), and its family in\ndocs/environments.md; ? if finding "
        "out would start a process.\n  --json       print an array with one object per file\n";
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
