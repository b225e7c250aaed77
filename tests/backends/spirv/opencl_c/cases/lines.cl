//@ run: first 16 4 buf:64
//@ run: second 16 4 buf:64
//@ run: third 16 4 buf:64
//@ places: first entry:6 exit:6
//@ places: third entry:500 exit:501
__kernel void first(__global int *p) { p[get_global_id(0)] = __LINE__; }
__kernel void second(__global int *p) { p[get_global_id(0)] = __LINE__; } // same line
#line 500 "other.cl"
__kernel void third(__global int *p) {
	p[get_global_id(0)] = __LINE__; } /* a comment
	that goes on */ __constant int after = __LINE__;
__kernel void unused(__global int *p) { *p = after; }
