# SPDX-License-Identifier: Apache-2.0
# t WORDS...: prints and runs a bpftool command; $pins is the folder of pinned maps. $only is a map name that is unique on the machine
only=only$$
t() { echo "> $*" | plain; timeout 20 bpftool "$@" 2>&1 | plain; }
plain() { sed "s|$pins|PINS|g; s|$only|ONLY|g"; }
# say WORDS...: prints an act; b TEXT LAUNCHES: bpftrace, with the application
say() { echo "> $*"; }
b() { echo "> bpftrace $1"; timeout 280 bpftrace -e "$1" -c "$app $2 0" 2>&1; echo "status $?"; }
# A launch has 1024 threads, but counts as one call: divides numbers by 1024. A value's bytes are next to its number.
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
# in_order: sorts the lines of a map for comparison
in_order() { counted | sort; }
