/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_set.c - any --set assignments (separated by NUL bytes) for a schema with every type: parameters that
 * survive writing to an .ini file and reading, or one line that says why not. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "config/params.h"
#include "config/settings.h"
#include "tests/fuzz/fuzz.h"

static const char *const choices[] = {"soft", "hard", "frictionless", NULL};

static const ds_param *const schema[] = {DS_BOOL("flag", "false", ""),
                                         DS_INT("steps", "50", 1, 1000, "", ""),
                                         DS_INT("any", "0", -INFINITY, INFINITY, "", ""),
                                         DS_REAL("mass", "1.5", 0, 10, "kg", ""),
                                         DS_REAL("limit", "inf", -INFINITY, INFINITY, "", ""),
                                         DS_ENUM("contact", "soft", choices, ""),
                                         DS_TEXT("label", "", ""),
                                         DS_PATH("file", "", ""),
                                         DS_LIST("list", "1 2", -5, 5, 100, "m", ""),
                                         DS_ARRAY("array", "", ""),
                                         NULL};

static void check_line(int status, const ds_error *e)
{
    FUZZ_REQUIRE(status == DS_EXIT_CONFIG && e->status == status && e->text[0] != '\0');
    FUZZ_REQUIRE(ds_text_is_line(e->text, strlen(e->text)));
}

/* All values are in their ranges, and are the same after writing and reading. */
static void check_params(const ds_params *p)
{
    char *text = NULL;
    size_t size = 0;
    ds_settings s = {0};
    ds_params *again = NULL;
    ds_error e = {0};
    int64_t i = 0;
    double r = 0;
    const double *list = NULL;
    uint64_t count = 0;

    FUZZ_REQUIRE(ds_params_int(p, "steps", &i) == DS_OK && i >= 1 && i <= 1000);
    FUZZ_REQUIRE(ds_params_int(p, "contact", &i) == DS_OK && i >= 0 && i <= 2);
    FUZZ_REQUIRE(ds_params_real(p, "mass", &r) == DS_OK && r >= 0 && r <= 10);
    FUZZ_REQUIRE(ds_params_real(p, "limit", &r) == DS_OK && !isnan(r));
    FUZZ_REQUIRE(ds_params_list(p, "list", &list, &count) == DS_OK && count <= 100);
    for (uint64_t k = 0; k < count; k++) {
        FUZZ_REQUIRE(list[k] >= -5 && list[k] <= 5);
    }
    FILE *f = open_memstream(&text, &size);
    FUZZ_REQUIRE(f != NULL);
    fputs("[env]\n", f);
    FUZZ_REQUIRE(ds_params_write_ini(p, f) == 0);
    fclose(f);
    FUZZ_REQUIRE(ds_settings_parse(&s, text, size, "again", NULL, &e) == 0);
    FUZZ_REQUIRE(ds_params_make(schema, "toy", &s, DS_SECTION_ENV, &again, &e) == 0);
    const double *second = NULL;
    uint64_t n = 0;
    FUZZ_REQUIRE(ds_params_list(again, "list", &second, &n) == DS_OK && n == count);
    for (uint64_t k = 0; k < count; k++) {
        FUZZ_REQUIRE(list[k] == second[k]);
    }
    for (size_t k = 0; k < ds_params_count(p); k++) {
        FUZZ_REQUIRE(ds_params_info(p, k)->type == DS_PARAM_LIST ||
                     strcmp(ds_params_value_text(p, k), ds_params_value_text(again, k)) == 0);
    }
    ds_params_free(again);
    ds_settings_clear(&s);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ds_settings s = {0};
    ds_params *p = NULL;
    ds_error e = {0};
    int status = 0;

    while (size > 0 && status == 0) {
        size_t n = strnlen((const char *)data, size);
        char *assignment = strndup((const char *)data, n);
        FUZZ_REQUIRE(assignment != NULL);
        status = ds_settings_set(&s, assignment, &e);
        free(assignment);
        n += n < size;
        data += n;
        size -= n;
    }
    if (status == 0) {
        status = ds_params_make(schema, "toy", &s, DS_SECTION_ENV, &p, &e);
    }
    if (status != 0) {
        check_line(status, &e);
    } else {
        check_params(p);
        ds_params_free(p);
    }
    ds_settings_clear(&s);
    return 0;
}
