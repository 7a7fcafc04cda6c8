/* The copies of rewritten.S's functions, with instrumentation. Nothing tells how to
   unwind them, nor their lines. */

	.set	with_cfi, 0
	.include "rewritten.inc"

	.section .dyninstInst, "ax", @progbits
	.globl	work_dyninst, tiny_dyninst, inner_dyninst
	.type	work_dyninst, @function
	.type	tiny_dyninst, @function
	.type	inner_dyninst, @function

	.macro	save_registers
	push	%rax
	push	%rcx
	push	%rdx
	push	%rsi
	push	%rdi
	push	%r8
	push	%r9
	push	%r10
	push	%r11
	lahf
	seto	%al
	push	%rax
	.endm

	.macro	restore_registers
	pop	%rax
	add	$0x7f, %al
	sahf
	pop	%r11
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rdi
	pop	%rsi
	pop	%rdx
	pop	%rcx
	pop	%rax
	.endm

work_dyninst:
	/* Instrumentation without a frame. */
	lea	-128(%rsp), %rsp
	push	%rax
	push	%rbx
	mov	counter(%rip), %rbx
	incq	(%rbx)
	pop	%rbx
	pop	%rax
	lea	128(%rsp), %rsp
	work_head
	/* With a frame that does not tell its point, on an aligned stack. */
	lea	-136(%rsp), %rsp
	mov	%rax, (%rsp)
	lea	136(%rsp), %rax
	and	$-32, %rsp
	mov	%rax, (%rsp)
	mov	-136(%rax), %rax
	save_registers
	mov	80(%rsp), %rax
	push	%rax
	mov	$0xBEEFDEAD, %eax
	push	%rax
	push	%rbp
	mov	%rsp, %rbp
	sub	$40, %rsp
	lea	nopoint(%rip), %rdi
	call	probe
	leave
	pop	%rax
	pop	%rax
	restore_registers
	mov	(%rsp), %rsp
	call	tiny
	work_tail
	.size	work_dyninst, .-work_dyninst

tiny_dyninst:
	tiny_head
	call	inner
	/* Instrumentation that needs no stack. */
	incq	count(%rip)
	tiny_tail
	.size	tiny_dyninst, .-tiny_dyninst

inner_dyninst:
	/* With a frame that tells its point, the link-time address of inner. */
	lea	-128(%rsp), %rsp
	save_registers
	lea	208(%rsp), %rax
	push	%rax
	mov	$0xBEEFDEAD, %eax
	push	%rax
	lea	inner(%rip), %rax
	lea	__ehdr_start(%rip), %rcx
	sub	%rcx, %rax
	push	%rax
	push	%rbp
	mov	%rsp, %rbp
	sub	$24, %rsp
	and	$-16, %rsp
	lea	entry(%rip), %rdi
	call	probe
	leave
	pop	%rax
	pop	%rax
	pop	%rax
	restore_registers
	lea	128(%rsp), %rsp
	inner_head
	{disp32} jz 1f
	inc	%rax
1:	inner_tail
	.size	inner_dyninst, .-inner_dyninst

	.section .rodata
nopoint:
	.asciz	"nopoint"
entry:
	.asciz	"probe"

	.section .note.GNU-stack, "", @progbits
