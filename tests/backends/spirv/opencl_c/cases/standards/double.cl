//@ run: only 16 4 buf:64
// extensions select the code: the reader must use the extensions of the device, not those of clang
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double real;
#else
typedef float real;
#endif
#if defined(cl_khr_fp16) && !defined(cl_khr_fp64)
#error no such device here
#endif
#ifdef cl_khr_egl_image
__kernel void egl(__global int *p) { *p = 1; }
#endif
__kernel void only(__global float *p) { p[get_global_id(0)] = (real)p[get_global_id(0)] / (real)3; }
#pragma OPENCL EXTENSION cl_khr_fp64 : disable
__kernel void behind(__global float *p) { *p = 1; }
