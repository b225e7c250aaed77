/* SPDX-License-Identifier: Apache-2.0 */
/* Counts calls of hooked functions (entries.h), adds sites to the journal, and requests patches from the tool. */
#include "entries.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "hooks/calls.h"
#include "hooks/client/client.h"
#include "hooks/client/log_once.h"
#include "hooks/process/agent_thread.h"
#include "hooks/process/prepared.h"
#include "hooks/process/time.h"
#include "private.h"

#define PATCH_NS 10000000000ull /* time limit of the tool's answer */

_Static_assert(GPUBPF_ENTRIES == GPUBPF_JOURNAL_SITES, "each site has a thunk");

extern const char gpubpf_entry_thunks[];
extern atomic_bool gpubpf_entries_on; /* false: thunks only jump to the moved beginnings */
extern void *gpubpf_entry_moved[GPUBPF_ENTRIES];

atomic_bool gpubpf_entries_on;
void *gpubpf_entry_moved[GPUBPF_ENTRIES];

static struct entry {
	void *hook, **next;
	bool is_last; /* the hook also runs while the entries drain */
} entries[GPUBPF_ENTRIES];
static atomic_bool is_draining;
static bool is_requested; /* the tool has patched, or refused, all sites in this session */
static struct gpubpf_journal *journal;

static struct gpubpf_calls inside;

static _Thread_local struct {
	bool is_in_hook;
	const void *caller;
} call;

static bool runs_hook(uint32_t i)
{
	return atomic_load(&gpubpf_entries_on) && (!atomic_load(&is_draining) || entries[i].is_last);
}

/*
 * Count the call, then read the flags of runs_hook(). A detach changes them, then reads the counters. So either the
 * detach sees the count and waits, or the thunk calls no hook.
 */
void *gpubpf_entry_enter(uint32_t i, void **frame)
{
	if (call.is_in_hook || gpubpf_thread_is_own())
		return NULL;
	atomic_fetch_add(gpubpf_calls_at(&inside, frame), 1);
	if (!runs_hook(i)) {
		atomic_fetch_sub(gpubpf_calls_at(&inside, frame), 1);
		return NULL;
	}
	call.is_in_hook = true;
	call.caller = frame[1];
	return entries[i].hook;
}

void gpubpf_entry_leave(void **frame)
{
	call.is_in_hook = false;
	atomic_fetch_sub(gpubpf_calls_at(&inside, frame), 1);
}

const void *gpubpf_entry_caller(const void *own)
{
	return call.is_in_hook ? call.caller : own;
}

static bool create_journal(void)
{
	int fd = journal ? -1 : memfd_create(GPUBPF_JOURNAL_FILE, MFD_CLOEXEC);
	struct gpubpf_journal *j = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, sizeof(*j)))
		j = mmap(NULL, sizeof(*j), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (j == MAP_FAILED)
		return journal;
	j->magic = GPUBPF_JOURNAL_MAGIC;
	j->version = GPUBPF_JOURNAL_VERSION;
	journal = j;
	return true;
}

/* Returns the index of the function's site, or -1. */
static int find_site(const void *function)
{
	for (uint32_t i = 0; journal && i < journal->nsites; i++)
		if (journal->sites[i].function == (uintptr_t)function)
			return i;
	return -1;
}

static uint64_t function_size(void *function)
{
	const Elf64_Sym *symbol = NULL;
	Dl_info info;

	return dladdr1(function, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol && info.dli_saddr == function ?
		       symbol->st_size :
		       0;
}

void gpubpf_entry_add(const char *name, void *function, void *hook, void **next)
{
	struct gpubpf_patch_site *site;
	uint32_t i;

	if (!function || !hook || find_site(function) >= 0 || !create_journal() || journal->nsites == GPUBPF_ENTRIES)
		return;
	i = journal->nsites;
	site = &journal->sites[i];
	site->function = (uintptr_t)function;
	site->size = function_size(function);
	site->hook = (uintptr_t)gpubpf_entry_thunks + i * GPUBPF_ENTRY_THUNK_SIZE;
	site->slot = gpubpf_entry_slot(site->function);
	snprintf(site->name, sizeof(site->name), "%s", name);
	gpubpf_entry_moved[i] = (void *)(site->slot + GPUBPF_SLOT_MOVED);
	entries[i] = (struct entry){ hook, next };
	journal->nsites++;
	is_requested = false;
}

static bool is_patched(uint32_t i)
{
	const struct gpubpf_patch_site *site = &journal->sites[i];

	return site->state == GPUBPF_PATCH_READY && !memcmp((void *)site->at, site->after, GPUBPF_PATCH_SIZE);
}

/* Hook a function by the idle library's slot. Returns false if the process has no slot for it. */
static bool hook_by_slot(uint32_t i)
{
	struct gpubpf_patch_site *site = &journal->sites[i];

	if (site->state != GPUBPF_PATCH_WANTED && site->state != GPUBPF_PATCH_UNNEEDED)
		return false;
	gpubpf_entry_moved[i] = (void *)site->function; /* without a patch, the agent calls the function itself */
	if (gpubpf_idle_hook(site->name, (void *)site->function, (void *)site->hook)) {
		site->state = GPUBPF_PATCH_UNNEEDED;
		return true;
	}
	gpubpf_entry_moved[i] = (void *)(site->slot + GPUBPF_SLOT_MOVED);
	site->state = GPUBPF_PATCH_WANTED;
	return false;
}

/* Returns true if functions without a slot are left, which the tool must patch. */
static bool hook_by_slots(void)
{
	uint32_t hooked = 0;

	for (uint32_t i = 0; i < journal->nsites; i++)
		hooked += hook_by_slot(i);
	return hooked < journal->nsites;
}

/*
 * Use the empty slots of functions that the tool did not patch. Calls around the idle library stay unseen, but other
 * calls are hooked. Returns the number of functions that stay unhooked.
 */
static uint32_t hook_unused_slots(void)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < journal->nsites; i++) {
		struct gpubpf_patch_site *site = &journal->sites[i];

		if (site->state != GPUBPF_PATCH_WANTED && site->state != GPUBPF_PATCH_REFUSED)
			continue;
		gpubpf_entry_moved[i] = (void *)site->function;
		if (gpubpf_idle_hook_unused(site->name, (void *)site->function, (void *)site->hook))
			site->state = GPUBPF_PATCH_UNNEEDED;
		else
			left++;
	}
	return left;
}

/* Returns the number of slots that another library has changed. */
static uint32_t unhook_slots(void)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < journal->nsites; i++) {
		const struct gpubpf_patch_site *site = &journal->sites[i];

		left += site->state == GPUBPF_PATCH_UNNEEDED &&
			!gpubpf_idle_unhook(site->name, (void *)site->function, (void *)site->hook);
	}
	return left;
}

void *gpubpf_entry_unhooked(void *function)
{
	int i = find_site(function);

	return i >= 0 && journal->sites[i].state == GPUBPF_PATCH_READY ? gpubpf_entry_moved[i] : function;
}

/* Request patches, or their removal, and wait for the answer. Returns 0 or a negative errno value. */
static int request(bool patch, char *why, size_t size)
{
	struct gpubpf_request *r = NULL;
	struct gpubpf_writer w = { 0 };
	struct gpubpf_packet *answer;
	int err;

	gpubpf_put_u32(&w, patch);
	err = gpubpf_client_request(GPUBPF_MSG_PATCH, &w, NULL, 0, &r);
	gpubpf_writer_finish(&w);
	if (!err)
		err = gpubpf_request_wait(r, gpubpf_now_ns() + PATCH_NS);
	if (!err) {
		answer = gpubpf_request_answer(r);
		err = (int32_t)gpubpf_get_u32(&answer->payload);
		gpubpf_get_str(&answer->payload, why, size);
	} else {
		snprintf(why, size, "the tool did not answer: %s", strerror(-err));
	}
	gpubpf_request_drop(r);
	return err;
}

static const char *why_unpatched(uint32_t i)
{
	return journal->sites[i].state == GPUBPF_PATCH_REFUSED ? journal->sites[i].why : "another program has changed it";
}

/* Report the functions that the tool did not patch. */
static void report_unpatched(void)
{
	uint32_t n = 0, first = 0;

	for (uint32_t i = 0; i < journal->nsites; i++)
		if (journal->sites[i].state != GPUBPF_PATCH_UNNEEDED && !is_patched(i) && !n++)
			first = i;
	if (n == 1)
		gpubpf_log_once("%s() cannot be hooked: %s; gpubpf does not see its calls", journal->sites[first].name,
				why_unpatched(first));
	else if (n)
		gpubpf_log_once("%s() and %u other functions cannot be hooked: %s; gpubpf does not see their calls",
				journal->sites[first].name, n - 1, why_unpatched(first));
}

bool gpubpf_entry_is_hooked(const void *function)
{
	int i = find_site(function);

	return i >= 0 && (journal->sites[i].state == GPUBPF_PATCH_UNNEEDED || is_patched(i));
}

void gpubpf_entries_patch(void)
{
	char why[256] = "";
	int err;

	if (is_requested || !journal)
		return;
	is_requested = true;
	journal->is_active = 1;
	if (!hook_by_slots())
		return;
	err = request(true, why, sizeof(why));
	if (hook_unused_slots() && err < 0 && err != -EPIPE)
		gpubpf_log_once("functions of GPU runtimes cannot be hooked: %s; their kernels run unprobed", why);
	if (err < 0)
		return;
	for (uint32_t i = 0; i < journal->nsites; i++)
		if (journal->sites[i].state == GPUBPF_PATCH_READY)
			*entries[i].next = gpubpf_entry_moved[i];
	report_unpatched();
}

void gpubpf_entries_start(void)
{
	atomic_store(&is_draining, false);
	atomic_store(&gpubpf_entries_on, true);
}

void gpubpf_entries_drain(const char *const *last, size_t n)
{
	for (uint32_t i = 0; journal && i < journal->nsites; i++)
		for (size_t k = 0; k < n; k++)
			entries[i].is_last |= !strcmp(journal->sites[i].name, last[k]);
	atomic_store(&is_draining, true);
}

static uint32_t count_patched(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; journal && i < journal->nsites; i++)
		n += is_patched(i);
	return n;
}

uint32_t gpubpf_entries_restore(void)
{
	uint32_t left;
	char why[256];

	atomic_store(&gpubpf_entries_on, false);
	is_requested = false;
	if (!journal)
		return 0;
	journal->is_active = 0;
	left = unhook_slots();
	gpubpf_entry_restore_pages(journal);
	if (count_patched() && gpubpf_session_up())
		request(false, why, sizeof(why));
	return left + count_patched();
}

bool gpubpf_entries_wait_left(uint64_t ns)
{
	return gpubpf_calls_wait(&inside, ns);
}

void gpubpf_entries_after_fork(void)
{
	atomic_store(&gpubpf_entries_on, false);
	is_requested = false;
	call.is_in_hook = false;
	gpubpf_calls_reset(&inside);
	if (journal)
		journal->is_active = 0;
}
