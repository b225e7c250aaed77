/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the operations of the host on arrays with one value per thread (thread_array.h). They differ from the
 * operations on other arrays only in the location of values.
 */
#include "maps/impl.h"

#include <linux/bpf.h>

#include "maps/host/host.h"

static void thread_array_size(struct gpubpf_map_layout *l, const struct gpubpf_map *map,
			      const struct gpubpf_map_scale *scale)
{
	l->copies = scale->threads;
	l->copy_stride = gpubpf_align(l->value_size, 8);
	l->stride = l->copies * l->copy_stride;
	l->data = l->ctl + sizeof(struct gpubpf_map_ctl);
	l->size = l->data - l->ctl + l->max_entries * l->stride;
}

static int64_t thread_array_where(const struct gpubpf_map_layout *l, uint64_t off, uint64_t size)
{
	if (off < l->data || off - l->data >= l->stride * l->max_entries)
		return -1;
	return gpubpf_map_in_value(off - l->data, size, l->copy_stride, l->value_size);
}

HOST_OP(thread_array, lookup, HOST_PTR(arg[0]))
HOST_OP(thread_array, update, HOST_PTR(arg[0]), HOST_PTR(arg[1]), arg[2])
HOST_OP(thread_array, delete, HOST_PTR(arg[0]))

const struct gpubpf_map_impl gpubpf_thread_array_impl = {
	.name = "thread_array",
	.map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP | BPF_F_PRESERVE_ELEMS,
	.check = gpubpf_array_check,
	.size = thread_array_size,
	.where = thread_array_where,
	.read = gpubpf_array_read,
	.write = gpubpf_array_write,
	.erase = gpubpf_array_erase,
	.next = gpubpf_array_next,
	.iterate = gpubpf_array_iterate,
	.op[GPUBPF_OP_LOOKUP] = thread_array_lookup,
	.op[GPUBPF_OP_UPDATE] = thread_array_update,
	.op[GPUBPF_OP_DELETE] = thread_array_delete,
};
