/* SPDX-License-Identifier: Apache-2.0 */
/* printer.h - text written in pieces to a file, which appears as a whole, or to the standard output. */
#ifndef DS_RESULTS_PRINTER_H
#define DS_RESULTS_PRINTER_H

#include "base/error.h"

typedef struct ds_printer ds_printer;

/* Opens `path` ("-" = standard output) for text. */
int ds_printer_open(const char *path, ds_printer **out, ds_error *e);
/* Adds text; failures are kept until close. */
void ds_print(ds_printer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds a text of any length. */
void ds_print_text(ds_printer *p, const char *text);
/* Ends the file. `rc` of what came before: where it is not 0 the file is given up, and it is returned. */
int ds_printer_close(ds_printer *p, int rc, ds_error *e);

#endif
