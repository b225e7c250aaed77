/* SPDX-License-Identifier: Apache-2.0 */
/* A line place lies before the first statement that starts on the line. Line numbers count from the "#line" below. */
#define ADD(to, n) to += (n)
#define EACH(k, n) for (uint k = 0; k < (n); k++)
//@ run: begins 64 16 buf:256
// Of 4 neighbour lanes all run lines 3, 5, 6, 9, 11, 19 to 22, 31; three run 8, 25, 27; two 14, 15, 17; one 7, 13,
// 23, 24. Line 10 runs six times. Line 4 has no statement. A statement that continues on a line does not count there.
//@ mem: begins line 1040:0 line.one 64:0
//@ told: begins line lines=15792
static uint weigh(uint v);
#line 1 "some/begin.cl"
kernel void begins(global uint *out)
{
	uint i = get_global_id(0), n = 0;
	local uint kept[16];
	uint k = 3;
	if (i % 4 == 1)
		n = 5;
	else if (i % 4 == 2) n = 6;
	for (uint t = 0; t < i % 4; t++)
		n += t;
	switch (i % 4) {
	case 0:
		n++;
	case 1: n += 2;
		break;
	default:
		break;
	}
	while (k --> 0) ADD(n, 1);
	kept[i % 16] = weigh(n);
	barrier(CLK_LOCAL_MEM_FENCE);
	if (i % 4 == 3) {
		out[i] = kept[i % 16];
		return; }
	EACH(t, 2) { n +=
			kept[(i + t) % 16]; }
	ADD(n, 1); out[i] = n;
}
static uint weigh(uint v)
{
	return v * 3;
}
//@ run: unrolled 64 16 buf:256
//@ refuses: unrolled line a statement with attributes
kernel void unrolled(global uint *out)
{
	uint n = 0;
#pragma unroll
	for (uint t = 0; t < 4; t++)
		n += t;
	out[get_global_id(0)] = n;
}

// statements that end with a vector made from one value
//@ run: wide 64 16 buf:4096
//@ mem: wide line 192:0
kernel void wide(global float4 *out)
{
	uint i = get_global_id(0);

	out[i] = (float4)(i);
	out[i] += (float4) ( 1.0f /* ) */ );
}

// a statement expression of GNU C ({ }); its value is that of its last statement; half of the lanes run line 12
//@ run: valued 64 16 buf:256
//@ mem: valued line 544:0
//@ told: valued line lines=4224
#line 1 "some/valued.cl"
kernel void valued(global uint *out)
{
	uint i = get_global_id(0);
	uint n = ({
		uint t = i;
		t *= 3;
		t + 1, t + 2;
	});

	({
		if (i & 1)
			n++;
	});
	out[i] = ({ n; }) + ({ out[i] = n; });
}
