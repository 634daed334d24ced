#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs.sh - the manual page has the commands and flags that the program has, and no others; completion offers
# them; what the documents name and link to is there.
. "$(dirname "$0")/lib.sh"
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

# architecture.md names files that exist, and its picture is drawn from core/LAYERS.
grep -oE '`(core|tools|plugins|docs|tests)/[A-Za-z_/]+(\.[a-z]+)?`' "$DS_TOP_SRC/docs/architecture.md" | tr -d '\`' | LC_ALL=C sort -u > named
while read -r f; do
    [ -e "$DS_TOP_SRC/$f" ] || echo "$f"
done < named > gone
[ "$(wc -l < named)" -gt 30 ] && [ ! -s gone ]
result $? "architecture.md names files that exist: $(tr '\n' ' ' < gone)"
LC_ALL=C awk -f "$DS_TOP_SRC/docs/layers.awk" "$DS_TOP_SRC/core/LAYERS" | cmp -s - "$DS_TOP_SRC/docs/layers.svg"
result $? "layers.svg is what layers.awk draws of core/LAYERS"
# Links to a section lead to a heading: GitHub's names of them, lower case, with hyphens, without what is not a letter.
cat > sections.awk << 'END'
function slug(text) {
    gsub(/[]`*[]|\([^()]*\.md[^()]*\)/, "", text)
    text = tolower(text)
    gsub(/[^a-z0-9 _-]/, "", text)
    gsub(/ /, "-", text)
    return text
}
FNR == 1 { folder = FILENAME; sub(/[^\/]*$/, "", folder) }
/^#+ / { text = $0; sub(/^#+ */, "", text); headings[FILENAME "#" slug(text)] = 1 }
/^    / { next }
{
    rest = $0
    while (match(rest, /\]\([^() ]*#[^() ]*\)/)) {
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
    }
    print n > "/dev/stderr"
}
END
(cd "$DS_TOP_SRC" && LC_ALL=C awk -f "$tmp/sections.awk" README.md STYLE.md VERSIONING.md docs/*.md docs/*/*.md examples/*.md bench/*.md) > gone 2> many
[ "$(cat many)" -gt 20 ] && [ ! -s gone ]
result $? "links to sections: $(tr '\n' ' ' < gone)"
finish
