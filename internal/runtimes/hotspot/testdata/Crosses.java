// Crosses: compiled methods call interpreted ones and those compiled ones, all the time, with arguments in registers and on
// the stack. Interpreted are those whose names begin with slow (see the options of the test).
public class Crosses {
    static int sink;
    static int fastOne(int a, long b, double c, Object d, int e, int f, int g, long h, long i, double j) { return slowTwo(a + 1, b, c, d, e, f, g, h, i, j) + 1; }
    static int slowTwo(int a, long b, double c, Object d, int e, int f, int g, long h, long i, double j) { return fastThree(a, b) + fastThree(a + 1, h); }
    static int fastThree(int a, long b) { return slowFour(a) + (int) b; }
    static int slowFour(int a) { return fastFive(a) + 1; }
    static int fastFive(int a) { int s = 0; for (int i = 0; i < 3; i++) s += a * i; return s; }
    static int slowSpin(int n) { return fastOne(n, 2L, 3.0, "x", 5, 6, 7, 8L, 9L, 10.0); }
    static void spin() { for (int i = 0; ; i++) sink += slowSpin(i); }
    public static void main(String[] args) {
        Thread t = new Thread(Crosses::spin, "second");
        t.setDaemon(true);
        t.start();
        System.out.println("ready");
        System.out.flush();
        spin();
    }
}
