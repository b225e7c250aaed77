/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds clang's command line for reading an OpenCL program as the device's own compiler reads it: with the same
 * language version, features and macros. Options that only affect code generation are dropped.
 */
#include "dialect.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/spirv/common/options.h"

/*
 * Macros and include folders of vendors' compilers that the OpenCL specification does not define. `match` is a prefix
 * of the device's name or driver; the first matching row applies.
 */
static const struct vendor {
	const char *match;
	const char *triple;
	const char *define[3];
	/* include options that the compiler puts before and after the application's -I options; NULL: none */
	const char *before, *after;
} vendors[] = {
	/* PoCL's CPU devices compile for the host's architecture */
	{ "pthread", "x86_64-unknown-linux-gnu", { "-DPOCL_DEVICE_ADDRESS_BITS=64", "-D__USE_CLANG_OPENCL_C_H" } },
	{ "cpu-", "x86_64-unknown-linux-gnu", { "-DPOCL_DEVICE_ADDRESS_BITS=64", "-D__USE_CLANG_OPENCL_C_H" } },
	{ "basic", "x86_64-unknown-linux-gnu", { "-DPOCL_DEVICE_ADDRESS_BITS=64", "-D__USE_CLANG_OPENCL_C_H" } },
	{ "NVIDIA",
	  "nvptx64-nvidia-nvcl",
	  { "-D__NV_CL_C_VERSION=120", "-Dcl_nv_pragma_unroll=1" },
	  "-I. ",
	  " -Iinclude -I/usr/local/include -I/usr/include" }, /* observed with NVIDIA's driver 580 */
	{ "Advanced Micro Devices", "amdgcn-amd-amdhsa", { "-D__AMD__=1", "-D__GPU__=1" } },
	{ "", "spir64-unknown-unknown", { 0 } },
};

static const struct vendor *vendor_of(const struct gpubpf_device_caps *caps)
{
	const struct vendor *v = vendors;

	while (strncmp(caps->name, v->match, strlen(v->match)) != 0 &&
	       strncmp(caps->driver, v->match, strlen(v->match)) != 0)
		v++;
	return v;
}

const char *gpubpf_cl_search_options(const char *options, const char *cwd, const struct gpubpf_device_caps *caps,
				     struct gpubpf_pool *pool)
{
	const struct vendor *v = vendor_of(caps);
	char *text;

	options = options ? options : "";
	if (!v->before || !cwd || !cwd[0])
		return options;
	text = gpubpf_pool_alloc(pool, strlen(v->before) + strlen(options) + strlen(v->after) + 1, 1);
	if (text)
		sprintf(text, "%s%s%s", v->before, options, v->after);
	return text;
}

static void add(struct gpubpf_cl_args *args, const char *arg)
{
	if (arg)
		args->arg[args->n++] = arg;
}

/*
 * Returns the option for the language version. Without -cl-std this is OpenCL C 1.2, or the device's version if the
 * device supports only a lower one.
 */
static const char *select_standard(const struct gpubpf_cl_words *words, const struct gpubpf_device_caps *caps)
{
	static const char *const known[] = { "CL",    "CL1.0", "CL1.1",    "CL1.2",    "CL2.0",
					     "CL3.0", "CLC++", "CLC++1.0", "CLC++2021" };
	const char *std = caps->opencl_c_version && caps->opencl_c_version < 120 ? "-cl-std=CL1.1" : "-cl-std=CL1.2";

	for (uint32_t i = 0; i < words->n; i++)
		for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
			if (strncmp(words->word[i].text, "-cl-std=", 8) == 0 &&
			    strcmp(words->word[i].text + 8, known[k]) == 0)
				std = words->word[i].text;
	for (uint32_t i = 0; i < words->n; i++)
		if (strncmp(words->word[i].text, "-cl-std=CL3.", 12) == 0) /* clang 22 supports no later version */
			std = "-cl-std=CL3.0";
	return std;
}

/*
 * Add the build options that affect the preprocessed text or the types. The value of -D, -I and -U is part of the same
 * word, or is the next word.
 */
static void add_options(struct gpubpf_cl_args *args, const struct gpubpf_cl_words *words)
{
	static const char *const joined[] = { "-D", "-I", "-U" };
	static const char *const whole[] = { "-cl-fast-relaxed-math", "-cl-finite-math-only",
					     "-cl-unsafe-math-optimizations", "-cl-single-precision-constant" };

	for (uint32_t i = 0; i < words->n; i++) {
		const char *w = words->word[i].text;

		for (size_t k = 0; k < sizeof(joined) / sizeof(joined[0]); k++) {
			if (strncmp(w, joined[k], 2) != 0)
				continue;
			add(args, w);
			if (!w[2] && i + 1 < words->n)
				add(args, words->word[++i].text);
			break;
		}
		for (size_t k = 0; k < sizeof(whole) / sizeof(whole[0]); k++)
			if (strcmp(w, whole[k]) == 0)
				add(args, w);
	}
}

/*
 * Define the macros of the device's extensions. clang also enables other extensions of the target triple. This is
 * harmless, because a source that the device's compiler accepts does not use them.
 */
static int add_extensions(struct gpubpf_cl_args *args, const char *extensions, struct gpubpf_pool *pool)
{
	char *names = gpubpf_pool_strndup(pool, extensions, strlen(extensions));
	char *save = NULL;

	if (!names)
		return -ENOMEM;
	for (char *e = strtok_r(names, " ", &save); e; e = strtok_r(NULL, " ", &save)) {
		char *define = gpubpf_pool_alloc(pool, strlen(e) + 8, 1);

		if (!define)
			return -ENOMEM;
		sprintf(define, "-D%s=1", e);
		add(args, define);
	}
	return 0;
}

static void add_dialect(struct gpubpf_cl_args *args, const struct cl_dialect *dialect)
{
	if (dialect->features[0]) {
		add(args, "-Xclang");
		add(args, dialect->features);
	}
	if (dialect->macros[0]) {
		add(args, "-include");
		add(args, GPUBPF_CL_MACROS);
	}
}

/*
 * Returns the folder of clang's built-in headers. This is clang/include next to this program if it exists, otherwise
 * the folder that was configured when gpubpf was built.
 */
static const char *header_folder(struct gpubpf_pool *pool)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - sizeof("clang/include"));
	char *end;

	if (n < 0)
		return GPUBPF_CLANG_RESOURCES "/include";
	path[n] = 0;
	end = strrchr(path, '/');
	strcpy(end ? end + 1 : path, "clang/include");
	if (access(path, R_OK))
		return GPUBPF_CLANG_RESOURCES "/include";
	end = gpubpf_pool_strndup(pool, path, strlen(path));
	return end ? end : GPUBPF_CLANG_RESOURCES "/include";
}

int gpubpf_cl_make_args(const struct gpubpf_cl_source *source, const struct gpubpf_device_caps *caps,
			struct gpubpf_pool *pool, struct gpubpf_cl_args *args)
{
	static const char *const fixed[] = {
		"-x",       "cl",
		"-w",       "-ferror-limit=0",
		"-Xclang",  "-finclude-default-header",
		"-Xclang",  "-fdeclare-opencl-builtins",
		"-isystem",
	};
	const struct vendor *vendor = vendor_of(caps);
	struct gpubpf_cl_words words;
	const char *std;
	int err;

	err = gpubpf_cl_split(source->options ? source->options : "", pool, &words);
	if (err < 0)
		return err;
	args->n = 0;
	args->arg = gpubpf_pool_alloc(pool, words.n + strlen(caps->extensions) + 40, sizeof(*args->arg));
	if (!args->arg)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		add(args, fixed[i]);
	add(args, header_folder(pool));
	add(args, "-target");
	add(args, vendor->triple);
	for (size_t i = 0; i < sizeof(vendor->define) / sizeof(vendor->define[0]); i++)
		add(args, vendor->define[i]);
	std = source->dialect && source->dialect->standard ? source->dialect->standard : select_standard(&words, caps);
	add(args, std);
	err = add_extensions(args, caps->extensions, pool);
	add_options(args, &words);
	if (source->dialect)
		add_dialect(args, source->dialect);
	if (source->cwd && source->cwd[0]) { /* for relative -I */
		add(args, "-working-directory");
		add(args, source->cwd);
	}
	if (source->nheaders)
		add(args, "-I" GPUBPF_CL_FOLDER);
	return err;
}
