/* SPDX-License-Identifier: Apache-2.0 */
/* Macros for loops in programs. <gpubpf/probe.h> includes this header. */
#ifndef GPUBPF_LOOPS_H
#define GPUBPF_LOOPS_H

/*
 * Macros of newer versions of libbpf: bpf_for(), bpf_for_each() and bpf_repeat(), and can_loop and cond_break. A call of a function executes can_loop and cond_break up to 8192 times.
 */
#ifndef bpf_for
struct bpf_iter_num;
extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __weak __ksym;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) __weak __ksym;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) __weak __ksym;

static __always_inline void gpubpf_iter_end(__u64 *it)
{
	bpf_iter_num_destroy((struct bpf_iter_num *)it);
}

#define bpf_for(i, start, end) for ( \
	__u64 ___it __attribute__((aligned(8), cleanup(gpubpf_iter_end))) = 0, \
	      ___begun __attribute__((unused)) = (bpf_iter_num_new((struct bpf_iter_num *)&___it, (start), (end)), 0); \
	({ \
		int *___t = bpf_iter_num_next((struct bpf_iter_num *)&___it); \
		(___t && ((i) = *___t, (i) >= (start) && (i) < (end))); \
	});)
#define bpf_repeat(N) for ( \
	__u64 ___it __attribute__((aligned(8), cleanup(gpubpf_iter_end))) = 0, \
	      ___begun __attribute__((unused)) = (bpf_iter_num_new((struct bpf_iter_num *)&___it, 0, (N)), 0); \
	bpf_iter_num_next((struct bpf_iter_num *)&___it);)
#endif

/* bpf_for_each(num, p, 0, n): p points to each number. GPUs have no other iterators than num. */
#ifndef bpf_for_each
#define bpf_for_each(type, cur, args...) for ( \
	__u64 ___it __attribute__((aligned(8), cleanup(gpubpf_iter_end))) = 0, \
	      ___begun __attribute__((unused)) = (bpf_iter_##type##_new((struct bpf_iter_##type *)&___it, ##args), 0); \
	(((cur) = bpf_iter_##type##_next((struct bpf_iter_##type *)&___it)));)
#endif

#ifndef can_loop
#define can_loop ({ \
	__label__ l_break, l_continue; \
	_Bool ___ret = 1; \
	asm volatile goto("may_goto %l[l_break]" :::: l_break); \
	goto l_continue; \
l_break: \
	___ret = 0; \
l_continue:; \
	___ret; \
})
#endif
#ifndef cond_break
#define cond_break ({ \
	__label__ l_break, l_continue; \
	asm volatile goto("may_goto %l[l_break]" :::: l_break); \
	goto l_continue; \
l_break: \
	break; \
l_continue:; \
})
#endif

#endif
