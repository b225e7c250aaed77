# SPDX-License-Identifier: Apache-2.0
# What is the same of bpftool's output, same(); and $R/bpffs, where a BPF file system may be.
# Not compared: numbers; what an open file's page in /proc tells (memory, whether a map is frozen); the tag and the lengths of what
# the Linux kernel has made of a program, and when.
same() {
	sed -E 's/^[0-9]+: /N: /; s/"(id|btf_id)":[0-9]+/"\1":N/g; s/"map_ids":\[[0-9,]*\]/"map_ids":N/; s/  memlock [0-9]+B//
		s/,?"bytes_memlock":[0-9]+//; s/btf_id [0-9]+/btf_id N/; s/map_ids [0-9,]+/map_ids N/; /^\tfrozen$/d; s/tag [0-9a-f]+//
		s/loaded_at [^ ]+//; s/xlated [0-9]+B  (not jited|jited [0-9]+B)//; s/,"tag":"[0-9a-f]+"//; s/,"loaded_at":[0-9]+//
		s/,"bytes_xlated":[0-9]+,"jited":[a-z]+(,"bytes_jited":[0-9]+)?//; s/"frozen":[01]//'
}
# libbpf makes an underscore of each dot in a folder where it pins maps
R=$(mktemp -d "${TMPDIR:-/tmp}/gpubpfXXXXXX") || exit 1
trap 'rm -rf "$T" "$R"' EXIT
export XDG_RUNTIME_DIR="$R"
mkdir "$R/bpffs"
