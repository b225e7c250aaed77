/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of kernels by their names, for helper named_arg. Names are looked up when a kernel's twin is made. */
#ifndef GPUBPF_CORE_PARAM_H
#define GPUBPF_CORE_PARAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpubpf_access;
struct gpubpf_param;
struct gpubpf_prog;
struct gpubpf_unit;

/*
 * A parameter's value as passed to the device library: the index of an element of env->arg, and its number of bits,
 * negative if the type is signed.
 */
struct gpubpf_param_read {
	uint32_t index;
	int64_t bits;
};

/* Does the source declare it as a signed integer? A parameter of unknown type counts as unsigned. */
bool gpubpf_param_is_signed(const struct gpubpf_param *param);
/*
 * Finds a parameter by name. 0, or -ENOENT and a reason: there is none, it is not a number, or the context has no room
 * for it.
 */
int gpubpf_param_find(const struct gpubpf_param *params, uint32_t n, const char *name, struct gpubpf_param_read *read,
		      char *why, size_t size);
/*
 * Returns the parameter name that a call passes as an argument of kind GPUBPF_ARG_NAME. NULL: it is not one constant
 * string.
 */
const char *gpubpf_param_name(const struct gpubpf_unit *unit, const struct gpubpf_access *argument);
/* Can the kernel supply every parameter that the program names? 0, or -ENOENT and a reason. */
int gpubpf_params_fit(const struct gpubpf_unit *unit, const struct gpubpf_prog *prog, const struct gpubpf_param *params,
		      uint32_t n, char *why, size_t size);

#endif
