// A crash in a shared library that the program is linked with, through a
// callback into the program. Expected stack:
//   check (program), shapes_area (libshapes.so), measure (program), main
#include "plugin.h"
#include <stddef.h>

static int check(const int *side)
{
	return *(volatile const int *)side;
}

static int measure(const int *side)
{
	return shapes_area(side, check) + 1;
}

int main(void)
{
	return measure(NULL);
}
