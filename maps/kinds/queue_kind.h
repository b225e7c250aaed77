/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the host that queues (queue.c) and stacks (stack.c) share. */
#ifndef GPUBPF_MAPS_QUEUE_KIND_H
#define GPUBPF_MAPS_QUEUE_KIND_H

#include "maps/host/host.h"
#include "maps/impl.h"

int gpubpf_queue_check(struct gpubpf_map *map, struct gpubpf_map_fault *fault);
int gpubpf_queue_erase(const struct gpubpf_map_view *view, const void *key);
int gpubpf_queue_next_key(const struct gpubpf_map_view *view, const void *key, void *next);

/* Defines the operations of bpf(2) with the operations of programs, and the kind's struct gpubpf_map_impl. */
#define GPUBPF_QUEUE_KIND(kind) \
	HOST_OP(kind, push, HOST_PTR(arg[0]), arg[1]) \
	HOST_OP(kind, pop, HOST_PTR(arg[0])) \
	HOST_OP(kind, peek, HOST_PTR(arg[0])) \
\
	static int kind##_read(const struct gpubpf_map_view *view, const void *key, void *value) \
	{ \
		struct gpubpf_env env = { .arena = (uintptr_t)view->arena }; \
\
		return (int)gpubpf_##kind##_peek(&env, GPUBPF_LAYOUT_PASS(view->layout), value); \
	} \
\
	static int kind##_write(const struct gpubpf_map_view *view, const void *key, const void *value, uint64_t flags) \
	{ \
		struct gpubpf_env env = { .arena = (uintptr_t)view->arena }; \
\
		return (int)gpubpf_##kind##_push(&env, GPUBPF_LAYOUT_PASS(view->layout), value, flags); \
	} \
\
	static int kind##_take(const struct gpubpf_map_view *view, const void *key, void *value) \
	{ \
		struct gpubpf_env env = { .arena = (uintptr_t)view->arena }; \
\
		return (int)gpubpf_##kind##_pop(&env, GPUBPF_LAYOUT_PASS(view->layout), value); \
	} \
\
	const struct gpubpf_map_impl gpubpf_##kind##_impl = { \
		.name = #kind, \
		.large = true, \
		.check = gpubpf_queue_check, \
		.size = kind##_size, \
		.read = kind##_read, \
		.write = kind##_write, \
		.erase = gpubpf_queue_erase, \
		.take = kind##_take, \
		.next = gpubpf_queue_next_key, \
		.iterate = kind##_iterate, \
		.op[GPUBPF_OP_PUSH] = kind##_push, \
		.op[GPUBPF_OP_POP] = kind##_pop, \
		.op[GPUBPF_OP_PEEK] = kind##_peek, \
	};

#endif
