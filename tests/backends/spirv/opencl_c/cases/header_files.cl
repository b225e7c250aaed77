//@ options: -I include
//@ refused: asks __FILE__ in a header found by a relative path
//@ refused: calls __FILE__ in a header found by a relative path
//@ run: plain 64 16 buf:256
// __FILE__ in a header, whose path differs for the twin's compiler
#include "file.h"
__kernel void asks(__global int *p) { p[get_global_id(0)] = file_size(); }
int inner(int n) { return file_size() + n; }
__kernel void calls(__global int *p) { p[get_global_id(0)] = inner(3); }
__kernel void plain(__global int *p) { p[get_global_id(0)] += no_file(); }
