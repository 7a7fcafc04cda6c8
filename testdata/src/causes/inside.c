// Dies of a pointer to a function to which a number was added, and of one into a block. The argument says which; a number is what is added.
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline))

struct ops { char name[16]; long (*run)(long, char *); long uses; };
struct dev { struct ops *ops; long state; char *text; };

APART long start(long n, char *t) { long k = 0; for (int i = 0; i < n && t[i]; i++) k = k * 31 + t[i]; return k + n; }
APART long drive(struct dev *d, long n) { return d->ops->run(n, d->text) + 1; }
APART long returned(long n) { char *p = malloc(64); memset(p, 1, 64); free(p + 16); return n + 1; }
// The function is entered where it begins, and fails itself.
APART long plain(struct dev *d, long n) { return d->ops->run(n, (char *)d->ops->uses) + 1; }

int main(int argc, char **argv)
{
	struct ops *o = malloc(sizeof *o);
	struct dev *d = malloc(sizeof *d);
	d->ops = o;
	d->text = "text";
	strcpy(o->name, "ops");
	o->uses = 1;
	o->run = start;
	if (argv[1][0] == 'f')
		return returned(argc);
	if (argv[1][0] == 'p')
		return plain(d, 20);
	*(long *)&o->run += atoi(argv[1]);
	return drive(d, 20);
}
