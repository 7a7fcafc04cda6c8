// Runs a command and says what it took: launch RESULT OUTPUT COMMAND [ARGUMENTS...]
// RESULT gets one line: wall time in nanoseconds, user and system time in microseconds, the
// most memory resident in KiB, the exit status (128 + the signal for a process that a signal
// killed). OUTPUT gets what the command prints on both streams.
//
// A small program must start the command: what ru_maxrss says of a process begins with the
// memory of the process that forked it.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	struct rusage u;
	long long start;
	int status;
	pid_t child;
	FILE *f;

	if (argc < 4)
		return 64;
	setrlimit(RLIMIT_CORE, &unlimited); // the workloads are to leave cores
	start = now();
	child = fork();
	if (child == 0) {
		int in = open("/dev/null", O_RDONLY);
		int out = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0644);

		if (in < 0 || out < 0)
			_exit(126);
		dup2(in, 0);
		dup2(out, 1);
		dup2(out, 2);
		execvp(argv[3], argv + 3);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &u) < 0)
		return 1;
	start = now() - start;
	f = fopen(argv[1], "w");
	if (!f)
		return 1;
	fprintf(f, "%lld %lld %lld %ld %d\n", start,
		u.ru_utime.tv_sec * 1000000LL + u.ru_utime.tv_usec,
		u.ru_stime.tv_sec * 1000000LL + u.ru_stime.tv_usec, u.ru_maxrss,
		WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
	return fclose(f) != 0;
}
