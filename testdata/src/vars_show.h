// What vars.c prints when it is compiled with -DSHOW: a line "function.name = value"
// for each variable, from its own values, as corewalk writes them; an address is 0x*.
// Without SHOW nothing of it is compiled.
#ifndef SHOW
#define SHOW_ARRAYS
#define SHOW_RECORDS
#define SHOW_NUMBERS
#define SHOW_MAIN
#else
#include <stdio.h>

static void show_quoted(const unsigned char *s, size_t n, char quote)
{
	putchar(quote);
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '\n')
			printf("\\n");
		else if (s[i] == '\t')
			printf("\\t");
		else if (s[i] == quote)
			printf("\\%c", quote);
		else if (s[i] >= 0x20 && s[i] < 0x7f)
			putchar(s[i]);
		else
			printf("\\%03o", s[i]);
	}
	putchar(quote);
}

// show_chars prints an array of characters without the zeros at its end.
static void show_chars(const char *name, const void *s, size_t n)
{
	const unsigned char *at = s;

	while (n > 0 && at[n - 1] == 0)
		n--;
	printf("%s = ", name);
	show_quoted(at, n, '"');
	puts("");
}

static void show_text(const char *name, const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	printf("%s = 0x* ", name);
	show_quoted((const unsigned char *)s, n, '"');
	puts("");
}

static void show_char(const char *name, int c)
{
	unsigned char u = (unsigned char)c;

	printf("%s = %d ", name, c);
	show_quoted(&u, 1, '\'');
	puts("");
}

static void show_wide(const wchar_t *s, size_t n)
{
	for (size_t i = 0; i < n && s[i]; i++) {
		if (s[i] < 0x80)
			putchar((int)s[i]);
		else
			printf("%c%c", 0xc0 | (int)(s[i] >> 6), 0x80 | (int)(s[i] & 0x3f));
	}
}

static void show_big(const char *name, unsigned __int128 v, bool minus)
{
	char digits[48];
	int n = 0;

	for (v = minus ? -v : v; v; v /= 10)
		digits[n++] = (char)('0' + (int)(v % 10));
	printf("%s = %s", name, minus ? "-" : "");
	while (n > 0)
		putchar(digits[--n]);
	puts("");
}

static const char *show_colour(enum colour c)
{
	return c == red ? "red" : c == green ? "green" : c == blue ? "blue" : "?";
}

static const char *show_level(enum level l)
{
	return l == low ? "low" : l == middle ? "middle" : l == high ? "high" : "?";
}

static const char *show_flags(unsigned f)
{
	static char text[80];
	int n = 0;

	if (f == 0)
		return "none";
	for (unsigned bit = 1; bit; bit <<= 1) {
		const char *name = bit == readable ? "readable" : bit == writable ? "writable" : bit == executable ? "executable" : NULL;

		if (!(f & bit))
			continue;
		n += snprintf(text + n, sizeof(text) - n, "%s", n ? " | " : "(");
		n += name ? snprintf(text + n, sizeof(text) - n, "%s", name) : snprintf(text + n, sizeof(text) - n, "unknown: 0x%x", bit);
	}
	snprintf(text + n, sizeof(text) - n, ")");
	return text;
}

static void show_doubles(const char *name, const double *d, size_t n)
{
	printf("%s = {", name);
	for (size_t i = 0; i < n; i++)
		printf("%s%.17g", i ? ", " : "", d[i]);
	puts("}");
}

static void show_ints(const char *name, const int *v, size_t n)
{
	printf("%s = {", name);
	for (size_t i = 0; i < n; i++)
		printf("%s%d", i ? ", " : "", v[i]);
	puts("}");
}

static void show_point(const char *name, const struct point *p) { printf("%s = {x = %d, y = %d}\n", name, p->x, p->y); }

#define SHOW_ARRAYS                                                                                                    \
	printf("stop.p = 0x0\n"), show_text("stop.why", words[0]);                                                     \
	printf("arrays.n = %d\narrays.len = %zu\narrays.first = 0x*\n", n, len);                                       \
	show_ints("arrays.plain", plain, 5), show_ints("arrays.same", same, 40), show_ints("arrays.vla", vla, n);      \
	printf("arrays.grid = {{%d, %d, %d}, {%d, %d, %d}}\n", grid[0][0], grid[0][1], grid[0][2], grid[1][0],         \
	       grid[1][1], grid[1][2]);                                                                                \
	show_chars("arrays.text", text, 16), show_chars("arrays.zeros", zeros, 64), show_chars("arrays.raw", raw, 8);  \
	show_chars("arrays.label", label, n + 1), show_doubles("arrays.reals", reals, 3);                              \
	printf("arrays.points = {{x = %d, y = %d}, {x = %d, y = %d}}\n", points[0].x, points[0].y, points[1].x,        \
	       points[1].y);                                                                                           \
	printf("arrays.words = {0x* \"%s\", 0x* \"%s\", 0x0}\n", words[0], words[1]);                                  \
	printf("arrays.vector = {%d, %d, %d, %d}\n", vector[0], vector[1], vector[2], vector[3]);                      \
	printf("arrays.wide = L\""), show_wide(wide, 6), puts("\"");                                                   \
	fflush(stdout);

#define SHOW_RECORDS                                                                                                   \
	printf("records.list = 0x* <tail>\nrecords.hidden = 0x* <total>\nrecords.at = 0x*\n"); \
	printf("records.handle = 0x*\nrecords.handle = 0x* 0x* <tail>\n"); /* where only what it points to is known */        \
	show_point("records.p", &p);                                                                                   \
	printf("records.c = %s\n", show_colour(c));                                                                    \
	printf("records.b = {a = %d, b = %d, c = %lu, colour = %s, on = %s}\n", b.a, b.b, (unsigned long)b.c,          \
	       show_colour(b.colour), b.on ? "true" : "false");                                                        \
	printf("records.here = {next = 0x* <tail>, name = 0x* \"%s\", visit = 0x* <visit>, weight = {whole = %d, "     \
	       "half = {%d, %d}, real = %.9g}, {tag = %d '%c', at = {x = %d, y = %d}}, flags = %s}\n",                 \
	       here.name, here.weight.whole, here.weight.half[0], here.weight.half[1], here.weight.real, here.tag,     \
	       here.tag, here.at.x, here.at.y, show_flags(here.flags));                                                \
	printf("records.both = {l = %ld, d = %.17g}\n", both.l, both.d);                                               \
	printf("records.nameless = {in = %d, more = {deep = %d}}\n", nameless.in, nameless.more.deep);                 \
	printf("records.empty = {}\nrecords.sum = %d\n", sum);

#define SHOW_NUMBERS                                                                                                   \
	printf("numbers.argc = %d\nnumbers.argv = 0x*\nnumbers.inner = %d\nnumbers.ch = %ld\n", argc, inner, ch);      \
	show_char("numbers.sc", sc), show_char("numbers.uc", uc), show_char("numbers.small", small);                   \
	show_outer;                                                                                                    \
	printf("numbers.sh = %d\nnumbers.us = %d\nnumbers.lo = %ld\nnumbers.ul = %lu\n", sh, us, lo, ul);              \
	printf("numbers.fl = %.9g\nnumbers.db = %.17g\nnumbers.ld = %.20Lg\n", fl, db, ld);                            \
	printf("numbers.fc = %g + %gi\nnumbers.dc = %g + %gi\n", crealf(fc), cimagf(fc), creal(dc), cimag(dc));        \
	show_big("numbers.big", (unsigned __int128)big, big < 0), show_big("numbers.ubig", ubig, false);               \
	printf("numbers.yes = %s\nnumbers.col = %s\n", yes ? "true" : "false", show_colour(col));                      \
	printf("numbers.fg = %s\n", show_flags(fg)), printf("numbers.odd = %s\n", show_flags(odd));                    \
	printf("numbers.lv = %s\nnumbers.wc = %d L'", show_level(lv), wc), show_wide(&wc, 1), puts("'");               \
	printf("numbers.cv = %d\nnumbers.nothing = 0x0\nnumbers.call = 0x* <visit>\n", cv);                            \
	show_text("numbers.str", str);                                                                                 \
	printf("numbers.bad = 0x10 <no memory>\nnumbers.ptr = 0x* <total>\nnumbers.node = 0x* <tail>\n");              \
	printf("numbers.counter = %lu\nnumbers.kept = %d\nnumbers.table = 0x* <names>\n", counter, kept);              \
	show_point("numbers.in", &in);                                                                                 \
	printf("numbers.inf = %g\nnumbers.minus = %g\nnumbers.own = %ld\n", inf, minus, own);                          \
	printf("main.argc = %d\nmain.argv = 0x*\n", argc);

// The outer ch is hidden where the others are shown.
#define show_outer show_char("numbers.ch", 'Q')
#endif
