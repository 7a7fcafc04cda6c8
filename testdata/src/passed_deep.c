// What a function was passed is what its caller was passed, hundreds of times over.
//
// Built with -O2. fill calls itself with the same canvas and row, of which no frame
// keeps a copy: the debug information says of each that it is what it was on entry. The
// innermost writes to null. Expected stack:
//   fill x300, main
#define noipa __attribute__((noipa))

struct canvas { int width; };

static volatile int seen;

noipa long fill(struct canvas *c, int row, int left)
{
	long sum;

	seen = c->width + row;
	if (left == 0) {
		*(volatile int *)0 = 1;
		return 0;
	}
	sum = fill(c, row, left - 1);
	seen = (int)sum;
	return sum + 1;
}

int main(void)
{
	struct canvas c = { 640 };

	return (int)fill(&c, 7, 299);
}
