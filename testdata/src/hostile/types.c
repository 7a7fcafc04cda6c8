// A hundred variables of a type of two thousand members, each of whose types has the name NAME, which is as long as the command line allows.
#define EACH(m, p) m(p##0) m(p##1) m(p##2) m(p##3) m(p##4) m(p##5) m(p##6) m(p##7) m(p##8) m(p##9)
#define TENS(m, p) m(p##0) m(p##1) m(p##2) m(p##3) m(p##4) m(p##5) m(p##6) m(p##7) m(p##8) m(p##9)
#define HUNDREDS(m, p) m(p##0) m(p##1) m(p##2) m(p##3) m(p##4) m(p##5) m(p##6) m(p##7) m(p##8) m(p##9)
#define MEMBER(n) struct NAME *m##n;
#define MEMBERS(n) EACH(MEMBER, n)
#define HUNDRED(n) TENS(MEMBERS, n)
#define VARIABLE(n) static const struct NAME v##n = {0};
#define VARIABLES(n) EACH(VARIABLE, n)
struct NAME { HUNDREDS(HUNDRED, 1) HUNDREDS(HUNDRED, 2) };
int main(void)
{
	HUNDREDS(VARIABLES, v)
	__builtin_trap();
}
