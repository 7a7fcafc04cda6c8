// A function that has the name of CPython's is reached by a jump, with another text than that of the call: on x86-64.
#include <stdlib.h>

const char *other = "the text of the jump";

__attribute__((noinline)) void Py_FatalError(const char *text)
{
	other = text;
	abort();
}

void jumps(const char *text);
__asm__(".text\n"
	".type jumps, @function\n"
	"jumps: .cfi_startproc\n"
	"	mov other(%rip), %rdi\n"
	"	jmp Py_FatalError\n"
	".cfi_endproc\n"
	".size jumps, .-jumps\n");

int main(int argc, char **argv)
{
	if (argc > 1)
		Py_FatalError("the text of the call");
	jumps("the text of the call");
	return 0;
}
