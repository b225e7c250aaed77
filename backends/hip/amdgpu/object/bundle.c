/* SPDX-License-Identifier: Apache-2.0 */
#include "bundle.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compressed.h"
#include "core/model/diag.h"

#define MAGIC "__CLANG_OFFLOAD_BUNDLE__"
#define MAX_ENTRIES 1024

/* Returns true if code for `target` (for example "gfx90a:xnack+") runs on a device of architecture `arch`. A feature
 * that `target` does not name may be on or off. */
static bool runs_on(const char *target, size_t len, const char *arch)
{
	size_t n = strcspn(arch, ":"), at;

	if (len < n || memcmp(target, arch, n) || (len > n && target[n] != ':'))
		return false;
	for (at = n; at < len;) {
		size_t end = at + 1;
		char feature[32], other[32];

		while (end < len && target[end] != ':')
			end++;
		if (end - at >= sizeof(feature))
			return false;
		snprintf(feature, sizeof(feature), "%.*s", (int)(end - at), target + at);
		memcpy(other, feature, sizeof(other));
		other[end - at - 1] = feature[end - at - 1] == '+' ? '-' : '+';
		if (strstr(arch, other))
			return false;
		at = end;
	}
	return true;
}

/* Returns the architecture part of a bundle entry's id: gfx90a:xnack+ in "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+". */
static const char *find_arch(const char *id, size_t *len)
{
	static const char dashes[] = "amdhsa-";
	const char *at = memmem(id, *len, dashes, strlen(dashes));

	if (!at)
		return NULL;
	at += strlen(dashes);
	if (at < id + *len && *at == '-')
		at++;
	*len -= at - id;
	return at;
}

struct entry {
	uint64_t off, size, id_size;
};

static int pick(const uint8_t *data, size_t size, const char *arch, struct gpubpf_blob *out, struct gpubpf_diag *diag)
{
	size_t at = strlen(MAGIC) + sizeof(uint64_t);
	uint64_t n = 0;
	struct entry e;

	if (size >= at)
		memcpy(&n, data + strlen(MAGIC), sizeof(n));
	for (uint64_t i = 0; i < n && i < MAX_ENTRIES && size - at >= sizeof(e); i++) {
		const char *id = (const char *)data + at + sizeof(e);
		size_t len;

		memcpy(&e, data + at, sizeof(e));
		at += sizeof(e);
		if (e.id_size > size - at || e.off > size || e.size > size - e.off)
			break;
		at += e.id_size;
		len = e.id_size;
		if (!e.size || !memmem(id, len, "amdgcn", 6) || !(id = find_arch(id, &len)) || !runs_on(id, len, arch))
			continue;
		*out = (struct gpubpf_blob){ (void *)(data + e.off), e.size };
		return 0;
	}
	return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "the bundle has no code object for %s", arch);
}

int hip_bundle_pick(const struct gpubpf_image *image, const char *arch, void **plain, struct gpubpf_blob *out,
		    struct gpubpf_diag *diag)
{
	struct gpubpf_blob bundle = { (void *)image->data, image->size };
	int err = 0;

	*plain = NULL;
	if (hip_is_compressed(image->data, image->size)) {
		err = hip_decompress(image->data, image->size, &bundle, diag);
		if (err < 0)
			return err;
		*plain = bundle.data;
	}
	if (bundle.size >= strlen(MAGIC) && !memcmp(bundle.data, MAGIC, strlen(MAGIC)))
		err = pick(bundle.data, bundle.size, arch, out, diag);
	else if (bundle.size >= SELFMAG && !memcmp(bundle.data, ELFMAG, SELFMAG))
		*out = bundle;
	else
		err = gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				      "the image is neither a code object nor a bundle of them");
	if (err < 0) {
		free(*plain);
		*plain = NULL;
	}
	return err;
}
