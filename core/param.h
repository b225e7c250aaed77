/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of kernels by their names: what helper named_arg reads, looked up when a kernel's twin is made. */
#ifndef GPUBPF_CORE_PARAM_H
#define GPUBPF_CORE_PARAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpubpf_access;
struct gpubpf_param;
struct gpubpf_prog;
struct gpubpf_unit;

/* as the device library takes it: an element of env->arg; bits that it has, negative if the last is a sign */
struct gpubpf_param_read {
	uint32_t index;
	int64_t bits;
};

/* Is it an integer with a sign, as the source declares it? One whose type is not known is a number of bits. */
bool gpubpf_param_is_signed(const struct gpubpf_param *param);
/* 0; -ENOENT and why it is not there, or no number. */
int gpubpf_param_find(const struct gpubpf_param *params, uint32_t n, const char *name, struct gpubpf_param_read *read, char *why,
		      size_t size);
/* The name that a call's argument is (GPUBPF_ARG_NAME). NULL: it is one of several. */
const char *gpubpf_param_name(const struct gpubpf_unit *unit, const struct gpubpf_access *argument);
/* Can every name that the program asks for be read? 0; -ENOENT and why not. */
int gpubpf_params_fit(const struct gpubpf_unit *unit, const struct gpubpf_prog *prog, const struct gpubpf_param *params,
		      uint32_t n, char *why, size_t size);

#endif
