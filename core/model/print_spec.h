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
	char flags[24]; /* the text from % up to the conversion: flags, width, precision, in printf(3)'s form */
	unsigned int longs;
	char conv; /* conversion character; 0: unknown conversion */
};

/* Parses one conversion. *fmt points to its %, and afterwards to the character after it. */
struct gpubpf_print_spec gpubpf_print_spec(const char **fmt);

#endif
