// A call through a function pointer that is not one.
//
// The argument says which: null, wild (an address that nothing maps), data
// (the address of a variable, which may not be executed), or noncanonical (no
// address at all: the processor refuses the call itself, so that the program
// counter stays in invoke). Expected stack, the first frame but for
// noncanonical: <wild>, invoke, dispatch, main
#include <string.h>

typedef int (*handler)(int);

static int not_code[4] = { 1, 2, 3, 4 };

static __attribute__((noipa)) int invoke(handler h, int arg)
{
	return h(arg) + 1;
}

static __attribute__((noipa)) int dispatch(handler h)
{
	int sum = 0;

	for (int i = 0; i < 3; i++)
		sum += invoke(h, i);
	return sum;
}

int main(int argc, char **argv)
{
	handler h = 0;

	if (argc > 1 && strcmp(argv[1], "wild") == 0)
		h = (handler)0x123456789000;
	if (argc > 1 && strcmp(argv[1], "data") == 0)
		h = (handler)not_code;
	if (argc > 1 && strcmp(argv[1], "noncanonical") == 0)
		h = (handler)0x4141414141414141;
	return dispatch(h) + argv[0][0];
}
