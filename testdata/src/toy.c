// The interpreter of a toy language, with a compiler: what testdata/outside/toy.go reads. It executes a program that fails while a fiber waits.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct function { const char *name, *file; };
struct call { struct call *caller; struct function *function; long line, n; };
struct fiber { struct fiber *next; struct call *top; const char *awaits; };
struct error { const char *type, *message; };

// A debugger finds the interpreter by this variable.
struct toy {
	char mark[8];
	long version;
	struct call *top;
	struct fiber *fibers;
	struct error *raised;
	unsigned char *compiled;
	long size;
} toy_state = {"toylang", 1, 0, 0, 0, 0, 0};

static struct function outer = {"outer", "shop.toy"}, middle = {"middle", "shop.toy"}, inner = {"inner", "shop.toy"}, produce = {"produce", "shop.toy"};

__attribute__((noinline)) static void toy_raise(const char *type, const char *message) {
	static struct error error;
	error.type = type;
	error.message = message;
	toy_state.raised = &error;
	abort();
}

// toy_execute executes one call of the toy language; compiled code calls it, too.
__attribute__((noinline)) void toy_execute(struct function *f, long n) {
	volatile struct call call = {toy_state.top, f, 10 * n, n};
	toy_state.top = (struct call *)&call;
	if (f == &outer)
		toy_execute(&middle, n + 1);
	else if (f == &middle && n < 4)
		toy_execute(&middle, n + 1);
	else if (f == &middle)
		((void (*)(struct function *, long, void *))toy_state.compiled)(&inner, n + 1, toy_execute);
	else
		toy_raise("Trouble", "none left");
	toy_state.top = call.caller;
}

int main(void) {
	static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd2, 0x5d, 0xc3}; // push rbp; mov rbp, rsp; call rdx; pop rbp; ret
	static struct call waits = {0, &produce, 7, 1};
	static struct fiber fiber = {0, &waits, "a socket"};
	toy_state.fibers = &fiber;
	toy_state.compiled = mmap(0, toy_state.size = 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(toy_state.compiled, code, sizeof code);
	toy_execute(&outer, 1);
}
