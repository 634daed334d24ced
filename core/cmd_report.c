/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_report.c - `dshost report`: one HTML page about the runs in some folders. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "commands.h"
#include "folder.h"
#include "json_text.h"
#include "report_page.h"
#include "report_pictures.h"

typedef struct request {
    const char *out, *reference;
    int no_pictures, help;
} request;

static const char usage[] =
    "usage: dshost report DIR... [OPTIONS]\n\n"
    "Writes one self-contained HTML page about all finished runs below the folders, with tables, intervals, "
    "tests and\n"
    "figures, and the figures and numbers as SVG and CSV beside it. Prints its path.\n\n"
    "  --out FOLDER       where to; DIR/report by default (of the first DIR)\n"
    "  --reference OPT    the optimizer that others are compared with; boleap, else the one with the highest "
    "score\n"
    "  --no-pictures      do not simulate the best episode of each environment to draw it where its run left no "
    "picture\n";

static int parse(int argc, char **argv, request *q, ds_error *e)
{
    static const struct option options[] = {{"out", required_argument, NULL, 'o'},
                                            {"reference", required_argument, NULL, 'r'},
                                            {"no-pictures", no_argument, NULL, 'p'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    int c;
    while ((c = ds_arguments_next(argc, argv, "report", options, e)) != -1) {
        switch (c) {
        case 'o':
            q->out = optarg;
            break;
        case 'r':
            q->reference = optarg;
            break;
        case 'p':
            q->no_pictures = 1;
            break;
        case 'h':
            q->help = 1;
            return 0;
        default:
            return e->status;
        }
    }
    return optind < argc
               ? 0
               : ds_fail(e, DS_EXIT_USAGE, "report: name a folder with runs: dshost report results/");
}

/* The command line, for the page. */
static char *command_line(int argc, char **argv)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (f == NULL) {
        return NULL;
    }
    fputs("dshost", f);
    for (int i = 0; i < argc; i++) {
        fprintf(f, strpbrk(argv[i], " '\"$\\*") != NULL ? " '%s'" : " %s", argv[i]);
    }
    return fclose(f) == 0 ? text : NULL;
}

int ds_cmd_report(int argc, char **argv)
{
    request q = {0};
    ds_error e = {0, ""};
    ds_report r;
    char *command = command_line(argc, argv);
    int rc = command == NULL ? ds_fail(&e, DS_EXIT_MEMORY, "out of memory") : parse(argc, argv, &q, &e);
    if (rc == 0 && q.help) {
        fputs(usage, stdout);
    } else if (rc == 0) {
        char *folder = q.out != NULL ? strdup(q.out) : ds_folder_path(argv[optind], "report");
        rc = folder == NULL ? ds_fail(&e, DS_EXIT_MEMORY, "out of memory")
                            : ds_report_make((const char *const *)argv + optind, (size_t)(argc - optind),
                                             q.reference, &r, &e);
        if (rc == 0) {
            rc = q.no_pictures ? 0 : ds_report_pictures(&r, folder, &e);
            rc = rc != 0 ? rc : ds_report_page(&r, folder, command, &e);
            ds_report_clear(&r);
        }
        if (rc == 0) {
            printf("%s/index.html\n", folder);
        }
        free(folder);
    }
    free(command);
    rc = rc != 0 ? rc : ds_stdout_done(&e);
    return rc != 0 ? ds_command_failed(&e) : DS_EXIT_OK;
}
