//@ run: k 16 4 buf:64 000000400000404000008040cdcc8c3f i32:7
//@ bytes: k 1 000000400000404000008040cdcc8c3f
//@ arg: k 1 0x4040000040000000
// macros hide names that the twin uses
struct pair { float a, b, c, d; };
typedef struct pair pair_t;
#define arena 1
#define uchar ushort
#define kernel_id nonsense
#define gpubpf_site_0 nonsense
#define k_body p[get_global_id(0)] += v.a * v.b - v.c + v.d * n
#define pair wrong_name
__kernel void k(__global float *p, pair_t v, const uint n) { k_body; }
#define pair_t int
#define k renamed
#define float int
