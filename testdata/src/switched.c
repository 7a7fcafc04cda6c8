/* Goes on with another stack, which lies lower, in a function that is marked as a
   signal frame's (augmentation S), as OCaml 5's runtime does (caml_runstack) so that
   unwinders accept a lower stack pointer. "call": dies of SIGSEGV in a function there,
   stack: leaf < switch_stack < middle < main. "inside": dies in switch_stack itself,
   after the switch: switch_stack < middle < main. No signal is handled. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void switch_stack(char *stack, void (*f)(void));

__asm__(".text\n"
	".globl switch_stack\n"
	".type switch_stack, @function\n"
	"switch_stack:\n"
	".cfi_startproc\n"
	".cfi_signal_frame\n"
	"	sub $16, %rdi\n"
	"	mov %rsp, 8(%rdi)\n"
	"	mov %rdi, %rsp\n"
	".cfi_remember_state\n"
	/* CFA: what is saved at rsp+8, and 8 */
	".cfi_escape 0x0f, 0x05, 0x77, 0x08, 0x06, 0x23, 0x08\n"
	"	testb $1, (%rsi)\n" /* reads the function's code, or faults */
	"	call *%rsi\n"
	"	mov 8(%rsp), %rsp\n"
	".cfi_restore_state\n"
	"	ret\n"
	".skip 64, 0x90\n" /* longer than any trampoline */
	"	ret\n"
	".cfi_endproc\n"
	".size switch_stack, .-switch_stack\n");

__attribute__((noinline)) static void leaf(void)
{
	*(volatile int *)0 = 1;
}

__attribute__((noinline)) static void middle(char *stack, void (*f)(void))
{
	switch_stack(stack, f);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	char *stack = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	middle(stack + 65536, argc > 1 && !strcmp(argv[1], "inside") ? 0 : leaf);
	return 0;
}
