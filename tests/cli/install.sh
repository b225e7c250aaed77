#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh GPUBPF OBJECTS LOOP SOURCE-ROOT BUILD-ROOT: the files that `meson install` puts into a destination work
# there, and a program of a libgpubpf user builds against them.
. "$(dirname "$0")/lib.sh"
root=$4 build=$5
run env DESTDIR="$T/dest" meson install -C "$build" --no-rebuild; is 0 "meson install"
tool=$(find "$T/dest" -type f -path '*/bin/gpubpf')
lib=$(dirname "$(find "$T/dest" -name libgpubpf.so)")
prefix=${tool%/bin/gpubpf}
run "$tool" --version; is 0 "the installed tool"
run "$tool" prog verify "$OBJ/probe.bpf.o"; is 0 "verifies"
run "$tool" prog dump --target clc "$OBJ/probe.bpf.o"; is 0 "finds its workers"
run "$tool" conformance --backend host; is 0 "and brings the conformance suite"; prints '^ *isa *host' "with its cases"
run "$tool" run -q -o "$OBJ/probe.bpf.o" -- sh -c 'echo $LD_PRELOAD'; is 0 "runs"
case $(cat "$T/out") in "$prefix"/*libgpubpf-agent.so) ok 0 "with the installed agent";; *) ok 1 "with the installed agent";; esac
if cc -static "$root/tests/hooks/loader/users/hop.c" -o "$T/hop" 2> "$T/err"; then
	run "$tool" bpf -- "$T/hop" map; prints '^made$' "a static loader has the installed supervisor"
	run "$tool" bpf -- sh -c "'$T/hop' map"; prints '^made$' "and one that a program with the installed library runs"
else skip "the installed supervisor" "no static libc"; fi
run "$tool" probes -j; is 0 "ready probes"; prints "$prefix/share/gpubpf/probes/kerneltime.bpf.o" "the installed ones"
for f in share/man/man1/gpubpf.1 share/man/man8/gpubpf-map.8 share/bash-completion/completions/gpubpf share/gpubpf/report.schema.json include/gpubpf/probe.h; do
	[ -e "$prefix/$f" ]; ok $? "$f"
done
[ "$(stat -c %s "$(find "$prefix" -name gpubpf-compile)")" -lt 75000000 ]; ok $? "the compile worker has no more of LLVM than it needs"
for f in LICENSE README.md docs/reference/verifier.md examples/threadhist/threadhist.bpf.c examples/probes/kerneltime.bpf.c examples/consumer/consumer.c examples/opencl.h; do
	[ -s "$prefix/share/doc/gpubpf/$f" ]; ok $? "share/doc/gpubpf/$f"
done
cp -r "$prefix/share/doc/gpubpf/examples" "$T/examples"
run make -C "$T/examples" GPUBPF="$tool" mem_trace divergence; is 0 "examples are built where the tool is installed"
run "$T/build/gpubpf" run -q -o "$T/build/examples/divergence/divergence.bpf.o" -- true; is 0 "and their commands hold"
for f in gpubpf examples/mem_trace/workload examples/mem_trace/workload.cl examples/mem_trace/workload.spv examples/mem_trace/mem_trace.bpf.o; do
	[ -s "$T/build/$f" ]; ok $? "build/$f"
done
[ -z "$(find "$prefix/share/doc" -name meson.build)" ]; ok $? "without what only our build needs"
agent=$(PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --define-variable=libdir="$lib" --variable=agent libgpubpf)
[ -s "$agent" ]; ok $? "libgpubpf.pc knows the agent: $agent"
flags=$(PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$T/dest pkg-config --cflags --libs libgpubpf)
cp "$root/tests/core/session/api.c" "$T/api.c"
# shellcheck disable=SC2086
run cc -std=gnu11 -D_GNU_SOURCE -I "$root" "$T/api.c" -o "$T/api" $flags; is 0 "a user's program builds: $flags"
o=$OBJ/../core/session
run env LD_LIBRARY_PATH="$lib" "$T/api" "$o/session.bpf.o" "$o/sums.bpf.o" "$o/large.bpf.o" "$o/crowd.bpf.o"; is 0 "and runs"
cp -r "$prefix/share/doc/gpubpf/examples/consumer" "$T/consumer"
# shellcheck disable=SC2086
run cc -Wall -Werror "$T/consumer/consumer.c" -o "$T/consumer/consumer" $flags; is 0 "so does an installed example"
run env LD_LIBRARY_PATH="$lib" "$T/consumer/consumer" "$OBJ/probe.bpf.o" sh -c 'echo run; exit 3'; is 3 "which runs a program"; prints '^run$' "as it is"
finish
