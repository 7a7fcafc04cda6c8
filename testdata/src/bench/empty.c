// The least that any command takes.
int main(void) { return 0; }
