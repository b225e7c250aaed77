//@ run: good 16 4 buf:64
//@ run: last 16 4 buf:64
//@ unbuildable: taken
//@ unbuildable: sized
// a wrapper that does not compile must not affect other kernels
__kernel void gpubpf_twin_taken(__global int *p) { p[0] = 1; }
__kernel void good(__global int *p) { p[get_global_id(0)] += 1; }
__kernel void taken(__global int *p) { p[0] = 2; }
struct gpubpf_twin { int a; };
__kernel void sized(__global int *p, struct gpubpf_twin gpubpf_twin) { p[0] = gpubpf_twin.a; }
int gpubpf_twin_sized(int a) { return a; }
__kernel void last(__global int *p) { p[get_global_id(0)] += 2; }
