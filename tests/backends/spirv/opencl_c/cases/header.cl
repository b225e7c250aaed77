//@ header: header.h
//@ run: from_header 16 4 buf:64
//@ run: uses_header 16 4 buf:64 i32:5
//@ run: twice_int 16 4 buf:64
//@ run: twice_float 16 4 buf:64
#include "header.h"
__kernel void uses_header(__global int *p, int n) { p[get_global_id(0)] = ADD(p[get_global_id(0)], n); }
#define T int
#define TWICE
#include "header.h"
#undef T
#define T float
#include "header.h"
#undef T
