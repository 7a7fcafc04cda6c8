// Assembly that has no unwind information, between frames of C.
//
// See asm_between.S. Expected stack: crash, on_item, each_item, walk, main
#include <stddef.h>

#define noipa __attribute__((noipa))

int each_item(int (*f)(int), int n);

noipa static int crash(volatile int *p, int v)
{
	*p = v;
	return v;
}

noipa static int on_item(int i)
{
	return crash(NULL, i * 2) + 1;
}

noipa static int walk(int n)
{
	return each_item(on_item, n) + 2;
}

int main(int argc, char **argv)
{
	return walk(argc) + argv[0][0];
}
