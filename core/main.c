/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the dshost program: picks the command and hands over to it. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "error.h"

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        printf("dshost %s\n", PACKAGE_VERSION);
        return DS_EXIT_OK;
    }
    fprintf(stderr, "dshost: no command\n");
    return DS_EXIT_USAGE;
}
