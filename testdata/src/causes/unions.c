/* Pointers that are members of unions: each way is a letter. */
#define APART __attribute__((noinline))

struct node { long key; struct node *next; };
struct words { long length; char *bytes; int hash; };
struct value {
	int kind;
	union { long number; double real; struct node *node; struct words *words; } as;
};
volatile long sink;

APART int hash(struct value *v) { return v->as.words->hash; }
APART struct node *next(struct value *v) { return v->as.node->next; }
APART long far(struct value *v) { return v->as.node[3].next->key; }
APART int half(struct value *v) { return ((int *)v->as.node)[1]; } /* no member of either */
APART long number(struct value *v) { return v->as.number; }

int main(int argc, char **argv)
{
	static struct node four[5];
	struct value v = {argc, {4096}};
	switch (argv[1][0]) {
	case 'h': sink = hash(&v); break;
	case 'n': sink = (long)next(&v); break;
	case 'o': sink = half(&v); break;
	case 'b': sink = number((struct value *)0x1000); break;
	case 'f': v.as.node = four; sink = far(&v); break;
	}
	return 0;
}
