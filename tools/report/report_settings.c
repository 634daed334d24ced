/* SPDX-License-Identifier: Apache-2.0 */
/* report_settings.c - versions and settings of a report (see report_settings.h). */
#include "config.h"

#include "report/report_settings.h"

#include <string.h>

#include "page/html.h"

/* ---- versions ---- */

enum { OF_HOST, OF_ENV, OF_OPT, OF_PROCESSOR, OF_ARITHMETIC };

static const char *version_of(const ds_result *r, int of)
{
    const char *text = of == OF_HOST         ? r->host_version
                       : of == OF_ENV        ? r->env_version
                       : of == OF_PROCESSOR  ? r->processor
                       : of == OF_ARITHMETIC ? r->arithmetic
                                             : r->opt_version;
    return text != NULL ? text : "?";
}

/* Is a run that counts one of this environment or optimizer? `name` NULL: of any. */
static int belongs(const ds_result *r, int of, const char *name)
{
    return ds_result_counts(r) && (name == NULL || strcmp(of == OF_ENV ? r->env : r->opt, name) == 0);
}

/* The distinct versions among the runs. */
static void put_versions_of(FILE *f, const ds_report *r, int of, const char *name)
{
    const ds_result *last = NULL;
    for (size_t i = 0; i < r->results.count; i++) {
        const ds_result *run = &r->results.item[i];
        int known = !belongs(run, of, name);
        for (size_t j = 0; j < i && !known; j++) {
            known = belongs(&r->results.item[j], of, name) &&
                    strcmp(version_of(&r->results.item[j], of), version_of(run, of)) == 0;
        }
        if (!known) {
            fputs(last != NULL ? ", " : "", f);
            ds_html_text(f, version_of(run, of));
            last = run;
        }
    }
}

/* The last run that is no row of a table: it tells which plugin it is. */
static const ds_result *record_of(const ds_report *r, int of, const char *name)
{
    const ds_result *last = NULL;
    for (size_t i = 0; i < r->results.count; i++) {
        const ds_result *run = &r->results.item[i];
        last = run->table == NULL && belongs(run, of, name) ? run : last;
    }
    return last;
}

static void put_version_row(FILE *f, const ds_report *r, int of, const char *name)
{
    fputs("<tr>", f);
    ds_html_element(f, "td", name);
    fputs(of == OF_ENV ? "<td>environment</td><td>" : "<td>optimizer</td><td>", f);
    put_versions_of(f, r, of, name);
    const ds_result *run = record_of(r, of, name);
    const char *plugin = run == NULL ? NULL : of == OF_ENV ? run->env_id : run->opt_id;
    fputs("</td>", f);
    ds_html_element(f, "td", plugin != NULL ? plugin : "?");
    fputs("</tr>\n", f);
}

void ds_report_put_versions(FILE *f, const ds_report *r, int any_version)
{
    fputs("<h2 id=versions>Versions</h2>\n<p>The runs were made by dshost ", f);
    put_versions_of(f, r, OF_HOST, NULL);
    fputs(", this page by dshost " PACKAGE_VERSION ". Processor: ", f);
    put_versions_of(f, r, OF_PROCESSOR, NULL);
    fputs(". Arithmetic, on which the last digits depend: ", f);
    put_versions_of(f, r, OF_ARITHMETIC, NULL);
    fputs(any_version ? ". Runs on different versions of an environment are taken as one.</p>\n" : ".</p>\n",
          f);
    ds_html_table(f, "t", "versions", "");
    fputs("<tr><th scope=col>name<th scope=col>kind<th scope=col>version<th scope=col>plugin</tr>\n", f);
    for (size_t i = 0; i < r->envs; i++) {
        put_version_row(f, r, OF_ENV, r->env[i].name);
    }
    for (size_t k = 0; k < r->opts; k++) {
        put_version_row(f, r, OF_OPT, r->opt[k].name);
    }
    ds_html_table_end(f);
}

/* ---- tables ---- */

size_t ds_report_rows(const ds_report *r)
{
    size_t rows = 0;
    for (size_t i = 0; i < r->envs; i++) {
        rows += r->env[i].rows;
    }
    return rows;
}

static size_t rows_of(const ds_report_cell *c, const char *table)
{
    size_t rows = 0;
    for (size_t j = 0; j < c->runs; j++) {
        rows += c->run[j].result->table != NULL && strcmp(c->run[j].result->table, table) == 0;
    }
    return rows;
}

/* What a table tells of an environment: "bo 10, cmaes 10". */
static void put_rows_of(FILE *f, const ds_report *r, size_t env, const char *table)
{
    const char *between = "<td>";
    for (size_t j = 0; j < r->opts; j++) {
        const size_t rows = rows_of(ds_report_at(r, env, r->order[j]), table);
        if (rows == 0) {
            continue;
        }
        if (between[0] == '<') {
            fputs("<tr>", f);
            ds_html_element(f, "td", table);
            ds_html_element(f, "td", r->env[env].name);
        }
        fputs(between, f);
        ds_html_text(f, r->opt[r->order[j]].name);
        fprintf(f, " %zu", rows);
        between = ", ";
    }
    fputs(between[0] != '<' ? "</td></tr>\n" : "", f);
}

/* Is it the first run of its table, of those that count? */
static size_t is_first(const ds_run_results *all, size_t i)
{
    size_t first = all->item[i].table != NULL && ds_result_counts(&all->item[i]);
    for (size_t j = 0; first && j < i; j++) {
        const ds_result *other = &all->item[j];
        first =
            other->table == NULL || !ds_result_counts(other) || strcmp(other->table, all->item[i].table) != 0;
    }
    return first;
}

void ds_report_put_sources(FILE *f, const ds_report *r, int any_version)
{
    const ds_run_results *all = &r->results;
    const size_t rows = ds_report_rows(r);
    if (rows == 0) {
        return;
    }
    fprintf(f,
            "<h2 id=tables>Runs of tables: %zu</h2>\n"
            "<p class=s>Of these it is known how they ended and what they cost, and neither their curves, "
            "their best points nor their settings: what has the name of an environment or an optimizer is "
            "taken for it, unless %s differ. Curves, areas, expected costs, "
            "data profiles and metrics are about optimizers without such runs, episodes about runs with a "
            "record. A run that is in a folder, too, counts once, as that of the folder.</p>\n",
            rows,
            any_version ? "numbers of variables or versions of an optimizer"
                        : "versions or numbers of variables");
    ds_html_table(f, "t", "runs of tables", "");
    fputs("<thead><tr><th scope=col>table<th scope=col>environment<th scope=col>runs</tr></thead>\n", f);
    for (size_t i = 0; i < all->count; i++) {
        for (size_t k = 0, of_table = is_first(all, i); of_table && k < r->envs; k++) {
            put_rows_of(f, r, k, all->item[i].table);
        }
    }
    ds_html_table_end(f);
}

/* ---- settings ---- */

/* What differs from run to run, or is said elsewhere. */
static int is_shown(int section, const char *key)
{
    return section != DS_SECTION_RUN ||
           (strcmp(key, "seed") != 0 && strcmp(key, "env") != 0 && strcmp(key, "opt") != 0);
}

static int same_settings(const ds_result *a, const ds_result *b, int section)
{
    const ds_section *x = &a->settings.section[section], *y = &b->settings.section[section];
    size_t shown[2] = {0, 0};
    for (size_t i = 0; i < x->count; i++) {
        const ds_setting *other = ds_settings_find(&b->settings, section, x->item[i].key);
        if (is_shown(section, x->item[i].key)) {
            shown[0]++;
            if (other == NULL || strcmp(other->value, x->item[i].value) != 0) {
                return 0;
            }
        }
    }
    for (size_t i = 0; i < y->count; i++) {
        shown[1] += (size_t)is_shown(section, y->item[i].key);
    }
    return shown[0] == shown[1];
}

/* The first one with settings. */
static const ds_result *first_run(const ds_report_cell *c)
{
    for (size_t j = 0; j < c->runs; j++) {
        if (c->run[j].result->table == NULL) {
            return c->run[j].result;
        }
    }
    return NULL;
}

static void put_section(FILE *f, const ds_result *run, int section)
{
    const ds_section *s = &run->settings.section[section];
    fprintf(f, "<pre>[%s]\n", ds_section_names[section]);
    for (size_t i = 0; i < s->count; i++) {
        if (is_shown(section, s->item[i].key)) {
            ds_html_text(f, s->item[i].key);
            fputs(" = ", f);
            ds_html_text(f, s->item[i].value);
            fputc('\n', f);
        }
    }
    fputs("</pre>\n", f);
}

/* What a set of settings was used on. */
static void put_place(FILE *f, const ds_result *run, int section)
{
    ds_html_text(f, section == DS_SECTION_ENV ? run->opt : run->env);
    if (section == DS_SECTION_RUN) {
        fputs(" with ", f);
        ds_html_text(f, run->opt);
    }
}

/* A heading, and each distinct set of settings of `count` cells that are `step` apart. */
static void put_distinct(FILE *f, const ds_report *r, const char *name, int section, size_t first,
                         size_t count, size_t step)
{
    size_t sets = 0;
    for (size_t i = 0; i < count; i++) {
        const ds_result *run = first_run(&r->cell[first + i * step]);
        int known = run == NULL;
        for (size_t j = 0; j < i && !known; j++) {
            const ds_result *other = first_run(&r->cell[first + j * step]);
            known = other != NULL && same_settings(run, other, section);
        }
        if (known) {
            continue;
        }
        if (sets++ == 0) {
            ds_html_element(f, "h3", name);
        }
        size_t alike = 0;
        for (size_t j = 0; j < count; j++) {
            const ds_result *other = first_run(&r->cell[first + j * step]);
            alike += other == NULL || same_settings(run, other, section);
        }
        if (alike < count) { /* say which */
            const char *comma = "";
            fputs("<p class=s>", f);
            for (size_t j = 0; j < count; j++) {
                const ds_result *other = first_run(&r->cell[first + j * step]);
                if (other != NULL && same_settings(run, other, section)) {
                    fputs(comma, f);
                    put_place(f, other, section);
                    comma = ", ";
                }
            }
            fputs(":</p>\n", f);
        }
        put_section(f, run, section);
    }
}

void ds_report_put_settings(FILE *f, const ds_report *r)
{
    fputs("<h2 id=settings>Settings</h2>\n"
          "<p class=s>A run.ini with all of them lies in the folder of every run (<a "
          "href=\"runs.csv\">runs.csv</a>); <code>dshost run --config run.ini</code> repeats it. Settings "
          "that differ are listed with what they were used on.",
          f);
    fputs(ds_report_rows(r) > 0
              ? " Those of <a href=\"#tables\">runs of tables</a> are not known.</p>\n<div class=k>\n"
              : "</p>\n<div class=k>\n",
          f);
    for (size_t i = 0; i < r->envs; i++) {
        put_distinct(f, r, r->env[i].name, DS_SECTION_ENV, i * r->opts, r->opts, 1);
    }
    for (size_t k = 0; k < r->opts; k++) {
        put_distinct(f, r, r->opt[k].name, DS_SECTION_OPT, k, r->envs, r->opts);
    }
    put_distinct(f, r, "All runs", DS_SECTION_RUN, 0, r->envs * r->opts, 1);
    fputs("</div>\n", f);
}
