/* SPDX-License-Identifier: Apache-2.0 */
// arguments and results of all sizes, passed by value
// launch 64 1 1 64 1 1
//> import struct
//> def bits(v): return struct.unpack('<I', struct.pack('<f', v))[0]
//> def wide(v): return struct.unpack('<Q', struct.pack('<d', v))[0]
//> def k(i):
//>     told('byte', [i & 255, 0x8000 | i], i + 1 & 255)
//>     told('fraction', [bits(i), bits(1.5)], bits(i + 1.5))
//>     told('double_of', [wide(i), i], wide(2.0 * i))
//>     told('long_of', [i << 32 | 5, i & 1], (i << 32 | 5) + (i & 1))
//>     told('nothing', [None, i], 0)
//>     mem('S', 4), mem('S', 4), mem('S', 4), mem('S', 8), mem('S', 8), mem('S', 4)
NOINLINE uchar byte(uchar x, ushort y)
{
	__asm__ volatile("" : : "v"((uint)y));
	return x + 1;
}

NOINLINE float fraction(float x, float y)
{
	return x + y;
}

NOINLINE double double_of(double x, int n)
{
	__asm__ volatile("" : : "v"(n));
	return x + x;
}

NOINLINE long long_of(long x, bool more)
{
	return x + more;
}

NOINLINE void nothing(global uint *p, uint x)
{
	*p = x;
}

kernel void k(global uint *out, global const uint *in, uint n)
{
	uint i = ID;

	nothing(out + i, i);
	out[64 + i] = byte(i, 0x8000 | i);
	out[128 + i] = as_uint(fraction(i, 1.5f)) ;
	((global double *)out)[128 + i] = double_of(i, i);
	((global long *)out)[256 + i] = long_of((long)i << 32 | 5, i & 1);
	out[1024 + i] = n;
}
