/* SPDX-License-Identifier: Apache-2.0 */
/* page_texts.h - style sheet and script of landscape.html, made of tools/landscape/page/ by page_files.sh. */
#ifndef DS_LANDSCAPE_PAGE_TEXTS_H
#define DS_LANDSCAPE_PAGE_TEXTS_H

extern const char *const ds_page_landscape_css[];
extern const char *const ds_page_landscape_js[];
extern const char ds_page_landscape_js_sum[];

#endif
