// A program with secrets everywhere, which dies.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct user {
	char name[24];
	char *password;
	wchar_t wide[24];
	long card;
	int age;
	struct user *next;
};

static char global_token[64];

static char *copy(const char *s)
{
	char *p = malloc(strlen(s) + 1);
	return strcpy(p, s);
}

__attribute__((noinline)) static void die(struct user *u, const char *key)
{
	char stack_buffer[48];
	// Not at a multiple of a word's size.
	snprintf(stack_buffer + 3, sizeof stack_buffer - 3, "%s", key);
	snprintf(global_token, sizeof global_token, "tok-%s", stack_buffer + 3);
	for (int i = 0; key[i]; i++)
		u->wide[i] = key[i];
	u->next = 0;
	u->next->age = u->age + stack_buffer[4]; // the fault
}

__attribute__((noinline)) static void serve(struct user *u, const char *key)
{
	char line[40];
	memcpy(line, u->name, sizeof u->name);
	die(u, key);
	puts(line);
}

static void *idle(void *arg)
{
	char mine[32];
	strcpy(mine, arg);
	pause();
	return mine[0] ? arg : 0;
}

int main(int argc, char **argv)
{
	struct user *u = calloc(1, sizeof *u);
	if (argc < 3 || !getenv("SECRET"))
		return 2;
	strcpy(u->name, argv[1]);
	u->password = copy(argv[2]);
	u->card = 4929131832784715;
	u->age = 41;
	if (argc > 3 && !dlopen(argv[3], RTLD_NOW)) // by a name that is a secret
		return 3;
	if (argc > 3) { // and one that is no library at all, somewhere on the heap
		struct link_map *last = dlopen(0, RTLD_NOW), *fake = calloc(1, 4096);
		while (last->l_next)
			last = last->l_next;
		fake->l_name = copy(argv[3]);
		fake->l_ld = (void *)fake;
		fake->l_prev = last;
		last->l_next = fake;
	}
	pthread_t t;
	pthread_create(&t, 0, idle, copy(getenv("SECRET")));
	usleep(100000);
	serve(u, u->password);
	return 0;
}
