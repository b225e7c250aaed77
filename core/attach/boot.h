/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code that one thread of another process runs to load the agent, and the data that it reads.
 *
 * The tool writes the stub (boot.S) into unused bytes after a library's code, and the frame below the stack of a
 * stopped thread. Then it changes the thread's registers once and lets go. From there the thread needs no help. The
 * stub saves the vector registers, blocks signals and maps the page code (boot_page.c), which starts a new thread. Then
 * the stub restores all registers. So the tool can die at any instant.
 */
#ifndef GPUBPF_ATTACH_BOOT_H
#define GPUBPF_ATTACH_BOOT_H

/* offsets in struct gpubpf_boot_frame, for boot.S */
#define FRAME_RAX 0
#define FRAME_RBX 8
#define FRAME_RCX 16
#define FRAME_RDX 24
#define FRAME_RSI 32
#define FRAME_RDI 40
#define FRAME_RBP 48
#define FRAME_RSP 56
#define FRAME_R8 64
#define FRAME_R9 72
#define FRAME_R10 80
#define FRAME_R11 88
#define FRAME_R12 96
#define FRAME_R13 104
#define FRAME_R14 112
#define FRAME_R15 120
#define FRAME_ALL_SIGNALS 128
#define FRAME_SIGNALS 136
#define FRAME_XSAVE 144
#define FRAME_XSAVE_MASK 152
#define FRAME_CODE 160
#define FRAME_CODE_SIZE 168
#define FRAME_START 176
#define FRAME_LEFT 184
#define FRAME_NAME 192

/* The shared file holds the data, then the code. The stack of the page code grows down from the end of the data. */
#define BOOT_DATA_SIZE 16384
#define BOOT_CODE_SIZE 4096

#ifndef __ASSEMBLER__

#include <stddef.h>
#include <stdint.h>

/* functions of the C library that the boot code calls */
enum gpubpf_boot_function {
	BOOT_DLOPEN,
	BOOT_DLSYM,
	BOOT_DLCLOSE,
	BOOT_DLERROR,
	BOOT_MUNMAP,
	BOOT_PTHREAD_CREATE,
	BOOT_PTHREAD_DETACH,
	BOOT_PTHREAD_SELF,
	BOOT_FUNCTIONS
};

/*
 * The tool writes this frame onto the stack of the stopped thread, below its red zone. As its last step, the stub loads
 * these registers from the frame, and jumps to the address in rcx. The member r11 holds the flags. The thread's own rcx
 * and r11 are not saved: it was stopped in a system call, and system calls clobber both.
 */
struct gpubpf_boot_frame {
	uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15;
	/* The stub blocks the signals in all_signals, and saves the thread's own signal mask in `signals`. */
	uint64_t all_signals, signals;
	uint64_t xsave, xsave_mask;      /* address of the XSAVE area, 64-byte aligned and zeroed; components to save */
	uint64_t code, code_size, start; /* address and bytes of the page code; offset of its first function */
	/* address of gpubpf_boot_data.left, stored by the page code; 0: no new thread was started */
	uint64_t left;
	char name[40]; /* name of the shared file */
	uint64_t functions[BOOT_FUNCTIONS];
	uint64_t entry;  /* address of the loaded agent's entry; 0: load the agent */
	char symbol[40]; /* name of the agent's entry function */
};

/* phases of the new thread, in order */
enum gpubpf_boot_phase {
	BOOT_STARTED = 1, /* the thread runs */
	BOOT_WAITS,       /* it has created the file for the agent's library and waits for `filled` */
	BOOT_LOADING,     /* it loads the library */
	BOOT_ENTERED,     /* the agent's entry runs */
	BOOT_DONE,        /* `result` is valid; the thread waits for `taken`, then unmaps the data */
};

/* The first bytes of the shared file. */
struct gpubpf_boot_data {
	uint32_t phase;  /* a futex */
	uint32_t filled; /* a futex. The tool stores 1 after it has written the library, or 2 if it gives up. */
	uint32_t left;   /* 1: the thread that ran the stub has left the page code for good */
	int32_t library; /* descriptor of the file for the agent's library; -1: none */
	int64_t result;  /* what the entry returned, or -errno */
	uint64_t functions[BOOT_FUNCTIONS], entry, thread, code;
	int32_t file;     /* descriptor of the shared file */
	int32_t socket;   /* the tool's end of the session's connection; -1 until the agent has created it */
	uint32_t taken;   /* a futex; 1: the tool has duplicated the socket or read the result */
	uint32_t version; /* GPUBPF_BOOT_VERSION */
	char symbol[40], path[40];
	char error[256]; /* error text, from dlerror() or from the agent */
};

#define GPUBPF_BOOT_VERSION 1
#define GPUBPF_BOOT_FILE "gpubpf-boot"
#define GPUBPF_BOOT_LIBRARY "gpubpf-agent"
#define GPUBPF_BOOT_ENTRY "gpubpf_agent_attach"

/* boot.S: the start and the end of the stub's code. Execution enters at the start. */
extern const char gpubpf_boot_stub[], gpubpf_boot_stub_end[];
/* boot_page.c: the page code. Its functions lie between these symbols, which the linker defines. */
extern const char gpubpf_boot_page[] __asm__("__start_gpubpf_boot_page") __attribute__((visibility("hidden")));
extern const char gpubpf_boot_page_end[] __asm__("__stop_gpubpf_boot_page") __attribute__((visibility("hidden")));
int gpubpf_boot_create_thread(struct gpubpf_boot_frame *frame, struct gpubpf_boot_data *data, long file, void *code);

_Static_assert(offsetof(struct gpubpf_boot_frame, r15) == FRAME_R15, "boot.S knows the offsets");
_Static_assert(offsetof(struct gpubpf_boot_frame, signals) == FRAME_SIGNALS, "boot.S knows the offsets");
_Static_assert(offsetof(struct gpubpf_boot_frame, xsave_mask) == FRAME_XSAVE_MASK, "boot.S knows the offsets");
_Static_assert(offsetof(struct gpubpf_boot_frame, code_size) == FRAME_CODE_SIZE, "boot.S knows the offsets");
_Static_assert(offsetof(struct gpubpf_boot_frame, start) == FRAME_START, "boot.S knows the offsets");
_Static_assert(offsetof(struct gpubpf_boot_frame, left) == FRAME_LEFT, "boot.S knows the offsets");
_Static_assert(offsetof(struct gpubpf_boot_frame, name) == FRAME_NAME, "boot.S knows the offsets");

#endif
#endif
