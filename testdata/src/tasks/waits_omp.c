// waits_omp KIND: threads that wait in the way of KIND; then abort.
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static omp_lock_t lock;
static omp_nest_lock_t nest;

int main(int argc, char **argv) {
	const char *kind = argc > 1 ? argv[1] : "critical";
	omp_init_lock(&lock);
	omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(2)
	{
		int first = omp_get_thread_num() == 0;
		if (!first) usleep(50000);
		if (!strcmp(kind, "critical")) {
#pragma omp critical(gate)
			if (first) { sleep(1); abort(); }
		} else if (!strcmp(kind, "lock")) {
			omp_set_lock(&lock);
		} else if (!strcmp(kind, "nest")) {
			omp_set_nest_lock(&nest);
		} else if (!first) {
#pragma omp barrier
		}
		if (first) { sleep(1); abort(); }
#pragma omp barrier
	}
}
