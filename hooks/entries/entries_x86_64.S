/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hook thunks of entries.h. Six arguments are in registers, and up to ten words are on the stack, which the thunk
 * copies. r11 is the index of the entry.
 */
#include "entries.h"

#define STACK_WORDS 10

	.text
	.globl	gpubpf_entry_thunks
	.hidden	gpubpf_entry_thunks
	.p2align 4
gpubpf_entry_thunks:
	.set	index, 0
	.rept	GPUBPF_ENTRIES
	.p2align 4
	mov	$index, %r11d
	jmp	call_entry
	.set	index, index + 1
	.endr

	.p2align 4
call_entry:
	.cfi_startproc
	cmpb	$0, gpubpf_entries_on(%rip)
	je	2f
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	push	%rbx
	.cfi_offset %rbx, -24
	push	%r11
	push	%rdi
	push	%rsi
	push	%rdx
	push	%rcx
	push	%r8
	push	%r9
	/* rax = gpubpf_entry_enter(index, frame): the agent's function, or NULL */
	mov	%r11d, %edi
	mov	%rbp, %rsi
	call	gpubpf_entry_enter
	pop	%r9
	pop	%r8
	pop	%rcx
	pop	%rdx
	pop	%rsi
	pop	%rdi
	pop	%r11
	test	%rax, %rax
	jz	1f
	sub	$(8 * STACK_WORDS + 8), %rsp
	mov	%rax, %r11
	.set	word, 0
	.rept	STACK_WORDS
	mov	16 + 8 * word(%rbp), %rax
	mov	%rax, 8 * word(%rsp)
	.set	word, word + 1
	.endr
	call	*%r11
	mov	%rax, %rbx
	mov	%rbp, %rdi
	call	gpubpf_entry_leave
	mov	%rbx, %rax
	mov	-8(%rbp), %rbx
	leave
	.cfi_def_cfa %rsp, 8
	ret
1:	.cfi_def_cfa %rbp, 16
	mov	-8(%rbp), %rbx
	leave
	.cfi_def_cfa %rsp, 8
2:	lea	gpubpf_entry_moved(%rip), %rax
	jmp	*(%rax,%r11,8)
	.cfi_endproc
	.section .note.GNU-stack, "", @progbits
