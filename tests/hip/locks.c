/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For programs on a simulated GPU, by LD_PRELOAD: the simulator takes a lock of many readers at each access of memory that it
 * simulates, and glibc's, two atomic operations each time, were a third of all its time. Here a reader writes what it
 * reads into a row of its own, and a writer, which is rare, asks the kernel to make all threads' writes seen (membarrier(2))
 * and looks through the rows.
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 512
#define NESTED 16
#define NAP_US 50
#define DRAIN_US 1000 /* a store is seen by then, but nothing promises it */
#define EXPORT __attribute__((visibility("default")))

struct row {
	_Atomic(void *) reads[NESTED];
	_Atomic bool taken;
} __attribute__((aligned(64)));

/* What lies in a pthread_rwlock_t, which begins as zeros. */
struct lock {
	_Atomic int writer; /* its thread's number, 0: none */
};

static struct row rows[THREADS];
static pthread_key_t ends;
static __thread struct row *own __attribute__((tls_model("initial-exec")));
static __thread unsigned depth __attribute__((tls_model("initial-exec")));

_Static_assert(sizeof(struct lock) <= sizeof(pthread_rwlock_t), "it fits");

static void leave(void *row)
{
	own = NULL;
	atomic_store(&((struct row *)row)->taken, false);
}

__attribute__((constructor)) static void begin(void)
{
	if (pthread_key_create(&ends, leave))
		abort();
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

static struct row *enter(void)
{
	for (unsigned i = 0; i < THREADS; i++)
		if (!atomic_exchange(&rows[i].taken, true)) {
			own = &rows[i];
			pthread_setspecific(ends, own);
			return own;
		}
	abort();
}

static bool is_read(const struct lock *lock)
{
	for (unsigned i = 0; i < THREADS; i++)
		for (unsigned k = 0; k < NESTED; k++)
			if (atomic_load_explicit(&rows[i].reads[k], memory_order_acquire) == lock)
				return true;
	return false;
}

static bool read_once(struct lock *lock)
{
	struct row *row = own ? own : enter();

	if (depth == NESTED)
		abort();
	atomic_store_explicit(&row->reads[depth], lock, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst); /* a writer's membarrier is the other half */
	if (!atomic_load_explicit(&lock->writer, memory_order_acquire)) {
		depth++;
		return true;
	}
	atomic_store_explicit(&row->reads[depth], NULL, memory_order_release);
	return false;
}

static bool write_once(struct lock *lock)
{
	int none = 0;

	if (!atomic_compare_exchange_strong(&lock->writer, &none, gettid()))
		return false;
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
		usleep(DRAIN_US); /* refused, as in a worker's sandbox */
	return true;
}

EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
	while (!read_once((struct lock *)l))
		usleep(NAP_US);
	return 0;
}

EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t *l)
{
	return read_once((struct lock *)l) ? 0 : EBUSY;
}

EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
	struct lock *lock = (struct lock *)l;

	while (!write_once(lock))
		usleep(NAP_US);
	while (is_read(lock))
		usleep(NAP_US);
	return 0;
}

EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t *l)
{
	struct lock *lock = (struct lock *)l;

	if (!write_once(lock))
		return EBUSY;
	if (!is_read(lock))
		return 0;
	atomic_store(&lock->writer, 0);
	return EBUSY;
}

EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *l)
{
	struct lock *lock = (struct lock *)l;

	for (unsigned k = depth; k-- > 0;)
		if (atomic_load_explicit(&own->reads[k], memory_order_relaxed) == lock) {
			atomic_store_explicit(&own->reads[k], NULL, memory_order_release);
			while (depth && !atomic_load_explicit(&own->reads[depth - 1], memory_order_relaxed))
				depth--;
			return 0;
		}
	atomic_store_explicit(&lock->writer, 0, memory_order_release);
	return 0;
}

EXPORT int pthread_rwlock_init(pthread_rwlock_t *l, const pthread_rwlockattr_t *attributes)
{
	(void)attributes;
	atomic_init(&((struct lock *)l)->writer, 0);
	return 0;
}

EXPORT int pthread_rwlock_destroy(pthread_rwlock_t *l)
{
	(void)l;
	return 0;
}
