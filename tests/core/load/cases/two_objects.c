// Two objects may use the same names: a program's map reference resolves to the map in the program's own object.
// WITH: two_objects_other
// >>> object 1 sha256
// >>> map 0 counts ARRAY key 4 value 8 max 1 flags 0x0 object 0
// >>> map 1 counts ARRAY key 4 value 4 max 2 flags 0x0 object 1
// >>> prog 0 count section gpu/entry/a pattern a site entry object 0
// >>> = map[0]
// >>> prog 1 count section gpu/entry/b pattern b site entry object 1
// >>> = map[1]
#include <gpubpf/probe.h>

GPUBPF_ARRAY(counts, __u64, 1);
SEC("gpu/entry/a") int count(void *ctx) { gpubpf_add(&counts, 0, 1); return 0; }
