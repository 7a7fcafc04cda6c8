// COUNT functions with call frame information, each of about 200 bytes, which nobody calls.
	.altmacro
	.macro function size
	.p2align 4
	.cfi_startproc
	pushq %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	pushq %rbx
	.cfi_def_cfa_offset 24
	.cfi_offset %rbx, -24
	subq $(8 + \size), %rsp
	.cfi_def_cfa_offset 32 + \size
	.fill 60 + \size, 1, 0x90
	testq %rdi, %rdi
	je 1f
	.fill 40 + \size / 2, 1, 0x90
	.cfi_remember_state
	addq $(8 + \size), %rsp
	.cfi_def_cfa_offset 24
	popq %rbx
	.cfi_def_cfa_offset 16
	popq %rbp
	.cfi_def_cfa_offset 8
	ret
	.cfi_restore_state
1:
	.fill 20, 1, 0x90
	addq $(8 + \size), %rsp
	.cfi_def_cfa_offset 24
	popq %rbx
	.cfi_def_cfa_offset 16
	popq %rbp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.endm

	.text
	.rept COUNT / 4
	function 16
	function 48
	function 96
	function 160
	.endr
	.section .note.GNU-stack, "", @progbits
