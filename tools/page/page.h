/* SPDX-License-Identifier: Apache-2.0 */
/* page.h - the frame of a page that is one file: it opens from a folder or a mail, runs its own scripts and
 * no others, and fetches nothing. */
#ifndef DS_PAGE_PAGE_H
#define DS_PAGE_PAGE_H

#include <stddef.h>
#include <stdio.h>

/* A script as page_files.sh makes it of files of the tree. */
typedef struct ds_page_script {
    const char *const *line; /* NULL at the end */
    const char *sum;         /* 'sha256-...' */
} ds_page_script;

/* The Content-Security-Policy of the page names each script by its SHA-256, so that no text of a plugin, a
 * path or a message can become one; it allows pictures inside of the page and nothing from elsewhere. */
typedef struct ds_page {
    const char *title;               /* any text */
    const char *const *const *style; /* files of CSS; NULL at the end */
    const ds_page_script *script;    /* one without lines at the end */
} ds_page;

/* Everything up to <body>, and from the scripts to the end. Scripts stand last, and see the whole page. */
void ds_page_begin(FILE *f, const ds_page *page);
void ds_page_end(FILE *f, const ds_page *page);

/* The same in pieces, for a page that has a head of its own: the <meta> with the policy, a <style>, and at
 * the end the scripts that the policy allows. */
void ds_page_policy(FILE *f, const ds_page_script *script);
void ds_page_style(FILE *f, const char *const *line);
void ds_page_scripts(FILE *f, const ds_page_script *script);

/* Data of a script: <script type="application/json" id=ID>...</script>, where `json` is a complete JSON text
 * of any content; what could end the element is written as JSON's own escapes. */
void ds_page_data(FILE *f, const char *id, const char *json);

#endif
