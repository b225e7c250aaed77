/* SPDX-License-Identifier: Apache-2.0 */
/* Function names next to a line continuation, names that macros produce, and code after them that cannot be copied. */
//@ run: before 64 16 buf:256 i32:3
//@ mem: before mem 128:512
//@ run: behind 64 16 buf:256 i32:3
//@ mem: behind mem 128:512
//@ run: joined 64 16 buf:256 i32:3
//@ mem: joined mem 128:512
//@ run: called 64 16 buf:256 i32:3
//@ mem: called mem 256:1024
//@ run: split 64 16 buf:256 i32:3
//@ mem: split mem 128:512
//@ run: pasted_by_macro 64 16 buf:256 i32:3
//@ mem: pasted_by_macro mem 128:512
//@ run: whole_by_macro 64 16 buf:256 i32:3
//@ mem: whole_by_macro mem 128:512
//@ run: renamed_here 64 16 buf:256 i32:3
//@ mem: renamed_here mem 128:512
//@ run: calls_made 64 16 buf:256 i32:3
//@ refuses: calls_made mem of of_made, which contains probed places, cannot be renamed
//@ run: calls_by_name 64 16 buf:256 i32:3
//@ mem: calls_by_name mem 192:768
//@ run: body_by_macro 64 16 buf:256 i32:3
//@ refuses: body_by_macro mem code that a macro or a header produces
//@ run: counts 64 16 buf:256 i32:3
//@ refuses: counts mem code with __COUNTER__
//@ run: calls_counter 64 16 buf:256 i32:3
//@ refuses: calls_counter mem code with __COUNTER__, whose values change if the code is compiled twice (line 116)

kernel void \
before(global int *o, int n)
{
	o[get_global_id(0)] *= n;
}

kernel void behind \
(global int *o, int n) \
{
	o[get_global_id(0)] *= n;
}

kernel void joined\
(global int *o,\
 int n)\
{
	o[get_global_id(0)] *= \
n;
}

int at\
(global int *o, \
int i) \
{ return o[i]; }

kernel void called(global int *o, int n)
{
	o[get_global_id(0)] *= at \
(o, get_global_id(0)) + at\
(o, get_global_id(0)) * n;
}

kernel void spl\
it(global int *o, int n)
{
	o[get_global_id(0)] *= n;
}

#define PASTED(x) x##_by_macro
#define JOIN(a, b) a##b
#define JOINED(a, b) JOIN(a, b)
#define KERNEL kernel void
#define PARAMETERS (global int *o, int n)
#define renamed renamed_here

kernel void PASTED(pasted)(global int *o, int n)
{
	o[get_global_id(0)] *= n;
}

KERNEL JOINED(whole, _by_macro) PARAMETERS
{
	o[get_global_id(0)] *= n;
}

kernel void renamed(global int *o, int n)
{
	o[get_global_id(0)] *= n;
}

int JOINED(of_, made)(global int *o, int i)
{
	return o[i];
}

kernel void calls_made(global int *o, int n)
{
	o[get_global_id(0)] *= JOINED(of_, made)(o, get_global_id(0)) * n;
}

kernel void calls_by_name(global int *o, int n)
{
	o[get_global_id(0)] *= of_made(o, get_global_id(0)) * n;
}

#define BODY { o[get_global_id(0)] *= n; }
kernel void body_by_macro(global int *o, int n) BODY

#define NEXT __COUNTER__
kernel void counts(global int *o, int n)
{
	o[get_global_id(0)] *= n + NEXT;
}

int counter(global int *o)
{
	return o[0] * 0 + NEXT;
}

kernel void calls_counter(global int *o, int n)
{
	o[get_global_id(0) + 0] = counter(o) + n;
}
