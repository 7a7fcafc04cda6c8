// Thread-local variables of a program and of its libraries, as musl lays them out.
//
// Expected stack: break_down (in libtls.so), main. There each is 11 + 5 + 1 = 17; in
// main own is 3.
#include <stddef.h>

extern int *other_of_thread(void);
extern int break_down(int *);

int main(int argc, char **argv)
{
	static __thread int own = 2;

	own += argc;
	*other_of_thread() += own;
	return break_down(NULL) + own;
}
