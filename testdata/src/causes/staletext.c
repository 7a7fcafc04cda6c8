// staletext HOW: the compiler leaves out parameters that always are the same; the registers that they would be in have texts of an earlier call then.
#include <stdlib.h>

volatile int sink;
const char *volatile kept;

__attribute__((noinline)) const char *pick(const char *a, const char *b) { return sink ? a : b; }

static __attribute__((noinline)) void number(int code, const char *why) {
	kept = why;
	sink = code;
	abort();
}

static __attribute__((noinline)) void unread(const char *unused, int code, const char *why) {
	sink = code;
	kept = why;
	abort();
}

int main(int argc, char **argv) {
	kept = pick("stale one", "stale two");
	if (argv[1][0] == 'n') number(3, "no number");
	unread("not read", argc, "not read either");
}
