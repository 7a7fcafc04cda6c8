/* A program whose file is gone, is called as if it were, or of which the first page is, when somebody looks at its core.
   With "unmap" it unmaps the page with its own headers first. The functions have frames of several sizes, and no frame pointers. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#ifndef FACTOR
#define FACTOR 3
#endif

extern char __executable_start;
struct item { long value; struct item *next; };

__attribute__((noipa)) long innermost(struct item *p) { return p->next->value; }
__attribute__((noipa)) long third(struct item *p, int k)
{
	char text[72];
	snprintf(text, sizeof text, "%d", k);
	return innermost(p) + text[0];
}
__attribute__((noipa)) long second(struct item *p, int k) { return third(p, k + 1) * k * FACTOR; }
__attribute__((noipa)) long first(struct item *p, int k)
{
	char text[150];
	snprintf(text, sizeof text, "%d", k);
	return second(p, k + 1) * text[1];
}
int main(int argc, char **argv)
{
	struct item last = { argc, 0 };
	if (argc > 1 && !strcmp(argv[1], "unmap"))
		munmap(&__executable_start, 4096);
	return first(&last, argc) + 1;
}
