# SPDX-License-Identifier: Apache-2.0
# same() removes the differing parts of bpftool's output; $R/bpffs is a folder for a BPF file system.
# Removed: numbers; data from an open file's page in /proc (memory, whether a map is frozen); the tag
# and lengths of the code that the Linux kernel has made of a program, and the time.
same() {
	sed -E 's/^[0-9]+: /N: /; s/"(id|btf_id)":[0-9]+/"\1":N/g; s/"map_ids":\[[0-9,]*\]/"map_ids":N/; s/  memlock [0-9]+B//
		s/,?"bytes_memlock":[0-9]+//; s/btf_id [0-9]+/btf_id N/; s/map_ids [0-9,]+/map_ids N/; /^\tfrozen$/d; s/tag [0-9a-f]+//
		s/loaded_at [^ ]+//; s/xlated [0-9]+B  (not jited|jited [0-9]+B)//; s/,"tag":"[0-9a-f]+"//; s/,"loaded_at":[0-9]+//
		s/,"bytes_xlated":[0-9]+,"jited":[a-z]+(,"bytes_jited":[0-9]+)?//; s/"frozen":[01]//'
}
# libbpf replaces dots by underscores in the folder where it pins maps
R=$(mktemp -d "${TMPDIR:-/tmp}/gpubpfXXXXXX") || exit 1
trap 'rm -rf "$T" "$R"' EXIT
export XDG_RUNTIME_DIR="$R"
mkdir "$R/bpffs"
