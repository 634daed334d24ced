/* SPDX-License-Identifier: Apache-2.0 */
/* printer.h - text output in pieces to a file, which appears only when complete, or to the standard output.
 */
#ifndef DS_RESULTS_PRINTER_H
#define DS_RESULTS_PRINTER_H

#include "base/error.h"

typedef struct ds_printer ds_printer;

/* Opens `path` ("-" = standard output) for text. */
int ds_printer_open(const char *path, ds_printer **out, ds_error *e);
/* Adds text; ds_printer_close() reports failures. */
void ds_print(ds_printer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds a comma and a number, none where it is not finite, as in all tables. */
void ds_print_field(ds_printer *p, double v);
/* Adds a text of any length. */
void ds_print_text(ds_printer *p, const char *text);
/* Ends the file. With a nonzero `rc` the file is discarded and rc returned. */
int ds_printer_close(ds_printer *p, int rc, ds_error *e);

#endif
