/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind.h"

#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "hooks/process/agent_thread.h"
#include "cfi.h"

#define CACHE_SIZE 1024    /* number of code addresses with cached unwind information; a power of two */
#define MAX_FRAMES 512     /* maximum frames per stack, including this library's and skipped frames */

struct frame {
	uint64_t place, sp;
	uint64_t reg[CFI_RETURN];
	uint32_t known; /* bit i is set if reg[i] has the caller's value */
};

struct limits { /* bounds of the thread's stack, in which reads need no system call */
	uint64_t from, to;
	bool may_call; /* the unwinder may make system calls */
};

/* Unwind information for one code address. */
struct known {
	uint64_t place;
	enum { NOTHING, BY_ROW, BY_POINTER } how;
	struct cfi_row row;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct known cache[CACHE_SIZE];
static uint64_t cached_of; /* value of gpubpf_unwind_unloaded() when the cache was filled */

/* -- loaded files -- */

struct search {
	uint64_t place;
	bool code; /* the address is code of a loaded file */
	struct known *known;
};

static int read_unloaded(struct dl_phdr_info *info, size_t size, void *arg)
{
	*(uint64_t *)arg = info->dlpi_subs;
	return 1;
}

uint64_t gpubpf_unwind_unloaded(void)
{
	uint64_t n = 0;

	dl_iterate_phdr(read_unloaded, &n);
	return n;
}

/* Find the segment that contains the address and has the flag (PF_R or PF_X). */
static bool find_segment(const struct dl_phdr_info *info, uint64_t address, uint32_t flag, struct cfi_range *range)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & flag) || address - info->dlpi_addr - p->p_vaddr >= p->p_memsz)
			continue;
		range->from = info->dlpi_addr + p->p_vaddr;
		range->to = range->from + p->p_memsz;
		return true;
	}
	return false;
}

/* Callback of dl_iterate_phdr(). While it runs, other threads cannot unload files. */
static int search_file(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	struct cfi_range range;

	if (!find_segment(info, s->place, PF_X, &range))
		return 0;
	s->code = true;
	for (int i = 0; s->known && i < info->dlpi_phnum; i++) {
		uint64_t header = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME && find_segment(info, header, PF_R, &range) &&
		    cfi_find(range, header, s->place, &s->known->row))
			s->known->how = BY_ROW;
	}
	return 1;
}

static bool is_code(uint64_t place)
{
	struct search s = { place };

	dl_iterate_phdr(search_file, &s);
	return s.code;
}

static struct known query_place(uint64_t place)
{
	struct known known = { place, BY_POINTER };
	struct search s = { place, false, &known };

	dl_iterate_phdr(search_file, &s);
	return known;
}

static struct known *slot_of(uint64_t place)
{
	return &cache[place * 0x9e3779b97f4a7c15ull >> 54 & (CACHE_SIZE - 1)];
}

static struct known find(uint64_t place, uint64_t unloaded)
{
	struct known known;

	pthread_mutex_lock(&lock);
	if (cached_of != unloaded) {
		memset(cache, 0, sizeof(cache));
		cached_of = unloaded;
	}
	known = *slot_of(place);
	pthread_mutex_unlock(&lock);
	if (known.how != NOTHING && known.place == place)
		return known;
	known = query_place(place);
	pthread_mutex_lock(&lock);
	if (cached_of == unloaded)
		*slot_of(place) = known;
	pthread_mutex_unlock(&lock);
	return known;
}

/* -- the thread's stack -- */

struct measuring {
	pthread_t thread;
	struct limits *limits;
};

/*
 * Find the bounds of a thread's stack. For the initial thread, the C library reads /proc/self/maps, which uses 2 KiB of
 * stack.
 */
static void measure_stack(void *arg)
{
	const struct measuring *m = arg;
	pthread_attr_t attr;
	size_t size;
	void *from;

	if (pthread_getattr_np(m->thread, &attr))
		return;
	if (!pthread_attr_getstack(&attr, &from, &size))
		*m->limits = (struct limits){ (uint64_t)from, (uint64_t)from + size, true };
	pthread_attr_destroy(&attr);
}

static struct limits stack_limits(uint64_t sp, bool may_call)
{
	static _Thread_local struct limits limits;

	if (!limits.to && may_call)
		gpubpf_run_on_agent_thread(measure_stack, &(struct measuring){ pthread_self(), &limits });
	return sp >= limits.from && sp < limits.to ? limits : (struct limits){ .may_call = may_call };
}

/*
 * Read a stack word above frame f. If the thread does not run on its own stack, the word is read by a system call,
 * which checks the address.
 */
static bool load_word(const struct limits *limits, const struct frame *f, uint64_t address, uint64_t *word)
{
	struct iovec to = { word, 8 }, from = { (void *)address, 8 };

	if (address % 8 || address < f->sp)
		return false;
	if (limits->to) {
		if (address > limits->to - 8)
			return false;
		memcpy(word, (const void *)address, 8);
		return true;
	}
	return limits->may_call && process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 8;
}

static bool get_register(const struct frame *f, uint8_t base, uint64_t *v)
{
	if (base != CFI_RSP && !(f->known >> base & 1))
		return false;
	*v = base == CFI_RSP ? f->sp : f->reg[base];
	return true;
}

/*
 * Restore a register of the caller of f. Returns false if the value is unknown; then the caller clears the register's
 * bit in `known`.
 */
static bool recover_register(const struct limits *limits, const struct frame *f, const struct cfi_where *where,
			     uint64_t cfa, uint64_t *v)
{
	uint64_t base;

	switch (where->how) {
	case CFI_SAME:
		return true;
	case CFI_LOST:
		return false;
	case CFI_AT_CFA:
		return load_word(limits, f, cfa + where->offset, v);
	case CFI_AT_REGISTER:
		return get_register(f, where->base, &base) && load_word(limits, f, base + where->offset, v);
	}
	return false;
}

static bool step_by_row(const struct limits *limits, struct frame *f, const struct cfi_row *row)
{
	struct frame up = *f;
	uint64_t cfa;

	if (!get_register(f, row->base, &cfa))
		return false;
	cfa += row->offset;
	if ((row->loaded && !load_word(limits, f, cfa, &cfa)) || cfa <= f->sp || row->reg[CFI_RETURN].how == CFI_SAME ||
	    !recover_register(limits, f, &row->reg[CFI_RETURN], cfa, &up.place))
		return false;
	for (uint32_t i = 0; i < CFI_RETURN; i++)
		if (!recover_register(limits, f, &row->reg[i], cfa, &up.reg[i]))
			up.known &= ~(1u << i);
	up.sp = cfa;
	*f = up;
	return true;
}

/*
 * Step to the calling frame, with rbp as frame pointer. Returns false if the word in the place of the return address is
 * not a code address.
 */
static bool step_by_pointer(const struct limits *limits, struct frame *f)
{
	struct frame up = { .known = 1 << CFI_RBP };
	uint64_t at = f->reg[CFI_RBP];

	if (!(f->known >> CFI_RBP & 1) || !load_word(limits, f, at, &up.reg[CFI_RBP]) ||
	    !load_word(limits, f, at + 8, &up.place) || !is_code(up.place - 1))
		return false;
	up.sp = at + 16;
	*f = up;
	return true;
}

static __attribute__((always_inline)) inline struct frame frame_here(void)
{
	struct frame f = { .known = (1 << CFI_RETURN) - 1 };

	__asm__ volatile("leaq (%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbx, %2\n\tmovq %%rbp, %3\n\tmovq %%r12, %4\n\t"
			 "movq %%r13, %5\n\tmovq %%r14, %6\n\tmovq %%r15, %7"
			 : "=&r"(f.place), "=m"(f.sp), "=m"(f.reg[CFI_RBX]), "=m"(f.reg[CFI_RBP]), "=m"(f.reg[CFI_R12]),
			   "=m"(f.reg[CFI_R13]), "=m"(f.reg[CFI_R14]), "=m"(f.reg[CFI_R15]));
	return f;
}

/* Callback of dl_iterate_phdr(): finds the executable segment of this library, assuming that it has only one. */
static int find_own_code(struct dl_phdr_info *info, size_t size, void *range)
{
	return find_segment(info, (uint64_t)gpubpf_unwind, PF_X, range);
}

static struct cfi_range own_range(void)
{
	static _Thread_local struct cfi_range range;

	if (!range.to)
		dl_iterate_phdr(find_own_code, &range);
	return range;
}

uint32_t gpubpf_unwind(uint64_t *address, uint32_t room, bool may_call)
{
	struct frame f = frame_here();
	const struct limits limits = stack_limits(f.sp, may_call);
	const struct cfi_range ours = own_range();
	uint64_t unloaded = gpubpf_unwind_unloaded();
	uint32_t n = 0;
	bool out = false;

	for (uint32_t i = 0; i < MAX_FRAMES && n < room; i++) {
		/*
		 * A call may be the last instruction of its function. Therefore look up the address before a return
		 * address.
		 */
		struct known known = find(f.place - !!i, unloaded);

		if (!(known.how == BY_ROW ? step_by_row(&limits, &f, &known.row) : step_by_pointer(&limits, &f)) || !f.place)
			break;
		out |= f.place < ours.from || f.place >= ours.to;
		if (out)
			address[n++] = f.place;
	}
	return n;
}

void gpubpf_unwind_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
}
