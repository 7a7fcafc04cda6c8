// Values: has variables of all kinds and reads address 8, which ends the virtual machine.
import java.lang.reflect.Field;
import java.math.BigInteger;
import java.util.*;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;

public class Values {
    enum Color { RED, GREEN }
    static class Base { int id = 7; private String name = "base"; static int shared = 3; }
    static class Order extends Base { long total = 12345678901L; Color color = Color.GREEN; Order next; double[] prices = {1.5, 2}; Object nothing; }

    static sun.misc.Unsafe unsafe;
    static int sink;

    int field = 11;

    int show(int number, long big, String text, double ratio, boolean yes, char letter, byte small, short brief, float single, Object[] rest) {
        Order order = new Order();
        order.next = order;
        int[] ints = {1, -2, 3};
        byte[] bytes = new byte[300];
        String[] words = {"a", "naïve 漢字", null};
        int[][] grid = {{1, 2}, {3}};
        List<Integer> list = new ArrayList<>(Arrays.asList(1, 2, 3));
        LinkedList<String> linked = new LinkedList<>(Arrays.asList("x", "y"));
        ArrayDeque<Integer> deque = new ArrayDeque<>(Arrays.asList(4, 5));
        Map<String, Integer> map = new HashMap<>();
        map.put("k", 1);
        Map<String, Object> ordered = new LinkedHashMap<>();
        ordered.put("z", 1L);
        ordered.put("a", 'c');
        TreeMap<Integer, String> tree = new TreeMap<>();
        for (int i = 30; i > 0; i--) tree.put(i, "t" + i);
        Set<String> set = new HashSet<>(Collections.singleton("s"));
        ConcurrentHashMap<String, Boolean> concurrent = new ConcurrentHashMap<>();
        concurrent.put("c", true);
        Integer boxed = 42;
        Double none = null;
        StringBuilder builder = new StringBuilder("built").append(1);
        Class<?> type = Order.class;
        Class<?> primitive = int[].class;
        BigInteger huge = new BigInteger("-123456789012345678901234567890");
        Throwable error = new IllegalStateException("bad state");
        Thread thread = Thread.currentThread();
        AtomicInteger atomic = new AtomicInteger(9);
        IntSupplier lambda = () -> number;
        String quoted = "say \"hi\"\n";
        String longText = String.join("", Collections.nCopies(500, "0123456789"));
        float inf = 1f / 0;
        long wide = Long.MIN_VALUE;
        {
            int inner = 99;
            sink += inner;
        }
        synchronized (order) {
            int last = die(number);
            int after = last;
            return after + ints.length + bytes.length + words.length + grid.length + list.size() + linked.size() + deque.size() + map.size()
                + ordered.size() + tree.size() + set.size() + concurrent.size() + boxed + builder.length() + type.hashCode() + primitive.hashCode()
                + huge.signum() + error.hashCode() + thread.hashCode() + atomic.get() + lambda.getAsInt() + quoted.length() + longText.length()
                + (int) inf + (int) wide + (none == null ? 0 : 1) + rest.length + order.color.ordinal();
        }
    }

    static synchronized int die(int crash) { return crash == 14 ? unsafe.getInt(8L) : crash; }

    // Called often, so that it is compiled with what it calls in it.
    static int hot(int count, long step, Order of, String label) {
        int sum = count;
        double half = count / 2.0;
        for (int i = 0; i < 3; i++) {
            long at = step * i;
            sum += within(sum, at, of);
        }
        return sum + (int) half + label.length();
    }

    static int within(int a, long b, Order c) {
        Integer fresh = a + 1000;
        return die(a) + (int) b + c.id + fresh;
    }

    static Order some = new Order();

    public static void main(String[] args) throws Exception {
        Field f = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        f.setAccessible(true);
        unsafe = (sun.misc.Unsafe) f.get(null);
        if (args.length > 0) {
            for (int i = 0; i < 20000; i++) sink += hot(i * 100 + 1, 5L, some, "label");
            sink += hot(14, 5L, some, "label");
        }
        Object[] rest = {1, "two", new Object[0]};
        sink += new Values().show(14, 1L << 40, "text", 0.5, true, 'x', (byte) -1, (short) -300, 1.25f, rest);
        System.out.println("did not die");
    }
}
