/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by call.c, args.c and the files of single kinds of calls: a call of a helper whose arguments are being checked. */
#ifndef GPUBPF_VERIFY_CALLS_H
#define GPUBPF_VERIFY_CALLS_H

#include "core/verify/verify.h"

struct call {
	const struct gpubpf_helper *h;
	const struct gpubpf_map *map;
	int map_index;
	struct reg *ref;    /* register with the record that the call releases */
	uint64_t alloc;     /* size in bytes of the record that the call reserves */
	uint64_t out_bytes; /* maximum of the size argument, in bytes */
	uint32_t callback;  /* pc of the callback, or 0 */
	struct reg made;    /* R_STACK: the dynptr that the call makes */
	struct reg data;    /* memory that the dynptr describes; R_UNINIT for a record */
	struct reg dynptr;  /* R_STACK: the dynptr that the call uses */
	bool ends_dynptr;
};

/* args.c */
/* Checks argument i of the call, counted from 0, and records it in *c. */
int check_arg(struct verifier *v, struct call *c, int i);
/* Checks that argument i is a known constant, and stores it in *value. */
int check_const(struct verifier *v, const struct call *c, int i, uint64_t *value);

#endif
