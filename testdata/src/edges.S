// Functions that fault at their edges. Only trap_at_entry and its neighbour
// have unwind information.
	.text
	.type	neighbour, @function
neighbour:
	.cfi_startproc
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	nop
	.cfi_endproc
	.size	neighbour, . - neighbour

// Its frame is the return address alone; the byte before it is neighbour's,
// where the rules are others.
	.globl	trap_at_entry
	.type	trap_at_entry, @function
trap_at_entry:
	.cfi_startproc
	ud2
	ret
	.cfi_endproc
	.size	trap_at_entry, . - trap_at_entry

	.globl	stumble
	.type	stumble, @function
stumble:
	push	%rbp
	movl	$1, (%rdi)
	mov	%rsp, %rbp
	sub	$32, %rsp
	leave
	ret
	.size	stumble, . - stumble

	.globl	leave_late
	.type	leave_late, @function
leave_late:
	push	%rbp
	mov	%rsp, %rbp
	push	%rbx
	sub	$40, %rsp
	xor	%ebx, %ebx
	add	$40, %rsp
	pop	%rbx
	pop	%rbp
	movl	$1, (%rdi)
	ret
	.size	leave_late, . - leave_late

	.globl	lose_stack
	.type	lose_stack, @function
lose_stack:
	mov	$0x1230, %esp
	ret
	.size	lose_stack, . - lose_stack
	.section .note.GNU-stack, "", @progbits
