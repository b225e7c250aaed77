/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs programs of sections host/ at the calls of host_calls.def. Copies are recorded in command lists, so they have the
 * time of the call.
 */
#include "level_zero.h"

#define P(...) __VA_ARGS__
#define LZ_HOST(table, member, event, parameters, arguments, ...) \
	ze_result_t lz_##table##member(struct lz_driver *d, parameters) \
	{ \
		return LZ_HOST_CALL(event, table, member, P(arguments), ##__VA_ARGS__); \
	}
#include "host_calls.def"
