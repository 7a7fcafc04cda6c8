// The library of plugin_linked.c and plugin_loaded.c: libshapes.so.
//
// Expected frames in it: inner (not exported), shapes_area
#include "plugin.h"

static __attribute__((noipa)) int inner(volatile const int *side)
{
	return *side * 2;
}

int shapes_area(const int *side, shapes_filter f)
{
	int n = f ? f(side) : 1;

	return inner(side) * n;
}
