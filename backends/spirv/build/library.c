/* SPDX-License-Identifier: Apache-2.0 */
#include "library.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Functions of PoCL's LLVM, from LLVM's stable C interface. LLVM's objects are opaque pointers here. */
#define LLVM_CALLS(CALL)                                                             \
	CALL(void *, ContextCreate, (void))                                          \
	CALL(void, ContextDispose, (void *context))                                  \
	CALL(int, CreateMemoryBufferWithContentsOfFile, (const char *, void **, char **)) \
	CALL(void *, CreateMemoryBufferWithMemoryRange, (const void *, size_t, const char *, int)) \
	CALL(void, DisposeMessage, (char *))                                         \
	CALL(int, GetBitcodeModuleInContext2, (void *context, void *buffer, void **module)) \
	CALL(int, ParseBitcodeInContext2, (void *context, void *buffer, void **module)) \
	CALL(void *, ModuleCreateWithNameInContext, (const char *, void *context))    \
	CALL(const char *, GetTarget, (void *module))                                \
	CALL(void, SetTarget, (void *module, const char *))                          \
	CALL(const char *, GetDataLayoutStr, (void *module))                         \
	CALL(void, SetDataLayout, (void *module, const char *))                      \
	CALL(void *, GetFirstFunction, (void *module))                               \
	CALL(void *, GetNextFunction, (void *function))                              \
	CALL(void *, GetNamedFunction, (void *module, const char *))                 \
	CALL(void *, AddFunction, (void *module, const char *, void *type))           \
	CALL(void *, GlobalGetValueType, (void *function))                           \
	CALL(const char *, GetValueName2, (void *function, size_t *))                \
	CALL(int, IsDeclaration, (void *function))                                   \
	CALL(int, GetLinkage, (void *function))                                      \
	CALL(void, SetLinkage, (void *function, int linkage))                        \
	CALL(int, LinkModules2, (void *to, void *from))                              \
	CALL(int, WriteBitcodeToFD, (void *module, int fd, int close, int unbuffered))

enum { LLVM_EXTERNAL = 0, LLVM_LINK_ONCE_ODR = 3 }; /* LLVMLinkage */

struct llvm {
#define CALL(type, name, args) type(*name) args;
	LLVM_CALLS(CALL)
#undef CALL
	void *context;
};

/* functions that PoCL's own passes look up by name, even if no kernel calls them */
static const char *const looked_up[] = {
	"_Z7barrierj",
	"_Z12get_group_idj",
	"_Z12get_local_idj",
	"_Z12get_work_dimv",
	"_Z13get_global_idj",
	"_Z14get_local_sizej",
	"_Z14get_num_groupsj",
	"_Z15get_global_sizej",
	"_Z17get_global_offsetj",
	"_Z19get_local_linear_idv",
	"_Z20get_global_linear_idv",
	"_Z23get_enqueued_local_sizej",
};

static struct {
	const struct cl_object *object;
	size_t n;
	bool reduced;
} library;

void cl_library_set_objects(const struct cl_object *objects, size_t n)
{
	library.object = objects;
	library.n = n;
}

bool cl_library_is_reduced(void)
{
	return library.reduced;
}

bool cl_library_take_reduced(void)
{
	bool reduced = library.reduced;

	library.reduced = false;
	return reduced;
}

/* Resolve the LLVM functions in the shared library that contains the address `caller`. */
static bool find_llvm(struct llvm *llvm, const void *caller)
{
	const char *base;
	Dl_info info;
	void *lib;

	if (!dladdr(caller, &info) || !info.dli_fname)
		return false;
	base = strrchr(info.dli_fname, '/');
	if (strncmp(base ? base + 1 : info.dli_fname, "libLLVM", strlen("libLLVM")))
		return false;
	lib = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!lib)
		return false;
#define CALL(type, name, args)                                            \
	llvm->name = (__typeof__(llvm->name))dlsym(lib, "LLVM" #name);    \
	if (!llvm->name)                                                  \
		return false;
	LLVM_CALLS(CALL)
#undef CALL
	return true;
}

/* -- objects -- */

/* Find the LLVM bitcode in the object. In PoCL's container format, the 4 bytes before the bitcode hold its size. */
static bool find_bitcode(const struct cl_object *object, struct cl_object *out)
{
	const char *bytes = object->data, *at = memmem(bytes, object->size, "BC\xc0\xde", 4);
	uint32_t size;

	if (!at)
		return false;
	*out = (struct cl_object){ at, object->size };
	if (at == bytes)
		return true;
	if ((size_t)(at - bytes) < sizeof(size))
		return false;
	memcpy(&size, at - sizeof(size), sizeof(size));
	out->size = size;
	return size <= object->size - (size_t)(at - bytes);
}

/* Declare in module `to` the functions of module `lib` that the object calls. */
static bool declare_called(const struct llvm *llvm, const struct cl_object *object, void *lib, void *to)
{
	struct cl_object code;
	void *buffer, *module;

	if (!find_bitcode(object, &code))
		return false;
	buffer = llvm->CreateMemoryBufferWithMemoryRange(code.data, code.size, "object", 0);
	if (llvm->ParseBitcodeInContext2(llvm->context, buffer, &module))
		return false;
	for (void *f = llvm->GetFirstFunction(module); f; f = llvm->GetNextFunction(f)) {
		size_t len;
		const char *name = llvm->GetValueName2(f, &len);
		void *definition = llvm->IsDeclaration(f) ? llvm->GetNamedFunction(lib, name) : NULL;

		if (definition && !llvm->IsDeclaration(definition) && !llvm->GetNamedFunction(to, name))
			llvm->AddFunction(to, name, llvm->GlobalGetValueType(definition));
	}
	return true;
}

/* -- the library -- */

/*
 * Returns true if the reduced library must have the function, because PoCL itself may need it. PoCL needs the functions
 * with C names, except the mathematical functions of Sleef.
 */
static bool is_always_needed(const char *name)
{
	for (size_t i = 0; i < sizeof(looked_up) / sizeof(looked_up[0]); i++)
		if (strcmp(name, looked_up[i]) == 0)
			return true;
	return strncmp(name, "_Z", 2) && strncmp(name, "_cl_", 4) && strncmp(name, "Sleef", 5);
}

/*
 * Give all functions of `lib` a linkage with which the linker copies only referenced functions. Declare in `to` the
 * functions that PoCL always needs.
 */
static void mark_functions(const struct llvm *llvm, void *lib, void *to)
{
	for (void *f = llvm->GetFirstFunction(lib); f; f = llvm->GetNextFunction(f)) {
		size_t len;
		const char *name = llvm->GetValueName2(f, &len);

		if (llvm->IsDeclaration(f) || llvm->GetLinkage(f) != LLVM_EXTERNAL)
			continue;
		llvm->SetLinkage(f, LLVM_LINK_ONCE_ODR);
		if (is_always_needed(name))
			llvm->AddFunction(to, name, llvm->GlobalGetValueType(f));
	}
}

static void restore_linkage(const struct llvm *llvm, void *module)
{
	for (void *f = llvm->GetFirstFunction(module); f; f = llvm->GetNextFunction(f))
		if (llvm->GetLinkage(f) == LLVM_LINK_ONCE_ODR)
			llvm->SetLinkage(f, LLVM_EXTERNAL);
}

/*
 * Read the library lazily, without function bodies. The linker later reads the bodies of the functions that it copies.
 */
static void *read_library(const struct llvm *llvm, const char *path)
{
	void *buffer = NULL, *module = NULL;
	char *why = NULL;

	if (llvm->CreateMemoryBufferWithContentsOfFile(path, &buffer, &why)) {
		llvm->DisposeMessage(why);
		return NULL;
	}
	return llvm->GetBitcodeModuleInContext2(llvm->context, buffer, &module) ? NULL : module;
}

/* Returns a module with the needed functions, or NULL on failure. */
static void *reduce(const struct llvm *llvm, const char *path)
{
	void *lib = read_library(llvm, path), *to;

	if (!lib)
		return NULL;
	to = llvm->ModuleCreateWithNameInContext("library", llvm->context);
	llvm->SetTarget(to, llvm->GetTarget(lib));
	llvm->SetDataLayout(to, llvm->GetDataLayoutStr(lib));
	mark_functions(llvm, lib, to);
	for (size_t i = 0; i < library.n; i++)
		if (!declare_called(llvm, &library.object[i], lib, to))
			return NULL;
	if (llvm->LinkModules2(to, lib))
		return NULL;
	restore_linkage(llvm, to);
	return to;
}

/* Returns true if `path` names PoCL's library of built-in functions (kernel-*.bc). */
static bool is_library(const char *path)
{
	const char *name = strrchr(path, '/'), *end = strrchr(path, '.');

	return name && end && strncmp(name, "/kernel-", strlen("/kernel-")) == 0 && strcmp(end, ".bc") == 0;
}

int cl_library_open(const char *path, const void *caller)
{
	static bool is_open; /* a call is active: LLVM opens the same file again while this function reduces it */
	struct llvm llvm;
	void *module;
	int fd = -1;

	if (is_open || !library.n || !is_library(path) || !find_llvm(&llvm, caller))
		return -1;
	is_open = true;
	llvm.context = llvm.ContextCreate();
	module = reduce(&llvm, path);
	if (module)
		fd = memfd_create("gpubpf-library", MFD_CLOEXEC);
	if (fd >= 0 && (llvm.WriteBitcodeToFD(module, fd, 0, 0) || lseek(fd, 0, SEEK_SET))) {
		close(fd);
		fd = -1;
	}
	/*
	 * LLVM frees a module with its context. If reduce() fails, its modules leak. That happens at most once per
	 * process, since PoCL then reads the complete library and this function is not called again.
	 */
	if (module)
		llvm.ContextDispose(llvm.context);
	is_open = false;
	library.reduced |= fd >= 0;
	return fd;
}
