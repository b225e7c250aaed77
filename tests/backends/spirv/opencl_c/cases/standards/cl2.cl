//@ options: -cl-std=CL2.0
//@ refused: k program-scope
//@ refused: uses program-scope
// a twin would have its own copy of the counter
__global int counter;
__kernel void k(__global int *p) { p[get_global_id(0)] = 1; }
__kernel void uses(__global int *p) { p[0] = counter++; }
