/* SPDX-License-Identifier: Apache-2.0 */
/* html.h - pieces of an HTML page: text, cells of tables, pictures that are part of the page. */
#ifndef DS_PAGE_HTML_H
#define DS_PAGE_HTML_H

#include <stdint.h>
#include <stdio.h>

#include "stats/sample.h"

/* Text, with what has a meaning in HTML escaped. */
void ds_html_text(FILE *f, const char *text);

/* <tag>text</tag> */
void ds_html_element(FILE *f, const char *tag, const char *text);

/* A link to a file beside the page, or to a part of it ("#name"). */
void ds_html_link(FILE *f, const char *to, const char *text);

/* A number, "none" where it is infinite, a dash where there is none. */
void ds_html_number(FILE *f, double v, int digits);
void ds_html_number_cell(FILE *f, double v, int digits);
void ds_html_count_cell(FILE *f, uint64_t v);
/* With `decimals` behind the point, so that columns compare at a glance; what rounds to 0 is 0. */
void ds_html_fixed_cell(FILE *f, double v, int decimals);
void ds_html_interval_cell(FILE *f, ds_interval i, int digits);

/* A table that scrolls in a frame of its own where the page is too narrow: it begins with <table>. `about`
 * and `of` ("" = none) name it, each one of a page differently. */
void ds_html_table(FILE *f, const char *kind, const char *about, const char *of);
void ds_html_table_end(FILE *f);

/* A PNG file as an image inside the page, an SVG file as a part of it. Returns 0, with nothing written, where
 * the file cannot be read. */
int ds_html_png(FILE *f, const char *path, const char *about);
int ds_html_svg(FILE *f, const char *path, const char *about);

#endif
