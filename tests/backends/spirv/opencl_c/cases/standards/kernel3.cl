//@ options: -cl-std=CL3.0
//@ run: old 16 4 buf:64
#if __OPENCL_C_VERSION__ >= 300
__kernel void old(__global int *p) { p[get_global_id(0)] += 30; }
#else
__kernel void old(__global int *p) { p[get_global_id(0)] += 12; }
#endif
