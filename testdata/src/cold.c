// A function that the compiler has split: the unlikely part lies elsewhere.
//
// Built with -O2. The call of complain is in check.cold, far from check's
// first byte; debug information describes both by one function with two
// ranges. Expected stack: <libc>..., abort, complain, check, main
#include <stdio.h>
#include <stdlib.h>

#define noipa __attribute__((noipa))

noipa __attribute__((cold)) static int complain(int v)
{
	if (v)
		abort();
	return v;
}

noipa static int check(int *v, int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++) {
		if (__builtin_expect(v[i] < 0, 0)) {
			sum += complain(v[i]) * i;
			v[i] = 1;
		}
		sum += v[i];
	}
	return sum;
}

int main(int argc, char **argv)
{
	int values[3] = { 1, -argc, 2 };

	return check(values, 3) + argv[0][0];
}
