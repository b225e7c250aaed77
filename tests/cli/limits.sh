#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# limits.sh GPUBPF OBJECTS LOOP: applications under small resource limits. The application ends as it does without
# gpubpf, or gpubpf refuses to start it and reports why.
. "$(dirname "$0")/lib.sh"
p=$OBJ/probe.bpf.o
OCL_ICD_VENDORS=$(ls /etc/OpenCL/vendors/pocl*.icd 2> /dev/null | head -1); export OCL_ICD_VENDORS
have_device; opencl=$?

# blames_size LIMIT FILE: checks that FILE does not blame memory if LIMIT is the limit on file sizes
blames_size() {
	case $1 in --fsize=*) ! grep -q 'allocate memory\|[Oo]ut of memory\|[Nn]o memory' "$2"; ok $? "$1: memory is not blamed";; esac
}
# bounded LIMIT: checks that an application runs under this option of prlimit, or that the tool reports why not
bounded() {
	run prlimit "$1" "$GPUBPF" run -o "$p" -q -- sh -c 'exit 7'
	if [ "$rc" = 125 ]; then says "ulimit\|limit\|memory" "$1: refused, with the reason: $(head -1 "$T/err")"
	else is 7 "$1: the program's status"; fi
	blames_size "$1" "$T/err"
	[ "$opencl" = 0 ] || return
	timeout 60 prlimit "$1" "$LOOP" 2 0 > "$T/native" 2> /dev/null; native=$?
	[ "$native" = 42 ] || { skip "$1: kernels" "the program itself ends with $native"; return; }
	run prlimit "$1" "$GPUBPF" run -o "$p" -j --report "$T/r" -- "$LOOP" 2 0
	[ "$rc" = 125 ] && return
	blames_size "$1: kernels" "$T/r"
	is 42 "$1: a program with kernels"; cmp -s "$T/native" "$T/out"; ok $? "$1: its output is its own"
	grep -q '"probed": 2' "$T/r" || grep -q '"reason": "..*"' "$T/r"; ok $? "$1: probed, or the reason: $(grep '"reason"' "$T/r")"
}
while read -r limit; do
	bounded "--$limit"
done << EOF
nofile=9:9
nofile=12:12
nofile=24:24
fsize=0:unlimited
fsize=4096:4096
fsize=1000000:1000000
fsize=30000000:unlimited
as=60000000:60000000
as=400000000:400000000
memlock=0:0
stack=65536:65536
stack=32768:32768
stack=65536:unlimited
core=0:0
EOF
{ timeout 60 prlimit --fsize=0:0 "$GPUBPF" run -o "$p" -q -- true 2>&1; echo "status $?"; } | cat > "$T/err"; says 'status 125' "no byte of a file"; says 'File too large' "is told so"; says 'ulimit -f' "with what to do"
{ timeout 60 prlimit --fsize=0:0 "$GPUBPF" run -e 'gpu/entry/* { @ = count(); }' -q -- true 2>&1; echo "status $?"; } | cat > "$T/err"; says 'status 125' "no byte of a file: a one-liner"; says 'File too large.*ulimit -f' "is told so"; blames_size --fsize=0:0 "$T/err"
run prlimit --fsize=4096:unlimited "$GPUBPF" run -o "$p" -q -- sh -c 'ulimit -Sf; ulimit -Ss'; prints '^8$' "the program has the limit that the user set"
if [ "$(id -u)" = 0 ] && setpriv --reuid=12345 --clear-groups test -x "$(realpath "$GPUBPF")" 2> /dev/null; then
	mkdir "$T/user"; chmod 711 "$T"; mkdir -p "$T/user/run" "$T/user/cache"; chown -R 12345 "$T/user"; chmod -R 700 "$T/user"
	cp "$p" "$T/p.o"; chmod 644 "$T/p.o"
	for most in 1 2 8; do
		run env XDG_RUNTIME_DIR="$T/user/run" XDG_CACHE_HOME="$T/user/cache" setpriv --reuid=12345 --clear-groups \
			prlimit --nproc=$most:$most "$GPUBPF" run -o "$T/p.o" -q -- true
		[ "$rc" = 0 ] || { [ "$rc" -gt 124 ] && grep -q 'Resource temporarily unavailable; .*ulimit -u' "$T/err"; }
		ok $? "$most processes of a user: $rc $(head -1 "$T/err")"
	done
else
	skip "processes of a user" "not root, or the tree is root's alone"
fi
finish
