//@ options: -I include -Werror -cl-std=CL1.2 -DNAME="quoted name"
//@ run: stepped 16 4 buf:64 0300000004000000
//@ arg: stepped 1 0x400000003
// an include folder relative to the application's working directory, and -Werror
#include "relative.h"
__kernel void stepped(__global int *p, relative_t r) { p[get_global_id(0)] += STEP * r.x + r.y; }
