// A program that is unkind to whoever traces it. The first argument says how.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char *self;

static void say(void) { puts("ready"); fflush(stdout); }
static void forever(void) { for (;;) pause(); }
static void *idle(void *a) { forever(); return a; }
static void *nothing(void *a) { return a; }

static void *churn(void *a) {
	pthread_t t;
	for (;;)
		if (!pthread_create(&t, 0, nothing, 0)) pthread_join(t, 0);
	return a;
}

static void *execer(void *a) {
	usleep(rand() % 2000);
	execl(self, self, "execs", (char *)0);
	return a;
}

static void *stopper(void *a) { for (;;) raise(SIGSTOP); return a; }

// helper is a child that lives as long as this process.
static int helper(void) {
	int self = getpid(), child = fork();
	if (!child) prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!child && getppid() != self) _exit(0); // it died before
	return child;
}

static int tracer(void) {
	char b[4096];
	int fd = open("/proc/self/status", O_RDONLY), n = read(fd, b, sizeof b - 1);
	close(fd);
	b[n > 0 ? n : 0] = 0;
	char *s = strstr(b, "TracerPid:");
	return s ? atoi(s + 10) : 0;
}

// names makes many mappings, of files whose names look like lines of /proc/PID/maps and like
// commands to a terminal.
static void names(int n) {
	for (int i = 0; i < n; i++) {
		char name[200];
		snprintf(name, sizeof name, "x\n7f0000000000-7f0000001000 r-xp 00000000 08:01 1 /bin/\033]0;title\007%d (deleted)", i);
		int fd = memfd_create(name, 0);
		if (fd < 0 || ftruncate(fd, 1 << 20)) return;
		for (int k = 0; k < 250; k++)
			mmap(0, 4096, k % 2 ? PROT_READ : PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096 * k);
		close(fd);
	}
}

static int confine(void) {
	struct sock_filter f[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ppoll, 2, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog p = {5, f};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
}

int main(int argc, char **argv) {
	const char *how = argc > 1 ? argv[1] : "";
	int is(const char *s) { return !strcmp(how, s); }
	int n = argc > 2 ? atoi(argv[2]) : 0, me = getpid();
	pthread_t t;
	self = argv[0];
	srand(me);
	alarm(300);
	prctl(PR_SET_NAME, "a\n\033[31mb\r\\c\td");
	setvbuf(stdout, 0, _IONBF, 0);
	if (is("dies")) {
		for (int i = 0; i < 20; i++) pthread_create(&t, 0, idle, 0);
		say();
		usleep(n);
		_exit(3);
	} else if (is("forks")) {
		signal(SIGCHLD, SIG_IGN);
		say();
		for (;;) if (!fork()) _exit(0);
	} else if (is("vforks")) {
		say();
		for (;;) {
			int p = vfork();
			if (!p) _exit(0);
			waitpid(p, 0, 0);
		}
	} else if (is("execs")) {
		if (!getenv("TOLD")) { setenv("TOLD", "1", 1); say(); }
		pthread_create(&t, 0, idle, 0);
		pthread_create(&t, 0, execer, 0);
	} else if (is("churns")) {
		for (int i = 0; i < 8; i++) pthread_create(&t, 0, churn, 0);
		say();
	} else if (is("confined")) {
		if (confine()) return 1;
		write(1, "ready\n", 6);
		for (;;) syscall(SYS_ppoll, 0, 0, 0, 0, 0);
	} else if (is("other user")) {
		if (setuid(65534)) say(); else say();
	} else if (is("names")) {
		names(n);
		say();
	} else if (is("traced")) {
		if (!helper()) {
			if (ptrace(PTRACE_SEIZE, me, 0, 0)) _exit(1);
			say();
			for (;;) waitpid(-1, 0, __WALL);
		}
	} else if (is("stops")) {
		if (!helper()) { say(); for (;;) { kill(me, SIGSTOP); kill(me, SIGCONT); } }
	} else if (is("stops itself")) {
		if (!helper()) { say(); for (;;) { kill(me, SIGCONT); usleep(10); } }
		pthread_create(&t, 0, stopper, 0);
		pthread_create(&t, 0, stopper, 0);
	} else if (is("signals")) {
		say();
		for (;;) {
			int p = tracer();
			/* Not SIGSTOP: nobody can refuse it, and who is traced may be unable to send SIGCONT. */
			if (p) { kill(p, SIGCHLD); kill(p, SIGURG); kill(p, SIGWINCH); kill(p, SIGCONT); }
		}
	} else if (is("waits in vfork")) {
		say();
		int child = vfork();
		if (!child) { prctl(PR_SET_PDEATHSIG, SIGKILL); forever(); }
	} else if (is("leaderless")) {
		pthread_create(&t, 0, idle, 0);
		say();
		pthread_exit(0);
	} else {
		return 1;
	}
	forever();
}
