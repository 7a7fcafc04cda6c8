/* A library that crashes. Builds with other FACTORs have code of other lengths. */
#ifndef FACTOR
#define FACTOR 3
#endif

int depth;

__attribute__((noinline)) int lib_bottom(int *p, int n)
{
	depth = n * FACTOR;
	*p = depth;
	return depth + 1;
}

__attribute__((noinline)) int lib_top(int n)
{
	volatile char room[8 * FACTOR];
	room[0] = n;
	return lib_bottom((int *)(long)(n - 7), n) + room[0];
}
