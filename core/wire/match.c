/* SPDX-License-Identifier: Apache-2.0 */
#include "match.h"

#include <stdlib.h>
#include <string.h>

/*
 * Finds the function's name in an Itanium-mangled name: the last <source-name> (Itanium C++ ABI 5.1.2), which is a
 * decimal length and that many characters. A nested name begins with N and contains several. After N, the letters r, V,
 * K, R, O qualify a member function's object. L marks internal linkage.
 */
static bool source_name(const char *mangled, char *out, size_t size)
{
	const char *at = mangled + 2;
	bool nested = *at == 'N';
	size_t found = 0;

	at += nested;
	if (nested)
		at += strspn(at, "rVKRO");
	for (;;) {
		char *name;
		unsigned long n;

		at += *at == 'L';
		if (*at < '1' || *at > '9')
			break;
		n = strtoul(at, &name, 10);

		if (n >= size || strnlen(name, n) < n)
			return false;
		memcpy(out, name, n);
		out[n] = 0;
		found = n;
		at = name + n;
		if (!nested)
			break;
	}
	return found;
}

bool gpubpf_pattern_matches(const char *pattern, const char *kernel)
{
	char shown[GPUBPF_NAME_SIZE], source[256];
	size_t len = strlen(kernel);

	if (gpubpf_glob_matches(pattern, kernel))
		return true;
	if (len > GPUBPF_SHORT_NAME) {
		gpubpf_name_short(kernel, len, shown);
		if (gpubpf_glob_matches(pattern, shown))
			return true;
	}
	return !strncmp(kernel, "_Z", 2) && source_name(kernel, source, sizeof(source)) &&
	       gpubpf_glob_matches(pattern, source);
}

bool gpubpf_pattern_is_glob(const char *pattern)
{
	return strpbrk(pattern, "*?[") != NULL;
}

bool gpubpf_pattern_store(const char *pattern, char out[GPUBPF_NAME_SIZE])
{
	size_t len = strlen(pattern);

	bool glob = gpubpf_pattern_is_glob(pattern);

	if (!len || len >= (glob ? GPUBPF_NAME_SIZE : GPUBPF_WHOLE_NAME_SIZE))
		return false;
	if (glob)
		strcpy(out, pattern);
	else
		gpubpf_name_short(pattern, len, out);
	return true;
}
