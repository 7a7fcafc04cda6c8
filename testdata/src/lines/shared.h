static __attribute__((noinline)) int spare(int n) {
	return n * 3;
}
