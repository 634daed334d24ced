#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs.sh - the manual page has exactly the commands and flags of the program; completion offers them; file names,
# links and commands in the documents are valid; the steps of an evaluation match architecture.md.
. "$(dirname "$0")/lib.sh"
if [ -n "$DS_SANITIZE" ]; then
    echo "1..0 # SKIP a build with sanitizers: other scripts run the same commands"
    exit 0
fi
page=$DS_TOP_SRC/docs/dshost.1
cd "$tmp" || exit 99

commands=$("$dshost" --help | sed -n 's/^  \([a-z][a-z]*\)  *[a-z].*/\1/p' | sort)
sed -n '/^\.Sh COMMANDS/,/^\.Sh SETTINGS/s/^\.Ss //p' "$page" | sort > out
[ -n "$commands" ] && [ "$commands" = "$(cat out)" ]
result $? "the commands of the manual page"
for c in $commands; do
    "$dshost" "$c" --help | sed -n 's/^  *\(-[a-z], \)\{0,1\}--\([a-z][a-z-]*\).*/\2/p' | grep -v '^help$' | sort > want
    # Items of lists only; a list item may name several flags.
    sed -n "/^\\.Ss $c\$/,/^\\.S[sh] /p" "$page" | sed '1d;$d' |
        awk '/^\.It Xo/ { item = 1 } /^\.It Fl|^\.Fl/ && (item || /^\.It/) { print } /^\.Xc/ { item = 0 }' |
        grep -o 'Fl -[a-z][a-z-]*' | sed 's/Fl -//' | sort > have
    diff want have > out
    result $? "the flags of $c"
done
for s in 0 1 2 3 4 5 6 7 8 75 '130 , 143 , 129'; do
    grep -q "^\\.It $s\$" "$page"
    result $? "exit status $s is explained"
done
if command -v man > /dev/null; then
    MANWIDTH=80 LC_ALL=C man --warnings "$page" > page.txt 2> err
    [ $? -eq 0 ] && [ ! -s err ] && grep -q 'timeout-s' page.txt
    result $? "the page formats without warnings"
else
    skip "the page formats without warnings: man is missing"
fi

if command -v bash > /dev/null; then
    cat > complete.bash << 'END'
complete() { :; }
compopt() { :; }
. "$1"
shift
COMP_LINE="dshost $*"
COMP_POINT=${#COMP_LINE}
COMP_WORDBREAKS=$' \t\n"\'@><=;|&(:'
_dshost "$DSHOST"
printf '%s\n' "${COMPREPLY[@]}"
END
    offers() { # offers WORD ARGUMENT...: completing the last argument offers WORD
        word=$1
        shift
        DSHOST=$dshost bash complete.bash "$DS_TOP_SRC/docs/completion/dshost" "$@" > out 2> err
        grep -qx -- "$word" out && [ ! -s err ]
        result $? "completion of '$*' offers $word"
    }
    offers resume re
    offers eval ''
    offers --trajectory eval --tr
    offers --live view run --li
    offers --budget --bud
    offers analytic --env ''
    offers rand run --opt r
    offers --no-times export dir --no
    offers analytic template ''
    offers rand template analytic ''
    offers env new e
    offers rust new env pusher --lang r
    offers torus help tor
    offers none eval --isolation n
    offers --isolate-optimizer run --isolate
    offers true resume --isolate-optimizer tr
    offers start eval --x s
    offers eval help ev
    offers run help r
    offers --center landscape --ce
    offers random: landscape --center r
    offers --sweep gradients --sw
    offers actions gradients --noise a
    offers env. run --env pinball --set e
    offers env.variant= run --env pinball --set env.v
    offers pinball16 run --env pinball --set env.variant=
    offers opt.kernel= --env pinball --opt bo --set opt.k
    offers run.isolation= --set run.is
    offers false --set run.pictures=
else
    skip "completion: bash is missing"
fi
mkdir -p bin
ln -sf "$dshost" bin/dshost
if command -v zsh > /dev/null; then
    # A completer of zsh runs inside of its editor only: what it would add is printed instead.
    cat > complete.zsh << 'END'
compadd() { while [[ $1 == -* && $1 != -- ]]; do [[ $1 == -S ]] && shift; shift; done; shift; print -l -- "$@" }
_files() { print files }
file=$1
shift
words=(dshost "$@")
CURRENT=$#words
. $file
END
    PATH=$PWD/bin:$PATH zsh -f complete.zsh "$DS_TOP_SRC/docs/completion/_dshost" run --env pinball --set env.variant= > out 2> err
    grep -qx 'env.variant=pinball16' out && [ ! -s err ]
    result $? "zsh is offered values of a parameter"
    PATH=$PWD/bin:$PATH zsh -f complete.zsh "$DS_TOP_SRC/docs/completion/_dshost" eval --x DIR/ > out 2> err
    [ "$(cat out)" = files ] && [ ! -s err ]
    result $? "and names of files where nothing is known"
else
    skip "completion: zsh is missing"
fi
if command -v fish > /dev/null; then
    PATH=$PWD/bin:$PATH fish --no-config -c ". '$DS_TOP_SRC/docs/completion/dshost.fish'; complete -C 'dshost run --env pinball --set env.va'" > out 2> err
    grep -qx 'env.variant=' out && [ ! -s err ]
    result $? "fish is offered the keys of an environment"
else
    skip "completion: fish is missing"
fi

pages=$(cd "$DS_TOP_SRC" && find README.md STYLE.md VERSIONING.md docs examples bench tests/README.md -name '*.md' | LC_ALL=C sort)

# architecture.md names files that exist, and its picture is drawn from core/LAYERS.
grep -oE '`(core|tools|plugins|docs|tests)/[A-Za-z_/]+(\.[a-z]+)?`' "$DS_TOP_SRC/docs/architecture.md" | tr -d '\`' | LC_ALL=C sort -u > named
while read -r f; do
    [ -e "$DS_TOP_SRC/$f" ] || echo "$f"
done < named > gone
[ "$(wc -l < named)" -gt 30 ] && [ ! -s gone ]
result $? "architecture.md names files that exist: $(tr '\n' ' ' < gone)"
LC_ALL=C awk -f "$DS_TOP_SRC/docs/layers.awk" "$DS_TOP_SRC/core/LAYERS" | cmp -s - "$DS_TOP_SRC/docs/layers.svg"
result $? "layers.svg is what layers.awk draws of core/LAYERS"

# The twelve steps: each function is defined in the file that is named before it, and a run calls those of the host in this
# order, which gdb sees.
sed -n '/^## The twelve steps/,/^## Where/p' "$DS_TOP_SRC/docs/architecture.md" |
    awk '/^[0-9]+\. / { printf "%s%s", end, $0; end = "\n"; next } /^  / { printf " %s", $0 } END { print "" }' > steps
[ "$(wc -l < steps)" -eq 12 ]
result $? "an evaluation has twelve steps"
grep -oE '^[0-9]+|`core/[a-z_/]*\.c`|`ds_[a-z_]*\(\)`' steps | tr -d '`()' |
    awk '/^core/ { file = $0; next } /^ds_/ { print step, file, $0; next } { step = $0 }' > calls
while read -r step file function; do
    grep -qE "^[a-z].*[ *]$function\(" "$DS_TOP_SRC/$file" || echo "step $step: $function is not in $file"
done < calls > gone
[ "$(wc -l < calls)" -ge 12 ] && [ "$(cut -d' ' -f1 calls | uniq | wc -l)" -eq 12 ] && [ ! -s gone ]
result $? "each step is a function of the file that it names: $(tr '\n' ' ' < gone)"
if command -v gdb > /dev/null && [ -z "$DS_SANITIZE" ]; then
    awk '$1 != 10 { print $3 }' calls > host_calls # step 10 is in the worker
    {
        printf 'set pagination off\nset confirm off\nset breakpoint pending off\nset debuginfod enabled off\n'
        while read -r f; do
            printf 'tbreak %s\ncommands\nsilent\necho called %s\\n\ncontinue\nend\n' "$f" "$f"
        done < host_calls
        echo run
    } > gdb.in
    gdb -q -batch -nx -x gdb.in --args "$dshost" run --env analytic --opt cmaes --budget 20 --jobs 2 --pictures false \
        --out gdb > out 2> err < /dev/null
    if grep -q 'ptrace\|not permitted\|not defined' out err; then
        skip "the order of the steps: gdb cannot be used here"
    else
        sed -n 's/^called //p' out > called
        cmp -s host_calls called
        result $? "a run calls the functions of the steps in their order"
    fi
else
    skip "the order of the steps: gdb is missing, or the build has sanitizers"
fi

# Every link leads to a file, and one to a section to a heading: GitHub's names of them, lower case, with hyphens, without what
# is not a letter. Every page is listed in docs/README.md.
cat > links.awk << 'END'
function slug(text) {
    gsub(/[]`*[]|\([^()]*\.md[^()]*\)/, "", text)
    text = tolower(text)
    gsub(/[^a-z0-9 _-]/, "", text)
    gsub(/ /, "-", text)
    return text
}
FNR == 1 { folder = FILENAME; if (!sub(/[^\/]*$/, "", folder)) folder = ""; fenced = 0 }
/^```/ { fenced = !fenced }
fenced { next }
/^#+ / { text = $0; sub(/^#+ */, "", text); headings[FILENAME "#" slug(text)] = 1 }
/^    / { next }
{
    rest = $0
    gsub(/`[^`]*`\(/, "(", rest)
    while (match(rest, /\]\([^() ]*\)/)) {
        to = substr(rest, RSTART + 2, RLENGTH - 3)
        rest = substr(rest, RSTART + RLENGTH)
        if (to ~ /^https?:/) continue
        if (to ~ /^#/) to = FILENAME to
        else to = folder to
        while (sub(/[^\/]+\/\.\.\//, "", to)) continue
        links[to] = FILENAME
    }
}
END {
    for (to in links) {
        n++
        if (to ~ /\.md#/ && !(to in headings)) print links[to] ": " to
        file = to
        sub(/#.*/, "", file)
        print links[to], file > "/dev/stderr"
    }
}
END
# shellcheck disable=SC2086
(cd "$DS_TOP_SRC" && LC_ALL=C awk -f "$tmp/links.awk" $pages) > gone 2> many
while read -r page to; do
    [ -e "$DS_TOP_SRC/$to" ] || echo "$page: $to"
done < many >> gone
[ "$(wc -l < many)" -gt 150 ] && [ ! -s gone ]
result $? "links lead to files and headings: $(tr '\n' ' ' < gone)"
for f in "$DS_TOP_SRC"/docs/*.md; do
    f=${f##*/}
    [ "$f" = README.md ] || grep -q "]($f)" "$DS_TOP_SRC/docs/README.md" || echo "$f"
done > gone
[ ! -s gone ]
result $? "docs/README.md lists every page: $(tr '\n' ' ' < gone)"

# A code block after <!-- file NAME --> is in that file, line by line.
# shellcheck disable=SC2086
(cd "$DS_TOP_SRC" && awk '
    /^<!-- file .* -->$/ { file = $3; lines = ""; next }
    file && /^    / { lines = lines substr($0, 5) "\n"; next }
    file && lines && /^$/ { lines = lines "\n"; next }
    file && lines {
        sub(/\n+$/, "\n", lines)
        whole = ""
        while ((getline line < file) > 0) whole = whole line "\n"
        close(file)
        if (!index(whole, lines)) print FILENAME ": the listing of " file
        file = ""
        n++
    }
    END { if (n == 0) print "no listing" }' $pages) > gone
[ ! -s gone ]
result $? "listings are those of the files that they show: $(tr '\n' ' ' < gone)"

# Commands, flags, ids, parameters and files of the command lines in the documents exist.
# shellcheck disable=SC2086
(cd "$DS_TOP_SRC" && LC_ALL=C awk -f tests/cli/docs_commands.awk $pages) > told
"$dshost" list --json | tr ',' '\n' | sed -n 's/.*"id": "\([a-z0-9_]*\)".*/\1/p' > ids
# Plugins of the reader, which the pages make.
printf '%s\n' hill walk my_env pusher mine >> ids
echo expect >> ids # a topic of `dshost help`
cut -f2 told | sort -u | while read -r c; do
    [ "$c" = foo ] || "$dshost" "$c" --help > flags.$c 2>&1 || echo "$c is no command"
done > gone
cat flags.landscape >> flags.doctor # `doctor --env` takes those of landscape
printf -- '--version\n' >> flags.run
awk -F '\t' '$3 == "flag" { print $2, $4 }' told | sort -u | while read -r c f; do
    [ "$f" = --help ] || grep -qE -- "(^|[ ,])$f([ ,=]|\$)" "flags.$c" || echo "$c has no $f"
done >> gone
awk -F '\t' '$3 ~ /^(env|opt|id)$/ { print $4 }' told | sort -u | while read -r id; do
    grep -qx -- "$id" ids || [ -e "flags.$id" ] || echo "$id is no plugin"
done >> gone
awk -F '\t' '$3 == "key" { print $4 }' told | sort -u > keys
cut -d' ' -f1,2 keys | sort -u | while read -r kind id; do
    case $kind in
    env) "$dshost" template "$id" rand --all ;;
    *) "$dshost" template analytic "$id" --all ;;
    esac > "keys.$kind.$id" 2>&1
done
while read -r kind id key; do
    grep -qE "^(; )?$key =" "keys.$kind.$id" || echo "$id has no parameter $key"
done < keys >> gone
awk -F '\t' '$3 == "file" { print $4 }' told | sort -u | while read -r f; do
    [ -e "$DS_TOP_SRC/$f" ] || echo "$f is no file"
done >> gone
[ "$(wc -l < told)" -gt 400 ] && [ ! -s gone ]
result $? "commands in the documents can be typed: $(tr '\n' ';' < gone)"

if command -v mkdocs > /dev/null; then
    status 0 "the documents as a site" sh "$DS_TOP_SRC/docs/site.sh" site
    [ -s site/html/index.html ] && grep -q 'docs/guide.html' site/html/index.html && [ -s site/html/search/search_index.json ]
    result $? "with its navigation and search"
else
    skip "the documents as a site: mkdocs is missing"
fi
finish
