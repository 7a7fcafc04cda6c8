// The library of tls_user.c: variables of each thread.
__thread long first = 5;

int break_down(int *where)
{
	static __thread long each = 11;

	each += first + 1;
	*where = (int)each;
	return *where;
}
