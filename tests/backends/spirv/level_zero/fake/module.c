/* SPDX-License-Identifier: Apache-2.0 */
/* Modules and kernels of the fake driver. "Native code" is a header and the IL in another encoding, unlike any IL. */
#include "fake.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define NATIVE "FAKENAT1"
#define NATIVE_FLAGS 64 /* bytes for the flags after the header; the IL follows them */
#define NATIVE_HEAD (strlen(NATIVE) + NATIVE_FLAGS)

static void *copy_bytes(const void *from, size_t size)
{
	void *to = malloc(size + 1);

	return memcpy(to, from, size);
}

static void scramble(unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] ^= 0xa5;
}

static void list_kernels(struct _ze_module_handle_t *m)
{
	size_t size = 0;
	char *names, *save = NULL;

	cl->clGetProgramInfo(m->program, CL_PROGRAM_KERNEL_NAMES, 0, NULL, &size);
	names = calloc(1, size + 1);
	m->names = calloc(size + 1, sizeof(*m->names));
	cl->clGetProgramInfo(m->program, CL_PROGRAM_KERNEL_NAMES, size, names, NULL);
	for (char *at = strtok_r(names, ";", &save); at; at = strtok_r(NULL, ";", &save))
		m->names[m->nnames++] = strdup(at);
	free(names);
}

static ze_result_t link_all(struct _ze_module_handle_t *m, struct part *const *parts, uint32_t n)
{
	if (fake_link(parts, n, &m->program))
		return ZE_RESULT_ERROR_MODULE_LINK_FAILURE;
	list_kernels(m);
	return ZE_RESULT_SUCCESS;
}

/* Links a module without other modules. If it has imports, zeModuleDynamicLink() must link it later. */
static ze_result_t link_alone(struct _ze_module_handle_t *m)
{
	struct part *parts[64];

	for (uint32_t i = 0; i < m->nparts && i < 64; i++) {
		if (fake_il_lacks(m->parts, m->nparts, i))
			return ZE_RESULT_SUCCESS;
		parts[i] = &m->parts[i];
	}
	return link_all(m, parts, m->nparts);
}

static ze_result_t ZE_APICALL destroy(ze_module_handle_t m)
{
	for (uint32_t i = 0; i < m->nparts; i++) {
		if (m->parts[i].compiled)
			cl->clReleaseProgram(m->parts[i].compiled);
		free(m->parts[i].il);
		free(m->parts[i].flags);
	}
	if (m->program)
		cl->clReleaseProgram(m->program);
	for (uint32_t i = 0; i < m->nnames; i++)
		free(m->names[i]);
	free(m->names);
	free(m->parts);
	free(m);
	return ZE_RESULT_SUCCESS;
}

static void store_parts(struct _ze_module_handle_t *m, const ze_module_desc_t *desc)
{
	const ze_module_program_exp_desc_t *p = desc->pNext;
	size_t skip = desc->format == ZE_MODULE_FORMAT_NATIVE ? NATIVE_HEAD : 0;

	if (p && p->stype != ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC)
		p = NULL;
	m->nparts = p ? p->count : 1;
	m->parts = calloc(m->nparts + 1, sizeof(*m->parts));
	for (uint32_t i = 0; i < m->nparts; i++) {
		const char *flags = p ? p->pBuildFlags ? p->pBuildFlags[i] : NULL :
				    skip ? (const char *)desc->pInputModule + strlen(NATIVE) : desc->pBuildFlags;

		m->parts[i].flags = strdup(flags ? flags : "");
		m->parts[i].size = p ? p->inputSizes[i] : desc->inputSize - skip;
		m->parts[i].il = copy_bytes(p ? p->pInputModules[i] : desc->pInputModule + skip, m->parts[i].size);
	}
	if (skip)
		scramble(m->parts[0].il, m->parts[0].size);
}

/* Logs the modules that the driver receives, for tests that check them. */
static void note(const struct _ze_module_handle_t *m)
{
	FILE *log = fake_log();

	for (uint32_t i = 0; log && i < m->nparts; i++) {
		uint64_t digest = 14695981039346656037ull; /* FNV-1a */

		for (size_t k = 0; k < m->parts[i].size; k++)
			digest = (digest ^ ((unsigned char *)m->parts[i].il)[k]) * 1099511628211ull;
		fprintf(log, "module %u of %u, %zu bytes, %016llx, flags '%s'\n", i, m->nparts, m->parts[i].size,
			(unsigned long long)digest, m->parts[i].flags);
	}
	if (log)
		fclose(log);
}

/* Saves each part to a file, for tests that compile these modules with other compilers. */
static void save(const struct _ze_module_handle_t *m)
{
	const char *folder = getenv("GPUBPF_FAKE_ZE_MODULES");
	static atomic_uint modules;
	unsigned number = modules++;

	for (uint32_t i = 0; folder && i < m->nparts; i++) {
		char path[4096];
		FILE *file;

		snprintf(path, sizeof(path), "%s/%u.%u.spv", folder, number, i);
		file = fopen(path, "wb");
		if (file) {
			fwrite(m->parts[i].il, 1, m->parts[i].size, file);
			fclose(file);
		}
	}
}

static ze_result_t ZE_APICALL create(ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t *desc,
				     ze_module_handle_t *module, ze_module_build_log_handle_t *log)
{
	const ze_module_program_exp_desc_t *p = desc->pNext;
	struct _ze_module_handle_t *m;
	ze_result_t err = ZE_RESULT_SUCCESS;

	if (log)
		*log = NULL;
	if (desc->format == ZE_MODULE_FORMAT_NATIVE &&
	    (desc->inputSize < NATIVE_HEAD || memcmp(desc->pInputModule, NATIVE, strlen(NATIVE))))
		return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
	m = calloc(1, sizeof(*m));
	store_parts(m, desc);
	note(m);
	save(m);
	for (uint32_t i = 0; i < m->nparts && !err; i++)
		if (fake_compile(&m->parts[i], p && p->pConstants ? p->pConstants[i] : desc->pConstants))
			err = ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
	if (!err)
		err = link_alone(m);
	if (err)
		destroy(m);
	else
		*module = m;
	return err;
}

static ze_result_t ZE_APICALL link_modules(uint32_t n, ze_module_handle_t *modules, ze_module_build_log_handle_t *log)
{
	struct part *parts[256];
	uint32_t nparts = 0;
	ze_result_t err = ZE_RESULT_SUCCESS;

	if (log)
		*log = NULL;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < modules[i]->nparts && nparts < 256; k++)
			parts[nparts++] = &modules[i]->parts[k];
	for (uint32_t i = 0; i < n && !err; i++)
		if (!modules[i]->program)
			err = link_all(modules[i], parts, nparts);
	return err;
}

static ze_result_t ZE_APICALL native(ze_module_handle_t m, size_t *size, uint8_t *to)
{
	if (to && *size >= NATIVE_HEAD + m->parts[0].size) {
		memcpy(to, NATIVE, strlen(NATIVE));
		snprintf((char *)to + strlen(NATIVE), NATIVE_FLAGS, "%s", m->parts[0].flags);
		memcpy(to + NATIVE_HEAD, m->parts[0].il, m->parts[0].size);
		scramble(to + NATIVE_HEAD, m->parts[0].size);
	}
	*size = NATIVE_HEAD + m->parts[0].size;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL module_properties(ze_module_handle_t m, ze_module_properties_t *p)
{
	p->flags = m->program ? 0 : ZE_MODULE_PROPERTY_FLAG_IMPORTS;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL kernel_names(ze_module_handle_t m, uint32_t *n, const char **names)
{
	for (uint32_t i = 0; names && i < *n && i < m->nnames; i++)
		names[i] = m->names[i];
	if (!names || *n > m->nnames)
		*n = m->nnames;
	return ZE_RESULT_SUCCESS;
}

/* ---- kernels ---- */

static ze_result_t ZE_APICALL kernel_create(ze_module_handle_t m, const ze_kernel_desc_t *desc, ze_kernel_handle_t *kernel)
{
	struct _ze_kernel_handle_t *k;
	cl_uint nargs = 0;
	cl_int err;

	if (!m->program)
		return ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED;
	k = calloc(1, sizeof(*k));
	k->kernel = cl->clCreateKernel(m->program, desc->pKernelName, &err);
	if (err || cl->clGetKernelInfo(k->kernel, CL_KERNEL_NUM_ARGS, sizeof(nargs), &nargs, NULL) || nargs > FAKE_MAX_ARGS) {
		free(k);
		return ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
	}
	k->module = m;
	k->nargs = nargs;
	snprintf(k->name, sizeof(k->name), "%s", desc->pKernelName);
	for (uint32_t i = 0; i < m->nparts && !fake_il_pointers(&m->parts[i], k->name, k->pointer); i++)
		;
	*kernel = k;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL kernel_destroy(ze_kernel_handle_t k)
{
	cl->clReleaseKernel(k->kernel);
	free(k);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_set_value(ze_kernel_handle_t k, uint32_t i, size_t size, const void *value)
{
	if (i >= k->nargs)
		return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX;
	if (value && size > sizeof(k->args[i].bytes))
		return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE;
	k->args[i].set = true;
	k->args[i].null = !value;
	k->args[i].size = size;
	/* an argument without a value is zero, except for local memory */
	memset(k->args[i].bytes, 0, sizeof(k->args[i].bytes));
	if (value)
		memcpy(k->args[i].bytes, value, size);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL set_group(ze_kernel_handle_t k, uint32_t x, uint32_t y, uint32_t z)
{
	memcpy(k->group, (uint32_t[]){ x, y, z }, sizeof(k->group));
	return x && y && z ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
}

static ze_result_t ZE_APICALL suggest(ze_kernel_handle_t k, uint32_t x, uint32_t y, uint32_t z, uint32_t *gx, uint32_t *gy,
				      uint32_t *gz)
{
	*gx = 64;
	while (x % *gx)
		--*gx;
	*gy = *gz = 1;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL suggest_most(ze_kernel_handle_t k, uint32_t *most)
{
	*most = 64;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL set_indirect(ze_kernel_handle_t k, ze_kernel_indirect_access_flags_t flags)
{
	k->indirect = flags;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL set_cache(ze_kernel_handle_t k, ze_cache_config_flags_t flags)
{
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL kernel_properties(ze_kernel_handle_t k, ze_kernel_properties_t *p)
{
	p->numKernelArgs = k->nargs;
	p->maxSubgroupSize = 16;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL kernel_name(ze_kernel_handle_t k, size_t *size, char *name)
{
	if (name)
		snprintf(name, *size, "%s", k->name);
	*size = strlen(k->name) + 1;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_offset(ze_kernel_handle_t k, uint32_t x, uint32_t y, uint32_t z)
{
	memcpy(k->offset, (uint32_t[]){ x, y, z }, sizeof(k->offset));
	return ZE_RESULT_SUCCESS;
}

void fake_module_table(ze_module_dditable_t *t)
{
	*t = (ze_module_dditable_t){ .pfnCreate = create, .pfnDestroy = destroy, .pfnDynamicLink = link_modules,
				     .pfnGetNativeBinary = native, .pfnGetKernelNames = kernel_names,
				     .pfnGetProperties = module_properties };
}

void fake_kernel_table(ze_kernel_dditable_t *t)
{
	*t = (ze_kernel_dditable_t){
		.pfnCreate = kernel_create, .pfnDestroy = kernel_destroy, .pfnSetArgumentValue = fake_set_value,
		.pfnSetGroupSize = set_group, .pfnSuggestGroupSize = suggest,
		.pfnSuggestMaxCooperativeGroupCount = suggest_most, .pfnSetIndirectAccess = set_indirect,
		.pfnSetCacheConfig = set_cache, .pfnGetProperties = kernel_properties, .pfnGetName = kernel_name,
	};
}
