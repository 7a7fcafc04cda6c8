// main leaves by a jump through a pointer that leads nowhere.
//
// Built with -O2: the jump leaves no frame, so that what called main seems to have
// called the bad address, and the register that it called main through holds that
// address by now. Nothing may be blamed on main's caller. Expected stack:
//   <0x41414141414>, main (which left by a jump), main's caller
static int (*volatile plugin)(void) = (int (*)(void))0x41414141414;

int main(void)
{
	return plugin();
}
