/* SPDX-License-Identifier: Apache-2.0 */
/* page.c - see page.h. */
#include "config.h"

#include "page/page.h"

#include "page/html.h"

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
        if (*json == '<' || *json == '>' || *json == '&') { /* they occur in JSON's texts alone */
            fprintf(f, "\\u%04x", (unsigned)(unsigned char)*json);
        } else {
            fputc(*json, f);
        }
    }
    fputs("</script>\n", f);
}
