/* SPDX-License-Identifier: Apache-2.0 */
/* page_files.h - the files of tools/view/page/ as lines of text, each list ended by NULL, and sums of
 * what runs. */
#ifndef DS_VIEW_PAGE_FILES_H
#define DS_VIEW_PAGE_FILES_H

extern const char *const ds_page_episodes_html[];
extern const char *const ds_page_episodes_css[];
extern const char *const ds_page_episodes_js[];
extern const char *const ds_page_live_html[];
extern const char *const ds_page_live_css[];
extern const char *const ds_page_live_js[];

/* 'sha256-...' of a script or style element that holds a line end, the lines, each with its own, and a
 * line end. */
extern const char ds_page_episodes_js_sum[];
extern const char ds_page_episodes_css_sum[];
extern const char ds_page_live_js_sum[];
extern const char ds_page_live_css_sum[];

#endif
