/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images of modules that the application loaded before a tool attached. The driver does not return the image of a
 * module. But nvcc puts fat binaries into the data of executables and libraries, each with a wrapper structure. The
 * agent looks for the wrapper whose fat binary defines the kernel. Entries of a fat binary may be compressed, and the
 * agent cannot decompress them. Then the object must also contain the kernel's name as a string, with which the host
 * code registers the kernel. If several fat binaries are possible, the kernel is not probed.
 */
#include "cuda.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/wire/fatbin_format.h"

#define MAX_IMAGES 8192
#define MAX_OBJECTS 1024
#define MAX_SEARCHED (64u << 20) /* bytes of a segment that are searched for a name */

/* the structure that nvcc creates for each fat binary */
struct wrapper {
	uint32_t magic, version;
	const void *data;
	const void *more;
};

/* A fat binary in a loaded object. */
struct found_image {
	const struct wrapper *wrapper;
	uint32_t file;      /* index in images.files */
	const char *object; /* any address in the object's read-only data */
	size_t object_size; /* bytes from there to the end of the segment */
};

/* A loaded file with fat binaries. */
struct file {
	char *name; /* "": the executable */
	uintptr_t base;
	bool is_pinned, is_gone;
	void *handle; /* keeps the file loaded; NULL: not needed */
};

struct images {
	uint32_t nfiles;
	struct file files[MAX_OBJECTS];
	const char *searched; /* the object that was searched for the kernel's name last */
	bool has_name;        /* the result */
	size_t n;
	struct found_image at[MAX_IMAGES];
};

static const ElfW(Phdr) * segment_of(const struct dl_phdr_info *info, const void *address)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + h->p_vaddr;

		if (h->p_type == PT_LOAD && (uintptr_t)address >= from && (uintptr_t)address < from + h->p_filesz)
			return h;
	}
	return NULL;
}

/* Returns the index of the object's file, or MAX_OBJECTS. Objects follow each other. */
static uint32_t file_of(struct images *images, const struct dl_phdr_info *info)
{
	struct file *last = images->nfiles ? &images->files[images->nfiles - 1] : NULL;
	char *name;

	if (last && last->base == info->dlpi_addr && !strcmp(last->name, info->dlpi_name ? info->dlpi_name : ""))
		return images->nfiles - 1;
	name = images->nfiles < MAX_OBJECTS ? strdup(info->dlpi_name ? info->dlpi_name : "") : NULL;
	if (!name)
		return MAX_OBJECTS;
	images->files[images->nfiles] = (struct file){ name, info->dlpi_addr, !name[0] };
	return images->nfiles++;
}

static void note_wrapper(struct images *images, const struct dl_phdr_info *info, const struct wrapper *w)
{
	const ElfW(Phdr) *h = w->magic == FATBIN_WRAPPER_MAGIC ? segment_of(info, w->data) : NULL;
	uint32_t magic, file;

	if (!h || images->n == MAX_IMAGES || (uintptr_t)w->data + sizeof(magic) > info->dlpi_addr + h->p_vaddr + h->p_filesz)
		return;
	memcpy(&magic, w->data, sizeof(magic));
	file = magic == FATBIN_MAGIC ? file_of(images, info) : MAX_OBJECTS;
	if (file < MAX_OBJECTS)
		images->at[images->n++] = (struct found_image){ w, file, (const char *)(info->dlpi_addr + h->p_vaddr),
								h->p_filesz };
}

/* dl_iterate_phdr() callback: find the wrappers in the object's writable segments. */
static int find_wrappers(struct dl_phdr_info *info, size_t size, void *arg)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		const char *from = (const char *)(info->dlpi_addr + h->p_vaddr);

		if (h->p_type != PT_LOAD || !(h->p_flags & PF_W) || !(h->p_flags & PF_R))
			continue;
		for (size_t at = -(uintptr_t)from % 8; at + sizeof(struct wrapper) <= h->p_filesz; at += 8)
			note_wrapper(arg, info, (const struct wrapper *)(from + at));
	}
	return 0;
}

enum answer { NO, MAYBE, YES };

struct search {
	const char *kernel;
	enum answer answer;
};

static bool is_in_name(char c)
{
	return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || c == '$' || c == '%';
}

/* Does the PTX define the kernel: the directive .entry, white space, and the name? */
static bool ptx_defines(const char *text, size_t size, const char *name)
{
	const char directive[] = ".entry", *at = text, *end = text + size;
	size_t n = strlen(name);

	while ((at = memmem(at, end - at, directive, sizeof(directive) - 1))) {
		at += sizeof(directive) - 1;
		while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
			at++;
		if (n < (size_t)(end - at) && !memcmp(at, name, n) && !is_in_name(at[n]))
			return true;
	}
	return false;
}

/* Does the ELF file have a section .text.NAME? */
static bool elf_defines(const char *data, size_t size, const char *name)
{
	char section[sizeof(".text.") + 4096];
	int n = snprintf(section, sizeof(section), ".text.%s", name);

	return n < (int)sizeof(section) && memmem(data, size, section, n + 1);
}

static int search_entry(void *arg, const struct fatbin_entry *e)
{
	struct search *s = arg;

	if (e->kind != FATBIN_PTX && e->kind != FATBIN_ELF)
		return 0;
	if (e->plain_size)
		s->answer = s->answer == NO ? MAYBE : s->answer;
	else if (e->kind == FATBIN_PTX ? ptx_defines(e->data, e->size, s->kernel) :
					 elf_defines(e->data, e->size, s->kernel))
		s->answer = YES;
	return 0;
}

/* Does the object contain the kernel's name? An object's images follow each other, so it is searched once. */
static bool has_name(struct images *images, const struct found_image *found, const char *kernel)
{
	if (found->object_size > MAX_SEARCHED)
		return true;
	if (images->searched != found->object)
		images->has_name = memmem(found->object, found->object_size, kernel, strlen(kernel) + 1);
	images->searched = found->object;
	return images->has_name;
}

/*
 * Keep the file loaded until unpin_files(). Returns false if the application has unloaded it since the search. A file of
 * this name that was loaded again at another address does not count.
 */
static bool pin_file(struct file *file)
{
	struct link_map *map;

	if (file->is_pinned)
		return !file->is_gone;
	file->is_pinned = true;
	map = file->handle = dlopen(file->name, RTLD_LAZY | RTLD_NOLOAD);
	file->is_gone = !map || map->l_addr != file->base;
	return !file->is_gone;
}

static void unpin_files(struct images *images)
{
	for (uint32_t i = 0; i < images->nfiles; i++) {
		if (images->files[i].handle)
			dlclose(images->files[i].handle);
		free(images->files[i].name);
	}
}

/* Does the fat binary define the kernel? */
static enum answer defines(struct images *images, const struct found_image *found, const char *kernel)
{
	struct search s = { kernel, NO };
	size_t size = 0;
	const void *image = cuda_image_bounds(found->wrapper, &size);
	const char *why;

	if (!image || fatbin_each(image, size, search_entry, &s, &why) < 0)
		return NO;
	return s.answer == MAYBE && !has_name(images, found, kernel) ? NO : s.answer;
}

/* Returns the only image that defines the kernel. Otherwise returns NULL, with the reason in *why. */
static const struct wrapper *choose(struct images *images, const char *kernel, const char **why)
{
	const struct wrapper *chosen[3] = { 0 };
	uint32_t n[3] = { 0 };

	for (size_t i = 0; i < images->n; i++) {
		bool is_loaded = pin_file(&images->files[images->at[i].file]);
		enum answer a = is_loaded ? defines(images, &images->at[i], kernel) : NO;

		n[a]++;
		chosen[a] = images->at[i].wrapper;
	}
	if (n[YES] == 1)
		return chosen[YES];
	if (!n[YES] && n[MAYBE] == 1)
		return chosen[MAYBE];
	*why = n[YES] + n[MAYBE] ?
		       "its module was loaded before the attach, and several images of the process may contain "
		       "it; start the program with gpubpf run" :
		       "its module was loaded from memory before the attach; gpubpf can probe it after its next "
		       "load, or start the program with gpubpf run";
	return NULL;
}

const char *cuda_image_learn(const char *kernel, void (*use)(const void *image, void *arg), void *arg)
{
	struct images *images = calloc(1, sizeof(*images));
	const struct wrapper *wrapper;
	const char *why = NULL;

	if (!images)
		return "out of memory";
	dl_iterate_phdr(find_wrappers, images);
	wrapper = choose(images, kernel, &why);
	if (wrapper)
		use(wrapper, arg);
	unpin_files(images);
	free(images);
	return why;
}
