/* SPDX-License-Identifier: Apache-2.0 */
/* Memory operations for targets that clang compiles to bitcode, with clang's scoped atomic builtins. */
#ifndef GPUBPF_MAPS_MACHINE_SCOPED_H
#define GPUBPF_MAPS_MACHINE_SCOPED_H

#define GPUBPF_SCOPED_OP(type, name, builtin) \
	GPUBPF_FN type gpubpf_rmw_##name##_##type(u64 a, type v) \
	{ \
		return builtin((GPUBPF_DEVMEM gpubpf_##type##a *)a, v, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE); \
	}

#ifndef GPUBPF_SCOPED_CAS
#define GPUBPF_SCOPED_CAS(type, name, order) \
	GPUBPF_FN type gpubpf_##name##_##type(u64 a, type expected, type v) \
	{ \
		__scoped_atomic_compare_exchange_n((GPUBPF_DEVMEM gpubpf_##type##a *)a, &expected, v, 0, order, \
						   __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE); \
		return expected; \
	}
#endif

#define GPUBPF_SCOPED_OPS(type) \
	GPUBPF_FN type gpubpf_load_##type(u64 a) \
	{ \
		return __scoped_atomic_load_n((GPUBPF_DEVMEM gpubpf_##type##a *)a, __ATOMIC_RELAXED, \
					      __MEMORY_SCOPE_DEVICE); \
	} \
	GPUBPF_FN type gpubpf_load_acquire_##type(u64 a) \
	{ \
		return __scoped_atomic_load_n((GPUBPF_DEVMEM gpubpf_##type##a *)a, __ATOMIC_ACQUIRE, \
					      __MEMORY_SCOPE_DEVICE); \
	} \
	GPUBPF_FN void gpubpf_store_##type(u64 a, type v) \
	{ \
		__scoped_atomic_store_n((GPUBPF_DEVMEM gpubpf_##type##a *)a, v, __ATOMIC_RELAXED, \
					__MEMORY_SCOPE_DEVICE); \
	} \
	GPUBPF_FN void gpubpf_store_release_##type(u64 a, type v) \
	{ \
		__scoped_atomic_store_n((GPUBPF_DEVMEM gpubpf_##type##a *)a, v, __ATOMIC_RELEASE, \
					__MEMORY_SCOPE_DEVICE); \
	} \
	GPUBPF_FN void gpubpf_add_##type(u64 a, type v) \
	{ \
		(void)__scoped_atomic_fetch_add((GPUBPF_DEVMEM gpubpf_##type##a *)a, v, __ATOMIC_RELAXED, \
						__MEMORY_SCOPE_DEVICE); \
	} \
	GPUBPF_FN type gpubpf_fetch_add_relaxed_##type(u64 a, type v) \
	{ \
		return __scoped_atomic_fetch_add((GPUBPF_DEVMEM gpubpf_##type##a *)a, v, __ATOMIC_RELAXED, \
						 __MEMORY_SCOPE_DEVICE); \
	} \
	GPUBPF_SCOPED_OP(type, add, __scoped_atomic_fetch_add) \
	GPUBPF_SCOPED_OP(type, or, __scoped_atomic_fetch_or) \
	GPUBPF_SCOPED_OP(type, and, __scoped_atomic_fetch_and) \
	GPUBPF_SCOPED_OP(type, xor, __scoped_atomic_fetch_xor) \
	GPUBPF_SCOPED_OP(type, xchg, __scoped_atomic_exchange_n) \
	GPUBPF_SCOPED_CAS(type, cas, __ATOMIC_ACQ_REL) \
	GPUBPF_SCOPED_CAS(type, cas_relaxed, __ATOMIC_RELAXED)

GPUBPF_SCOPED_OPS(u32)
GPUBPF_SCOPED_OPS(u64)

GPUBPF_FN void gpubpf_max_u64(u64 a, u64 v)
{
	(void)__scoped_atomic_fetch_max((GPUBPF_DEVMEM gpubpf_u64a *)a, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

#ifndef GPUBPF_SCOPED_FENCE
GPUBPF_FN void gpubpf_fence(void)
{
	__scoped_atomic_thread_fence(__ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE);
}
#endif

#endif
