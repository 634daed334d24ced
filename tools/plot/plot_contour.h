/* SPDX-License-Identifier: Apache-2.0 */
/* plot_contour.h - contour lines of a field on a regular grid. */
#ifndef DS_PLOT_PLOT_CONTOUR_H
#define DS_PLOT_PLOT_CONTOUR_H

#include <stddef.h>
#include <stdint.h>

/* Gets one line: n points x, y in units of columns and rows; a closed line ends with its first point. */
typedef void ds_contour_line(void *ctx, const double *xy, size_t n);

/* Lines where the field v (row-major, v[j * columns + i]) passes through `level`, by marching squares with
 * linear interpolation. Cells with a value that is not finite have none. -1 without memory. */
int ds_contour(const double *v, uint64_t columns, uint64_t rows, double level, ds_contour_line *line,
               void *ctx);

#endif
