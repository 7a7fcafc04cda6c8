/* Ways to die on Windows, each below main > run > a function of its own.

     crash MODE

   deep      leaf < middle < recurse x3 < begin: null write; two other threads wait in
             parked < worker, one of them has a name
   divide    divide: division by zero
   illegal   illegal: ud2
   int3      stop: a breakpoint
   abort     on_abort < raise < abort < give_up: int3 in the handler of SIGABRT
   null      dispatch calls address 0
   overflow  descend x many: the stack is used up
   probe     dig x some, which has a large array: the stack is used up in its probe
   fastfail  fast_fail: int 0x29
   dll       plugin_store < plugin_call (plugin.dll) < call_plugin
   large     store_at < large: an array of 20000 bytes, so that the stack is probed,
             and memory of alloca
   floats    store_at < mixed < floats: vector registers are saved
   tail      store_at < target, reached from jump by a jump: jump left no frame */
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>
#include "plugin.h"

HRESULT WINAPI SetThreadDescription(HANDLE thread, PCWSTR name); /* not in all headers */

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

volatile int sink, zero;
int *volatile nowhere;

struct job {
	int id;
	const char *title;
	double weight;
};

NOINLINE void store_at(int *where, int value)
{
	*where = value;
}

NOINLINE int leaf(struct job *job, int depth)
{
	int *where = nowhere;
	sink = job->id + depth;
	*where = depth;
	return sink;
}

NOINLINE int middle(struct job *job, int depth)
{
	struct job copy = *job;
	copy.id += depth;
	sink = leaf(&copy, depth * 2);
	return sink + copy.id;
}

NOINLINE int recurse(struct job *job, int left)
{
	char text[32];
	memset(text, 'a' + left, sizeof text);
	sink = text[left];
	int got = left == 0 ? middle(job, 7) : recurse(job, left - 1);
	sink = text[left + 1];
	return got + text[left];
}

static HANDLE ready, never;

NOINLINE void parked(int id)
{
	sink = id;
	ReleaseSemaphore(ready, 1, NULL);
	WaitForSingleObject(never, INFINITE);
	sink = id;
}

static DWORD WINAPI worker(void *arg)
{
	parked((int)(INT_PTR)arg);
	return 0;
}

NOINLINE int begin(void)
{
	ready = CreateSemaphoreA(NULL, 0, 2, NULL);
	never = CreateEventA(NULL, TRUE, FALSE, NULL);
	HANDLE first = CreateThread(NULL, 65536, worker, (void *)1, 0, NULL);
	CreateThread(NULL, 65536, worker, (void *)2, 0, NULL);
	SetThreadDescription(first, L"first worker");
	WaitForSingleObject(ready, INFINITE);
	WaitForSingleObject(ready, INFINITE);
	Sleep(200);
	struct job job = {41, "a job", 1.5};
	int got = recurse(&job, 2);
	sink = job.id;
	return got;
}

NOINLINE int divide(int by)
{
	sink = 100 / by;
	return sink + 1;
}

NOINLINE void illegal(void)
{
	sink = 1;
	__asm__ volatile("ud2");
	sink = 2;
}

NOINLINE void stop(void)
{
	sink = 1;
	__asm__ volatile("int3");
	sink = 2;
}

static void on_abort(int signal)
{
	sink = signal;
	__asm__ volatile("int3");
	sink = 2;
}

NOINLINE void give_up(void)
{
	signal(SIGABRT, on_abort);
	sink = 1;
	abort();
}

static int (*volatile callback)(int);

NOINLINE int dispatch(int value)
{
	return callback(value) + 1;
}

NOINLINE int descend(int depth)
{
	volatile char block[512];
	block[depth & 511] = (char)depth;
	int got = descend(depth + 1);
	return got + block[(depth + got) & 511];
}

NOINLINE int dig(int depth)
{
	volatile char block[200000];
	block[depth] = (char)depth;
	int got = dig(depth + 1);
	return got + block[(depth + got) & 511];
}

NOINLINE void fast_fail(void)
{
	sink = 1;
	__asm__ volatile("int $0x29" : : "c"(7));
	sink = 2;
}

NOINLINE int call_plugin(int value)
{
	return plugin_call(value) + sink;
}

NOINLINE int large(int n)
{
	volatile char block[20000];
	char *more = alloca(n);
	memset(more, 1, n);
	block[n] = more[n - 1];
	store_at(nowhere, block[n]);
	return block[n] + more[0];
}

NOINLINE double mixed(double a, double b, double c)
{
	double x = a * b, y = b * c, z = a + c;
	store_at(nowhere, (int)x);
	return x * y + z * a + b * c;
}

NOINLINE double floats(int n)
{
	double sum = 0, weight = n;
	for (int i = 0; i < n; i++)
		sum += mixed(weight, i + 1, sum) * weight;
	return sum;
}

NOINLINE int target(int a, int b)
{
	store_at(nowhere, a + b);
	return sink + a;
}

NOINLINE int jump(int a)
{
	sink = a;
	return target(a, 2);
}

NOINLINE int tail(int a)
{
	return jump(a) + sink;
}

NOINLINE int run(const char *mode)
{
	int got = 1;
	if (!strcmp(mode, "deep"))
		got = begin();
	else if (!strcmp(mode, "divide"))
		got = divide(zero);
	else if (!strcmp(mode, "illegal"))
		illegal();
	else if (!strcmp(mode, "int3"))
		stop();
	else if (!strcmp(mode, "abort"))
		give_up();
	else if (!strcmp(mode, "null"))
		got = dispatch(3);
	else if (!strcmp(mode, "overflow"))
		got = descend(0);
	else if (!strcmp(mode, "probe"))
		got = dig(0);
	else if (!strcmp(mode, "fastfail"))
		fast_fail();
	else if (!strcmp(mode, "dll"))
		got = call_plugin(5);
	else if (!strcmp(mode, "large"))
		got = large(300);
	else if (!strcmp(mode, "floats"))
		got = (int)floats(3);
	else if (!strcmp(mode, "tail"))
		got = tail(4);
	sink = got;
	return got + sink;
}

int main(int argc, char **argv)
{
	int got = run(argc > 1 ? argv[1] : "");
	sink = got;
	return got == 1;
}
