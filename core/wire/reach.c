/* SPDX-License-Identifier: Apache-2.0 */
#include "reach.h"

#include "core/wire/files/open_file.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_SCRIPTS 4              /* maximum nesting of scripts as interpreters of scripts, as in Linux */
#define MAX_HEADERS 64             /* maximum number of a file's program headers that are read */
#define NOTES 16                   /* of a segment */
#define GO_BUILD_ID 4              /* type of the ELF note that Go's linker writes */

/* Reads up to `size` bytes at offset `at`. Returns the number of bytes, or 0 after an error. */
static size_t read_at(int fd, void *buf, size_t size, uint64_t at)
{
	ssize_t n = at > INT64_MAX ? -1 : pread(fd, buf, size, (off_t)at);

	return n < 0 ? 0 : (size_t)n;
}

static uint64_t align_size(uint64_t size)
{
	return (size + 3) & ~3ull;
}

/* Does the segment contain an ELF note of Go's linker? */
static bool has_go_note(int fd, const Elf64_Phdr *notes)
{
	struct {
		Elf64_Nhdr header;
		char name[4];
	} note;
	uint64_t at = 0;

	for (int i = 0; i < NOTES && at < notes->p_filesz; i++) {
		if (read_at(fd, &note, sizeof(note), notes->p_offset + at) != sizeof(note))
			return false;
		if (note.header.n_type == GO_BUILD_ID && note.header.n_namesz == sizeof(note.name) &&
		    !memcmp(note.name, "Go\0", sizeof(note.name)))
			return true;
		at += sizeof(note.header) + align_size(note.header.n_namesz) + align_size(note.header.n_descsz);
	}
	return false;
}

/*
 * Is the file's ELF interpreter the dynamic linker of glibc, which the preloaded library requires? Its file name begins
 * with "ld-linux" in all distributions.
 */
static bool is_our_loader(int fd, const Elf64_Phdr *interp)
{
	char path[256], *name;
	size_t n = interp->p_filesz < sizeof(path) ? interp->p_filesz : sizeof(path) - 1;

	path[read_at(fd, path, n, interp->p_offset)] = 0;
	name = strrchr(path, '/');
	return !strncmp(name ? name + 1 : path, "ld-linux", strlen("ld-linux"));
}

static enum gpubpf_reach classify_headers(int fd, const Elf64_Ehdr *elf)
{
	enum gpubpf_reach reach = GPUBPF_STATIC;
	Elf64_Phdr header;
	bool go = false;

	for (unsigned int i = 0; i < elf->e_phnum && i < MAX_HEADERS; i++) {
		if (read_at(fd, &header, sizeof(header), elf->e_phoff + i * sizeof(header)) != sizeof(header))
			return GPUBPF_REACHED;
		if (header.p_type == PT_INTERP)
			reach = is_our_loader(fd, &header) ? GPUBPF_REACHED : GPUBPF_OTHER_LIBC;
		go |= header.p_type == PT_NOTE && has_go_note(fd, &header);
	}
	return reach == GPUBPF_REACHED && go ? GPUBPF_OWN_CALLS : reach;
}

static bool is_program(const Elf64_Ehdr *elf)
{
	return !memcmp(elf->e_ident, ELFMAG, SELFMAG) && elf->e_ident[EI_CLASS] == ELFCLASS64 &&
	       elf->e_machine == EM_X86_64 && (elf->e_type == ET_EXEC || elf->e_type == ET_DYN) &&
	       elf->e_phentsize == sizeof(Elf64_Phdr);
}

/* Replaces a script's first line by the interpreter's path. Returns false if the file is not a script. */
static bool read_interpreter(char line[256])
{
	char *at = line + 2;

	if (memcmp(line, "#!", 2))
		return false;
	at += strspn(at, " \t");
	at[strcspn(at, " \t\n")] = 0;
	memmove(line, at, strlen(at) + 1);
	return line[0];
}

enum gpubpf_reach gpubpf_reach(const char *path)
{
	enum gpubpf_reach reach = GPUBPF_REACHED;
	char line[256];
	Elf64_Ehdr elf;

	for (int i = 0; i <= MAX_SCRIPTS; i++) {
		int fd = gpubpf_open_regular(AT_FDCWD, path, 0);
		size_t n = fd < 0 ? 0 : read_at(fd, line, sizeof(line) - 1, 0);

		line[n] = 0;
		memcpy(&elf, line, sizeof(elf));
		if (n >= sizeof(elf) && is_program(&elf))
			reach = classify_headers(fd, &elf);
		if (fd >= 0)
			close(fd);
		if (n < 2 || !read_interpreter(line))
			break;
		path = line;
	}
	return reach;
}

const char *gpubpf_reach_why(enum gpubpf_reach reach)
{
	static const char *const why[] = {
		[GPUBPF_REACHED] = "is reached",
		[GPUBPF_STATIC] = "is linked statically",
		[GPUBPF_OTHER_LIBC] = "is linked against a libc other than glibc",
		[GPUBPF_OWN_CALLS] = "makes system calls directly, as Go's programs do",
	};

	return why[reach];
}

bool gpubpf_reach_find(const char *name, const char *path, char out[PATH_MAX])
{
	const char *at = path ? path : "/bin:/usr/bin", *end;

	if (strchr(name, '/'))
		return snprintf(out, PATH_MAX, "%s", name) < PATH_MAX;
	for (; name[0] && at; at = end ? end + 1 : NULL) {
		size_t n = (size_t)((end = strchr(at, ':')) ? end - at : (long)strlen(at));

		if (snprintf(out, PATH_MAX, "%.*s%s%s", (int)n, at, n ? "/" : "", name) < PATH_MAX && !access(out, X_OK))
			return true;
	}
	return false;
}
