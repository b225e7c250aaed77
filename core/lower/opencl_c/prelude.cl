/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that the clc lowering emits after the device library and before the programs. It has accesses of any width and
 * alignment, copies, and arithmetic that is defined for all operands (RFC 9669 4.1).
 */
#ifdef __clang__ /* programs may assign a register to itself, or compare a register with itself */
#pragma clang diagnostic ignored "-Wself-assign"
#pragma clang diagnostic ignored "-Wtautological-compare"
#endif

typedef u8 gpubpf_w1a1 __attribute__((may_alias));
typedef u16 gpubpf_w2a1 __attribute__((may_alias, aligned(1)));
typedef u16 gpubpf_w2a2 __attribute__((may_alias));
typedef u32 gpubpf_w4a1 __attribute__((may_alias, aligned(1)));
typedef u32 gpubpf_w4a2 __attribute__((may_alias, aligned(2)));
typedef u32 gpubpf_w4a4 __attribute__((may_alias));
typedef u64 gpubpf_w8a1 __attribute__((may_alias, aligned(1)));
typedef u64 gpubpf_w8a2 __attribute__((may_alias, aligned(2)));
typedef u64 gpubpf_w8a4 __attribute__((may_alias, aligned(4)));
typedef u64 gpubpf_w8a8 __attribute__((may_alias));

#define GPUBPF_PRIV(type, index) (*(GPUBPF_PRIVATE type *)(stack + (index)))
#define GPUBPF_GLOB(type, address) (*(GPUBPF_DEVMEM type *)(address))

/*
 * A condition that is never true; PoCL cannot know this. In kernels with barriers, PoCL 3.1 adds implicit barriers to
 * inner loops that it considers uniform over a work-group. It considers the head of a loop uniform even if work-items
 * leave the loop at different times. A kernel with a probe at a loop's head (in its condition, or in the body of a do
 * loop) then fails. A condition that depends on the work-item prevents these barriers.
 */
#ifdef POCL_DEVICE_ADDRESS_BITS
#define GPUBPF_NO_LANE (get_local_id(0) == ~0ul)
#else
#define GPUBPF_NO_LANE 0
#endif

static inline void gpubpf_clc_copy(GPUBPF_PRIVATE uchar *to, GPUBPF_PRIVATE const uchar *from, u64 size)
{
	for (u64 i = 0; i < size; i++)
		to[i] = from[i];
}

static inline void gpubpf_clc_in(GPUBPF_PRIVATE uchar *to, u64 from, u64 size)
{
	for (u64 i = 0; i < size; i++)
		to[i] = GPUBPF_GLOB(uchar, from + i);
}

static inline void gpubpf_clc_out(u64 to, GPUBPF_PRIVATE const uchar *from, u64 size)
{
	for (u64 i = 0; i < size; i++)
		GPUBPF_GLOB(uchar, to + i) = from[i];
}

#define GPUBPF_CLC_ARITHMETIC(bits, u, s) \
	static inline u gpubpf_div##bits(u a, u b) { return b ? a / b : 0; } \
	static inline u gpubpf_mod##bits(u a, u b) { return b ? a % b : a; } \
	static inline u gpubpf_sdiv##bits(u a, u b) { return !b ? 0 : b + 1 == 0 ? 0 - a : (u)((s)a / (s)b); } \
	static inline u gpubpf_smod##bits(u a, u b) { return !b ? a : b + 1 == 0 ? 0 : (u)((s)a % (s)b); }

GPUBPF_CLC_ARITHMETIC(32, u32, s32)
GPUBPF_CLC_ARITHMETIC(64, u64, s64)

static inline u64 gpubpf_bswap16(u16 v)
{
	return (u16)(v << 8 | v >> 8);
}

static inline u64 gpubpf_bswap32(u32 v)
{
	return as_uint(as_uchar4(v).s3210);
}

static inline u64 gpubpf_bswap64(u64 v)
{
	return as_ulong(as_uchar8(v).s76543210);
}
