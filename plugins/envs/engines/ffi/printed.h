/* SPDX-License-Identifier: Apache-2.0 */
/* printed.h - has a call written to stderr? Many libraries say so, and so only, that they have failed. In
 * worker processes, which have a stderr of their own; where others write to it, too, nothing is noticed. */
#ifndef FOREIGN_PRINTED_H
#define FOREIGN_PRINTED_H

/* From here on stderr is a buffer; nothing happens outside of a worker. One call at a time in a process. */
void printed_begin(void);

/* stderr is what it was, and gets what was written meanwhile: 1 where that was anything. A call that ends the
 * process, by itself or by a signal, has its last words, too, but not one that is killed. */
int printed_end(void);

#endif
