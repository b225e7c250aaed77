/* SPDX-License-Identifier: Apache-2.0 */
#include "sized.h"

#include <errno.h>
#include <string.h>

static size_t size_of(const void *theirs)
{
	size_t size;

	memcpy(&size, theirs, sizeof(size));
	return size;
}

bool gpubpf_sized_is_valid(const void *theirs, size_t known)
{
	const unsigned char *bytes = theirs;
	size_t size = size_of(theirs);

	if (size < sizeof(size) || size > GPUBPF_SIZED_MAX)
		return false;
	for (size_t i = known; i < size; i++)
		if (bytes[i])
			return false;
	return true;
}

int gpubpf_sized_copy_in(void *ours, size_t known, const void *theirs)
{
	size_t size = size_of(theirs);

	if (!gpubpf_sized_is_valid(theirs, known))
		return -EINVAL;
	memset(ours, 0, known);
	memcpy(ours, theirs, size < known ? size : known);
	return 0;
}

int gpubpf_sized_copy_out(void *theirs, size_t known, const void *ours)
{
	size_t size = size_of(theirs);

	if (!gpubpf_sized_is_valid(theirs, known))
		return -EINVAL;
	memcpy((char *)theirs + sizeof(size), (const char *)ours + sizeof(size),
	       (size < known ? size : known) - sizeof(size));
	return 0;
}
