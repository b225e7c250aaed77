// bpftime's sections may prefix a kernel's name with cuda__; the underscore of a mangled name is part of the prefix.
// >>> prog 0 on_entry section kprobe/cuda__vadd pattern vadd site entry
// >>> prog 1 on_exit section kretprobe/cuda__Z3addPf pattern _Z3addPf site exit
// >>> prog 2 nested section kprobe/cuda__ZN1a3addEv pattern _ZN1a3addEv site entry
// >>> prog 3 kernels section kprobe/cuda__vfs_read pattern vfs_read site entry
#include <gpubpf/probe.h>

SEC("kprobe/cuda__vadd") int on_entry(void *ctx) { return 0; }
SEC("kretprobe/cuda__Z3addPf") int on_exit(void *ctx) { return 0; }
SEC("kprobe/cuda__ZN1a3addEv") int nested(void *ctx) { return 0; }
SEC("kprobe/cuda__vfs_read") int kernels(void *ctx) { return 0; }
