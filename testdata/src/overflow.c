// Two functions that call each other until the stack is full.
//
// Run with a stack of 256 KiB. Expected stack: thousands of ping and pong in
// turn, then main. The fault is a write or a call's push just below the stack.
static int pong(int depth, volatile char *above);

static int ping(int depth, volatile char *above)
{
	volatile char here[16];

	here[0] = above[0] + 1;
	return pong(depth + 1, here) + here[0];
}

static int pong(int depth, volatile char *above)
{
	volatile char here[32];

	here[1] = above[0] + 2;
	return ping(depth + 1, here) + here[1];
}

int main(void)
{
	volatile char first[1] = { 0 };

	return ping(0, first);
}
