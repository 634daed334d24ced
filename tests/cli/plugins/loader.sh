#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# loader.sh - every reason for which a plugin is refused: exit status 4 and one line with the file, the fault and,
# where two values differ, both.
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 99
HOME=$tmp
export HOME

# refused FILE NAME TEXT...: one line on stderr that has the file and each of the texts; status 4; nothing on
# stdout.
refused() {
    file=$1
    name=$2
    shift 2
    "$dshost" eval --env "$file" > out 2> err
    bad=$?
    [ $bad -eq 4 ] && [ ! -s out ] && [ "$(wc -l < err)" -eq 1 ] && grep -qF "$(basename "$file" .so)" err
    bad=$?
    for text in "$@"; do
        grep -qF -e "$text" err || bad=1
    done
    result $bad "$name"
}

cat > plugin.c << 'END'
#include <diffsim/diffsim.h>
#ifndef ID
#define ID "wrong_id"
#endif
#ifndef PARAMS
#define PARAMS NULL
#endif
#ifndef DESC_SIZE
#define DESC_SIZE sizeof(ds_desc)
#endif
#ifndef KIND
#define KIND DS_KIND_ENV
#endif
#ifndef MAGIC
#define MAGIC DS_MAGIC
#endif
#ifndef SIZE
#define SIZE sizeof(ds_plugin)
#endif
#ifndef MAJOR
#define MAJOR DS_ABI_MAJOR
#endif
#ifndef MINOR
#define MINOR DS_ABI_MINOR
#endif
#ifndef LAYOUT
#define LAYOUT DS_LAYOUT
#endif
#ifndef VT_SIZE
#define VT_SIZE sizeof(ds_env_vtable)
#endif
#ifndef CREATE
#define CREATE create
#endif
#ifndef SUMMARY
#define SUMMARY "x"
#endif
#ifndef NEEDS
#define NEEDS NULL
#endif
#ifndef RESULT
#define RESULT &plugin
#endif
static ds_status create(const ds_host *h, void **out) { (void)h; (void)out; return DS_E_GENERIC; }
static void destroy(void *s) { (void)s; }
static ds_status info(void *s, ds_env_info *o) { (void)s; (void)o; return DS_OK; }
static ds_status bounds(void *s, uint64_t n, double *l, double *u, double *x)
{ (void)s; (void)n; (void)l; (void)u; (void)x; return DS_OK; }
static ds_status evaluate(void *s, const ds_rows *r, const ds_results *to) { (void)s; (void)r; (void)to; return DS_OK; }
static const char *const choices[] = {"a", NULL};
static const char *const none[] = {NULL};
static const char *const broken[] = {"ds.env.toy/1", "a\nb", NULL};
static const ds_param *const params[] = {PARAMS, NULL};
static const ds_env_vtable vt = {VT_SIZE, 0, CREATE, destroy, info, bounds, evaluate, NULL};
static const ds_desc desc = {DESC_SIZE, KIND, 0, ID, "1", "MIT", SUMMARY, "", "", params, NULL, NEEDS, NULL};
static const ds_plugin plugin = {MAGIC, SIZE, MAJOR, MINOR, LAYOUT, 0, "", &desc, &vt, NULL};
const ds_plugin *ds_plugin_query(uint32_t major, uint32_t minor)
{ (void)create; (void)choices; (void)none; (void)broken; (void)plugin; (void)major; (void)minor; return RESULT; }
END

build() { # build ID FLAGS...: makes ID.so
    id=$1
    shift
    # shellcheck disable=SC2086
    ${DS_CC:-cc} -w -fPIC -shared -fvisibility=hidden -I"$DS_TOP_SRC/include" "-DID=\"$id\"" "$@" -o "$id.so" plugin.c ||
        echo "# $id.so does not compile"
}

# ---- the file ----
refused ./absent.so "a file that does not exist" "cannot be opened" "No such file"
refused absent "an id that is nowhere" "absent" "plugin path"
echo hello > text.so
refused ./text.so "a text file" "not a shared object"
: > empty.so
refused ./empty.so "an empty file" "empty"
mkdir folder.so
refused ./folder.so "a folder" "a folder, expected a shared object"
build good
cp good.so noread.so
if [ "$(id -u)" -ne 0 ]; then
    chmod 0 noread.so
    refused ./noread.so "a file without permission" "Permission denied"
fi
head -c 3000 good.so > truncated.so
refused ./truncated.so "a truncated file" "truncated.so"
head -c 40 good.so > header.so
refused ./header.so "half a header" "header"
cp good.so other.so
printf '\003\000' | dd of=other.so bs=1 seek=18 conv=notrunc 2> /dev/null # e_machine
refused ./other.so "a file for another machine" "another type of machine"
${DS_CC:-cc} -x c -c -o object.so - << 'END'
int v;
END
refused ./object.so "an object file" "-shared"
cp good.so good.dll
refused ./good.dll "a file that is not called ID.so" "ID.so"
# ---- loading ----
echo 'int missing(void); int f(void); int f(void) { return missing(); }' > undefined.c
${DS_CC:-cc} -w -fPIC -shared -o undefined.so undefined.c
refused ./undefined.so "an undefined symbol" "undefined symbol: missing"
library=$(find /lib /usr/lib -name 'libz.so.1' 2> /dev/null | head -n 1)
if [ -n "$library" ]; then
    cp "$library" libz.so
    refused ./libz.so "a library that is no plugin" "no function ds_plugin_query"
fi
cp good.so libdependency.so
echo 'const void *ds_plugin_query(void); const void *use(void); const void *use(void) { return ds_plugin_query(); }' > user.c
# The function is there, but in a library that the file needs.
${DS_CC:-cc} -w -fPIC -shared -o user.so user.c -L. -ldependency -Wl,-rpath,"$tmp" -Wl,--no-as-needed
refused ./user.so "a function that only a dependency has" "no function ds_plugin_query"
if [ -z "$DS_SANITIZE" ] && ${DS_CC:-cc} -w -fsanitize=address -fPIC -shared -fvisibility=hidden -DID='"asan"' \
    -I"$DS_TOP_SRC/include" -o asan.so plugin.c 2> /dev/null; then
    refused ./asan.so "a plugin with a sanitizer that the program does not have" "-fsanitize=address"
fi
if [ "$(uname -m)" = x86_64 ]; then
    cat > denormals.c << 'END'
#include "plugin.c"
#include <xmmintrin.h>
__attribute__((constructor)) static void start(void) { _mm_setcsr(_mm_getcsr() | 0x8040u); }
END
    ${DS_CC:-cc} -w -fPIC -shared -fvisibility=hidden -DID='"denormals"' -I"$DS_TOP_SRC/include" -I. -o denormals.so denormals.c
    refused ./denormals.so "start-up code that switches denormals off" "floating-point mode" "-ffast-math"
fi

# ---- the data ----
build returns_null -DRESULT=NULL
refused ./returns_null.so "a plugin that cannot serve this host" "returned NULL" "0.3"
build magic -DMAGIC=0x11223344u
refused ./magic.so "another magic number" 11223344 31505344
build short -DSIZE=8
refused ./short.so "a short struct" "plugin's data" "is 8" "56 to 65536"
build zero -DSIZE=0
refused ./zero.so "a struct of no size" "plugin's data" "is 0" "56 to 65536"
build huge -DSIZE=65537
refused ./huge.so "a huge struct" "plugin's data" "is 65537" "56 to 65536"
build layout -DLAYOUT=0x01040804u
refused ./layout.so "another data layout" 01040804 01080804
build major -DMAJOR=7
refused ./major.so "another major version" "ABI 7.3" "has 0.3"
build minor -DMINOR=9
refused ./minor.so "another minor version" "ABI 0.9" "has 0.3"
build desc_short -DDESC_SIZE=16
refused ./desc_short.so "a short descriptor" "descriptor" "is 16" "96 to 65536"
build desc_huge -DDESC_SIZE=1000000
refused ./desc_huge.so "a huge descriptor" "descriptor" "is 1000000" "96 to 65536"
cp good.so renamed.so
refused ./renamed.so "an id that is not the file's name" "'good'" "'renamed.so'"
build Upper
refused ./Upper.so "an id of other characters" "'Upper'" "[a-z]"
build kind -DKIND=5
refused ./kind.so "an unknown kind" "kind is 5"
build optimizer -DKIND=DS_KIND_OPTIMIZER
refused ./optimizer.so "an optimizer without functions" "vtable of the optimizer" "missing"
build no_summary -DSUMMARY=NULL
refused ./no_summary.so "a string that is NULL" "summary" "is NULL"
build needs -DNEEDS=broken
refused ./needs.so "an id with a line break" "needs" "line break"
build vt_short -DVT_SIZE=16
refused ./vt_short.so "a short vtable" "vtable of the environment" "is 16" "56 to 65536"
build no_create -DCREATE=NULL
refused ./no_create.so "a missing function" "create" "required"

# ---- the schema ----
p='&(const ds_param){sizeof(ds_param)'
build p_size "-DPARAMS=&(const ds_param){8,DS_PARAM_INT,0,0,0,1,\"a\",\"0\",\"\",\"\",NULL}"
refused ./p_size.so "a short parameter" "parameter 0" "is 8" "72 to 65536"
build p_name "-DPARAMS=$p,DS_PARAM_INT,0,0,0,1,\"A-b\",\"0\",\"\",\"\",NULL}"
refused ./p_name.so "a parameter's name" "'A-b'" "[a-z]"
build p_twice "-DPARAMS=DS_BOOL(\"a\",\"0\",\"\"),DS_BOOL(\"a\",\"0\",\"\")"
refused ./p_twice.so "a parameter declared twice" "'a'" "twice"
build p_type "-DPARAMS=$p,77,0,0,0,1,\"a\",\"0\",\"\",\"\",NULL}"
refused ./p_type.so "an unknown type" "'a'" "type 77"
build p_null "-DPARAMS=$p,DS_PARAM_INT,0,0,0,1,\"a\",NULL,\"\",\"\",NULL}"
refused ./p_null.so "a default that is NULL" "'a'" "is NULL"
build p_range "-DPARAMS=DS_INT(\"a\",\"0\",5,1,\"\",\"\")"
refused ./p_range.so "an empty range" "'a'" "5..1"
build p_whole "-DPARAMS=DS_INT(\"a\",\"0\",0,9007199254740994.0,\"\",\"\")"
refused ./p_whole.so "whole numbers that a double does not hold" "'a'" "9007199254740994" "2^53"
build p_whole_default "-DPARAMS=DS_INT(\"a\",\"9007199254740993\",-INFINITY,INFINITY,\"\",\"\")"
refused ./p_whole_default.so "a default that a double does not hold" "9007199254740993" "2^53"
build p_nan "-DPARAMS=DS_REAL(\"a\",\"0\",NAN,1,\"\",\"\")"
refused ./p_nan.so "a range with NaN" "'a'" "nan..1"
build p_choice "-DPARAMS=DS_ENUM(\"a\",\"0\",none,\"\")"
refused ./p_choice.so "an ENUM without choices" "'a'" "choices"
build p_default "-DPARAMS=DS_INT(\"a\",\"12\",0,9,\"\",\"\")"
refused ./p_default.so "a default out of range" "a = 12" "0 to 9"

# ---- where plugins are found ----
mkdir -p here/envs home/.local/lib/diffsim
cp good.so here/envs/
few "$tmp/few" envs/analytic
DS_PLUGIN_PATH=$tmp/here "$few" list > out 2> err
grep -q '^  good ' out
result $? "DS_PLUGIN_PATH with its folder envs"
cp good.so home/.local/lib/diffsim/
HOME=$tmp/home "$few" list > out 2> err
grep -q '^  good ' out
result $? "~/.local/lib/diffsim"
cp text.so here/
DS_PLUGIN_PATH=$tmp/here "$few" list > out 2> err
is=$?
grep -q '^  good ' out && grep -q 'text.so' out err
result $? "a bad file beside it is named and does no harm (status $is)"
ln -s "$tmp/moved/away.so" here/away.so
ln -s circle.so here/circle.so
DS_PLUGIN_PATH=$tmp/here "$few" list > out 2> err
is=$?
[ $is -eq 0 ] && grep -q '^  good ' out && grep -q 'here/away.so: cannot be opened: No such file' out &&
    grep -q 'here/circle.so: cannot be opened: Too many levels' out
result $? "links that lead nowhere are named, too (status $is)"
finish
