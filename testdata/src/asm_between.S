// int each_item(int (*f)(int), int n): calls f(n) to f(1), and says nothing to
// an unwinder about the two registers and the 24 bytes that it has pushed.
	.text
	.globl	each_item
	.type	each_item, @function
each_item:
	push	%rbx
	push	%r12
	sub	$24, %rsp
	mov	%rdi, %r12
	mov	%esi, %ebx
1:	mov	%ebx, %edi
	call	*%r12
	dec	%ebx
	jnz	1b
	add	$24, %rsp
	pop	%r12
	pop	%rbx
	ret
	.size	each_item, . - each_item
	.section .note.GNU-stack, "", @progbits
