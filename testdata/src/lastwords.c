// Programs that the C library ends, with a message: chosen by the first argument.
//
//   free      double free
//   fortify   overflow of a buffer that the compiler knows the size of
//   perror    assert_perror
//   format    %n in a format that may be written to
//
// Expected stack: <libc>..., abort, <libc>..., the function named after the argument, main
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static void free_twice(char *p)
{
	free(p);
	free(p);
}

__attribute__((noinline)) static void fortify(const char *from)
{
	char to[8];

	strcpy(to, from);
	puts(to);
}

__attribute__((noinline)) static void claim_success(int error)
{
	assert_perror(error);
}

__attribute__((noinline)) static void format(char *how)
{
	int n;

	printf(how, &n);
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "free";
	char writable[] = "%n\n";

	if (strcmp(way, "free") == 0)
		free_twice(malloc(2000));
	if (strcmp(way, "fortify") == 0)
		fortify("more than eight characters");
	if (strcmp(way, "perror") == 0)
		claim_success(ENOSPC);
	if (strcmp(way, "format") == 0)
		format(writable);
	return 0;
}
