# SPDX-License-Identifier: Apache-2.0
# same() removes from bpftool's output what differs between runs; $R/bpffs is a folder for a BPF file system.
# It removes numbers, data from the fdinfo page of an open file (memory, whether a map is frozen), and for a program the
# tag and lengths of the code that the Linux kernel has made, and the load time.
same() {
	sed -E 's/^[0-9]+: /N: /; s/"(id|btf_id)":[0-9]+/"\1":N/g; s/"map_ids":\[[0-9,]*\]/"map_ids":N/; s/  memlock [0-9]+B//
		s/,?"bytes_memlock":[0-9]+//; s/btf_id [0-9]+/btf_id N/; s/map_ids [0-9,]+/map_ids N/; /^\tfrozen$/d; s/tag [0-9a-f]+//
		s/loaded_at [^ ]+//; s/xlated [0-9]+B  (not jited|jited [0-9]+B)//; s/,"tag":"[0-9a-f]+"//; s/,"loaded_at":[0-9]+//
		s/,"bytes_xlated":[0-9]+,"jited":[a-z]+(,"bytes_jited":[0-9]+)?//; s/"frozen":[01]//'
}
# the folder's name has no dot, since libbpf replaces dots by underscores in the paths of pins
R=$(mktemp -d "${TMPDIR:-/tmp}/gpubpfXXXXXX") || exit 1
trap 'rm -rf "$T" "$R"' EXIT
export XDG_RUNTIME_DIR="$R"
mkdir "$R/bpffs"
