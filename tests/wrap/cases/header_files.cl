//@ options: -I include
//@ refused: asks names in full
//@ refused: calls names in full
//@ run: plain 64 16 buf:256
// a header whose path differs between the twin's and the application's compiler, which __FILE__ shows
#include "file.h"
__kernel void asks(__global int *p) { p[get_global_id(0)] = file_size(); }
int inner(int n) { return file_size() + n; }
__kernel void calls(__global int *p) { p[get_global_id(0)] = inner(3); }
__kernel void plain(__global int *p) { p[get_global_id(0)] += no_file(); }
