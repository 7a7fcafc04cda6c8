/* skewed calls crash with locals that look like two more frames. */
	.text
	.globl	skewed
	.type	skewed, @function
skewed:
	.cfi_startproc
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov	%rsp, %rbp
	sub	$64, %rsp		/* and no .cfi_adjust_cfa_offset 64 */
	lea	.Lcalled(%rip), %rax
	movq	$0, (%rsp)		/* taken for the caller's rbp */
	mov	%rax, 8(%rsp)		/* taken for the return address */
	movq	$0, 40(%rsp)		/* taken for that of decoy */
	xor	%edi, %edi
	call	crash
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	skewed, .-skewed

	.globl	decoy
	.type	decoy, @function
decoy:
	.cfi_startproc
	sub	$24, %rsp
	.cfi_adjust_cfa_offset 24
	call	start
.Lcalled:
	add	$24, %rsp
	.cfi_adjust_cfa_offset -24
	ret
	.cfi_endproc
	.size	decoy, .-decoy

	.section .note.GNU-stack, "", @progbits
