/* Dies of an element of an array that a pointer leads to: of the pointer, which is null, or of the index, which is far out. The argument says which. */
#define APART __attribute__((noinline))

APART int plain(int *a, int i) { return a[i]; }
APART int part(int *a, long i) { return a[(int)i]; }
APART int sum(int *a, int i, int j) { return a[i + j * 2]; }

static int far[4];

/* The compiler knows that nobody sets them: there is no pointer to blame, and the index is none. */
static int *rows[4];
APART int known(int j) { return rows[2][j]; }

int main(int argc, char **argv)
{
	int *none = argc > 5 ? (int *)argv : 0;
	switch (argv[1][0]) {
	case 'a': return plain(none, 3);
	case 'b': return plain(far, 400000000);
	case 'c': return part(none, 5000000003L);
	case 'd': return part(far, 400000000L);
	case 'e': return sum(none, 2, 3);
	case 'g': return known(3);
	}
	return 0;
}
