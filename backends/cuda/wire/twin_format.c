/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes and reads the table of addresses (struct cuda_twin_address) that follows a twin's cubin. An address is u64
 * off, u64 addend, u32 part, str name, in the encoding of core/wire/wire.h. A footer follows the table: u32 size of the
 * table, u32 number of addresses, u64 magic. A cubin without a footer has no addresses.
 */
#include "twin_format.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/wire.h"

#define MAGIC 0x646e69622d6e7774ull /* "twn-bind" */
#define FOOTER 16
#define NAME_MAX_SIZE 4096

int cuda_twin_pack(void **twin, size_t *size, const struct cuda_twin_address *addresses, uint32_t n)
{
	struct gpubpf_writer w = { 0 };
	uint32_t table;

	if (!n)
		return 0;
	gpubpf_put_raw(&w, *twin, *size);
	for (uint32_t i = 0; i < n; i++) {
		gpubpf_put_u64(&w, addresses[i].off);
		gpubpf_put_u64(&w, addresses[i].addend);
		gpubpf_put_u32(&w, addresses[i].part);
		gpubpf_put_str(&w, addresses[i].name);
	}
	table = w.size - *size;
	gpubpf_put_u32(&w, table);
	gpubpf_put_u32(&w, n);
	gpubpf_put_u64(&w, MAGIC);
	if (w.failed) {
		gpubpf_writer_finish(&w);
		return -ENOMEM;
	}
	free(*twin);
	*twin = w.data;
	*size = w.size;
	return 0;
}

static int bind_address(uint8_t *cubin, size_t size, struct gpubpf_reader *r,
			int (*address)(void *arg, const char *name, uint64_t *address), void *arg)
{
	uint64_t off = gpubpf_get_u64(r), addend = gpubpf_get_u64(r), value;
	uint32_t part = gpubpf_get_u32(r);
	size_t bytes = part == CUDA_TWIN_WHOLE ? sizeof(value) : sizeof(uint32_t);
	char name[NAME_MAX_SIZE];
	int err;

	gpubpf_get_str(r, name, sizeof(name));
	if (r->failed || part > CUDA_TWIN_HIGH || size < bytes || off > size - bytes)
		return -EINVAL;
	err = address(arg, name, &value);
	value = (value + addend) >> (part == CUDA_TWIN_HIGH ? 32 : 0);
	if (!err)
		memcpy(cubin + off, &value, bytes); /* little-endian, as are all hosts that the driver supports */
	return err;
}

int cuda_twin_bind(void *twin, size_t size, int (*address)(void *arg, const char *name, uint64_t *address), void *arg)
{
	struct gpubpf_reader footer, table;
	uint32_t table_size, n;
	int err = 0;

	if (size < FOOTER)
		return 0;
	size -= FOOTER;
	gpubpf_reader_init(&footer, (uint8_t *)twin + size, FOOTER);
	table_size = gpubpf_get_u32(&footer);
	n = gpubpf_get_u32(&footer);
	if (gpubpf_get_u64(&footer) != MAGIC)
		return 0;
	if (table_size > size)
		return -EINVAL;
	size -= table_size;
	gpubpf_reader_init(&table, (uint8_t *)twin + size, table_size);
	while (!err && n--)
		err = bind_address(twin, size, &table, address, arg);
	return err || gpubpf_reader_done(&table) ? err : -EINVAL;
}

static bool is_symbol_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* The byte before the match need not be a NUL, because a string table may store one string as the tail of another. */
bool cuda_twin_names(const void *twin, size_t size, const char *symbol)
{
	const char *from = twin, *end = from + size, *at;
	size_t n = strlen(symbol);

	while ((at = memmem(from, end - from, symbol, n)) && at + n < end && is_symbol_char(at[n]))
		from = at + 1;
	return at;
}
