/* The C of charge.hs. */
long die(long n)
{
	*(volatile int *)0 = 1;
	return n + 1;
}

long call_back(long (*f)(long), long n)
{
	return f(n) + 1;
}
