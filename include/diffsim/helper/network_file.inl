/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/network_file.inl - the functions of network_file.h, which includes it. */

/* A text read word by word. `word` is "" at the end of the text and after the first mistake. */
typedef struct ds_network_words {
    const char *at, *end;
    unsigned line;                   /* of `word`, from 1 */
    char word[DS_NETWORK_FILE_WORD]; /* the last word read */
    char *why;                       /* DS_NETWORK_FILE_TEXT bytes; "" so far */
} ds_network_words;

/* Records the first mistake, with the last word read. */
static inline void ds_network_words_bad(ds_network_words *t, const char *what)
{
    if (t->why[0] == '\0') {
        snprintf(t->why, DS_NETWORK_FILE_TEXT, "line %u: %s%s%s%s", t->line, what,
                 t->word[0] ? ", not '" : "", t->word, t->word[0] ? "'" : " (the file ends)");
    }
    t->at = t->end;
    t->word[0] = '\0';
}

/* Reads the next word. */
static inline void ds_network_words_next(ds_network_words *t)
{
    size_t length = 0;
    int comment = 0;
    while (t->at < t->end && (comment || strchr(" \t\r\n#", *t->at) != NULL) && *t->at != '\0') {
        comment = *t->at == '#' || (comment && *t->at != '\n');
        t->line += *t->at++ == '\n';
    }
    while (t->at < t->end && length < sizeof(t->word) && *t->at > ' ' && *t->at <= '~' && *t->at != '#') {
        t->word[length++] = *t->at++;
    }
    t->word[length < sizeof(t->word) ? length : sizeof(t->word) - 1] = '\0';
    if (length == sizeof(t->word)) {
        ds_network_words_bad(t, "a word must have at most 63 letters");
    } else if (length == 0 && t->at < t->end) {
        t->word[0] = '\0';
        ds_network_words_bad(t, "only printable ASCII characters are allowed");
    }
}

/* Is the last word read `word`? Then reads the next one. */
static inline int ds_network_words_is(ds_network_words *t, const char *word)
{
    const int is = strcmp(t->word, word) == 0;
    if (is) {
        ds_network_words_next(t);
    }
    return is;
}

/* The last word read as a number; *good = 0 where it is not a finite number. */
static inline double ds_network_words_number(const ds_network_words *t, int *good)
{
    char *end = NULL;
    const double v = strtod(t->word, &end);
    *good = t->word[0] != '\0' && *end == '\0' && isfinite(v);
    return v;
}

/* The last word read as a count of at most `most`; anything else is a mistake. */
static inline uint32_t ds_network_words_count(ds_network_words *t, uint32_t least, uint32_t most,
                                              const char *what)
{
    int good;
    const double v = ds_network_words_number(t, &good);
    if (!good || v < least || v > most || v != floor(v)) {
        ds_network_words_bad(t, what);
        return least;
    }
    ds_network_words_next(t);
    return (uint32_t)v;
}

/* Reads the description of a network; the last word read is "network". */
static inline void ds_network_words_shape(ds_network_words *t, ds_network *net)
{
    uint32_t size[DS_NETWORK_LAYERS + 1], f[DS_NETWORK_LAYERS], bias[DS_NETWORK_LAYERS + 1], sizes = 0;
    memset(net, 0, sizeof *net);
    if (!ds_network_words_is(t, "network")) {
        ds_network_words_bad(t, "expected 'network' and its sizes");
    }
    while (sizes <= DS_NETWORK_LAYERS && t->word[0] >= '0' && t->word[0] <= '9') {
        size[sizes++] =
            ds_network_words_count(t, 1, DS_NETWORK_UNITS, "a size must be a number from 1 to 256");
    }
    if (sizes < 2 || !ds_network_words_is(t, "activations")) {
        ds_network_words_bad(t, "expected 2 to 9 sizes, then 'activations'");
    }
    for (uint32_t l = 1; l < sizes && t->why[0] == '\0'; l++) {
        f[l - 1] = ds_network_activation_named(t->word);
        if (f[l - 1] < DS_NETWORK_ACTIVATIONS) {
            ds_network_words_next(t);
        } else {
            ds_network_words_bad(
                t, "expected an activation for each layer (identity, tanh, sin, relu, softrelu, "
                   "elu, sigmoid, softsign)");
        }
    }
    if (!ds_network_words_is(t, "biases")) {
        ds_network_words_bad(t, "expected 'biases'");
    }
    for (uint32_t l = 0; l < sizes && t->why[0] == '\0'; l++) {
        bias[l] = ds_network_words_count(t, 0, 1, "expected 0 or 1 for the inputs and for each layer");
    }
    if (t->why[0] == '\0' && !ds_network_make(net, sizes - 1, size, f, bias)) {
        ds_network_words_bad(t, "expected sizes of a network");
    }
}

static inline double *ds_network_file_parse(const char *text, size_t length, uint32_t most, ds_network *net,
                                            uint32_t *count, char *why)
{
    ds_network_words t = {text, text + length, 1, "", why};
    double *w = NULL;
    uint64_t total = 0;
    *count = 0;
    why[0] = '\0';
    ds_network_words_next(&t);
    if (!ds_network_words_is(&t, "diffsim-network") || !ds_network_words_is(&t, "1")) {
        ds_network_words_bad(&t, "a file of networks begins with 'diffsim-network 1'");
    }
    while (why[0] == '\0' && (t.word[0] != '\0' || *count == 0)) {
        if (*count == most) {
            snprintf(why, DS_NETWORK_FILE_TEXT, "line %u: more than %u network%s, as many as are wanted",
                     t.line, (unsigned)most, most == 1 ? "" : "s");
            break;
        }
        ds_network_words_shape(&t, &net[*count]);
        if (!ds_network_words_is(&t, "parameters")) {
            ds_network_words_bad(&t, "expected 'parameters'");
        }
        const uint64_t more = ds_network_count(&net[*count]);
        /* A number takes at least a digit and a blank: do not allocate for more numbers than a short file can
         * hold. */
        double *longer =
            why[0] == '\0' && more <= length ? (double *)realloc(w, (total + more) * sizeof *w) : NULL;
        w = longer != NULL ? longer : w;
        if (longer == NULL && more <= length) {
            snprintf(why + strlen(why), why[0] == '\0' ? DS_NETWORK_FILE_TEXT : 1,
                     "no memory for the parameters");
        }
        for (uint64_t i = 0; i < more && why[0] == '\0'; i++) {
            int good;
            const double v = ds_network_words_number(&t, &good);
            if (good && longer != NULL) {
                w[total + i] = v;
                ds_network_words_next(&t);
            } else {
                char what[96];
                snprintf(what, sizeof what, "expected %llu parameters, %llu numbers are there",
                         (unsigned long long)more, (unsigned long long)i);
                ds_network_words_bad(&t, what);
            }
        }
        total += more;
        *count += 1;
    }
    if (why[0] != '\0') {
        free(w);
        w = NULL;
        *count = 0;
    }
    return w;
}

static inline double *ds_network_file_read(const char *path, uint32_t most, ds_network *net, uint32_t *count,
                                           char *why)
{
    char line[DS_NETWORK_FILE_TEXT] = "";
    double *w = NULL;
    size_t length = 0;
    char *text = (char *)malloc(DS_NETWORK_FILE_BYTES + 1);
    FILE *f = text != NULL ? fopen(path, "rb") : NULL;
    *count = 0;
    if (text == NULL) {
        snprintf(line, sizeof line, "no memory to read the file");
    } else if (f == NULL) {
        snprintf(line, sizeof line, "%s", strerror(errno));
    } else {
        length = fread(text, 1, DS_NETWORK_FILE_BYTES + 1, f);
        if (ferror(f)) {
            snprintf(line, sizeof line, "cannot be read");
        } else if (length > DS_NETWORK_FILE_BYTES) {
            snprintf(line, sizeof line, "more than %d bytes: no file of networks", DS_NETWORK_FILE_BYTES);
        } else {
            w = ds_network_file_parse(text, length, most, net, count, line);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    free(text);
    snprintf(why, DS_NETWORK_FILE_TEXT, "%.240s: %.260s", path, line);
    return w;
}

static inline int ds_network_file_write(FILE *f, uint32_t count, const ds_network *net, const double *w)
{
    fputs("diffsim-network 1\n", f);
    for (uint32_t k = 0; k < count; k++) {
        fputs("network", f);
        for (uint32_t l = 0; l <= net[k].layers; l++) {
            fprintf(f, " %u", (unsigned)net[k].size[l]);
        }
        fputs("\nactivations", f);
        for (uint32_t l = 0; l < net[k].layers; l++) {
            fprintf(f, " %s", ds_network_activation_name(net[k].activation[l]));
        }
        fputs("\nbiases", f);
        for (uint32_t l = 0; l <= net[k].layers; l++) {
            fprintf(f, " %u", (unsigned)net[k].bias[l]);
        }
        fputs("\nparameters\n", f);
        for (uint64_t i = 0; i < ds_network_count(&net[k]); i++) {
            fprintf(f, "%.17g\n", *w++);
        }
    }
    return !ferror(f);
}
