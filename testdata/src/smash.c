// A copy that runs over the end of its buffer.
//
// Built with -fstack-protector-all it writes just over the guard word, and the C library aborts with a stack that is whole:
//   <libc>..., abort, <libc>..., __stack_chk_fail, copy_name, greet, main
// Built without a protector it writes over copy_name's saved rbp and return
// address. With "letters" that is 0x4141414141414141, which ret refuses: the
// program counter stays at copy_name's ret. With "address" it is 0x424242424242,
// to which ret goes: nothing is there. greet and main are left on the stack
// above, but nothing points to them any more.
#include <string.h>

static __attribute__((noipa)) void copy_bytes(volatile char *to, const char *from, int n)
{
	while (n-- > 0)
		*to++ = *from++;
}

static __attribute__((noipa)) int copy_name(const char *name, int n)
{
	char buf[16];

	copy_bytes(buf, name, n);
	return buf[0];
}

static __attribute__((noipa)) int greet(const char *name, int n)
{
	int got = copy_name(name, n);

	return got + n;
}

int main(int argc, char **argv)
{
	char name[64];

	memset(name, 'A', sizeof name);
	if (argc > 1 && strcmp(argv[1], "address") == 0)
		memcpy(name + 24, "\x42\x42\x42\x42\x42\x42\0\0", 8);
	return greet(name, 32);
}
