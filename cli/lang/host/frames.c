/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the stacks that probes of the Linux kernel record: addresses with the process that they belong to. Functions of
 * programs come from the symbols of the files that the process has mapped. Also finds the values of words in blocks on
 * the host.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/session/session.h"
#include "core/session/stacks/symbols.h"
#include "host.h"

struct lang_file {
	struct lang_file *next;
	char *path;
	struct gpubpf_symbols *symbols; /* NULL if the file lacks symbols */
};

/* -- words -- */

/* Return the time since the start of the machine in ticks of the Linux kernel, 250 per second. */
static uint64_t ticks(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 250 + (uint64_t)now.tv_nsec / 4000000;
}

uint64_t lang_host_word(enum lang_host_word word)
{
	unsigned int cpu = 0, node = 0;

	switch (word) {
	case LANG_HOST_PID:
		return (uint64_t)getpid();
	case LANG_HOST_TID:
		return (uint64_t)syscall(SYS_gettid);
	case LANG_HOST_UID:
	case LANG_HOST_USER:
		return getuid();
	case LANG_HOST_GID:
		return getgid();
	case LANG_HOST_PPID:
		return (uint64_t)getppid();
	case LANG_HOST_JIFFIES:
		return ticks();
	default:
		syscall(SYS_getcpu, &cpu, &node, NULL);
		return word == LANG_HOST_CPU ? cpu : node;
	}
}

/* -- stacks -- */

static struct gpubpf_symbols *symbols_of(struct lang_host *h, const char *path)
{
	struct lang_file *f = h->files;
	int fd;

	while (f && strcmp(f->path, path))
		f = f->next;
	if (f)
		return f->symbols;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	*f = (struct lang_file){ .next = h->files, .path = strdup(path) };
	if (!f->path) {
		free(f);
		return NULL;
	}
	h->files = f;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	f->symbols = fd >= 0 ? gpubpf_symbols_read(fd) : NULL;
	if (fd >= 0)
		close(fd);
	return f->symbols;
}

/* Print the frame whose address is in this line of a maps file. Returns false if the line is not the address's. */
static bool show_in_mapping(struct lang_host *h, const char *line, uint64_t address, bool with_offset, FILE *out)
{
	uint64_t begin, end, offset, from = 0;
	char path[512] = "";
	struct gpubpf_symbols *symbols;
	const char *name;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %511[^\n]", &begin, &end, &offset, path) < 3 ||
	    address < begin || address >= end)
		return false;
	offset += address - begin;
	symbols = path[0] == '/' ? symbols_of(h, path) : NULL;
	name = symbols ? gpubpf_symbols_find(symbols, offset, &from) : NULL;
	if (name && with_offset)
		fprintf(out, "%s+%" PRIu64, name, from);
	else if (name)
		fprintf(out, "%s", name);
	else if (!with_offset)
		fprintf(out, "0x%" PRIx64, address);
	else
		fprintf(out, "0x%" PRIx64 " (%s+0x%" PRIx64 ")", address, path[0] ? path : "anonymous memory", offset);
	return true;
}

static void show_user_frame(struct lang_host *h, uint32_t pid, uint64_t address, bool with_offset, FILE *out)
{
	const char *line = lang_process_mappings(h, pid);

	for (; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (show_in_mapping(h, line, address, with_offset, out))
			return;
	fprintf(out, "0x%" PRIx64, address);
}

void lang_show_frames(struct lang_host *h, struct lang_type type, const uint8_t *at, FILE *out)
{
	uint64_t pid, address;
	char text[300];

	memcpy(&pid, at, sizeof(pid));
	if (type.label == LANG_LABEL_FUNCTION) {
		memcpy(&address, at + 8, sizeof(address));
		show_user_frame(h, (uint32_t)pid, address, false, out);
		return;
	}
	for (uint32_t i = 0; i < type.bytes; i++) {
		memcpy(&address, at + 8 + 8 * i, sizeof(address));
		if (!address)
			break;
		fprintf(out, "\n    ");
		if (!type.in_kernel)
			show_user_frame(h, (uint32_t)pid, address, true, out);
		else if (lang_kernel_symbol(address, text, sizeof(text)))
			fprintf(out, "%s", text);
		else
			fprintf(out, "0x%" PRIx64, address);
	}
	fputc('\n', out);
}

void lang_frames_free(struct lang_host *h)
{
	struct lang_file *next;

	for (struct lang_file *f = h->files; f; f = next) {
		next = f->next;
		gpubpf_symbols_free(f->symbols);
		free(f->path);
		free(f);
	}
	h->files = NULL;
}
