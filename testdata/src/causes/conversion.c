/* Arguments that do not fit the conversions of their formats: each way is a letter, and dies in the C library. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
	int id;
	long size;
	char *label;
};

static struct item shelf = {7, 4242, "shelf"};
static char room[256];
static char composed[64];

#define APART __attribute__((noinline))

APART void plain(int count) { printf("count %s of %d\n", count, 3); puts("."); }

APART void member(struct item *it)
{
	snprintf(room, sizeof room, "%d%% %-10s|%.2f|%*s %s", 1, "fine", 2.5, 4, "x", it->size);
	puts(room);
}

APART void wrapped(FILE *to, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	vfprintf(to, format, list);
	va_end(list);
	fputc('\n', to);
}

APART void with_list(const char *format, va_list list)
{
	vsnprintf(room, sizeof room, format, list);
	puts(room);
}

APART void through(int level, double weight, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	with_list(format, list);
	va_end(list);
	printf("%d %f\n", level, weight);
}

APART void stacked(int code) { printf("%d %d %d %d %f %d %d %s %s\n", 1, 2, 3, 4, 1.5, 6, 7, "eight", code); puts("."); }

APART void floating(double x, long long far, int code)
{
	printf("%f%f%f%f%f%f%f%f%f%Lf %d %d %d %d %d %lld %s\n", x, x, x, x, x, x, x, x, x, (long double)x, 1, 2, 3, 4, 5, far, code);
	puts(".");
}

APART void placed(int code) { printf("%2$d %1$s\n", code, 3); puts("."); }

APART int scanned(const char *text)
{
	int number = 77;
	sscanf(text, "%*d %d", number);
	return number;
}

APART void pointed(struct item *it)
{
	it->label = (char *)0x1234;
	printf("[%s]\n", it->label);
	puts(".");
}

APART void counted(int at)
{
	printf("%d%n\n", 1, at);
	puts(".");
}

APART void made(int count)
{
	strcpy(composed, "made %d %s\n");
	printf(composed, 1, count);
	puts(".");
}

APART void bad_file(int count)
{
	fprintf((FILE *)4096, "%s %d\n", "fine", count);
	puts(".");
}

APART int bad_text(long at)
{
	int number;
	sscanf((char *)at, "%d", &number);
	return number;
}

APART void nothing(int count)
{
	printf("%s %s\n", (char *)0, count);
	puts(".");
}

APART void last(int count) { printf("tail %s, %d\n", count, 1); }

int main(int argc, char **argv)
{
	switch (argv[1][0]) {
	case 'p': plain(argc + 3); break;
	case 'm': member(&shelf); break;
	case 'w': wrapped(stderr, "%s has %d at %s", "it", 3, shelf.id); break;
	case 't': through(2, 1.5, "%s: %f %x %s", "ok", 2.5, 255, shelf.id); break;
	case 'y': stacked(argc + 500); break;
	case 'f': floating(argc, 1LL << 40, argc + 600); break;
	case 'q': placed(argc + 90); break;
	case 's': return scanned("1 2");
	case 'P': pointed(&shelf); break;
	case 'n': counted(argc + 9); break;
	case 'c': made(argc + 19); break;
	case 'F': bad_file(argc); break;
	case 'T': return bad_text(argc + 4000);
	case '0': nothing(argc + 29); break;
	case 'l': last(argc + 39); break;
	}
	return 0;
}
