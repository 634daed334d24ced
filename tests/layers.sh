#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# layers.sh [--loops | --report] - no folder includes or calls one that core/LAYERS does not allow it, no two
# files or folders need each other. --loops prints the circles alone, --report all without failing.
src=$(cd "${DS_TOP_SRC:-$(dirname "$0")/..}" && pwd) && cd "$src" || exit 99
build=$(cd "${DS_TOP_BUILD:-$src}" && pwd) || exit 99
LC_ALL=C
export LC_ALL
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT

# The sources: those that git knows or would take, in an unpacked archive all but what make has made.
if [ -e .git ]; then
    git ls-files -co --exclude-standard '*.[ch]'
else
    find ./* -name '*.[ch]' -exec awk 'FNR == 1 && !/^\/\* Made by / { print FILENAME }' {} + | cut -c3-
fi | sort -u | while read -r file; do if [ -f "$file" ]; then echo "$file"; fi; done > "$tmp/sources"
grep -E '^(core|tools|plugins)/' "$tmp/sources" > "$tmp/own"

# FROM TO includes NAME: a name is sought beside the file, then in the folders of -I.
xargs grep -HEo '^[ \t]*#[ \t]*include[ \t]*"[^"]*"' < "$tmp/own" | awk -v own="$tmp/own" '
    BEGIN { FS = "\""; while ((getline line < own) > 0) { have[line] = 1 }
            roots = split("core tools plugins plugins/envs plugins/optimizers", root, " ") }
    $2 == "config.h" || $2 == "own_plugins.h" { next }
    { from = $1; sub(/:.*/, "", from); root[0] = from; sub(/\/[^\/]*$/, "", root[0]); to = ""
      for (i = 0; i <= roots && to == ""; i++) {
          path = root[i] "/" $2
          while (sub(/[^\/]+\/\.\.\//, "", path)) { }
          if (path in have) { to = path } }
      print from, to == "" ? "?" : to, "includes", $2 }' > "$tmp/includes"

# FROM TO calls SYMBOL, from the object files; one older than its source is left over or yet to be made.
(cd "$build" && find core tools plugins -name '*.o') | while read -r object; do
    file=$(echo "$object" | sed 's|\.libs/||; s|/[^/]*-\([^/]*\)$|/\1|; s|o$|c|')
    # shellcheck disable=SC3013
    if [ -f "$file" ] && [ "$build/$object" -nt "$file" ]; then echo "$file $build/$object"; fi
done > "$tmp/objects"
cut -d' ' -f2 "$tmp/objects" | xargs -r nm -AgP 2> "$tmp/nm.log" | awk -v objects="$tmp/objects" '
    function side(file) { return file ~ /^plugins\// }
    BEGIN { while ((getline line < objects) > 0) { split(line, part, " "); file[part[2] ":"] = part[1] } }
    { from = file[$1]; key = side(from) SUBSEP $2 }
    $3 ~ /[Uw]/ { used[from SUBSEP $2] = key; next }
    !((key, from) in known) { known[key, from] = 1; places[key] = places[key] " " from }
    END { for (use in used) {
              split(use, part, SUBSEP); n = split(places[used[use]], place, " ")
              for (i = 1; i <= n; i++) {
                  if (place[i] != part[1]) { print part[1], place[i], "calls", part[2] } } } }' |
    sort | cat "$tmp/includes" - > "$tmp/needs"

# One line for each need that the rows do not allow, and for each row or folder that has no partner.
layers() {
    awk -v own="$tmp/own" '
        function room(file, part) { split(file, part, "/"); return part[1] == "plugins" ? part[2] : "" }
        function folder(file, part) { split(file, part, "/"); return part[1] == "plugins" ? "" : part[2] }
        FNR == NR && /^[a-z_]+:/ {
            sub(/:/, ""); row[$1] = 1
            for (i = 2; i <= NF; i++) {
                may[$1, $i] = 1
                if (!($i in row) || $i == $1) { print "core/LAYERS: " $1 " names " $i ", not above it" } } }
        FNR == NR { next }
        $2 == "?" { print $1 " includes \"" $4 "\", which is no source of core, tools or plugins"; next }
        ($1 ~ /^plugins\//) != ($2 ~ /^plugins\//) {
            print $1 " " $3 " " $4 ": the host and plugins meet in include/ only"
            next }
        room($1) != room($2) && room($2) != "common" {
            print $1 " " $3 " " $4 " of plugins/" room($2) "/: they meet in plugins/common/ only"
            next }
        $1 ~ /^core\// && $2 ~ /^tools\// { print $1 " " $3 " " $4 " of tools/"; next }
        { a = folder($1); b = folder($2) }
        a != b && !((a, b) in may) { print $1 " " $3 " " $4 " of " b "/, which " a "/ may not use" }
        END { while ((getline file < own) > 0) { if ((f = folder(file)) != "") { there[f] = 1 } }
              for (f in row) { if (!(f in there)) { print "core/LAYERS: there is no folder " f } }
              for (f in there) { if (!(f in row)) { print "core/LAYERS has no row for " f } } }' \
        core/LAYERS "$tmp/needs"
}

# circles NEEDS NAME: a line for each circle; NAME, the body of an awk function, makes a room of a file.
# A file and its own internal header, a folder and its sub-folders make no circle.
circles() {
    awk "function name(file) { $2 }"'
        $2 == "?" { next }
        { a = name($1); b = name($2) }
        a == b || index(a, b "/") == 1 || index(b, a "/") == 1 { next }
        a != b "_internal" && b != a "_internal" { print a, b, $3, $4 }' "$1" > "$tmp/pairs"
    cut -d' ' -f1,2 "$tmp/pairs" | tsort 2>&1 > "$tmp/order" | awk -v pairs="$tmp/pairs" '
        BEGIN { while ((getline line < pairs) > 0) {
                    split(line, part, " ")
                    if (!((part[1], part[2]) in why)) { why[part[1], part[2]] = part[3] " " part[4] } } }
        function tell(i, j, line) {
            for (i = 1; i <= n; i++) { for (j = 1; j <= n; j++) { if ((at[i], at[j]) in why) {
                line = line (line == "" ? "" : ", ") at[i] " " why[at[i], at[j]] " of " at[j] } } }
            if (n > 0 && !told[line]++) { print "circle: " line } }
        /contains a loop/ { tell(); n = 0; next }
        { at[++n] = $2 }
        END { tell() }'
}
# By includes alone X.c, X.h and X_internal.h are one room; where calls count, X_internal.h stands below.
loops() {
    { circles "$tmp/includes" 'sub(/(_internal)?\.[ch]$/, "", file); return file'
      circles "$tmp/needs" 'sub(/\.[ch]$/, "", file); return file'
      circles "$tmp/needs" 'sub(/\/[^\/]*$/, "", file); return file'; } | awk '!told[$0]++'
}

folders() {
    sed -n 's|^\(core\)/[^/]*$|& lies flat in \1|p; s|^\(tools\)/[^/]*$|& lies flat in \1|p' "$tmp/sources"
    sed 's|/[^/]*$||' "$tmp/sources" | sort | uniq -c | awk '
        $1 > 25 { print $2 " has " $1 " source files, more than 25" }'
}

n=0
bad=0
check() { # check COMMAND NAME: a line of TAP, with the findings below it
    n=$((n + 1))
    $1 > "$tmp/found"
    if [ ! -s "$tmp/found" ]; then
        echo "ok $n - $2"
    else
        bad=1
        echo "not ok $n - $2"
        sed 's/^/# /' "$tmp/found"
    fi
}
case $1 in
--loops) loops > "$tmp/found"; cat "$tmp/found"; [ ! -s "$tmp/found" ]; exit ;;
--report) layers; loops; folders; exit 0 ;;
esac
echo 1..4
check layers 'includes and calls keep to core/LAYERS'
check loops 'no circle of files or folders'
check folders 'at most 25 source files in a folder, none lying flat in core or tools'
if [ -s "$tmp/objects" ]; then echo 'ok 4 - calls were read'; else echo 'ok 4 - # SKIP nothing is built'; fi
exit $bad
