/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_template.c - `dshost template ENV OPT`: prints a commented .ini file with every parameter at its
 * default. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "cli/arguments.h"
#include "cli/command.h"
#include "config/run_options.h"
#include "catalog/catalog.h"
#include "store/run_folder.h"

static void write_params(const ds_param *const *params, int all)
{
    for (int i = 0; params != NULL && params[i] != NULL; i++) {
        const ds_param *p = params[i];
        char type[DS_DESCRIBE_SIZE];
        if ((p->flags & DS_PARAM_ADVANCED) != 0 && !all) {
            continue;
        }
        ds_describe_type(p, type, sizeof type);
        ds_describe_wrapped(stdout, "# ", p->doc);
        ds_describe_wrapped(stdout, "# ", type);
        /* Parameters stay commented out, since a later version may have better defaults. */
        printf("%s%s =%s%s\n\n", (p->flags & DS_PARAM_REQUIRED) != 0 ? "" : "; ", p->name,
               p->default_text[0] != '\0' ? " " : "", p->default_text);
    }
}

/* The plugin as the user named it, in a form that works from any folder. */
static const char *lasting_name(const char *given, const ds_module *m)
{
    const ds_plugin_name p = {.given = given, .id = m->id, .path = m->path};
    return ds_folder_plugin_name(&p);
}

static void write_run(const char *env, const char *opt, int all)
{
    printf("[run]\nenv = %s\nopt = %s\n\n", env, opt);
    for (int i = 0; ds_run_schema[i] != NULL; i++) {
        const ds_param *p = ds_run_schema[i];
        if (strcmp(p->name, "env") != 0 && strcmp(p->name, "opt") != 0) {
            const ds_param *one[] = {p, NULL};
            write_params(one, all);
        }
    }
}

static void write_plugin(const ds_module *m, const char *section, int all)
{
    printf("[%s]\n", section);
    ds_describe_wrapped(stdout, "# ", m->plugin->desc->summary);
    printf("\n");
    write_params(m->plugin->desc->params, all);
    if (m->plugin->desc->kind == DS_KIND_ENV) {
        write_params(ds_expect_schema, all);
    }
}

static int command(int argc, char **argv, ds_error *e)
{
    static const char usage[] = "usage: dshost template ENV OPT [--all] > my.ini\nPrints an .ini file with "
                                "every parameter at its default; run it with `dshost run --config my.ini`.\n "
                                " --all        include the advanced parameters\n";
    const ds_module *env = NULL, *opt = NULL;
    int all = 0;
    const ds_flag flags[] = {{"all", .set = &all}, {"help", .usage = usage}, {0}};
    int rc = ds_arguments_read(argc, argv, "template", flags, -1, NULL, e);
    if (rc == 0 && optind + 2 != argc) {
        rc =
            ds_fail(e, DS_EXIT_USAGE,
                    "template: name one environment and one optimizer, as in `dshost template torus boleap`");
    }
    rc = rc != 0 ? rc : ds_loader_describe(argv[optind], DS_KIND_ENV, &env, e);
    rc = rc != 0 ? rc : ds_loader_describe(argv[optind + 1], DS_KIND_OPTIMIZER, &opt, e);
    if (rc == 0) {
        printf("# dshost %s: %s with %s. Run with: dshost run --config THIS_FILE\n\n", PACKAGE_VERSION,
               env->id, opt->id);
        write_run(lasting_name(argv[optind], env), lasting_name(argv[optind + 1], opt), all);
        write_plugin(env, "env", all);
        write_plugin(opt, "opt", all);
    }
    return rc;
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
