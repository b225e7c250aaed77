/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversions of a format, by the rules of the kernel's bpf_trace_printk(). They have flags and a width, then %d %i %u
 * %x %X %c %s or %p, with l and ll. The two forms %pks and %pus are %s, any other %p is an address. We add %f %e %g,
 * also with a precision. The verifier refuses other conversions if it knows the text. The reader accepts any format,
 * and prints other conversions unchanged.
 */
#ifndef GPUBPF_CORE_PRINT_SPEC_H
#define GPUBPF_CORE_PRINT_SPEC_H

#define GPUBPF_PRINT_ARGS 3    /* maximum arguments of a format */

struct gpubpf_print_spec {
	char flags[24];        /* %, flags, width, precision, in the form of printf(3) */
	unsigned int longs;
	char conv;             /* 0: unknown */
};

/* Parses one conversion. *fmt is at its %, and afterwards past its end. */
struct gpubpf_print_spec gpubpf_print_spec(const char **fmt);

#endif
