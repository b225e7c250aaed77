/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the section .BTF.ext against .BTF: function records, line records and CO-RE relocations of each program
 * section. No public header has the layout of .BTF.ext; it is that of libbpf and pahole.
 */
#include "internal.h"

#include <linux/btf.h>
#include <string.h>

#include "core/model/diag.h"

#define MAX_RECORD 256u /* maximum size of one record in bytes */

struct btf_ext_header {
	uint16_t magic;
	uint8_t version, flags;
	/*
	 * header size in bytes; the offsets below are relative to the end of the header, and the lengths are in bytes
	 */
	uint32_t hdr_len;
	uint32_t func_info_off, func_info_len;
	uint32_t line_info_off, line_info_len;
	uint32_t core_relo_off, core_relo_len; /* missing if hdr_len ends before these members */
};

struct btf_ext_info_sec {
	uint32_t sec_name_off, num_info;
};

static int refuse_ext(struct gpubpf_btf_check *c, const char *why)
{
	return gpubpf_diag_set(c->diag, GPUBPF_E_BAD_BTF, GPUBPF_NOPC, "section '.BTF.ext': %s", why);
}

static int check_func_record(struct gpubpf_btf_check *c, const void *record)
{
	const struct bpf_func_info *r = record;

	if (r->insn_off % 8 || !gpubpf_btf_has_kind(c, r->type_id, BTF_KIND_FUNC))
		return refuse_ext(c, "a function's record is malformed");
	return 0;
}

static int check_line_record(struct gpubpf_btf_check *c, const void *record)
{
	const struct bpf_line_info *r = record;

	if (r->insn_off % 8 || !gpubpf_btf_has_string(c, r->file_name_off) || !gpubpf_btf_has_string(c, r->line_off))
		return refuse_ext(c, "a line's record is malformed");
	return 0;
}

/*
 * Checks the access string of a CO-RE relocation, which has indices separated by colons. libbpf parses them by "%d" and
 * does not check the sign.
 */
static bool is_access(const char *s)
{
	size_t digits;

	do {
		digits = strspn(s, "0123456789");
		s += digits;
	} while (digits && digits < 10 && *s++ == ':');
	return digits && digits < 10 && !s[-1];
}

static int check_core_record(struct gpubpf_btf_check *c, const void *record)
{
	const struct bpf_core_relo *r = record;

	if (r->insn_off % 8 || !r->type_id || r->type_id > c->ntypes || !gpubpf_btf_has_string(c, r->access_str_off) ||
	    !is_access(c->strings + r->access_str_off) || (uint32_t)r->kind > BPF_CORE_TYPE_MATCHES)
		return refuse_ext(c, "a CO-RE relocation is malformed");
	return 0;
}

/*
 * Checks the records of one kind: their size, then for each program section its name, the number of records, and the
 * records.
 */
static int check_info(struct gpubpf_btf_check *c, const uint8_t *at, uint32_t len, uint32_t least,
		      int (*check)(struct gpubpf_btf_check *c, const void *record))
{
	const uint8_t *end = at + len;
	uint32_t size;
	int err = 0;

	if (!len)
		return 0;
	if (len < 4 || (size = *(const uint32_t *)at) < least || size % 4 || size > MAX_RECORD)
		return refuse_ext(c, "the size of a record is invalid");
	at += 4;
	while (at < end) {
		const struct btf_ext_info_sec *sec = (const void *)at;

		if ((size_t)(end - at) < sizeof(*sec) || !sec->num_info ||
		    !gpubpf_btf_has_string(c, sec->sec_name_off) || sec->num_info > (end - at - sizeof(*sec)) / size)
			return refuse_ext(c, "it is cut off");
		at += sizeof(*sec);
		for (uint32_t i = 0; i < sec->num_info && err >= 0; i++)
			err = check(c, at + (size_t)i * size);
		if (err < 0)
			return err;
		at += (size_t)sec->num_info * size;
	}
	return 0;
}

static bool inside(uint32_t off, uint32_t len, size_t room)
{
	return off % 4 == 0 && len % 4 == 0 && off <= room && len <= room - off;
}

int gpubpf_btf_ext_check(struct gpubpf_btf_check *c, const void *data, size_t size)
{
	const struct btf_ext_header *h = data;
	const uint8_t *body;
	bool core;
	size_t room;
	int err;

	if (size < offsetof(struct btf_ext_header, core_relo_off) || (uintptr_t)data % 4 || h->magic != BTF_MAGIC ||
	    h->version != BTF_VERSION || h->flags || h->hdr_len > size || h->hdr_len % 4 ||
	    h->hdr_len < offsetof(struct btf_ext_header, core_relo_off))
		return refuse_ext(c, "it does not begin with its header");
	core = h->hdr_len >= sizeof(*h);
	body = (const uint8_t *)data + h->hdr_len;
	room = size - h->hdr_len;
	if (!inside(h->func_info_off, h->func_info_len, room) || !inside(h->line_info_off, h->line_info_len, room) ||
	    (core && !inside(h->core_relo_off, h->core_relo_len, room)))
		return refuse_ext(c, "it is cut off");
	err = check_info(c, body + h->func_info_off, h->func_info_len, sizeof(struct bpf_func_info), check_func_record);
	if (err >= 0)
		err = check_info(c, body + h->line_info_off, h->line_info_len, sizeof(struct bpf_line_info),
				 check_line_record);
	if (err >= 0 && core)
		err = check_info(c, body + h->core_relo_off, h->core_relo_len, sizeof(struct bpf_core_relo),
				 check_core_record);
	return err;
}
