// busy_omp MODE: threads of OpenMP that are busy, and never stuck; "list" lists the modes.
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static omp_lock_t lock[2];
static omp_nest_lock_t nest;
static volatile long sink;
static void work(int n) { for (int i = 0; i < n; i++) sink += i; }

static void critical(int i) {
#pragma omp critical(first)
	{
		work(500 * (i + 1));
#pragma omp critical(second)
		usleep(50);
	}
}
static void locks(int i) {
	omp_set_lock(&lock[0]); usleep(30); omp_set_lock(&lock[1]); work(500 * i); omp_unset_lock(&lock[1]); omp_unset_lock(&lock[0]);
}
static void tests(int i) {
	omp_set_lock(&lock[i % 2]);
	if (omp_test_lock(&lock[1 - i % 2])) { usleep(30); omp_unset_lock(&lock[1 - i % 2]); }
	omp_unset_lock(&lock[i % 2]);
}
static void nested(int i) { omp_set_nest_lock(&nest); omp_set_nest_lock(&nest); usleep(20 * i); omp_unset_nest_lock(&nest); omp_unset_nest_lock(&nest); }
static void barriers(int i) {
	usleep(100 * i);
#pragma omp barrier
}
static void starved(int i) { omp_set_lock(&lock[0]); usleep(i ? 50 : 3000); omp_unset_lock(&lock[0]); }

static const struct { const char *name; void (*f)(int); } modes[] = {{"critical", critical}, {"locks", locks}, {"tests", tests}, {"nested", nested},
	{"barriers", barriers}, {"starved", starved}};

int main(int argc, char **argv)
{
	alarm(600);
	omp_init_lock(&lock[0]); omp_init_lock(&lock[1]); omp_init_nest_lock(&nest);
	for (int k = 0; k < 6; k++) {
		if (argc < 2 || !strcmp(argv[1], "list")) { puts(modes[k].name); continue; }
		if (strcmp(argv[1], modes[k].name)) continue;
		puts("0");
		fflush(stdout);
#pragma omp parallel num_threads(4)
		for (;;) modes[k].f(omp_get_thread_num());
	}
}
