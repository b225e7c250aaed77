/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conversions of a format, by the rules of the kernel's bpf_trace_printk(): flags and a width, then %d %i %u %x %X %c %s
 * or %p (%pks and %pus are %s, other %p are addresses), l and ll; and %f %e %g, with a precision too. The verifier refuses
 * the others where it knows the text; the reader, which is given any, prints them as they stand.
 */
#ifndef GPUBPF_CORE_PRINT_SPEC_H
#define GPUBPF_CORE_PRINT_SPEC_H

#define GPUBPF_PRINT_ARGS 3    /* of a format, at most */

struct gpubpf_print_spec {
	char flags[24];        /* %, flags, width, precision: for printf(3) */
	unsigned int longs;
	char conv;             /* 0: none that we know */
};

/* One conversion: % is at *fmt; moves *fmt behind it. */
struct gpubpf_print_spec gpubpf_print_spec(const char **fmt);

#endif
