/* SPDX-License-Identifier: Apache-2.0 */
/* plot_color.h - colours: of series, and scales for fields (values in 0..1 to colours that keep their order
 * in print and for any colour vision). */
#ifndef DS_PLOT_PLOT_COLOR_H
#define DS_PLOT_PLOT_COLOR_H

#include <stdint.h>

typedef struct ds_color {
    double r, g, b, a; /* sRGB, 0..1 */
} ds_color;

/* 0xRRGGBB with an opacity. */
ds_color ds_color_hex(uint32_t rgb, double a);

/* The colour that stands out from a background as `rgb` does from white, which is the one it is made for. */
ds_color ds_color_on(uint32_t background, uint32_t rgb, double a);

/* Is it a background on which dark text is read badly? */
int ds_color_is_dark(uint32_t background);

/* Colours that people with any colour vision tell apart (Okabe and Ito 2008), i modulo 7: blue, orange,
 * green, purple, sky blue, vermillion, yellow. */
ds_color ds_color_series(uint32_t i, double a);

/* Dark blue over green to yellow (matplotlib's viridis, by S. van der Walt and
 * N. Smith); t is cut to 0..1. */
ds_color ds_color_viridis(double t);

/* 0x00RRGGBB. */
uint32_t ds_color_pixel(ds_color c);

#endif
