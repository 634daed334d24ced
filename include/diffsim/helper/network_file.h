/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/network_file.h - networks (diffsim/helper/network.h) and their parameters as a text file.
 *
 * Header only, optional, no part of the binary interface; C library only. Files are read like this,
 *
 *     ds_network net[2];
 *     char why[DS_NETWORK_FILE_TEXT];
 *     double *w = ds_network_file_read("damping.net", 2, net, &count, why);
 *     if (w == NULL) {
 *         return ds_host_fail(host, DS_E_PARAM, "%s", why);      "damping.net: line 3: ..."
 *     }
 *     free(w);
 *
 * and look like this: words and numbers with white space between them, a '#' begins a comment that ends with
 * its line.
 *
 *     diffsim-network 1                # the format and its version
 *     network 2 5 1                    # inputs, hidden layers, outputs
 *     activations elu identity         # of each layer but the inputs
 *     biases 0 1 1                     # is there one? of the inputs, then of each layer
 *     parameters                       # all weights, then all biases, as network.h orders them
 *     0.1 -0.25 ...
 *
 * Further networks follow in the same way, without the first line; their parameters follow one another in w.
 * Numbers are written such that they read back as the same bits.
 *
 * Whatever a file holds, reading it ends with networks or with one line that says what is wrong and where;
 * it takes at most DS_NETWORK_FILE_BYTES of text. The locale must write numbers with points, as that of a
 * plugin in dshost does.
 */
#ifndef DIFFSIM_HELPER_NETWORK_FILE_H
#define DIFFSIM_HELPER_NETWORK_FILE_H

#include <diffsim/helper/network.h>

#include <errno.h>
#include <stdlib.h>

enum {
    DS_NETWORK_FILE_BYTES = 1 << 24, /* of a file */
    DS_NETWORK_FILE_TEXT = 512,      /* room for a line about what is wrong */
    DS_NETWORK_FILE_WORD = 64        /* room for a word or a number */
};

/* Reads `length` bytes: at most `most` networks, *count of them into net[]. Returns their parameters, which
 * the caller frees, or NULL with one line in why[DS_NETWORK_FILE_TEXT]. */
static inline double *ds_network_file_parse(const char *text, size_t length, uint32_t most, ds_network *net,
                                            uint32_t *count, char *why);

/* The same for a file, whose path the line begins with. */
static inline double *ds_network_file_read(const char *path, uint32_t most, ds_network *net, uint32_t *count,
                                           char *why);

/* Writes `count` networks and their parameters, one after the other in w. Returns 0 where the file could not
 * be written. */
static inline int ds_network_file_write(FILE *f, uint32_t count, const ds_network *net, const double *w);

#include <diffsim/helper/network_file.inl>

#endif
