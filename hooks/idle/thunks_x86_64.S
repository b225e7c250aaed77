/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exported thunks of the idle library, and dlsym(). All slots are 0 at first, so the library needs no relocation
 * and no constructor. A thunk with an empty slot calls idle_resolve(). All arguments of the functions are integers and
 * pointers, so the six registers for such arguments are saved.
 */
#include "private.h"

	.macro	thunk symbol
	.globl	\symbol
	.type	\symbol, @function
	.p2align 3
\symbol:
	mov	idle_slots + 8 * index(%rip), %rax
	test	%rax, %rax
	jz	1f
	jmp	*%rax
1:	.byte	0x68 /* push, with an operand of 4 bytes */
	.long	index
	.byte	0xe9 /* jmp, with an operand of 4 bytes */
	.long	resolve - . - 4
	.size	\symbol, . - \symbol
	.set	index, index + 1
	.endm

	.text
	.p2align 6
	.globl	idle_thunks
	.hidden	idle_thunks
	.set	index, 0
idle_thunks:
#define IDLE_FUNCTION(runtime, name) thunk name;
#include "functions.def"
	.org	idle_thunks + IDLE_THUNK_SIZE * index /* refuses thunks that are larger */

/* The stack holds the function's number and the return address of the application. */
	.p2align 4
resolve:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	.irp	register, rdi, rsi, rdx, rcx, r8, r9
	push	%\register
	.cfi_adjust_cfa_offset 8
	.endr
	mov	48(%rsp), %edi
	mov	56(%rsp), %rsi
	call	idle_resolve
	.irp	register, r9, r8, rcx, rdx, rsi, rdi
	pop	%\register
	.cfi_adjust_cfa_offset -8
	.endr
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	jmp	*%rax
	.cfi_endproc

/*
 * The results for RTLD_NEXT and RTLD_DEFAULT depend on the caller, which the C library finds by the return address.
 * Therefore this code enters the C library's dlsym() by a jump, with the caller's stack unchanged.
 */
	.p2align 4
	.globl	dlsym
	.type	dlsym, @function
dlsym:
	.cfi_startproc
	mov	(%rsp), %rdx
	push	%rdi
	.cfi_adjust_cfa_offset 8
	push	%rsi
	.cfi_adjust_cfa_offset 8
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	idle_answer_dlsym
	test	%rdx, %rdx
	jnz	1f
	call	idle_next_dlsym
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	pop	%rsi
	.cfi_adjust_cfa_offset -8
	pop	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	*%rax
1:	.cfi_adjust_cfa_offset 24
	add	$24, %rsp
	.cfi_adjust_cfa_offset -24
	ret
	.cfi_endproc
	.size	dlsym, . - dlsym
	.section .note.GNU-stack, "", @progbits
