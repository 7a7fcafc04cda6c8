/* Functions of Erlang in C that end the process. */
#include <erl_nif.h>
#include <stdlib.h>

static ErlNifResourceType *kind;

__attribute__((noinline)) static void leave(void) { abort(); }

static ERL_NIF_TERM die(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	leave();
	return enif_make_int(env, argc);
}

/* An object that ends the process when it is collected. */
static void dropped(ErlNifEnv *env, void *object) { leave(); }

static ERL_NIF_TERM hold(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	void *object = enif_alloc_resource(kind, 16);
	ERL_NIF_TERM t = enif_make_resource(env, object);
	enif_release_resource(object);
	return t;
}

static int load(ErlNifEnv *env, void **data, ERL_NIF_TERM info)
{
	kind = enif_open_resource_type(env, NULL, "held", dropped, ERL_NIF_RT_CREATE, NULL);
	return kind == NULL;
}

static ErlNifFunc functions[] = {
	{"die", 0, die, 0},
	{"die_cpu", 0, die, ERL_NIF_DIRTY_JOB_CPU_BOUND},
	{"die_io", 0, die, ERL_NIF_DIRTY_JOB_IO_BOUND},
	{"hold", 0, hold, 0},
};

ERL_NIF_INIT(judge, functions, load, NULL, NULL, NULL)
