//@ run: by_value 64 16 buf:256 0102030405060708090a0b0c 010203 00000000000000400000000000001040 00000000000080bf000080bf00000000
//@ arg: by_value 1 0x807060504030201
//@ arg: by_value 2 0x30201
//@ arg: by_value 3 0x4000000000000000
//@ arg: by_value 4 0xbf80000000000000
//@ bytes: by_value 1 0102030405060708090a0b0c
//@ bytes: by_value 2 010203
//@ run: enums 16 4 buf:64 i32:1 41 ffff
//@ arg: enums 1 0x1
//@ arg: enums 2 0x41
//@ arg: enums 3 0xffff
//@ refused: unnamed unnamed struct
//@ run: pointers 16 4 buf:64 buf:256 buf:64
typedef struct { char bytes[12]; } twelve;
struct three { uchar x, y, z; };
typedef union { double d[2]; ulong u[2]; } either;
enum color { RED, GREEN };
__kernel void by_value(__global float *out, const twelve t, struct three s, either e, float4 v)
{
	out[get_global_id(0)] += t.bytes[3] + s.z + (float)e.d[0] + v.y;
}
__kernel void enums(__global int *out, enum color c, char ch, short sh) { out[get_global_id(0)] += c + ch + sh; }
__kernel void unnamed(__global int *out, struct { int a; } s) { out[0] = s.a; }
__kernel void pointers(__global struct { float v; } *out, __global const float (*rows)[4], __constant struct three *c)
{
	size_t i = get_global_id(0);

	out[i].v += rows[i][2] + c[i].x;
}
