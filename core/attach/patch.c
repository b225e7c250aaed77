/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patches and restores entries of functions (patch.h, journal.h). The process wrote the journal, so nothing in it is
 * trusted: addresses are checked against the mappings, and all writes go to the process itself.
 *
 * A patch is a jump of 5 bytes, a single instruction. So no thread can be inside of it, and restoring need not check
 * program counters. Nevertheless all threads are stopped, because the write is not atomic.
 */
#include "patch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "journal.h"
#include "relocate.h"
#include "remote.h"

#define TRIES 200         /* number of stops until the tool gives up */
#define TRY_NS 1000000000ull /* time limit for the begin of the last try; a stop can take 0.5 s */
#define MAX_CODE 4096     /* bytes of a function of unknown size that are searched for branches */
#define MAX_FUNCTION 65536

static const uint8_t endbr64[4] = { 0xf3, 0x0f, 0x1e, 0xfa };

struct patching {
	struct remote remote;
	struct gpubpf_journal *journal; /* a copy */
	uint64_t address;               /* address of the journal in the process */
	bool restores;
	uint64_t stopped;
};

static int open_journal(struct patching *p)
{
	struct remote *r = &p->remote;
	const struct remote_map *m = remote_find_file(r, "memfd:" GPUBPF_JOURNAL_FILE);
	struct gpubpf_journal *j = p->journal;
	int err;

	if (!m)
		return remote_fail(r, -ENOENT, "process %d has no patched functions", r->pid);
	p->address = m->from;
	err = m->to - m->from < sizeof(*j) ? -EPROTO : remote_read(r, m->from, j, sizeof(*j));
	if (!err && (j->magic != GPUBPF_JOURNAL_MAGIC || j->version != GPUBPF_JOURNAL_VERSION ||
		     j->nsites > GPUBPF_JOURNAL_SITES))
		err = -EPROTO;
	for (uint32_t i = 0; !err && i < j->nsites; i++)
		j->sites[i].name[sizeof(j->sites[i].name) - 1] = 0;
	return err < 0 ? remote_fail(r, err,
				     "process %d: its list of patched functions cannot be read, or is of another gpubpf "
				     "version; restart the process",
				     r->pid) :
			 0;
}

static int store_site(struct patching *p, const struct gpubpf_patch_site *site)
{
	return remote_write(&p->remote, p->address + ((const char *)site - (const char *)p->journal), site, sizeof(*site));
}

static void refuse_site(struct gpubpf_patch_site *site, const char *why)
{
	site->state = GPUBPF_PATCH_REFUSED;
	snprintf(site->why, sizeof(site->why), "%s", why);
}

/* Is [from, from + size) in one mapping with these flags? */
static bool is_mapped(const struct remote *r, uint64_t from, uint64_t size, const char *flags, bool is_file)
{
	const struct remote_map *m = remote_find_map(r, from);

	return m && size <= m->to - from && !strcmp(m->flags, flags) && (m->path[0] == '/') == is_file;
}

static bool is_slot(const struct remote *r, const struct gpubpf_patch_site *site)
{
	uint64_t distance = site->slot > site->function ? site->slot - site->function : site->function - site->slot;

	return is_mapped(r, site->slot, GPUBPF_SLOT_SIZE, "r-xp", false) && distance <= GPUBPF_SLOT_REACH;
}

/* Read the function's bytes after an endbr64. Returns how many were read, or 0. */
static size_t read_function(const struct remote *r, struct gpubpf_patch_site *site, uint8_t *code, size_t *length)
{
	const struct remote_map *m = remote_find_map(r, site->function);
	uint64_t size = site->size && site->size < MAX_FUNCTION ? site->size : MAX_CODE;

	if (!m || strcmp(m->flags, "r-xp") || m->path[0] != '/')
		return 0;
	if (size < sizeof(endbr64) + GPUBPF_PATCH_SIZE)
		size = sizeof(endbr64) + GPUBPF_PATCH_SIZE;
	if (size > m->to - site->function)
		size = m->to - site->function;
	if (size < sizeof(endbr64) || remote_read(r, site->function, code, size) < 0)
		return 0;
	site->at = site->function;
	*length = site->size;
	if (memcmp(code, endbr64, sizeof(endbr64)))
		return size;
	site->at += sizeof(endbr64);
	*length -= site->size > sizeof(endbr64) ? sizeof(endbr64) : site->size;
	memmove(code, code + sizeof(endbr64), size - sizeof(endbr64));
	return size - sizeof(endbr64);
}

static int write_slot(struct patching *p, const struct gpubpf_patch_site *site, const struct relocated *moved)
{
	static const uint8_t jump[] = { 0xff, 0x25, 2, 0, 0, 0 }; /* jmp *2(%rip): the hook is 8 bytes after the start */
	uint8_t slot[GPUBPF_SLOT_SIZE];

	memset(slot, 0xcc, sizeof(slot));
	memcpy(slot, jump, sizeof(jump));
	memcpy(slot + GPUBPF_SLOT_HOOK, &site->hook, sizeof(site->hook));
	memcpy(slot + GPUBPF_SLOT_MOVED, moved->code, moved->size);
	return remote_write_code(&p->remote, site->slot, slot, sizeof(slot));
}

/* Returns true if the function begins with a jump out of all files. Tools that patch functions write such jumps. */
static bool is_jump_away(const struct remote *r, const struct gpubpf_patch_site *site, const uint8_t *code)
{
	int32_t distance;
	uint64_t target;

	if (code[0] == 0xe9) {
		memcpy(&distance, code + 1, sizeof(distance));
		target = site->at + 5 + distance;
	} else if (code[0] == 0xff && code[1] == 0x25) {
		memcpy(&distance, code + 2, sizeof(distance));
		if (remote_read(r, site->at + 6 + distance, &target, sizeof(target)) < 0)
			return true;
	} else {
		return false;
	}
	return !is_mapped(r, target, 1, "r-xp", true);
}

/* Returns why the function cannot be patched, or NULL with its moved beginning. */
static const char *check_site(const struct remote *r, struct gpubpf_patch_site *site, uint8_t *code, struct relocated *moved)
{
	size_t length = 0, size = read_function(r, site, code, &length);

	if (!size)
		return "it is not in the code of a library";
	if (!is_slot(r, site))
		return "there is no free address near it";
	if (size >= 6 && is_jump_away(r, site, code))
		return "another tool has patched it";
	if (code[0] == 0xcc)
		return "a breakpoint or a uprobe is at its beginning";
	return relocate_beginning(code, size, length, GPUBPF_PATCH_SIZE, site->at, site->slot + GPUBPF_SLOT_MOVED, moved);
}

/* Compute the bytes of a wanted site, and write its slot, which no thread uses yet. */
static int prepare_site(struct patching *p, struct gpubpf_patch_site *site)
{
	uint8_t *code = malloc(MAX_FUNCTION);
	struct relocated moved;
	const char *why;
	int32_t distance;
	int err = 0;

	if (!code)
		return -ENOMEM;
	why = check_site(&p->remote, site, code, &moved);
	if (why) {
		refuse_site(site, why);
	} else {
		distance = site->slot - (site->at + GPUBPF_PATCH_SIZE);
		memcpy(site->before, code, GPUBPF_PATCH_SIZE);
		site->after[0] = 0xe9;
		memcpy(site->after + 1, &distance, sizeof(distance));
		site->state = GPUBPF_PATCH_READY;
		err = write_slot(p, site, &moved);
	}
	free(code);
	return err ? err : store_site(p, site);
}

static int prepare_sites(struct patching *p)
{
	int err = 0;

	for (uint32_t i = 0; i < p->journal->nsites && !err; i++)
		if (p->journal->sites[i].state == GPUBPF_PATCH_WANTED)
			err = prepare_site(p, &p->journal->sites[i]);
	return err < 0 ? remote_fail(&p->remote, err,
				     "process %d: its code cannot be changed (%s); the kernel may forbid writes to "
				     "/proc/PID/mem (proc_mem.force_override)",
				     p->remote.pid, strerror(-err)) :
			 0;
}

enum site_bytes { BYTES_BEFORE, BYTES_AFTER, BYTES_FOREIGN };

/* Which bytes has the function now? */
static enum site_bytes read_bytes(const struct patching *p, const struct gpubpf_patch_site *site)
{
	uint8_t bytes[GPUBPF_PATCH_SIZE];

	if (remote_read(&p->remote, site->at, bytes, sizeof(bytes)) < 0)
		return BYTES_FOREIGN;
	return !memcmp(bytes, site->after, sizeof(bytes))  ? BYTES_AFTER :
	       !memcmp(bytes, site->before, sizeof(bytes)) ? BYTES_BEFORE :
							     BYTES_FOREIGN;
}

static bool is_ready(const struct patching *p, const struct gpubpf_patch_site *site)
{
	return site->state == GPUBPF_PATCH_READY && is_mapped(&p->remote, site->at, GPUBPF_PATCH_SIZE, "r-xp", true);
}

/* Is the address between two instructions of bytes that will change? At the first byte a thread may stand. */
static bool is_inside(const void *arg, uint64_t address)
{
	const struct patching *p = arg;

	for (uint32_t i = 0; i < p->journal->nsites; i++) {
		const struct gpubpf_patch_site *site = &p->journal->sites[i];

		if (site->state == GPUBPF_PATCH_READY && address > site->at && address < site->at + GPUBPF_PATCH_SIZE)
			return true;
	}
	return false;
}

/* Write the bytes of all sites that have the other bytes now. Runs while all threads are stopped. */
static int write_sites(struct remote *r, const struct remote_thread *threads, size_t n, void *arg)
{
	struct patching *p = arg;
	const struct remote_area area = { is_inside, p };
	int err = p->restores ? 0 : remote_check_area(r, threads, n, &area);

	for (uint32_t i = 0; i < p->journal->nsites && !err; i++) {
		const struct gpubpf_patch_site *site = &p->journal->sites[i];
		const uint8_t *bytes = p->restores ? site->before : site->after;

		if (is_ready(p, site) && read_bytes(p, site) == (p->restores ? BYTES_AFTER : BYTES_BEFORE))
			err = remote_write_code(r, site->at, bytes, GPUBPF_PATCH_SIZE);
	}
	return err;
}

static void count_sites(const struct patching *p, struct gpubpf_patch_counts *counts)
{
	*counts = (struct gpubpf_patch_counts){ .sites = p->journal->nsites,
						.is_active = p->journal->is_active,
						.stopped = p->stopped };
	for (uint32_t i = 0; i < p->journal->nsites; i++) {
		const struct gpubpf_patch_site *site = &p->journal->sites[i];
		enum site_bytes bytes = is_ready(p, site) ? read_bytes(p, site) : BYTES_BEFORE;

		counts->refused += site->state == GPUBPF_PATCH_REFUSED;
		counts->patched += bytes == BYTES_AFTER;
		counts->foreign += bytes == BYTES_FOREIGN;
	}
}

static int stop_and_write(struct patching *p)
{
	struct remote *r = &p->remote;
	uint64_t until = remote_now_ns() + TRY_NS;
	int err = -EAGAIN;

	for (int i = 0; i < TRIES && err == -EAGAIN && (!i || remote_now_ns() < until); i++) {
		if (i)
			remote_sleep_us(1000);
		err = remote_read_maps(r);
		if (!err)
			err = remote_with_threads(r, true, write_sites, p, &p->stopped);
	}
	if (err == -EAGAIN)
		return remote_fail(r, err,
				   "process %d: its threads do not stop at a safe point; another program traces it, or a "
				   "thread is busy in the Linux kernel; try again",
				   r->pid);
	return err < 0 ? remote_explain_access(r, err) : 0;
}

static int patch(struct patching *p, struct gpubpf_patch_counts *counts)
{
	int err = open_journal(p);

	if (!err)
		err = prepare_sites(p);
	if (!err)
		err = stop_and_write(p);
	if (!err)
		count_sites(p, counts);
	return err;
}

static int restore(struct patching *p, struct gpubpf_patch_counts *counts)
{
	int err = open_journal(p);

	p->restores = true;
	if (!err && p->journal->is_active)
		err = remote_fail(&p->remote, -EBUSY,
				  "process %d: a session uses its patched functions; end that session", p->remote.pid);
	if (err < 0)
		return err;
	count_sites(p, counts);
	err = counts->patched ? stop_and_write(p) : 0;
	if (!err)
		count_sites(p, counts);
	return err < 0         ? err :
	       counts->patched ? remote_fail(&p->remote, -EIO, "process %d: %u functions stay patched", p->remote.pid,
					     counts->patched) :
				 0;
}

static int count(struct patching *p, struct gpubpf_patch_counts *counts)
{
	int err = open_journal(p);

	if (!err)
		count_sites(p, counts);
	return err;
}

static int run(pid_t pid, int (*fn)(struct patching *p, struct gpubpf_patch_counts *counts),
	       struct gpubpf_patch_counts *counts, char *why, size_t size)
{
	struct gpubpf_patch_counts unused;
	struct patching p = { .journal = malloc(sizeof(*p.journal)) };
	int err = remote_open(&p.remote, pid, why, size);

	if (!err)
		err = p.journal ? fn(&p, counts ? counts : &unused) : -ENOMEM;
	remote_close(&p.remote);
	free(p.journal);
	return err;
}

int gpubpf_attach_patch(pid_t pid, struct gpubpf_patch_counts *counts, char *why, size_t size)
{
	return run(pid, patch, counts, why, size);
}

int gpubpf_attach_restore_patches(pid_t pid, struct gpubpf_patch_counts *counts, char *why, size_t size)
{
	return run(pid, restore, counts, why, size);
}

int gpubpf_attach_count_patches(pid_t pid, struct gpubpf_patch_counts *counts, char *why, size_t size)
{
	return run(pid, count, counts, why, size);
}
