/* Dies of SIGSEGV in crash. Stack: crash < skewed < start < main.
   skewed is assembly whose call frame information forgets its locals: by it,
   decoy called skewed, and nobody called decoy. The frame pointers are right. */
void skewed(void);
int sink;

__attribute__((noinline)) void crash(int *p)
{
	*p = 1;
	sink++;
}

__attribute__((noinline)) void start(void)
{
	skewed();
	sink++;
}

int main(void)
{
	start();
	return sink;
}
