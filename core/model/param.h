/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks up parameters of GPU kernels by name, for helper named_arg. The look-up happens when a kernel's twin is made.
 */
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
 * How the device library reads a parameter: the index of an element of env->arg, and the parameter's number of bits.
 * The number is negative if the type is signed.
 */
struct gpubpf_param_read {
	uint32_t index;
	int64_t bits;
};

/*
 * Returns true if the source declares the parameter as a signed integer. A parameter of unknown type counts as
 * unsigned.
 */
bool gpubpf_param_is_signed(const struct gpubpf_param *param);
/*
 * Finds a parameter by name. Returns 0, or -ENOENT and a reason. The reason is that no parameter has this name, that it
 * is not a number, or that the context does not contain it.
 */
int gpubpf_param_find(const struct gpubpf_param *params, uint32_t n, const char *name, struct gpubpf_param_read *read,
		      char *why, size_t size);
/*
 * Returns the parameter name that a call passes as an argument of kind GPUBPF_ARG_NAME, or NULL if it is not one
 * constant string.
 */
const char *gpubpf_param_name(const struct gpubpf_unit *unit, const struct gpubpf_access *argument);
/* Checks that the kernel has every parameter that the program names. Returns 0, or -ENOENT and a reason. */
int gpubpf_params_fit(const struct gpubpf_unit *unit, const struct gpubpf_prog *prog, const struct gpubpf_param *params,
		      uint32_t n, char *why, size_t size);

#endif
