# SPDX-License-Identifier: Apache-2.0
# t WORDS...: bpftool, said and run; $pins is where maps are pinned. $only is a name of a map that nobody else on the machine has given one
only=only$$
t() { echo "> $*" | plain; timeout 20 bpftool "$@" 2>&1 | plain; }
plain() { sed "s|$pins|PINS|g; s|$only|ONLY|g"; }
# say WORDS...: what is done; b TEXT LAUNCHES: bpftrace, with the application
say() { echo "> $*"; }
b() { echo "> bpftrace $1"; timeout 280 bpftrace -e "$1" -c "$app $2 0" 2>&1; echo "status $?"; }
# A launch has 1024 threads, and is one call: of all numbers the thousands are launches. A value's bytes stand beside its number.
counted() {
	sed -E "s|${T:-/nowhere}/||g; s/^Attaching.*//; s/(perf_event +prog) [0-9]+/\1 N/; s/\"value\":\[\"0x[^]]*\]/\"value\":N/g; s/ +/ /g; /^$/d" | awk '{
		line = ""; rest = $0
		while (match(rest, /[0-9]+/)) {
			n = substr(rest, RSTART, RLENGTH); before = substr(rest, RSTART - 1, 1)
			if (n >= 1024 && length(n) < 12 && before !~ /[A-Za-z_x.]/) n = int(n / 1024) + n % 1024
			line = line substr(rest, 1, RSTART - 1) n; rest = substr(rest, RSTART + RLENGTH)
		}
		print line rest
	}'
}
# in_order: lines of a map, as they are compared
in_order() { counted | sort; }
