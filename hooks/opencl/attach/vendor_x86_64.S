/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thunks of vendor.h. All arguments of OpenCL functions are integers and pointers. Six arguments are in registers,
 * and up to eight are on the stack, which the hook thunk copies. r11 is the offset of the function's entry in a table.
 */
#include "vendor.h"

#define STACK_WORDS 10

	.text

/* ocl_vendor_thunks: one thunk per entry of a table */
	.globl	ocl_vendor_thunks
	.hidden	ocl_vendor_thunks
	.p2align 4
ocl_vendor_thunks:
	.set	offset, 0
	.rept	OCL_ENTRIES
	.p2align 4
	mov	$offset, %r11d
	jmp	call_vendor
	.set	offset, offset + 8
	.endr

/*
 * Jump to the vendor's own function for the object in rdi. The function is in the saved copy of the object's table. If
 * ocl_tables does not list the table, the function is in the table itself. If rdi is NULL, use the first vendor.
 */
	.p2align 4
call_vendor:
	.cfi_startproc
	lea	ocl_tables(%rip), %r10
	test	%rdi, %rdi
	jz	2f
	mov	(%rdi), %rax
1:	cmp	%rax, (%r10)
	je	2f
	add	$16, %r10
	cmpq	$0, (%r10)
	jne	1b
	jmp	*(%rax, %r11)
2:	mov	8(%r10), %r10
	jmp	*(%r10, %r11)
	.cfi_endproc

/* ocl_hook_thunks: one thunk per entry of a table */
	.globl	ocl_hook_thunks
	.hidden	ocl_hook_thunks
	.p2align 4
ocl_hook_thunks:
	.set	offset, 0
	.rept	OCL_ENTRIES
	.p2align 4
	mov	$offset, %r11d
	jmp	call_hook
	.set	offset, offset + 8
	.endr

/*
 * Count the call, then read ocl_attached. A detach clears ocl_attached, then reads the counters. So either the detach
 * sees the count and waits, or the thunk sees that ocl_attached is false and jumps to the vendor.
 */
	.p2align 4
call_hook:
	.cfi_startproc
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	push	%rbx
	.cfi_offset %rbx, -24
	push	%r12
	.cfi_offset %r12, -32
	mov	%rsp, %rbx
	shr	$GPUBPF_CALL_STACK_SHIFT, %rbx
	and	$(GPUBPF_CALL_SHARDS - 1), %ebx
	shl	$GPUBPF_CALL_SHARD_SHIFT, %rbx
	lea	ocl_inside(%rip), %rax
	add	%rax, %rbx
	lock incq (%rbx)
	cmpb	$0, ocl_attached(%rip)
	je	1f
	lea	ocl_hooks(%rip), %rax
	mov	(%rax, %r11), %r12
	sub	$(8 * STACK_WORDS), %rsp
	.set	word, 0
	.rept	STACK_WORDS
	mov	16 + 8 * word(%rbp), %rax
	mov	%rax, 8 * word(%rsp)
	.set	word, word + 1
	.endr
	call	*%r12
	add	$(8 * STACK_WORDS), %rsp
	lock decq (%rbx)
	pop	%r12
	pop	%rbx
	pop	%rbp
	.cfi_def_cfa %rsp, 8
	ret
1:	.cfi_def_cfa %rbp, 16
	lock decq (%rbx)
	pop	%r12
	pop	%rbx
	pop	%rbp
	.cfi_def_cfa %rsp, 8
	lea	ocl_vendors(%rip), %rax
	jmp	*(%rax, %r11)
	.cfi_endproc
	.section .note.GNU-stack, "", @progbits
