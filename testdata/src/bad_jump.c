// A function that jumps away at once, to where no code is.
//
// Built with -O2. main calls hop by the pointer that get returned, and hop jumps by
// another one, which is bad: hop leaves no frame, and the return address on the stack is
// main's. What get returned was good, and must not be blamed. Expected stack, with what
// cannot be known left out:
//   0x1234560, main
#define noipa __attribute__((noipa))

static void (*volatile bad)(void) = (void (*)(void))0x1234560;

noipa void hop(void)
{
	bad();
}

noipa void (*get(void))(void)
{
	return hop;
}

int main(int argc, char **argv)
{
	get()();
	return argv[0][0] + argc;
}
