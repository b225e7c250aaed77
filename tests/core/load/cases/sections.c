// Every section name for entry and exit of a GPU kernel, including bpftime's and libbpf's names.
// >>> prog 0 a section gpu/entry/_Z3addPf pattern _Z3addPf site entry
// >>> prog 1 b section gpu/exit/blur_* pattern blur_* site exit
// >>> prog 2 c section kprobe/no_such_function_in_linux pattern no_such_function_in_linux site entry
// >>> prog 3 d section kretprobe/no_such_function_in_linux pattern no_such_function_in_linux site exit
// >>> prog 4 cuda__e section kprobe/do_exit pattern do_exit site entry
// >>> prog 5 f section kprobe/__omp_offloading_10303_2a9_main_l5 pattern __omp_offloading_10303_2a9_main_l5 site entry
// !!! note:
#include <gpubpf/probe.h>

SEC("gpu/entry/_Z3addPf") int a(void *ctx) { return 0; }
SEC("gpu/exit/blur_*") int b(void *ctx) { return 0; }
SEC("kprobe/no_such_function_in_linux") int c(void *ctx) { return 0; }
SEC("kretprobe/no_such_function_in_linux") int d(void *ctx) { return 0; }
SEC("kprobe/do_exit") int cuda__e(void *ctx) { return 0; }
SEC("kprobe/__omp_offloading_10303_2a9_main_l5") int f(void *ctx) { return 0; }
SEC("?gpu/entry/*") int not_loaded(void *ctx) { return 0; }
