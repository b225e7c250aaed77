/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Defines open() for this process; the dynamic linker prefers it to libc's open(). If LLVM opens PoCL's library of
 * built-in functions, it gets the reduced copy (library.h). All other calls behave like libc's open().
 */
#include <fcntl.h>
#include <stdarg.h>
#include <sys/types.h>

#include "library.h"

/* The assembler name "open" is explicit: with 64-bit off_t, a C function named open would get the symbol open64. */
__attribute__((visibility("default"))) int open_reduced(const char *path, int flags, ...) __asm__("open");

int open_reduced(const char *path, int flags, ...)
{
	int fd = (flags & O_ACCMODE) == O_RDONLY ? cl_library_open(path, __builtin_return_address(0)) : -1;
	mode_t mode = 0;
	va_list args;

	if (fd >= 0)
		return fd;
	if (flags & (O_CREAT | O_TMPFILE)) {
		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	return openat(AT_FDCWD, path, flags, mode);
}
