// A list is walked whose elements were freed.
//
// glibc has written the freed block's own address, shifted, over the pointer to the
// next element. Expected stack: length, main.
#include <stdio.h>
#include <stdlib.h>

struct element {
	struct element *next;
	long payload;
};

static __attribute__((noipa)) long length(const struct element *e)
{
	long n = 0;

	for (; e != NULL; e = e->next)
		n += e->payload;
	return n;
}

static __attribute__((noipa)) struct element *list(void)
{
	struct element *e = malloc(sizeof *e);

	if (e == NULL)
		exit(1);
	e->next = NULL;
	e->payload = 7;
	return e;
}

int main(void)
{
	struct element *e = list();

	free(e);
	return (int)length(e);
}
