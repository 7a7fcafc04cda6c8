// Removed ROUNDS: objects that never leave their method, so that the second compiler does without them, are alive while
// a call that is not inlined ends the process.
import java.lang.reflect.Field;

public class Removed {
    static sun.misc.Unsafe unsafe;
    static boolean now;
    static int sink;

    static class Base { long total; int count; Base(int n) { total = n * 10000000000L; count = n + 1; } }
    static final class Order extends Base {
        byte tiny; boolean paid; char letter; short small; float part; double ratio; String name; Order next; int[] prices;
        Order(int n, String name, Order next, int[] prices) {
            super(n);
            tiny = (byte) (n - 130); paid = n > 0; letter = (char) ('a' + n % 3); small = (short) (n - 20); part = n / 2f; ratio = n / 4.0;
            this.name = name; this.next = next; this.prices = prices;
        }
    }
    static final class Pair { final Object first; final long second; Pair(Object f, long s) { first = f; second = s; } }

    static int stop(int n) {
        if (now) unsafe.putAddress(0L, n);
        return n ^ 1;
    }

    static int hot(int n, String label) {
        int[] three = {n, n + 1, -n};
        long[] wide = {n * 3L, -1L};
        Order inner = new Order(n + 1, label, null, three);
        Order order = new Order(n, "outer", inner, null);
        Pair pair = new Pair(label, n * 5000000000L);
        Pair nested = new Pair(pair, 1L);
        Integer boxed = n + 1000;
        Long big = n + 10000000000L;
        Pair either = (n & 1) == 0 ? new Pair("even", 2L) : new Pair("odd", 3L);
        int got = stop(n);
        return got + three[0] + three[1] + three[2] + (int) (wide[0] + wide[1]) + sum(order) + sum(inner) + (int) pair.second + (int) nested.second + ((Pair) nested.first).first.hashCode()
            + boxed + (int) (long) big + (int) either.second + either.first.hashCode();
    }

    static int sum(Order o) {
        return (int) (o.total + o.count + o.tiny + (o.paid ? 1 : 0) + o.letter + o.small + o.part + o.ratio) + o.name.length() + (o.next == null ? 0 : o.next.count)
            + (o.prices == null ? 0 : o.prices[1]);
    }

    public static void main(String[] args) throws Exception {
        Field f = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        f.setAccessible(true);
        unsafe = (sun.misc.Unsafe) f.get(null);
        int rounds = Integer.parseInt(args[0]);
        for (int i = 0; i < rounds; i++) sink += hot(i, "label");
        now = true;
        sink += hot(20, "label");
    }
}
