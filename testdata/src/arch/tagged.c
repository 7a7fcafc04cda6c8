// Pointers with a tag in their top byte, which the processor ignores: the stack pointer and the frame pointers of a stack of the program's own, the list
// on that stack, its names, and a variable that points to it. The last entry has none after it.
//   sum < visit < body < on_stack < main < _start
#include "start.h"

#define TAG (0xb4UL << 56)

struct entry {
	long value;
	const char *name;
	struct entry *next;
};

static char memory[8192] __attribute__((aligned(16)));
static struct entry *list;

own long sum(struct entry *e, int n) { return e->value + e->next->next->value + n; }

own long visit(struct entry *e, int n) {
	char text[32];
	for (int i = 0; i < 31; i++) text[i] = 'a' + i % 26;
	text[31] = 0;
	use(text);
	long got = sum(e, n) + text[n];
	use(text);
	return got;
}

own void body(void) {
	struct entry last = {9, "the last", 0};
	struct entry first = {7, (const char *)((long)"the first" | TAG), &last}; // the stack's addresses have tags
	list = &first;
	use(list);
	long got = visit(&first, 2);
	use(got);
}

// on_stack calls a function with another stack pointer.
void on_stack(void *sp, void (*f)(void));
__asm__(".text\n.globl on_stack\n.type on_stack, %function\non_stack:\n.cfi_startproc\n"
	" stp x29, x30, [sp, #-16]!\n .cfi_def_cfa_offset 16\n .cfi_offset 29, -16\n .cfi_offset 30, -8\n"
	" mov x29, sp\n .cfi_def_cfa_register 29\n mov sp, x0\n blr x1\n mov sp, x29\n ldp x29, x30, [sp], #16\n ret\n"
	".cfi_endproc\n.size on_stack, . - on_stack\n");

int main(void) {
	on_stack((void *)((long)(memory + sizeof memory) | TAG), body);
	return 0;
}
