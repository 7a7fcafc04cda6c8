// Writes a title over its arguments, as daemons do that show their state, and over the variables behind them;
// or hides an argument.
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	if (argv[1][0] == 'h') { // only hides an argument
		memset(argv[2], 0, strlen(argv[2]));
		abort();
	}
	const char *title = argv[1][0] == 'l' ? "long: the title of a process that needs more room than its arguments had" : "short: idle";
	char *end = argv[argc - 1] + strlen(argv[argc - 1]) + 1;
	size_t room = end - argv[0], used = strlen(title) + 1;
	char text[128];
	strcpy(text, title);
	memset(argv[0], 0, room > used ? room : used);
	memcpy(argv[0], text, used);
	abort();
}
