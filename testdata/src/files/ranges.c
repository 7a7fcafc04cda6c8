// 1024 functions, with -ffunction-sections each in a section of its own: so many address ranges, and entries of debug
// information, that what is kept of them is worth keeping.
#define F1(n)                                 \
	__attribute__((noinline)) int f##n(int first, const char *second) \
	{                                     \
		int third = first + second[0]; \
		unsigned long fourth = third * 3ul; \
		return third ^ (int)fourth;   \
	}
#define F4(n) F1(n##0) F1(n##1) F1(n##2) F1(n##3)
#define F16(n) F4(n##0) F4(n##1) F4(n##2) F4(n##3)
#define F64(n) F16(n##0) F16(n##1) F16(n##2) F16(n##3)
#define F256(n) F64(n##0) F64(n##1) F64(n##2) F64(n##3)
F256(0) F256(1) F256(2) F256(3)

int main(int argc, char **argv)
{
	return f00000(argc, argv[0]) + f33333(argc, argv[0]);
}
