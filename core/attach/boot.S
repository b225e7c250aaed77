/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stub of boot.h, for x86-64. It is position-independent and has no data. The page code returns to it, so its bytes
 * are needed while a thread's program counter is in them, or while the shared file is mapped as code.
 *
 * Before: rsp is the address of struct gpubpf_boot_frame; signals may arrive, and their handlers run below the frame.
 * After: all registers but rcx and r11, the vector registers, the signal mask and the stack are as the frame says.
 */
#include "boot.h"

#define SYS_pwrite64 18
#define SYS_mmap 9
#define SYS_munmap 11
#define SYS_rt_sigprocmask 14
#define SYS_close 3
#define SYS_ftruncate 77
#define SYS_memfd_create 319
#define SIG_SETMASK 2
#define MFD_CLOEXEC 1
#define MFD_EXEC 16
#define PROT_RW 3
#define PROT_RX 5
#define MAP_SHARED 1

	.text
	.globl gpubpf_boot_stub, gpubpf_boot_stub_end
	.hidden gpubpf_boot_stub, gpubpf_boot_stub_end
	.p2align 4
gpubpf_boot_stub:
	cld
	mov	%rsp, %rbx
	/* save the vector registers, which the page code's callees may change */
	mov	FRAME_XSAVE(%rbx), %rdi
	mov	FRAME_XSAVE_MASK(%rbx), %eax
	mov	FRAME_XSAVE_MASK+4(%rbx), %edx
	xsave64	(%rdi)
	/* rt_sigprocmask(SIG_SETMASK, all, &frame->signals, 8) */
	mov	$SIG_SETMASK, %edi
	lea	FRAME_ALL_SIGNALS(%rbx), %rsi
	lea	FRAME_SIGNALS(%rbx), %rdx
	mov	$8, %r10d
	mov	$SYS_rt_sigprocmask, %eax
	syscall
	/* r12 = memfd_create(name); older kernels refuse MFD_EXEC */
	lea	FRAME_NAME(%rbx), %rdi
	mov	$(MFD_CLOEXEC | MFD_EXEC), %esi
	mov	$SYS_memfd_create, %eax
	syscall
	cmp	$-22, %rax
	jne	1f
	lea	FRAME_NAME(%rbx), %rdi
	mov	$MFD_CLOEXEC, %esi
	mov	$SYS_memfd_create, %eax
	syscall
1:	test	%rax, %rax
	js	.Lresume
	mov	%rax, %r12
	mov	%r12, %rdi
	mov	$(BOOT_DATA_SIZE + BOOT_CODE_SIZE), %esi
	mov	$SYS_ftruncate, %eax
	syscall
	test	%rax, %rax
	jnz	.Lclose
	mov	%r12, %rdi
	mov	FRAME_CODE(%rbx), %rsi
	mov	FRAME_CODE_SIZE(%rbx), %rdx
	mov	$BOOT_DATA_SIZE, %r10d
	mov	$SYS_pwrite64, %eax
	syscall
	cmp	FRAME_CODE_SIZE(%rbx), %rax
	jne	.Lclose
	/* r13 = the data, r14 = the code */
	xor	%edi, %edi
	mov	$BOOT_DATA_SIZE, %esi
	mov	$PROT_RW, %edx
	mov	$MAP_SHARED, %r10d
	mov	%r12, %r8
	xor	%r9d, %r9d
	mov	$SYS_mmap, %eax
	syscall
	cmp	$-4096, %rax
	ja	.Lclose
	mov	%rax, %r13
	xor	%edi, %edi
	mov	$BOOT_CODE_SIZE, %esi
	mov	$PROT_RX, %edx
	mov	$MAP_SHARED, %r10d
	mov	%r12, %r8
	mov	$BOOT_DATA_SIZE, %r9d
	mov	$SYS_mmap, %eax
	syscall
	cmp	$-4096, %rax
	ja	.Lunmap
	mov	%rax, %r14
	/* gpubpf_boot_create_thread(frame, data, file, code), on a stack in the data; it returns to .Lreturned */
	mov	%rbx, %rdi
	mov	%r13, %rsi
	mov	%r12, %rdx
	mov	%r14, %rcx
	lea	BOOT_DATA_SIZE(%r13), %rsp
	lea	.Lreturned(%rip), %rax
	push	%rax
	mov	FRAME_START(%rbx), %rax
	add	%r14, %rax
	jmp	*%rax
.Lreturned:
	test	%eax, %eax
	jz	.Lresume
	mov	%r14, %rdi
	mov	$BOOT_CODE_SIZE, %esi
	mov	$SYS_munmap, %eax
	syscall
.Lunmap:
	mov	%r13, %rdi
	mov	$BOOT_DATA_SIZE, %esi
	mov	$SYS_munmap, %eax
	syscall
.Lclose:
	mov	%r12, %rdi
	mov	$SYS_close, %eax
	syscall
.Lresume:
	mov	%rbx, %rsp
	mov	FRAME_XSAVE(%rbx), %rdi
	mov	FRAME_XSAVE_MASK(%rbx), %eax
	mov	FRAME_XSAVE_MASK+4(%rbx), %edx
	xrstor64 (%rdi)
	/* from here on the new thread may unmap the page code and the data */
	mov	FRAME_LEFT(%rbx), %rdi
	test	%rdi, %rdi
	jz	2f
	movl	$1, (%rdi)
2:	mov	$SIG_SETMASK, %edi
	lea	FRAME_SIGNALS(%rbx), %rsi
	xor	%edx, %edx
	mov	$8, %r10d
	mov	$SYS_rt_sigprocmask, %eax
	syscall
	mov	FRAME_R11(%rsp), %r11
	push	%r11
	popfq
	mov	FRAME_RAX(%rsp), %rax
	mov	FRAME_RBX(%rsp), %rbx
	mov	FRAME_RCX(%rsp), %rcx
	mov	FRAME_RDX(%rsp), %rdx
	mov	FRAME_RSI(%rsp), %rsi
	mov	FRAME_RDI(%rsp), %rdi
	mov	FRAME_RBP(%rsp), %rbp
	mov	FRAME_R8(%rsp), %r8
	mov	FRAME_R9(%rsp), %r9
	mov	FRAME_R10(%rsp), %r10
	mov	FRAME_R12(%rsp), %r12
	mov	FRAME_R13(%rsp), %r13
	mov	FRAME_R14(%rsp), %r14
	mov	FRAME_R15(%rsp), %r15
	mov	FRAME_RSP(%rsp), %rsp
	jmp	*%rcx
gpubpf_boot_stub_end:

/*
 * The new thread's function, in the page code. It leaves by a jump, since the code is gone when munmap() returns:
 * munmap() returns to this function's caller.
 */
	.section gpubpf_boot_page, "ax", @progbits
	.globl	gpubpf_boot_thread
	.hidden	gpubpf_boot_thread
gpubpf_boot_thread:
	sub	$8, %rsp
	call	gpubpf_boot_run
	add	$8, %rsp
	mov	%rax, %rdi
	mov	$BOOT_CODE_SIZE, %esi
	jmp	*%rdx
	.section .note.GNU-stack, "", @progbits
