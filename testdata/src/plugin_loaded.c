// A crash in a library opened with dlopen. Expected stack:
//   inner, shapes_area (both libshapes.so), measure, main
#include "plugin.h"
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

static int measure(int (*area)(const int *, shapes_filter), const int *side)
{
	return area(side, NULL) + 1;
}

int main(int argc, char **argv)
{
	void *library = dlopen(argc > 1 ? argv[1] : "libshapes.so", RTLD_NOW);
	int (*area)(const int *, shapes_filter);

	(void)argv;
	if (!library || !(area = (int (*)(const int *, shapes_filter))dlsym(library, "shapes_area"))) {
		puts(dlerror());
		return 1;
	}
	return measure(area, NULL);
}
