/* SPDX-License-Identifier: Apache-2.0 */
/* arguments.c - getopt_long with error messages in the style of dshost. */
#include "config.h"

#include "cli/arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "config/settings.h"

enum { CODE_FLAG = 1000 }; /* flags of a table; letters are below */

/* The long option that `arg` ("--name" or "--name=value") spells in full, else NULL. */
static const struct option *spelled_out(const char *arg, const struct option *options)
{
    size_t n = strcspn(arg, "=");
    for (; n > 2 && options->name != NULL; options++) {
        if (strlen(options->name) == n - 2 && strncmp(options->name, arg + 2, n - 2) == 0) {
            return options;
        }
    }
    return NULL;
}

/* Explains what getopt_long rejected: `arg`, or the short flag `letter` (0 = none) somewhere before it. */
static void explain(const char *arg, int letter, const char *command, const struct option *options,
                    ds_error *e)
{
    const char *known[64];
    char name[64], hint[160];
    size_t n = 0, begins = 0;
    const struct option *exact = spelled_out(arg, options);

    if (letter != 0 && exact != NULL && exact->val == letter && strchr(arg, '=') != NULL) {
        ds_fail(e, DS_EXIT_USAGE, "%s: --%s takes no value", command, exact->name);
        return;
    }
    /* "-env E": one dash instead of two. */
    const char *bare = arg[0] == '-' && arg[1] != '-' ? arg + 1 : "";
    size_t length = strcspn(bare, "=");
    for (size_t k = 0; length > 1 && options[k].name != NULL; k++) {
        if (strlen(options[k].name) == length && strncmp(options[k].name, bare, length) == 0) {
            ds_fail(e, DS_EXIT_USAGE, "%s: unknown flag -%.*s; did you mean --%s?", command, (int)length,
                    bare, options[k].name);
            return;
        }
    }
    if (letter != 0 && letter < CODE_FLAG) {
        ds_fail(e, DS_EXIT_USAGE, "%s: unknown flag -%c; `dshost %s --help` lists all flags", command, letter,
                command);
        return;
    }
    snprintf(name, sizeof name, "%.*s", (int)strcspn(arg + 2, "="), arg + 2);
    for (; options[n].name != NULL && n < 64; n++) {
        known[n] = options[n].name;
        begins += strncmp(known[n], name, strlen(name)) == 0;
    }
    const char *near = ds_nearest(name, known, n);
    for (size_t k = 0; k < n && near == NULL && begins == 1; k++) {
        near = strncmp(known[k], name, strlen(name)) == 0 ? known[k] : NULL;
    }
    if (near != NULL) {
        snprintf(hint, sizeof hint, "did you mean --%s?", near);
    } else {
        snprintf(hint, sizeof hint, "`dshost %s --help` lists all flags", command);
    }
    ds_fail(e, DS_EXIT_USAGE, "%s: %s flag --%s; %s", command, begins > 1 ? "ambiguous" : "unknown", name,
            hint);
}

/* Is this the value of a switch? */
static int is_truth(const char *text)
{
    static const char *const words[] = {"true", "false", "yes", "no", "on", "off", "1", "0", "auto"};
    size_t i = 0;
    while (i < sizeof words / sizeof *words && strcmp(words[i], text) != 0) {
        i++;
    }
    return i < sizeof words / sizeof *words;
}

/* Lists the short flags for getopt; ':' makes it report missing values. */
static void letters_of(const struct option *options, char *out, size_t room)
{
    size_t n = (size_t)snprintf(out, room, ":h");
    for (; options->name != NULL && n + 2 < room; options++) {
        if (options->val > 0 && options->val < CODE_FLAG && options->val != 'h') {
            out[n++] = (char)options->val;
            out[n++] = ':';
        }
    }
    out[n] = '\0';
}

int ds_arguments_next(int argc, char **argv, const char *command, const struct option *options, ds_error *e)
{
    char letters[2 * DS_FLAGS_MAX + 3];
    opterr = 0;
    int index = -1;
    letters_of(options, letters, sizeof letters);
    int c = getopt_long(argc, argv, letters, options, &index);
    const char *arg = optind > 0 && optind <= argc ? argv[optind - 1] : "";
    /* getopt also accepts the beginning of a name, but the next flag that begins so would change its meaning.
     */
    if (index >= 0 && c != '?') {
        const char *flag = c != ':' && optind > 1 && optarg == arg ? argv[optind - 2] : arg;
        if (spelled_out(flag, options) != &options[index]) {
            explain(flag, 0, command, options, e);
            return '?';
        }
    }
    if (index >= 0 && options[index].has_arg == optional_argument && optarg == NULL && optind < argc &&
        is_truth(argv[optind])) {
        optarg = argv[optind++];
    }
    if (c == ':') {
        ds_fail(e, DS_EXIT_USAGE, "%s: %s needs a value", command, arg);
        return '?';
    }
    if (c == '?') {
        /* Within letters after one dash, getopt has not moved to the next argument yet. */
        int inside = optopt != 0 && optopt < CODE_FLAG && optind < argc && argv[optind][0] == '-' &&
                     strchr(argv[optind], optopt) != NULL && (arg[0] != '-' || arg[1] != optopt);
        explain(inside ? argv[optind] : arg, optopt, command, options, e);
    }
    return c;
}

int ds_arguments_end(int argc, char **argv, const char *command, ds_error *e)
{
    if (optind < argc) {
        return ds_fail(e, DS_EXIT_USAGE, "%s: unexpected argument '%.80s'", command, argv[optind]);
    }
    return 0;
}

int ds_arguments_check(int argc, char **argv, const char *command, const struct option *options, int most,
                       ds_error *e)
{
    int c;
    while ((c = ds_arguments_next(argc, argv, command, options, e)) != -1) {
        if (c == '?') {
            return e->status;
        }
    }
    optind += argc - optind < most ? argc - optind : most;
    int status = ds_arguments_end(argc, argv, command, e);
    optind = 0; /* glibc: start again */
    return status;
}

/* Can its flag stand alone and mean "true"? */
static int is_switch(const ds_param *p)
{
    int has = p->type == DS_PARAM_BOOL && strcmp(p->default_text, "false") == 0;
    for (size_t i = 0; p->type == DS_PARAM_ENUM && p->choices[i] != NULL; i++) {
        has = has || strcmp(p->choices[i], "true") == 0;
    }
    return has;
}

size_t ds_flags_add(ds_flag *flags, size_t k, const ds_param *const *schema, int (*has)(const ds_param *p),
                    ds_flag_take take)
{
    for (; *schema != NULL; schema++) {
        if (has(*schema)) {
            flags[k++] = (ds_flag){.name = (*schema)->name, .take = take, .is_switch = is_switch(*schema)};
        }
    }
    return k;
}

void ds_flag_describe(const ds_param *p)
{
    char flag[DS_FLAG_BYTES];
    printf("  %-14s %s", ds_settings_flag(p->name, flag), p->doc);
    printf(p->default_text[0] != '\0' ? " [%s]\n" : "\n", p->default_text);
}

static int join(char **list, const char *text, ds_error *e)
{
    const size_t before = *list != NULL ? strlen(*list) + 1 : 0, size = strlen(text) + 1;
    char *all = realloc(*list, before + size);
    if (all == NULL) {
        return ds_no_memory(e);
    }
    if (before > 0) {
        all[before - 1] = ',';
    }
    memcpy(all + before, text, size);
    *list = all;
    return 0;
}

int ds_arguments_read(int argc, char **argv, const char *command, const ds_flag *flags, int most,
                      void *request, ds_error *e)
{
    struct option options[DS_FLAGS_MAX + 1] = {{0}};
    char name[DS_FLAGS_MAX][DS_FLAG_BYTES];
    int c = 0, help = 0;
    for (int k = 0; k < DS_FLAGS_MAX && flags[k].name != NULL; k++) {
        help = strcmp(flags[k].name, "help") == 0 ? k : help;
        int bare = flags[k].set != NULL || flags[k].usage != NULL || flags[k].word != NULL;
        options[k] = (struct option){ds_settings_flag(flags[k].name, name[k]) + 2,
                                     bare                 ? no_argument
                                     : flags[k].is_switch ? optional_argument
                                                          : required_argument,
                                     NULL, flags[k].letter != 0 ? flags[k].letter : CODE_FLAG + k};
    }
    options[help].val = 'h';
    int rc = most >= 0 ? ds_arguments_check(argc, argv, command, options, most, e) : 0;
    while (rc == 0 && c != 'h' && (c = ds_arguments_next(argc, argv, command, options, e)) != -1) {
        int k = c != '?' ? 0 : help;
        while (c != '?' && options[k].name != NULL && options[k].val != c) {
            k++;
        }
        const ds_flag *f = &flags[k];
        if (c == '?') {
            rc = e->status;
        } else if (f->usage != NULL) {
            fputs(f->usage, stdout);
            rc = -1;
        } else if (f->set != NULL) {
            *f->set = 1;
        } else if (f->text != NULL) {
            *f->text = optarg;
        } else if (f->list != NULL) {
            rc = join(f->list, optarg, e);
        } else {
            const char *value = f->word != NULL ? f->word : optarg;
            rc = f->take(request, f->name, value != NULL ? value : "true", e);
        }
    }
    return rc;
}

int ds_choice_read(const char *name, const char *value, const char *const *known, int count, int *to,
                   ds_error *e)
{
    for (int k = 0; k < count; k++) {
        if (strcmp(value, known[k]) == 0) {
            *to = k;
            return 0;
        }
    }
    char choices[200];
    ds_text_choices(value, known, (size_t)count, choices, sizeof choices);
    return ds_fail(e, DS_EXIT_USAGE, "--%s %.40s: %s", name, value, choices);
}
