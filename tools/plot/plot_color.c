/* SPDX-License-Identifier: Apache-2.0 */
/* plot_color.c - colours and their scales. */
#include "config.h"

#include "plot/plot_color.h"

#include <math.h>

ds_color ds_color_hex(uint32_t rgb, double a)
{
    return (ds_color){(double)(rgb >> 16 & 255) / 255, (double)(rgb >> 8 & 255) / 255,
                      (double)(rgb & 255) / 255, a};
}

int ds_color_is_dark(uint32_t background)
{
    const ds_color b = ds_color_hex(background, 1);
    return 0.299 * b.r + 0.587 * b.g + 0.114 * b.b < 0.5;
}

ds_color ds_color_on(uint32_t background, uint32_t rgb, double a)
{
    const ds_color c = ds_color_hex(rgb, a), b = ds_color_hex(background, 1);
    const double ink = ds_color_is_dark(background);
    return background == 0xffffff ? c
                                  : (ds_color){b.r + (ink - b.r) * (1 - c.r), b.g + (ink - b.g) * (1 - c.g),
                                               b.b + (ink - b.b) * (1 - c.b), a};
}

ds_color ds_color_series(uint32_t i, double a)
{
    static const uint32_t okabe_ito[7] = {0x0072b2, 0xe69f00, 0x009e73, 0xcc79a7,
                                          0x56b4e9, 0xd55e00, 0xf0e442};
    return ds_color_hex(okabe_ito[i % 7], a);
}

/* Between `count` colours at equal distances. */
static ds_color between(const uint32_t *colors, int count, double t)
{
    double at = (isnan(t) ? 0 : fmax(0, fmin(1, t))) * (count - 1);
    int k = at >= count - 1 ? count - 2 : (int)at;
    double s = at - k;
    ds_color a = ds_color_hex(colors[k], 1), b = ds_color_hex(colors[k + 1], 1);
    return (ds_color){(1 - s) * a.r + s * b.r, (1 - s) * a.g + s * b.g, (1 - s) * a.b + s * b.b, 1};
}

ds_color ds_color_viridis(double t)
{
    static const uint32_t colors[] = {0x440154, 0x481a6c, 0x472f7d, 0x414487, 0x39568c, 0x31688e,
                                      0x2a788e, 0x23888e, 0x1f988b, 0x22a884, 0x35b779, 0x54c568,
                                      0x7ad151, 0xa5db36, 0xd2e21b, 0xfde725};
    return between(colors, 16, t);
}

uint32_t ds_color_pixel(ds_color c)
{
    return (uint32_t)lround(c.r * 255) << 16 | (uint32_t)lround(c.g * 255) << 8 | (uint32_t)lround(c.b * 255);
}
