// A read through a pointer of a structure that its marks show where it lies in the core: tests change the pointer there.
#include <stddef.h>

struct node {
	unsigned long before;
	struct node *next;
	unsigned long behind;
};

__attribute__((noinline)) static unsigned long last(struct node *p) { return p->next->before; }
__attribute__((noinline)) static unsigned long middle(struct node *p, int k) { return last(p) + k; }

int main(int argc, char **argv)
{
	struct node first = { 0x5ca1ab1e0ddba115, (struct node *)8, 0x0ddba1155ca1ab1e };

	(void)argv;
	return (int)middle(&first, argc) + 1;
}
