/* SPDX-License-Identifier: Apache-2.0 */
/* page.c - see page.h. */
#include "config.h"

#include "page/page.h"

#include <string.h>

#include "page/html.h"
#include "page/sha256.h"
#include "plot/canvas_svg.h"

static void put_lines(FILE *f, const char *const *line)
{
    for (; *line != NULL; line++) {
        fputs(*line, f);
    }
}

/* The hash is that of what stands between the tags, to the byte. */
void ds_page_policy(FILE *f, const char *const *const *script)
{
    fputs("<meta http-equiv=Content-Security-Policy content=\"default-src 'none';img-src data:;"
          "style-src 'unsafe-inline';base-uri 'none';form-action 'none'",
          f);
    for (size_t i = 0; script != NULL && script[i] != NULL; i++) {
        unsigned char sum[DS_SHA256];
        ds_sha256 h;
        ds_sha256_begin(&h);
        for (const char *const *line = script[i]; *line != NULL; line++) {
            ds_sha256_add(&h, *line, strlen(*line));
        }
        ds_sha256_end(&h, sum);
        fputs(i == 0 ? ";script-src 'sha256-" : " 'sha256-", f);
        ds_put_base64(f, sum, sizeof sum);
        fputs("'", f);
    }
    fputs("\">", f);
}

void ds_page_scripts(FILE *f, const char *const *const *script)
{
    for (size_t i = 0; script != NULL && script[i] != NULL; i++) {
        fputs("<script>", f);
        put_lines(f, script[i]);
        fputs("</script>\n", f);
    }
}

void ds_page_style(FILE *f, const char *const *style)
{
    fputs("<style>", f);
    put_lines(f, style);
    fputs("</style>", f);
}

void ds_page_begin(FILE *f, const ds_page *page)
{
    fputs("<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>", f);
    ds_page_policy(f, page->script);
    fputs("<meta name=viewport content=\"width=device-width,initial-scale=1\">"
          "<meta name=color-scheme content=\"light dark\">",
          f);
    ds_html_element(f, "title", page->title);
    for (size_t i = 0; page->style != NULL && page->style[i] != NULL; i++) {
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
