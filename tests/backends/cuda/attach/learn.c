/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learn LIBRARY: tests the search for the images of older modules (hooks/cuda/learn.c), while the application unloads
 * the library that contains the image.
 */
#include <dlfcn.h>
#include <link.h>

#include "hooks/cuda/cuda.h"
#include "tests/tap.h"

static const char *path;
static void *library;
static bool unloads_after_search;

static void unload(void)
{
	if (library)
		dlclose(library);
	library = NULL;
}

static bool is_loaded(void)
{
	void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);

	if (handle)
		dlclose(handle);
	return handle;
}

/* The search calls this function instead of the C library's. */
__attribute__((visibility("default"))) int dl_iterate_phdr(int (*fn)(struct dl_phdr_info *, size_t, void *), void *arg)
{
	static int (*real)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
	int result;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "dl_iterate_phdr");
	result = real(fn, arg);
	if (unloads_after_search)
		unload();
	return result;
}

static void unload_in_use(const void *image, void *arg)
{
	const void *wrapper = library ? dlsym(library, "learned_wrapper") : NULL;

	unload();
	*(bool *)arg = image && image == wrapper && is_loaded();
}

int main(int argc, char **argv)
{
	bool used = false;
	const char *why;

	path = argc > 1 ? argv[1] : "";
	library = dlopen(path, RTLD_NOW);
	if (!library)
		return 2;
	why = cuda_image_learn("other", unload_in_use, &used);
	ok(why && !used && strstr(why, "loaded from memory"), "a kernel of no image: %s", why);
	why = cuda_image_learn("learned", unload_in_use, &used);
	ok(!why && used, "the library stays loaded while its image is used");
	ok(!is_loaded(), "then the application's dlclose() unloads it");
	library = dlopen(path, RTLD_NOW);
	unloads_after_search = true;
	used = false;
	why = cuda_image_learn("learned", unload_in_use, &used);
	ok(why && !used && strstr(why, "loaded from memory"), "a library that is unloaded after the search: %s", why);
	return done();
}
