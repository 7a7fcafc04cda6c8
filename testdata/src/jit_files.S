/* The files that jit.c registers. */
	.section .rodata
	.balign	16
	.globl	object, object_end, placed, placed_end
object:
	.incbin	"jit_code.o"
object_end:
	.balign	16
placed:
	.incbin	"jit_code.elf"
placed_end:
	.section .note.GNU-stack, "", @progbits
