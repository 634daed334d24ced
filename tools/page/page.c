/* SPDX-License-Identifier: Apache-2.0 */
/* page.c - HTML elements and the frame of a page (see page.h). */
#include "config.h"

#include "page/page.h"

#include "base/file.h"
#include "base/text.h"
#include "plot/canvas.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PICTURE_LIMIT = 2 << 20 };

/* ---- text and cells ---- */

void ds_html_text(FILE *f, const char *text)
{
    ds_text_html(f, text);
}

void ds_html_element(FILE *f, const char *tag, const char *text)
{
    fprintf(f, "<%s>", tag);
    ds_html_text(f, text);
    fprintf(f, "</%s>", tag);
}

void ds_html_link(FILE *f, const char *to, const char *text)
{
    fputs("<a href=\"", f);
    for (const char *c = to; *c != '\0';
         c++) { /* file names may hold characters that have a meaning in URLs */
        fprintf(f, strchr("%?#\"<>& ", *c) != NULL ? "%%%02X" : "%c", (unsigned char)*c);
    }
    fputs("\">", f);
    ds_html_text(f, text);
    fputs("</a>", f);
}

void ds_html_number(FILE *f, double v, int digits)
{
    char text[64] = "&ndash;";
    if (isinf(v)) {
        snprintf(text, sizeof text, "none");
    } else if (!isnan(v)) {
        ds_label_number(text, sizeof text, v, digits);
    }
    fputs(text, f);
}

void ds_html_number_cell(FILE *f, double v, int digits)
{
    fputs("<td>", f);
    ds_html_number(f, v, digits);
    fputs("</td>", f);
}

void ds_html_fixed_cell(FILE *f, double v, int decimals)
{
    if (!isfinite(v)) {
        ds_html_number_cell(f, v, 1);
        return;
    }
    const double unit = pow(10, -decimals), shown = fabs(v) < 0.5 * unit ? 0 : v;
    char text[64];
    snprintf(text, sizeof text, "%.*f", decimals, fabs(shown));
    for (char *c = text; *c != '\0'; c++) {
        *c = *c == ',' ? '.' : *c; /* in every locale */
    }
    fprintf(f, "<td>%s%s</td>", shown < 0 ? "\u2212" : "", text);
}

void ds_html_table(FILE *f, const char *kind, const char *about, const char *of)
{
    fputs("<div class=o tabindex=0 role=region aria-label=\"", f);
    ds_html_text(f, of);
    fputs(of[0] != '\0' ? ": " : "", f);
    ds_html_text(f, about);
    fprintf(f, kind[0] != '\0' ? "\"><table class=%s>" : "\"><table%s>", kind);
}

void ds_html_table_end(FILE *f)
{
    fputs("</table></div>\n", f);
}

void ds_html_count_cell(FILE *f, uint64_t v)
{
    fprintf(f, "<td>%" PRIu64 "</td>", v);
}

void ds_html_interval_cell(FILE *f, ds_interval i, int digits)
{
    fputs("<td class=i>", f);
    if (isfinite(i.low) && isfinite(i.high)) {
        ds_html_number(f, i.low, digits);
        fputs(" &hellip; ", f);
        ds_html_number(f, i.high, digits);
    } else {
        fputs("&ndash;", f);
    }
    fputs("</td>", f);
}

/* ---- images ---- */

static void *picture(const char *path, size_t *size)
{
    void *data = NULL;
    ds_error ignored = {0, ""};
    return ds_file_read(path, PICTURE_LIMIT, &data, size, DS_EXIT_IO, &ignored) == 0 ? data : NULL;
}

int ds_html_png(FILE *f, const char *path, const char *about)
{
    size_t size = 0;
    void *data = picture(path, &size);
    if (data != NULL) {
        fputs("<img alt=\"", f);
        ds_html_text(f, about);
        fputs("\" src=\"data:image/png;base64,", f);
        ds_put_base64(f, data, size);
        fputs("\">\n", f);
    }
    free(data);
    return data != NULL;
}

int ds_html_svg(FILE *f, const char *path, const char *about)
{
    size_t size = 0;
    void *data = picture(path, &size);
    /* SVG inside HTML has no XML declaration and no name space. */
    const char *size_of_figure = data == NULL ? NULL : memmem(data, size, " width=", 7);
    if (size_of_figure != NULL) {
        fputs("<svg role=\"img\" aria-label=\"", f);
        ds_html_text(f, about);
        fputs("\"", f);
        fwrite(size_of_figure, 1, size - (size_t)(size_of_figure - (const char *)data), f);
    }
    free(data);
    return size_of_figure != NULL;
}

static void put_lines(FILE *f, const char *element, const char *const *line)
{
    fprintf(f, "<%s>\n", element);
    for (; *line != NULL; line++) {
        fputs(*line, f);
        fputc('\n', f);
    }
    fprintf(f, "\n</%s>\n", element);
}

void ds_page_policy(FILE *f, const ds_page_script *script)
{
    fputs("<meta http-equiv=Content-Security-Policy content=\"default-src 'none';img-src data:;"
          "style-src 'unsafe-inline';base-uri 'none';form-action 'none'",
          f);
    for (size_t i = 0; script[i].line != NULL; i++) {
        fprintf(f, "%s%s", i == 0 ? ";script-src " : " ", script[i].sum);
    }
    fputs("\">", f);
}

void ds_page_style(FILE *f, const char *const *line)
{
    put_lines(f, "style", line);
}

void ds_page_scripts(FILE *f, const ds_page_script *script)
{
    for (; script->line != NULL; script++) {
        put_lines(f, "script", script->line);
    }
}

void ds_page_begin(FILE *f, const ds_page *page)
{
    fputs("<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>", f);
    ds_page_policy(f, page->script);
    fputs("<meta name=viewport content=\"width=device-width,initial-scale=1\">"
          "<meta name=color-scheme content=\"light dark\">",
          f);
    ds_html_element(f, "title", page->title);
    for (size_t i = 0; page->style[i] != NULL; i++) {
        ds_page_style(f, page->style[i]);
    }
    fputs("</head>\n<body>\n", f);
}

void ds_page_end(FILE *f, const ds_page *page)
{
    ds_page_scripts(f, page->script);
    fputs("</body></html>\n", f);
}

void ds_page_data(FILE *f, const char *id, const char *json)
{
    fprintf(f, "<script type=\"application/json\" id=%s>", id);
    for (; *json != '\0'; json++) {
        if (*json == '<' || *json == '>' || *json == '&') { /* these occur only inside JSON strings */
            fprintf(f, "\\u%04x", (unsigned)(unsigned char)*json);
        } else {
            fputc(*json, f);
        }
    }
    fputs("</script>\n", f);
}
