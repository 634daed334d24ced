/* SPDX-License-Identifier: Apache-2.0 */
/* film_ffmpeg.c - MP4 and GIF (see film.h): frames go through a socket to ffmpeg, which writes to a file
 * without a name. The file gets its name after ffmpeg has succeeded. */
#include "config.h"

#include "base/program.h"
#include "base/file.h"
#include "base/text.h"
#include "exchange/film.h"
#include "exchange/film_frame.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT = 3 /* descriptor of ffmpeg */, ARGUMENTS = 40 };

typedef struct pipe_to {
    const char *path;
    size_t frame_bytes;
    pid_t pid; /* 0 = not started */
    int frames, output;
    char *target;    /* destination: the path with links resolved */
    char *temporary; /* name of the output, if it has one already */
    FILE *said;      /* ffmpeg's messages */
} pipe_to;

static int start(pipe_to *p, const char *program, char *const argv[], int input, ds_error *e)
{
    const int fd[OUTPUT + 1] = {input, -1, fileno(p->said), p->output};
    const int code = ds_program_start(program, argv, fd, OUTPUT + 1, DS_PROGRAM_WITH_US, &p->pid);
    if (code != 0) {
        p->pid = 0;
        return ds_fail(e, DS_EXIT_IO, "%s: cannot start %s: %s", p->path, program, strerror(code));
    }
    return 0;
}

/* `kind`: arguments between the frames and the file. */
static int begin(pipe_to *p, const char *path, const ds_film_plan *plan, const char *const *kind, ds_error *e)
{
    char program[PATH_MAX], size[40], rate[40];
    const char *argv[ARGUMENTS] = {"ffmpeg", "-v",       "error",     "-nostdin", "-y",
                                   "-f",     "rawvideo", "-pix_fmt",  "bgr0",     "-s",
                                   size,     "-r",       rate,        "-i",       "pipe:0",
                                   "-an",    "-fflags",  "+bitexact", "-flags:v", "+bitexact"};
    int n = 0, pair[2];
    ds_error none = {0, ""};
    p->path = path;
    p->output = p->frames = -1;
    p->frame_bytes = (size_t)plan->width * (size_t)plan->height * 4;
    if (ds_program_find("ffmpeg", program, &none) != 0) {
        return ds_fail(
            e, DS_EXIT_IO,
            "%s: ffmpeg was not found on PATH: install it (package ffmpeg), or write .webp or .png", path);
    }
    snprintf(size, sizeof size, "%dx%d", plan->width, plan->height);
    snprintf(rate, sizeof rate, "%.6f", plan->fps); /* the locale of the host is "C" */
    while (argv[n] != NULL) {
        n++;
    }
    for (; *kind != NULL; kind++) {
        argv[n++] = *kind;
    }
    argv[n++] = "file:/proc/self/fd/3";
    p->target = realpath(path, NULL);
    p->target = p->target != NULL ? p->target : strdup(path);
    const int error =
        p->target == NULL ? ENOMEM : ds_temporary_open(p->target, 0666, &p->output, &p->temporary);
    if (error != 0) {
        p->output = -1;
        return ds_fail(e, DS_EXIT_IO, "%s: cannot write: %s", path, strerror(error));
    }
    p->said = tmpfile();
    if (p->said == NULL || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        return ds_fail(e, DS_EXIT_IO, "%s: cannot talk to ffmpeg: %s", path, strerror(errno));
    }
    p->frames = pair[0];
    const int status = start(p, program, (char *const *)argv, pair[1], e);
    close(pair[1]);
    return status;
}

/* Writes a frame. ffmpeg's exit status reports errors. */
static int ffmpeg_frame(void *self, uint64_t i, const uint32_t *pixels, ds_error *e)
{
    pipe_to *p = self;
    const unsigned char *from = (const unsigned char *)pixels;
    (void)i;
    for (size_t left = p->frame_bytes; left > 0;) {
        /* No SIGPIPE if ffmpeg is gone. */
        const ssize_t n = send(p->frames, from, left, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR) {
            return ds_fail(e, DS_EXIT_IO, "%s: ffmpeg accepts no more frames: %s", p->path, strerror(errno));
        }
        from += n > 0 ? n : 0;
        left -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* Reports how ffmpeg ended; its last line says why. */
static int ended(const pipe_to *p, int how, ds_error *e)
{
    char line[400] = "", last[400] = "";
    if (WIFEXITED(how) && WEXITSTATUS(how) == 0) {
        return 0;
    }
    rewind(p->said);
    while (fgets(line, sizeof line, p->said) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        memcpy(last, line[0] != '\0' ? line : last, sizeof last);
    }
    ds_text_clean(last);
    if (WIFSIGNALED(how)) {
        return ds_fail(e, DS_EXIT_IO, "%s: signal %d ended ffmpeg", p->path, WTERMSIG(how));
    }
    return ds_fail(e, DS_EXIT_IO, "%s: ffmpeg ended with status %d: %.300s", p->path, WEXITSTATUS(how),
                   last[0] != '\0' ? last : "without a message");
}

static int ffmpeg_end(void *self, int status, ds_error *e)
{
    pipe_to *p = self;
    int how = 0;
    if (p->frames >= 0) {
        close(p->frames); /* end of its input */
    }
    if (p->pid > 0) {
        while (waitpid(p->pid, &how, 0) < 0 && errno == EINTR) {
        }
        const int said = ended(p, how, status == 0 || status == DS_EXIT_IO ? e : NULL);
        status = status != 0 ? status : said;
    }
    if (status == 0) {
        struct stat before; /* keeps the permissions of a replaced file */
        const int kept = stat(p->target, &before) != 0 || !S_ISREG(before.st_mode) ||
                         fchmod(p->output, before.st_mode & 0777) == 0;
        const int error = !kept ? errno
                          : fsync(p->output) != 0 && errno != EINVAL
                              ? errno
                              : ds_temporary_rename(p->target, p->output, &p->temporary);
        status = error != 0 ? ds_fail(e, DS_EXIT_IO, "%s: cannot write: %s", p->path, strerror(error)) : 0;
    }
    if (status != 0 && p->temporary != NULL) {
        unlink(p->temporary);
    }
    if (p->output >= 0) {
        close(p->output);
    }
    if (p->said != NULL) {
        fclose(p->said);
    }
    free(p->temporary);
    free(p->target);
    return status;
}

static int mp4_begin(void *self, const char *path, const ds_film_plan *plan, ds_error *e)
{
    /* Browsers and phones play only 4:2:0 with even sizes. */
    char pad[64];
    snprintf(pad, sizeof pad, "pad=ceil(iw/2)*2:ceil(ih/2)*2:color=0x%06x", (unsigned)plan->background);
    const char *const kind[] = {"-f",      "mp4",       "-vf",        pad, "-pix_fmt",
                                "yuv420p", "-movflags", "+faststart", NULL};
    return begin(self, path, plan, kind, e);
}

static int gif_begin(void *self, const char *path, const ds_film_plan *plan, ds_error *e)
{
    char rest[16];
    /* One palette per frame: for a common one ffmpeg would keep all frames. */
    const char *const kind[] = {
        "-f",
        "gif",
        "-final_delay",
        rest,
        "-filter_complex",
        "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1:dither=bayer:"
        "bayer_scale=4",
        NULL};
    snprintf(rest, sizeof rest, "%d", (int)lround(100 * (DS_FILM_REST_S + 1 / plan->fps)));
    return begin(self, path, plan, kind, e);
}

int ds_film_mp4(const char *path, const ds_view_episodes *episodes, ds_error *e)
{
    static const ds_film_format format = {
        .size = sizeof(pipe_to), .begin = mp4_begin, .frame = ffmpeg_frame, .end = ffmpeg_end};
    return ds_film_write(path, episodes, &format, e);
}

int ds_film_gif(const char *path, const ds_view_episodes *episodes, ds_error *e)
{
    static const ds_film_format format = {
        .size = sizeof(pipe_to), .begin = gif_begin, .frame = ffmpeg_frame, .end = ffmpeg_end};
    return ds_film_write(path, episodes, &format, e);
}
