/* SPDX-License-Identifier: Apache-2.0 */
/* page_texts.h - style sheets and scripts that pages share, as page_files.sh makes them: lines, each list
 * ended by NULL, and what a policy says of a script. */
#ifndef DS_PAGE_PAGE_TEXTS_H
#define DS_PAGE_PAGE_TEXTS_H

/* Colours as variables, light and dark; text, tables, buttons. */
extern const char *const ds_page_page_css[];

/* Makes the SVG figures of canvas.h answer: values at the pointer, entries of legends that hide what
 * they name. */
extern const char *const ds_page_figure_js[];
extern const char ds_page_figure_js_sum[];
extern const char *const ds_page_figure_css[];

#endif
