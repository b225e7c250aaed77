/* SPDX-License-Identifier: Apache-2.0 */
#include "meta.h"

#include <elf.h>
#include <string.h>

#define NT_METADATA 32 /* of owner "AMDGPU" */

/* a reader of the part of MessagePack that metadata uses */
struct pack {
	const uint8_t *at, *end;
};

bool meta_is(struct meta_text text, const char *word)
{
	return text.len == strlen(word) && !memcmp(text.at, word, text.len);
}

bool meta_is_hidden(const struct meta_arg *arg)
{
	return arg->kind.len > 7 && !memcmp(arg->kind.at, "hidden_", 7);
}

/* ---- the format ---- */

static uint64_t read_number(struct pack *p, unsigned bytes)
{
	uint64_t v = 0;

	if ((size_t)(p->end - p->at) < bytes)
		p->at = p->end;
	for (; bytes && p->at < p->end; bytes--)
		v = v << 8 | *p->at++;
	return v;
}

/*
 * Reads the next item and returns its kind. For a number, sets *n to its value. Otherwise sets *n to the number of
 * bytes of the text, elements of the array, or pairs of the map.
 */
enum kind { NUMBER, TEXT, ARRAY, MAP };

static enum kind next(struct pack *p, uint64_t *n)
{
	uint8_t head = (uint8_t)read_number(p, 1);

	*n = head & 0x1f;
	if (head >= 0xa0 && head < 0xc0)
		return TEXT;
	*n = head & 0x0f;
	if (head >= 0x80 && head < 0xa0)
		return head < 0x90 ? MAP : ARRAY;
	if (head >= 0xd9 && head <= 0xdf) {
		*n = read_number(p, head <= 0xdb ? 1u << (head - 0xd9) : 2u << (head & 1));
		return head <= 0xdb ? TEXT : head <= 0xdd ? ARRAY : MAP;
	}
	/* numbers of 8 to 64 bits, signed or unsigned; otherwise nil, booleans and small numbers */
	*n = head >= 0xcc && head <= 0xd3 ? read_number(p, 1u << (head & 3)) : head < 0x80 ? head : head == 0xc3;
	return NUMBER;
}

static void skip(struct pack *p)
{
	uint64_t n;
	enum kind kind = next(p, &n);

	if (kind == TEXT)
		p->at += n < (size_t)(p->end - p->at) ? n : (size_t)(p->end - p->at);
	for (n *= kind == MAP ? 2 : kind == ARRAY; n && p->at < p->end; n--)
		skip(p);
}

static uint64_t count(struct pack *p, enum kind wanted)
{
	uint64_t n;

	return next(p, &n) == wanted ? n : 0;
}

static struct meta_text text(struct pack *p)
{
	uint64_t n = count(p, TEXT);
	struct meta_text t = { (const char *)p->at, n <= (size_t)(p->end - p->at) ? (uint32_t)n : 0 };

	p->at += t.len;
	return t;
}

/* ---- the note ---- */

size_t meta_image_size(const void *image)
{
	const Elf64_Ehdr *e = image;

	return memcmp(e->e_ident, ELFMAG, SELFMAG) ? 0 : e->e_shoff + (size_t)e->e_shnum * e->e_shentsize;
}

static struct pack find_note(const void *image)
{
	const Elf64_Ehdr *e = image;
	const uint8_t *bytes = image;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(bytes + e->e_phoff);

	for (int i = 0; i < e->e_phnum; i++) {
		const uint8_t *at = bytes + p[i].p_offset, *end = at + p[i].p_filesz;

		while (p[i].p_type == PT_NOTE && at + sizeof(Elf64_Nhdr) <= end) {
			const Elf64_Nhdr *note = (const Elf64_Nhdr *)at;
			const uint8_t *what = at + sizeof(*note) + ((note->n_namesz + 3) & ~3u);

			if (note->n_type == NT_METADATA)
				return (struct pack){ what, what + note->n_descsz };
			at = what + ((note->n_descsz + 3) & ~3u);
		}
	}
	return (struct pack){ NULL, NULL };
}

static void read_arg(struct pack *p, struct meta_arg *arg)
{
	for (uint64_t n = count(p, MAP); n; n--) {
		struct meta_text key = text(p);

		if (meta_is(key, ".offset"))
			arg->offset = (uint32_t)count(p, NUMBER);
		else if (meta_is(key, ".size"))
			arg->size = (uint32_t)count(p, NUMBER);
		else if (meta_is(key, ".value_kind"))
			arg->kind = text(p);
		else
			skip(p);
	}
}

static bool read_kernel(struct pack *p, const char *wanted, struct meta *meta)
{
	bool found = false;

	*meta = (struct meta){ .most_threads = 1024 };
	for (uint64_t n = count(p, MAP); n; n--) {
		struct meta_text key = text(p);

		if (meta_is(key, ".name")) {
			found = meta_is(text(p), wanted);
		} else if (meta_is(key, ".vgpr_count")) {
			meta->registers = (uint32_t)count(p, NUMBER);
		} else if (meta_is(key, ".kernarg_segment_size")) {
			meta->kernarg_size = (uint32_t)count(p, NUMBER);
		} else if (meta_is(key, ".max_flat_workgroup_size")) {
			meta->most_threads = (uint32_t)count(p, NUMBER);
		} else if (meta_is(key, ".args")) {
			for (uint64_t left = count(p, ARRAY); left; left--)
				read_arg(p, &meta->arg[meta->nargs < META_ARGS ? meta->nargs++ : META_ARGS - 1]);
		} else {
			skip(p);
		}
	}
	return found && meta->nargs < META_ARGS;
}

bool meta_read(const void *image, const char *kernel, struct meta *meta)
{
	struct pack p = find_note(image);

	for (uint64_t n = count(&p, MAP); n; n--) {
		if (!meta_is(text(&p), "amdhsa.kernels")) {
			skip(&p);
			continue;
		}
		for (uint64_t left = count(&p, ARRAY); left; left--)
			if (read_kernel(&p, kernel, meta))
				return true;
	}
	return false;
}
