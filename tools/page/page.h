/* SPDX-License-Identifier: Apache-2.0 */
/* page.h - HTML pages that are one file: they open from a folder or a mail, run only their own scripts, and
 * load nothing. Elements first, then the frame. */
#ifndef DS_PAGE_PAGE_H
#define DS_PAGE_PAGE_H

#include "stats/sample.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- elements ---- */

/* Text with HTML's special characters escaped. */
void ds_html_text(FILE *f, const char *text);

/* <tag>text</tag> */
void ds_html_element(FILE *f, const char *tag, const char *text);

/* A link to a file next to the page, or to a part of it ("#name"). */
void ds_html_link(FILE *f, const char *to, const char *text);

/* A number, "none" if infinite, a dash if NaN. */
void ds_html_number(FILE *f, double v, int digits);
void ds_html_number_cell(FILE *f, double v, int digits);
void ds_html_count_cell(FILE *f, uint64_t v);
/* With `decimals` digits after the point, so that columns align; what rounds to 0 is shown as 0. */
void ds_html_fixed_cell(FILE *f, double v, int decimals);
void ds_html_interval_cell(FILE *f, ds_interval i, int digits);

/* A table that scrolls in its own frame on narrow pages. Its label is "OF: ABOUT", or ABOUT with `of` "":
 * labels are unique within a page. */
void ds_html_table(FILE *f, const char *kind, const char *about, const char *of);
void ds_html_table_end(FILE *f);

/* Embeds a PNG file as an image, or an SVG file as an element. Returns 0, with nothing written, if the file
 * cannot be read. */
int ds_html_png(FILE *f, const char *path, const char *about);
int ds_html_svg(FILE *f, const char *path, const char *about);

/* A script as page_files.sh generates it. */
typedef struct ds_page_script {
    const char *const *line; /* NULL at the end */
    const char *sum;         /* 'sha256-...' */
} ds_page_script;

/* The page's Content-Security-Policy names each script by its SHA-256, so that no text of a plugin, path or
 * message can run as one. It allows embedded images and nothing from elsewhere. */
typedef struct ds_page {
    const char *title;               /* any text */
    const char *const *const *style; /* files of CSS; NULL at the end */
    const ds_page_script *script;    /* ends with an entry without lines */
} ds_page;

/* Writes everything up to <body>; and the scripts, which come last and see the whole page, to the end. */
void ds_page_begin(FILE *f, const ds_page *page);
void ds_page_end(FILE *f, const ds_page *page);

/* The same in pieces, for a page with its own head: the <meta> with the policy, a <style>, and the scripts.
 */
void ds_page_policy(FILE *f, const ds_page_script *script);
void ds_page_style(FILE *f, const char *const *line);
void ds_page_scripts(FILE *f, const ds_page_script *script);

/* Writes <script type="application/json" id=ID>. `json` is a complete JSON text; characters that could end
 * the element are escaped. */
void ds_page_data(FILE *f, const char *id, const char *json);

/* ---- shared style sheets and scripts from page_files.sh: lines, ended by NULL, and SHA-256 sums ---- */

/* Colours as variables, light and dark; text, tables, buttons. */
extern const char *const ds_page_page_css[];

/* Makes the SVG figures of canvas.h interactive: values at the pointer, and legend entries that hide their
 * curve. */
extern const char *const ds_page_figure_js[];
extern const char ds_page_figure_js_sum[];
extern const char *const ds_page_figure_css[];

#endif
