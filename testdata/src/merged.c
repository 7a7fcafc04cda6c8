// Calls of abort in several functions that the compiler inlines into one, where it makes a single call of them.
//
// The argument selects the reason: "size" and "text" abort in different inlined functions, "odd" and "empty" fail
// assertions of one function. Expected stack: abort, parse, main, since which of the inlined functions called it is
// not known; the assertions' own words tell them apart.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define noipa __attribute__((noipa)) // clang knows no such attribute, and inlines parse too

static int positive(int n)
{
	if (n < 0)
		abort();
	return n * 2;
}

static const char *given(const char *text)
{
	if (!text)
		abort();
	return text + 1;
}

noipa static int parse(int n, const char *text)
{
	return positive(n) + *given(text);
}

noipa static int pairs(int n)
{
	assert(n % 2 == 0);
	assert(n > 0);
	return n / 2;
}

int main(int argc, char **argv)
{
	const char *why = argc > 1 ? argv[1] : "";
	int n = argc;

	if (!strcmp(why, "size"))
		n = parse(-n, why);
	if (!strcmp(why, "text"))
		n = parse(n, NULL);
	if (!strcmp(why, "odd"))
		n = pairs(n + 1);
	if (!strcmp(why, "empty"))
		n = pairs(n - 2);
	return n + argv[0][0];
}
