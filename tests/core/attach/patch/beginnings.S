/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions with odd beginnings, for tests of patches. Each returns 3 * x + 7, where x is its first argument, if the
 * second argument is not negative, and else -x. FUNCTION(name): a function that can be patched; REFUSED(name, why): a
 * function that cannot. The table beginnings[] lists them: address, size, name, and the reason or 0.
 */
	.macro	LIST name, why
	.section .data.rel.ro.beginnings, "aw", @progbits
	.quad	\name, .L\name\()_end - \name, .L\name\()_name, .L\name\()_why
	.section .rodata.names, "a", @progbits
.L\name\()_name: .asciz "\name"
.L\name\()_why: .asciz "\why"
	.text
	.endm
	.macro	FUNCTION name
	LIST	\name, ""
	.p2align 4
\name:
	.endm
	.macro	REFUSED name, why
	LIST	\name, "\why"
	.p2align 4
\name:
	.endm
	.macro	END name
.L\name\()_end:
	.endm
	.macro	RESULT /* rax = the result; changes no other register */
	test	%rsi, %rsi
	js	8f
	lea	7(%rdi,%rdi,2), %rax
	ret
8:	mov	%rdi, %rax
	neg	%rax
	ret
	.endm

	.section .data.rel.ro.beginnings, "aw", @progbits
	.globl	beginnings
beginnings:
	.section .rodata.words, "a", @progbits
three:	.quad	3
minus:	.quad	-1
	.text

	/* the beginning of 671 of libcuda 580's 682 functions */
FUNCTION known
	push	%rbp
	mov	%rsp, %rbp
	push	%r12
	sub	$8, %rsp
	cmpl	$0x321cba00, three(%rip)
	je	1f
	add	$8, %rsp
	pop	%r12
	pop	%rbp
	RESULT
1:	ud2
END known

FUNCTION landing
	endbr64
	push	%rbx
	mov	%rdi, %rbx
	mov	%rbx, %rdi
	pop	%rbx
	RESULT
END landing

FUNCTION relative
	mov	three(%rip), %rax
	imul	%rdi, %rax
	add	$7, %rax
	test	%rsi, %rsi
	jns	1f
	mov	%rdi, %rax
	neg	%rax
1:	ret
END relative

	/* an immediate follows the address */
FUNCTION immediate
	cmpl	$3, three(%rip)
	jne	1f
	RESULT
1:	ud2
END immediate

FUNCTION short_condition
	test	%rsi, %rsi
	js	1f
	lea	7(%rdi,%rdi,2), %rax
	ret
1:	mov	%rdi, %rax
	neg	%rax
	ret
END short_condition

FUNCTION near_condition
	test	%rsi, %rsi
	.byte	0x0f, 0x88
	.long	1f - . - 4
	lea	7(%rdi,%rdi,2), %rax
	ret
1:	mov	%rdi, %rax
	neg	%rax
	ret
END near_condition

	/* the jump is the last of the moved instructions */
FUNCTION short_jump
	nop
	nop
	nop
	jmp	1f
	ud2
1:	RESULT
END short_jump

FUNCTION tail
	.byte	0xe9
	.long	known - . - 4
END tail

	/* a loop to the first byte is a call of the function */
FUNCTION loops
	inc	%rsi
	dec	%rsi
	cmp	$-1000, %rsi
	jl	loops
	RESULT
END loops

	/* branches behind the 5 bytes of the patch, into moved code, are harmless */
FUNCTION behind
	mov	%rdi, %rax
	mov	%rsi, %rdx
	cmp	$-1000, %rdx
	jl	1f
	RESULT
1:	mov	$-1, %rsi
	jmp	behind + 6
END behind

FUNCTION many
	nop
	nop
	nop
	nop
	push	%rdi
	pop	%rdi
	RESULT
END many

REFUSED three_bytes, "it is shorter than the jump of 5 bytes"
	xor	%eax, %eax
	ret
END three_bytes

REFUSED ends_early, "it is shorter than the jump of 5 bytes"
	jmp	1f
	nop
	nop
	nop
	nop
1:	RESULT
END ends_early

REFUSED one_byte, "it is shorter than the jump of 5 bytes"
	ret
END one_byte

REFUSED calls, "it begins with a call"
	call	known
	ret
END calls

REFUSED calls_indirectly, "it begins with a call"
	push	%rbx
	call	*1f(%rip)
	pop	%rbx
	ret
1:	.quad	0
END calls_indirectly

REFUSED counts, "it begins with a loop or jrcxz instruction"
	mov	%rdi, %rcx
	jrcxz	1f
	RESULT
1:	mov	$7, %rax
	ret
END counts

REFUSED inner, "a branch of the function leads into its first 5 bytes"
	nop
	inc	%rsi
	dec	%rsi
	cmp	$-1000, %rsi
	jl	inner + 1
	RESULT
END inner

REFUSED unknown, "its first bytes are no code that gpubpf can decode"
	.byte	0x06, 0x06, 0x06, 0x06, 0x06, 0x06
END unknown

REFUSED trapped, "a breakpoint or a uprobe is at its beginning"
	int3
	nop
	nop
	nop
	nop
	nop
END trapped

REFUSED elsewhere, "another tool has patched it"
	.byte	0xe9
	.long	0x10000000
	nop
END elsewhere

	.section .data.rel.ro.beginnings, "aw", @progbits
	.quad	0, 0, 0, 0

	/* patch_thunks: count the call, and jump to the moved function; keep all registers */
	.text
	.globl	patch_thunks
	.p2align 4
patch_thunks:
	.set	i, 0
	.rept	64
	.p2align 5
	lock incq patch_calls + 8 * i(%rip)
	jmp	*patch_moved + 8 * i(%rip)
	.set	i, i + 1
	.endr
	.section .note.GNU-stack, "", @progbits
