/* Functions with all kinds of prologues and epilogues, which stepper.c steps through.
   They stand between edges_first and edges_last, and call each other only. */

#ifdef __clang__
#define KEEP __attribute__((noinline))
#else
#define KEEP __attribute__((noinline, noclone))
#endif
#define EXPORT __declspec(dllexport)

static volatile int sink;

EXPORT KEEP int edges_first(int a) { return a + 1; }

KEEP int leaf(int a) { return sink + a; }

/* One saved register, several, all of them. */
KEEP int one(int a) { return leaf(a) + a; }

KEEP int many(int a, int b, int c, int d)
{
	int x = leaf(a), y = leaf(b), z = leaf(c), w = leaf(d);
	int v = leaf(x + y), u = leaf(z + w), t = leaf(x + w);
	return x * y + z * w + v * u + t + one(a + b) + c + d;
}

/* Vector registers. */
KEEP double scale(double a, int n)
{
	return a * n + leaf(n);
}

KEEP double vectors(double a, double b, int n)
{
	double x = scale(a, n), y = scale(b, n), z = scale(x, n), w = scale(y + z, n);
	return x * y + z * w + a * b + scale(w, 1);
}

/* More than a page: the stack is probed. */
KEEP int probed(int n)
{
	volatile char block[9000];
	block[n] = (char)n;
	return leaf(block[n]) + block[n];
}

/* A frame of a size that is known at run time: a frame register. */
KEEP int variable(int n)
{
	volatile char *block = __builtin_alloca(n);
	block[n - 1] = 3;
	int got = leaf(block[n - 1]) + many(1, 2, 3, n);
	return got + block[n - 1];
}

/* A frame pointer that is asked for, and aligned. */
KEEP int aligned(int n)
{
	volatile int block[16] __attribute__((aligned(64)));
	block[n & 15] = n;
	return leaf(n) + block[n & 15] + variable(n + 40);
}

/* Several epilogues. */
KEEP int branches(int a)
{
	if (a < 2)
		return one(a) + 1;
	if (a == 5) {
		int x = many(a, a, a, a);
		return x + one(x);
	}
	for (int i = 0; i < a; i++)
		if (leaf(i) > 100)
			return i;
	return one(a) * a;
}

/* Jumps in place of calls, with a frame of their own before. */
KEEP int jumps(int a)
{
	sink = one(a);
	return branches(a + 1);
}

KEEP int jumps_far(int a)
{
	if (a > 3)
		return jumps(a);
	return leaf(a);
}

/* Parameters on the stack, and homes of those in registers. */
KEEP int parameters(int a, int b, int c, int d, int e, int f, int g)
{
	volatile int *p = &a;
	*p += b;
	return leaf(*p + c) + many(d, e, f, g) + g;
}

/* A part that is seldom run, elsewhere: tables that are chained or split. */
KEEP int seldom(int a)
{
	if (__builtin_expect(a > 5, 0)) {
		int x = many(a, a + 1, a + 2, a + 3);
		sink = x;
		return x + parameters(a, 1, 2, 3, 4, 5, x);
	}
	return leaf(a) + 1;
}

KEEP int recursive(int n)
{
	volatile int block[4];
	block[n & 3] = n;
	if (n == 0)
		return leaf(1);
	return recursive(n - 1) + block[n & 3];
}

/* Assembly: what compilers do seldom. mov saves in the caller's home area, an epilogue
   with lea, add of 128 and more, jmp through memory. */
KEEP int handmade(int a);
__asm__(".globl handmade\n"
	".seh_proc handmade\n"
	"handmade:\n"
	"  movq %rbx, 8(%rsp)\n"
	"  pushq %rbp\n"
	"  .seh_pushreg %rbp\n"
	"  pushq %rdi\n"
	"  .seh_pushreg %rdi\n"
	"  subq $200, %rsp\n"
	"  .seh_stackalloc 200\n"
	"  leaq 128(%rsp), %rbp\n"
	"  .seh_setframe %rbp, 128\n"
	"  .seh_savereg %rbx, 224\n"
	"  movq %rsi, 232(%rsp)\n"
	"  .seh_savereg %rsi, 232\n"
	"  movaps %xmm6, 32(%rsp)\n"
	"  .seh_savexmm %xmm6, 32\n"
	"  .seh_endprologue\n"
	"  movl %ecx, %ebx\n"
	"  movl $7, %esi\n"
	"  movl $8, %edi\n"
	"  pxor %xmm6, %xmm6\n"
	"  call leaf\n"
	"  addl %ebx, %eax\n"
	"  movaps 32(%rsp), %xmm6\n"
	"  movq 224(%rsp), %rbx\n"
	"  movq 232(%rsp), %rsi\n"
	"  leaq 72(%rbp), %rsp\n"
	"  popq %rdi\n"
	"  popq %rbp\n"
	"  ret\n"
	".seh_endproc\n");

KEEP int all(int n)
{
	int got = one(n) + many(n, 2, 3, 4) + (int)vectors(1.5, 2.5, n) + probed(n) + aligned(n);
	got += branches(1) + branches(5) + branches(3) + jumps(2) + jumps_far(4) + jumps_far(1);
	got += seldom(1) + seldom(6) + recursive(3) + handmade(n) + parameters(1, 2, 3, 4, 5, 6, 7);
	return got;
}

EXPORT KEEP int edges_last(int a) { return a + 2; }

int main(void)
{
	sink = 1;
	__asm__ volatile("int3");
	int got = all(4);
	__asm__ volatile("int3");
	return got == 0;
}
