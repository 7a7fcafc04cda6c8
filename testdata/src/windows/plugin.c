/* The library that crash.c calls: plugin_store writes to null, below plugin_call. */
static int *volatile nowhere;
static volatile int sink;

static __attribute__((noinline)) int plugin_store(int value)
{
	int *where = nowhere;
	sink = value;
	*where = value;
	return sink;
}

__declspec(dllexport) int plugin_call(int value)
{
	return plugin_store(value * 2) + sink;
}
