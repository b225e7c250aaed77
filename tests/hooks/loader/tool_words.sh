# SPDX-License-Identifier: Apache-2.0
# t WORDS...: prints and runs a bpftool command; $pins is the folder of pinned maps. $only is a map name that no other
# map of the machine has.
only=only$$
t() { echo "> $*" | plain; case " $* " in *" name $only "*) found "$@";; *) timeout 20 bpftool "$@" 2>&1;; esac | plain; }
# found WORDS...: a bpftool command that looks up a name. bpftool walks through all maps of the machine, and fails
# say WORDS...: prints an act of the script; b TEXT LAUNCHES: runs the bpftrace one-liner TEXT with LAUNCHES launches of
# the application
found() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		by_name=$(timeout 20 bpftool "$@" 2>&1)
		case $by_name in *"can't get map by id ("*"): No such file or directory"*) ;; *) break;; esac
	done
	[ -z "$by_name" ] || printf '%s\n' "$by_name"
}
plain() { sed "s|$pins|PINS|g; s|$only|ONLY|g"; }
# say WORDS...: prints an act; b TEXT LAUNCHES: bpftrace, with the application
say() { echo "> $*"; }
b() { echo "> bpftrace $1"; timeout 280 bpftrace -e "$1" -c "$app $2 0" 2>&1; echo "status $?"; }
# counted: divides numbers by 1024, since a launch has 1024 threads but the Linux kernel counts one call; hides the
# bytes of a value
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
# in_order: like counted, with sorted lines, for dumps of maps
in_order() { counted | sort; }
