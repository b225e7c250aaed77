/* SPDX-License-Identifier: Apache-2.0 */
#include "params.h"

#include <string.h>

#include "core/model/diag.h"

#define ALIGN_MAX 128              /* maximum alignment of a parameter; CUtensorMap has 64 */
#define BYTES_ALIGN 16             /* alignment of parameters in env->arg_bytes */
#define INFO_SIZE 12               /* size of an item in bytes: u32 0, u16 ordinal, u16 offset, u32 with the size in
                                    * bits 18..31. A V2 item has the size in bits 0..15 and a description of the
                                    * pointee in bits 16..27. */

static uint32_t align_up(uint32_t n, uint32_t align)
{
	return (n + align - 1) & ~(align - 1);
}

/* Returns the offset of a parameter that follows offset `end`. The alignment applies to the parameter's address in
 * c[0x0]. */
static uint32_t compute_offset(const struct sass_arch *arch, uint32_t end, uint32_t align)
{
	return align_up(arch->params + end, align) - arch->params;
}

/* Returns the largest alignment that places a parameter after offset `end` at offset `off`; 0: no alignment does. */
static uint32_t align_of(const struct sass_arch *arch, uint32_t end, uint32_t off)
{
	uint32_t align = ALIGN_MAX;

	while (align && compute_offset(arch, end, align) != off)
		align /= 2;
	return align;
}

static enum gpubpf_param_kind get_kind(uint32_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8 ? GPUBPF_PARAM_INT : GPUBPF_PARAM_BYTES;
}

/* Collects the parameters. The items come in any order, so bytes_off temporarily holds the offset of each parameter.
 * Returns the number of parameters, or -1 if an item is invalid. */
static int collect(const struct sass_section *info, struct gpubpf_param *params)
{
	struct sass_item item;
	uint32_t n = 0;
	size_t at = 0;

	while (sass_item_next(info->data, info->size, &at, &item)) {
		bool large = item.attr == SASS_ATTR_KPARAM_INFO_V2;
		uint32_t ordinal, size, word;

		if ((item.attr != SASS_ATTR_KPARAM_INFO && !large) || !item.data || item.size < INFO_SIZE)
			continue;
		ordinal = sass_get16(item.data + 4);
		word = sass_get32(item.data + 8);
		size = large ? word & UINT16_MAX : word >> 18;
		if (ordinal >= SASS_PARAMS_MAX || !size || params[ordinal].size || (large && word >> 28))
			return -1;
		params[ordinal] = (struct gpubpf_param){ .kind = get_kind(size),
							 .size = size,
							 .bytes_off = sass_get16(item.data + 6) };
		n++;
	}
	return n;
}

int sass_params(const struct sass_cubin *cubin, const struct sass_kernel *kernel, struct gpubpf_param *params,
		struct gpubpf_diag *diag)
{
	const struct sass_arch *arch = sass_arch_find(cubin->sm);
	uint32_t end = 0, bytes = 0;
	int n = !arch ? 0 : collect(&cubin->sections[kernel->info], params);

	for (int i = 0; i < n; i++) {
		params[i].align = params[i].size ? align_of(arch, end, params[i].bytes_off) : 0;
		if (!params[i].align)
			n = -1;
		end = params[i].bytes_off + params[i].size;
		params[i].bytes_off = bytes;
		bytes += align_up(params[i].size, BYTES_ALIGN);
	}
	if (n < 0)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "the image's description of the kernel's parameters is invalid");
	return n;
}

uint32_t sass_param_off(const struct sass_arch *arch, const struct gpubpf_param *params, uint32_t i)
{
	uint32_t off = 0;

	for (uint32_t p = 0; p <= i; p++)
		off = compute_offset(arch, p ? off + params[p - 1].size : 0, params[p].align ? params[p].align : 1);
	return off;
}
