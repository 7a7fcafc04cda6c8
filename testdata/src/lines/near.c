// near dies in this file; far.c is of the same program, and alone uses what shared.h has.
#include <stdlib.h>

int far(int);

int main(int argc, char **argv) {
	if (argc > 7) return far(argc);
	abort();
}
