// Flies: two threads that throw and catch without end; each exception names the method that made it. Only throws and those
// between it and the one that catches may be where one is in flight.
public class Flies {
    static class Bird extends RuntimeException {
        Bird(String m) { super(m); }
    }
    static int sink;

    static int thrown(int n, int depth) {
        if (depth > 0) return thrown(n, depth - 1) + 1;
        if (n >= 0) throw new Bird("from thrown");
        return n;
    }
    static synchronized int locked(int n) { return thrown(n, n % 4) + 1; }
    static int passes(int n) {
        try {
            return locked(n) * 2;
        } finally {
            sink++;
        }
    }
    static int catches(int n) {
        try {
            return passes(n);
        } catch (Bird b) {
            return b.getMessage().length();
        }
    }
    static int nothing(int[] a, int n) {
        try {
            return a[n];
        } catch (ArrayIndexOutOfBoundsException e) {
            return -1;
        }
    }
    static int work(int n) {
        double x = n;
        for (int i = 0; i < 300; i++) x += Math.sqrt(x);
        return (int) x;
    }
    static void spin() {
        for (int i = 0; ; i++) sink += catches(i) + nothing(new int[2], i % 5) + work(i);
    }
    public static void main(String[] args) {
        Thread t = new Thread(Flies::spin, "second");
        t.setDaemon(true);
        t.start();
        System.out.println("ready");
        System.out.flush();
        spin();
    }
}
