/* Dies of a member whose place was computed from indexes. The argument says which. */
#include <stdlib.h>

#define APART __attribute__((noinline))

struct reg { int hi, lo; };
struct parent { int n; struct reg *reg[3]; };
APART int modulo(struct parent *parent, int k) { return parent->reg[k % 3]->lo; }

struct node { long pad; struct node *next; int v; };
struct node tab[8];
APART int table(int i) { return tab[i].next->v; }

struct cell { int a, b, c; };
struct row { long len; struct cell *cells; };
struct matrix { struct row *rows; int n; };
APART int cells(struct matrix *m, int r, int c) { return m->rows[r].cells[c].b; }

/* The index is far out. */
struct grid { int w, h; unsigned char *px; };
APART void pixel(struct grid *g, int x, int y) { g->px[y * g->w + x] = 7; }

long numbers[100];
APART long below(long i, long j) { return numbers[i - j * 2]; }

/* An array in a structure in an array. */
struct entry { int x; char *name; };
struct outer { int n; short id[4]; struct entry e[3]; long tail; };
APART int within(struct outer *p, int i, int j) { return p[i].e[j].name[2]; }

int *rows[4][5];
APART int twice(unsigned y, unsigned char x) { return *rows[y][x + 1]; }

/* By its constant part the address is of the other array. */
struct two { long *a[4]; long *b[4]; };
APART long second(struct two *p, int k) { return *p->b[k - 1] + 1; }

/* A local array, whose other members are set. */
struct tagged { int tag, val; };
APART int local(struct tagged **q, short k)
{
	struct tagged *loc[5];
	for (int i = 0; i < 5; i++)
		loc[i] = q[i];
	q[0] = (void *)loc;
	return loc[k - 2]->val;
}

/* Which of two members of a union was meant, nobody knows. */
union either { long l[4]; int *p[4]; };
struct chosen { int k; union either u; };
APART int ambiguous(struct chosen *s, long i) { return *s->u.p[i]; }

/* The elements of the structure are as long as the structure. */
struct flexible { long len; int *data[]; };
APART int behind(struct flexible *f, long i) { return *f->data[i]; }

/* The caller passes a number that it writes. */
APART int far(int *a, int n) { return a[n - 100000000]; }

/* The index is another by the time of the crash. */
struct box { int k; struct reg *t[4]; };
APART int changed(struct box *b) { struct reg *r = b->t[b->k]; b->k = 3; return r->lo; }

struct cards { long i; struct card { long lo, hi; } *rows; };
/* The index is another by then. */
APART long moved(struct cards *g) { struct card *q = &g->rows[g->i]; g->i = 3; return q->hi; }

/* An index of fewer bytes than an address, which is multiplied. */
struct place { int pad; unsigned at; int back; };
int small[4];
APART int scaled(struct place *p) { return small[p->at]; }
APART int before(struct place *p, int *from) { return from[(long)p->back]; }

int main(int argc, char **argv)
{
	int c = argc - 1; /* 1 */
	switch (argv[1][0]) {
	case 'm': {
		struct parent *p = calloc(1, sizeof *p);
		p->reg[0] = calloc(1, sizeof(struct reg));
		p->reg[1] = calloc(1, sizeof(struct reg));
		return modulo(p, c + 4);
	}
	case 't':
		return table(c + 2);
	case 'c': case 'C': {
		struct matrix *m = calloc(1, sizeof *m);
		m->rows = calloc(4, sizeof *m->rows);
		m->rows[1].cells = calloc(4, sizeof(struct cell));
		return argv[1][0] == 'c' ? cells(m, c + 1, c + 2) : cells(m, c, c * 90000000);
	}
	case 'p': {
		struct grid *g = malloc(sizeof *g);
		g->w = 40000;
		g->px = malloc(16);
		pixel(g, c, c * 50000);
		return 0;
	}
	case 'b':
		return below(c, c * 4000000000L);
	case 'w':
		return within(calloc(4, sizeof(struct outer)), c + 1, c);
	case '2':
		return twice(c + 1, c + 1);
	case 's':
		return second(calloc(1, sizeof(struct two)), c + 1);
	case 'l': {
		struct tagged x[5], *y[5] = { &x[0], &x[1], 0, &x[3], &x[4] };
		return local(y, c + 3);
	}
	case 'x': {
		struct box *b = calloc(1, sizeof *b);
		b->k = c;
		b->t[3] = calloc(1, sizeof(struct reg));
		return changed(b);
	}
	case 'g': {
		struct cards *g = calloc(1, sizeof *g);
		g->rows = calloc(4, sizeof *g->rows);
		g->i = c * (1L << 36);
		return moved(g);
	}
	case 'n':
		return far((int *)numbers, 5);
	case 'S': {
		struct place p = { 7, c * 0x30000001u, 0 };
		return scaled(&p);
	}
	case 'B': {
		struct place p = { 7, 0, c * -0x30000001 };
		return before(&p, small);
	}
	case 'a':
		return ambiguous(calloc(1, 100), c + 1);
	case 'f':
		return behind(calloc(1, 100), c + 3);
	}
	return 0;
}
