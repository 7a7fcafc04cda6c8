/* A program without libraries, for machines whose Windows programs wine cannot run here:
   carrier.c carries it to its death. leaf writes to null below

     leaf < middle < recurse x3 < many < aligned < passing < run < start */
#define NOINLINE __attribute__((noinline))

#ifdef __i386__
#define STDCALL __attribute__((stdcall))
#define FASTCALL __attribute__((fastcall))
#else
#define STDCALL
#define FASTCALL
#endif

int _fltused; /* of the library that is not there */
volatile int sink;
#ifdef RETURNS /* for stepper.py */
int somewhere;
int *volatile nowhere = &somewhere;
#else
int *volatile nowhere;
#endif

struct job {
	int id;
	const char *title;
};

NOINLINE int leaf(struct job *job, int depth)
{
	int *where = nowhere;
	sink = job->id + depth;
	*where = depth;
	return sink;
}

NOINLINE int FASTCALL middle(struct job *job, int depth, int more)
{
	struct job copy = {job->id + depth, job->title};
	sink = leaf(&copy, depth * 2);
	return sink + copy.id + more;
}

NOINLINE int recurse(struct job *job, int left)
{
	volatile int block[6];
	block[left] = left;
	sink = block[left];
	int got = left == 0 ? middle(job, 7, 3) : recurse(job, left - 1);
	return got + block[left] + sink;
}

/* All registers that calls preserve, on arm64 of vectors too. */
NOINLINE int many(struct job *job, int a, int b, double x)
{
	int c = a + sink, d = b + sink, e = c * d + sink, f = e + sink, g = f * c + sink;
	double y = x * sink, z = y + sink, w = z * y;
	int got = recurse(job, 2);
	sink = a + b + c + d;
	sink += (int)(x * y + z * w);
	return got + e + f + g;
}

/* The stack pointer is aligned: a frame register. */
NOINLINE int aligned(struct job *job, int n)
{
	volatile int block[16] __attribute__((aligned(64)));
	block[n & 15] = n;
	int got = many(job, n, n + 1, n * 0.5);
	return got + block[n & 15];
}

/* The callee takes its parameters off the stack. */
NOINLINE int STDCALL passing(struct job *job, int a, int b, int c)
{
	sink = a + b;
	return aligned(job, c) + sink;
}

NOINLINE int run(int n)
{
	struct job job = {40 + n, "a job"};
	int got = passing(&job, 1, 2, 3) + passing(&job, 4, 5, 6);
	return got + job.id;
}

int start(void)
{
	sink = 1;
	sink = run(sink);
	for (;;)
		sink = 2;
}
