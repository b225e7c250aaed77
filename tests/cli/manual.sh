#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# manual.sh GPUBPF SOURCE-ROOT BUILD-ROOT: manual pages, completions and environment.md agree with the tables in the
# code.
. "$(dirname "$0")/lib.sh"
root=$2
pages=$T/man
mkdir "$pages" && cp "$root"/man/*.[18] "$3"/man/*.[178] "$pages"
"$GPUBPF" help tables > "$T/tables"

page=
missing=
commands=0 options=0 values=0
while read -r word a b c; do
	case $word in
	command)
		commands=$((commands + 1))
		page=$pages/$(echo "$c" | sed 's/(\(.\))/.\1/')
		[ "$b" = - ] && b=
		grep -q "$a${b:+ $b}" "$page" || missing="$missing $a-$b";;
	option)
		options=$((options + 1))
		plain=$(echo "$a" | sed 's/-/\\\\-/g')
		grep -q -e "$plain" "$page" || missing="$missing $page:$a"
		[ "$b" = -- ] || grep -q -e "\\\\$b[ \",)]" "$page" || missing="$missing $page:$b";;
	value) # values of --target; other pages describe the values of --backend elsewhere
		[ "${page##*/}" = gpubpf-prog.8 ] || continue
		values=$((values + 1))
		grep -qw -e "$a" "$page" || missing="$missing $page:$a";;
	esac
done < "$T/tables"
[ -z "$missing" ] && [ "$commands" -ge 10 ] && [ "$options" -ge 20 ] && [ "$values" -ge 12 ]
ok $? "$commands commands, $options options and $values names of targets are each in a manual page"; [ -z "$missing" ] || echo "# $missing"

grep -oh '\\-\\-[a-z][a-z\\-]*' "$pages"/*.[178] | sed 's/\\//g' | sort -u > "$T/told"
awk '$1 == "option" { print $2 }' "$T/tables" | sort -u > "$T/has"; echo --version >> "$T/has"; sort -o "$T/has" "$T/has"
comm -23 "$T/told" "$T/has" > "$T/err"
[ ! -s "$T/err" ]; ok $? "no manual page tells of an option that is not there"

missing=
for name in $(sed -n 's/^GPUBPF_HELPER([0-9]*, \([a-z_0-9]*\), \(ENV\|MAP\|PRINT\|ENDS\),.*/\1/p' "$root/include/gpubpf/helpers.def"); do
	grep -q " $name\" " "$pages/gpubpf-prog.8" || missing="$missing $name"
done
[ -z "$missing" ]; ok $? "every helper is in gpubpf-prog(8)"; [ -z "$missing" ] || echo "# $missing"
missing=
for type in $(sed -n 's/^GPUBPF_\(OWN_\)\{0,1\}MAP_TYPE([0-9]*, \([A-Z_0-9]*\),.*/\2/p' "$root/include/gpubpf/map_types.def"); do
	grep -q "\"$type\"" "$pages/gpubpf-map.8" || missing="$missing $type"
done
[ -z "$missing" ]; ok $? "every map type is in gpubpf-map(8)"; [ -z "$missing" ] || echo "# $missing"
missing=
for probe in $(awk '$1 == "option" { g = $2 == "--probe" } $1 == "value" && g { print $2 }' "$T/tables" | sort -u); do
	grep -q "^.B $probe$" "$pages/gpubpf-run.1" || missing="$missing $probe"
done
[ -z "$missing" ]; ok $? "every ready probe is in gpubpf-run(1)"; [ -z "$missing" ] || echo "# $missing"
missing=
for word in $(sed -n 's/^LANG_\(BUILTIN\|FUNCTION\|REFUSED\)([A-Z]*[, ]*"\([a-z_]*\)".*/\2/p' "$root"/cli/lang/*/*.def); do
	grep -qw -e "$word" "$pages/gpubpf-lang.7" || missing="$missing $word"
done
[ -z "$missing" ]; ok $? "every word of the language is in gpubpf-lang(7)"; [ -z "$missing" ] || echo "# $missing"
missing=
for prefix in $(sed -n 's/^GPUBPF_SECTION("\([^"]*\)".*/\1/p' "$root/core/model/sections.def"); do
	grep -q "^.BI $prefix " "$pages/gpubpf-prog.8" || missing="$missing $prefix"
done
for place in $(grep -o 'GPUBPF_SITE_BIT([A-Z_]*)' "$root/backends/registry.c" | tr '()' '  ' | awk '{ print $2 }' | sort -u); do
	prefix=$(sed -n "s/^GPUBPF_PLACE($place, [0-9]*, \"\([a-z_.]*\)\",.*/gpu\/\1\//p" "$root/core/model/places.def")
	[ -n "$prefix" ] && grep -q "^.BI $prefix " "$pages/gpubpf-prog.8" || missing="$missing $place"
done
[ -z "$missing" ]; ok $? "every section is in gpubpf-prog(8)"; [ -z "$missing" ] || echo "# $missing"
missing=
for name in $(grep -ho '"[A-Z_]*[A-Z]"' "$root/cli/environ.c" "$root/hooks/process/environ.c" "$root/hooks/loader/environ.c" "$root/core/session/server/environ.c" | tr -d '"' | sort -u); do
	grep -q "\`$name\`" "$root/docs/reference/environment.md" || missing="$missing $name"
done
[ -z "$missing" ]; ok $? "every variable that is read or set is in docs/reference/environment.md"; [ -z "$missing" ] || echo "# $missing"
# settings.c compares settings of OpenCL compilers, whose names it has in a table, with the own environment
others=$(cd "$root" && grep -lE '\b(secure_)?getenv\(' $(find cli core maps backends hooks -name '*.c') | grep -v '^cli/environ.c$\|^hooks/process/environ.c$\|^hooks/loader/environ.c$\|^backends/spirv/wire/settings.c$' | tr '\n' ' ')
[ -z "$others" ]; ok $? "no other file reads the environment: $others"

missing=
for command in $(sed -n '/^enum bpf_cmd {/,/^}/s/^\tBPF_\([A-Z_]*\),.*/\1/p' /usr/include/linux/bpf.h); do
	grep -q "^\.BR \"[0-9]* $command\"" "$pages/gpubpf-bpf.1" || missing="$missing $command"
done
[ -z "$missing" ]; ok $? "every command of bpf(2) that this machine's headers have is in gpubpf-bpf(1)"; [ -z "$missing" ] || echo "# $missing"

complete() { # WORD...: prints bash's completions of the last word
	bash -c 'GPUBPF=$1; shift; . "$1"; shift; COMP_WORDS=("$GPUBPF" "$@"); COMP_CWORD=$#; _gpubpf; printf "%s\n" "${COMPREPLY[@]}"' \
		x "$GPUBPF" "$root/man/gpubpf.bash" "$@" 2> /dev/null
}
complete pr | grep -qx prog; ok $? "bash completes commands"
complete prog ver | grep -qx verify; ok $? "commands of an object"
complete run -p kern | grep -qx kerneltime; ok $? "ready probes"
complete run --att | grep -qx -e --attach; ok $? "options"
complete prog dump --target sp | grep -qx spirv; ok $? "and their values"
[ "$(complete prog dump -T '' | sort)" = "$("$GPUBPF" help prog dump | sed -n 's/.*--target NAME *//p' | tr -d ' ' | tr ',' '\n' | sort)" ]
ok $? "all of them, as help has them"
[ "$(complete conformance --backend h | tr '\n' ' ')" = "host hip " ]; ok $? "those of the registry"
[ "$(complete prog verify -T cl | tr '\n' ' ')" = "clc clc32 " ]; ok $? "those of the command"
if command -v zsh > /dev/null; then zsh -n "$root/man/_gpubpf"; ok $? "the zsh completion is zsh"
else skip "the zsh completion is zsh" "no zsh"; fi
if command -v man > /dev/null; then
	for f in "$pages"/*.[178]; do man --warnings -l "$f" 2>&1 > /dev/null; done | grep -v 'can.t resolve' > "$T/err"
	[ ! -s "$T/err" ]; ok $? "manual pages are formatted without warnings"
else skip "manual pages are formatted without warnings" "no man"; fi
finish
