/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the conversions of a format by the rules of the Linux kernel's bpf_trace_printk(). A conversion has flags and
 * a width, then %d %i %u %x %X %c %s or %p, with l and ll. The forms %pks and %pus mean %s; any other form of %p prints
 * an address. In addition, gpubpf allows %f %e %g, also with a precision. The verifier refuses other conversions if it
 * knows the format. The code that prints on the host accepts any format, and prints other conversions unchanged.
 */
#ifndef GPUBPF_CORE_PRINT_SPEC_H
#define GPUBPF_CORE_PRINT_SPEC_H

#define GPUBPF_PRINT_ARGS 3    /* maximum number of arguments of helper 6 */
#define GPUBPF_PRINT_MANY 12   /* maximum number of arguments of helpers 165 and 177 */

struct gpubpf_print_spec {
	char flags[24]; /* text from % up to the conversion: flags, width and precision, as for printf(3) */
	unsigned int longs;
	char conv; /* conversion character; 0 if the conversion is unknown */
};

/* Parses one conversion. *fmt points to its %, and after the call to the first character after the conversion. */
struct gpubpf_print_spec gpubpf_print_spec(const char **fmt);

#endif
