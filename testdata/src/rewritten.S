/* The original functions. The script that links them puts springboards over the
   first five bytes of work and of inner, a breakpoint over that of tiny, and the
   address of trap_map into the dynamic section. */

	.set	with_cfi, 1
	.include "rewritten.inc"

	.text
	.globl	work, tiny, inner
	.type	work, @function
	.type	tiny, @function
	.type	inner, @function
work:
	.cfi_startproc
	work_head
	call	tiny
	work_tail
	.cfi_endproc
	.size	work, .-work

tiny:
	.cfi_startproc
	tiny_head
	call	inner
	tiny_tail
	.cfi_endproc
	.size	tiny, .-tiny

inner:
	.cfi_startproc
	inner_head
	jz	1f
	inc	%rax
1:	inner_tail
	.cfi_endproc
	.size	inner, .-inner

	.data
	.globl	trap_map
	.balign	8
trap_map:
	.long	0x759191D6, 1, -1, 0
	.quad	0, 0
	.quad	tiny, tiny_dyninst

	.section .note.GNU-stack, "", @progbits
