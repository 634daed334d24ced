/* SPDX-License-Identifier: Apache-2.0 */
/* page_texts.h - style sheets and scripts that pages share; page_texts.c is made of them by texts.awk. */
#ifndef DS_PAGE_PAGE_TEXTS_H
#define DS_PAGE_PAGE_TEXTS_H

#include "page/page.h"

extern ds_text_file ds_text_page_css;  /* colours as variables, light and dark; text, tables, buttons */
extern ds_text_file ds_text_figure_js; /* makes SVG figures of canvas.h answer: values, entries of legends */
extern ds_text_file ds_text_figure_css;

#endif
