/* Calls that end the program, which compilers join, and nulls that callers pass by a jump. The arguments are the way to die and a number. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static void bail(int code)
{
	fprintf(stderr, "code %d\n", code);
	abort();
}

struct stack {
	long values[4];
	int n;
};

static long pop(struct stack *s)
{
	if (s->n == 0)
		bail(3);
	return s->values[--s->n];
}

__attribute__((noinline)) static void add(struct stack *s)
{
	long b = pop(s), a = pop(s);
	s->values[s->n++] = a + b;
}

__attribute__((noinline)) static void choose(struct stack *s)
{
	long c = pop(s), b = pop(s), a = pop(s);
	s->values[s->n++] = c ? a : b;
}

/* It is inlined everywhere: what it printed tells which of its calls it was. */
static inline void malformed(const char *why, long at)
{
	fprintf(stderr, "malformed: %s at %ld\n", why, at);
	abort();
}

__attribute__((noinline)) static long decode(const char *text, long n)
{
	if (n < 3)
		malformed("ends early", n);
	if (text[0] == '!')
		malformed("no such mark", text[1]);
	for (long i = 0; i < n; i++)
		if (text[i] == '#')
			malformed("a comment inside", i);
	return text[1];
}

__attribute__((noinline)) int compare(const char *a, const char *b)
{
	while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b))
		a++, b++;
	return tolower((unsigned char)*a) - tolower((unsigned char)*b);
}

/* Nothing of it is left on the stack where the call is the last thing that it does. */
__attribute__((noinline)) int by_name(const char *const *a, const char *const *b) { return compare(a[0], b[0]); }

int main(int argc, char **argv)
{
	struct stack s = {{argc, 2}, atoi(argv[2])};
	const char *names[] = {"one", NULL};
	switch (argv[1][0]) {
	case 'a': add(&s); break;
	case 'c': choose(&s); break;
	case 'e': return decode("ab", argc - 1);
	case 'm': return decode("!b-", argc);
	case 'i': return decode("ab#", argc);
	case 'n': return by_name(&names[argc - 2], &names[0]);
	case 'l': return by_name(&names[0], &names[argc - 2]);
	}
	return (int)s.values[0];
}
