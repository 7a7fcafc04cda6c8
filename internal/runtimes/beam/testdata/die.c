/* Functions of Erlang in C that end the process. */
#include <erl_nif.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) static void leave(void) { abort(); }

static ERL_NIF_TERM die(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	leave();
	return enif_make_int(env, argc);
}

/* A term that leads nowhere: whoever collects garbage dies of it. */
static ERL_NIF_TERM bad(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]) { return 0xdead0002; }

/* A list that is nowhere: whoever goes through it dies of it. */
static ERL_NIF_TERM bad_list(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]) { return 0xdead0001; }

static ERL_NIF_TERM nap(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	for (;;)
		pause();
}

static ErlNifFunc functions[] = {
#ifdef SMALL
	{"die", 1, die, 0},
#else
	{"die", 0, die, 0},
	{"die_cpu", 0, die, ERL_NIF_DIRTY_JOB_CPU_BOUND},
	{"die_io", 0, die, ERL_NIF_DIRTY_JOB_IO_BOUND},
	{"bad", 0, bad, 0},
	{"bad_list", 0, bad_list, 0},
	{"nap", 1, nap, ERL_NIF_DIRTY_JOB_IO_BOUND},
#endif
};

#ifdef SMALL
ERL_NIF_INIT(small, functions, NULL, NULL, NULL, NULL)
#else
ERL_NIF_INIT(judge, functions, NULL, NULL, NULL, NULL)
#endif
