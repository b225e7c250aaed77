/* SPDX-License-Identifier: Apache-2.0 */
#include "bind.h"

#include <errno.h>
#include <string.h>

struct hip_bind hip_binds_get(const struct hip_binds *binds, uint32_t i)
{
	struct hip_bind bind;

	memcpy(&bind, binds->at + i * sizeof(bind), sizeof(bind));
	return bind;
}

static size_t width(const struct hip_bind *bind)
{
	return bind->part == HIP_BIND_U64 ? 8 : 4;
}

static bool is_valid(const struct hip_bind *bind, size_t file_size)
{
	if (bind->what == HIP_BIND_ARGS)
		return bind->part <= (HIP_BIND_LAUNCH | HIP_BIND_PID) && bind->offset <= 1u << 20 &&
		       memchr(bind->kernel, 0, sizeof(bind->kernel));
	return bind->what <= HIP_BIND_IMAGE && bind->part <= HIP_BIND_HI32 && bind->offset <= file_size &&
	       file_size - bind->offset >= width(bind);
}

int hip_binds_open(const void *twin, size_t size, struct hip_binds *binds)
{
	const char *end = (const char *)twin + size;
	struct hip_binds b;

	if (size < HIP_BIND_TAIL || memcmp(end - strlen(HIP_BIND_MAGIC), HIP_BIND_MAGIC, strlen(HIP_BIND_MAGIC)))
		return -EPROTO;
	memcpy(&b.count, end - HIP_BIND_TAIL, sizeof(b.count));
	if (b.count > (size - HIP_BIND_TAIL) / sizeof(struct hip_bind))
		return -EPROTO;
	b.file_size = size - HIP_BIND_TAIL - b.count * sizeof(struct hip_bind);
	b.at = (const char *)twin + b.file_size;
	for (uint32_t i = 0; i < b.count; i++) {
		struct hip_bind bind = hip_binds_get(&b, i);

		if (!is_valid(&bind, b.file_size))
			return -EPROTO;
	}
	*binds = b;
	return 0;
}

bool hip_binds_need_image(const struct hip_binds *binds)
{
	for (uint32_t i = 0; i < binds->count; i++)
		if (hip_binds_get(binds, i).what == HIP_BIND_IMAGE)
			return true;
	return false;
}

void hip_binds_write(const struct hip_binds *binds, void *file, uint64_t arena, uint64_t image)
{
	for (uint32_t i = 0; i < binds->count; i++) {
		struct hip_bind bind = hip_binds_get(binds, i);
		uint64_t value = bind.addend + (bind.what == HIP_BIND_ARENA ? arena : image);

		if (bind.what == HIP_BIND_ARGS)
			continue;
		if (bind.part == HIP_BIND_HI32)
			value >>= 32;
		memcpy((char *)file + bind.offset, &value, width(&bind));
	}
}
