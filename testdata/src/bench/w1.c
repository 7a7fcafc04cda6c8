// A crash in a string function of libc. With an argument, that many GiB of memory of
// which one page was touched are in the core, too.
// Stack, 8 frames: strlen, field_length, parse_line, load, main, and three that start it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct field {
	const char *name, *text;
};

struct line {
	struct field fields[3];
	int count;
};

__attribute__((noinline)) static size_t field_length(const struct field *f)
{
	return strlen(f->text) + 2;
}

__attribute__((noinline)) static size_t parse_line(const struct line *l, int number)
{
	size_t total = number;

	for (int i = 0; i < l->count; i++)
		total += field_length(&l->fields[i]);
	return total;
}

__attribute__((noinline)) static size_t load(const char *path, const struct line *lines, int count)
{
	size_t total = path[0];

	for (int i = 0; i < count; i++)
		total += parse_line(&lines[i], i);
	return total;
}

int main(int argc, char **argv)
{
	struct line lines[2] = {
		{ { { "name", "corewalk" }, { "kind", "tool" } }, 2 },
		{ { { "name", "core" }, { "kind", "file" }, { "size", (char *)8 } }, 3 },
	};

	if (argc > 1) {
		volatile char *big = mmap(NULL, (size_t)atoi(argv[1]) << 30, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (big == MAP_FAILED)
			return 2;
		big[0] = 1;
	}
	printf("%zu\n", load("input.txt", lines, 2) + argc);
	return 0;
}
