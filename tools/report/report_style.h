/* SPDX-License-Identifier: Apache-2.0 */
/* report_style.h - what the page of a report looks like: on wide and narrow screens, light, dark, and
 * on paper. */
#ifndef DS_REPORT_REPORT_STYLE_H
#define DS_REPORT_REPORT_STYLE_H

enum { DS_REPORT_SHADES = 10 /* classes h0 (score 0) to h9 (score 1) of cells; hn lies below 0 */ };

/* For all pages, and then for narrow screens, dark ones, and paper. */
extern const char ds_report_style[], ds_report_media_style[];

#endif
