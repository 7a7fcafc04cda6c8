import java.lang.management.ManagementFactory;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;

/** Fills its heap with many kinds of objects, some of which nothing reaches, while threads make more, and waits to be dumped. */
public class Heap {
    static final Map<String, Order> CACHE = new HashMap<>();
    static Node chain;
    static Object[][] table = new Object[100][];
    static WeakReference<Weakly> weak;
    static SoftReference<Softly> soft;
    static List<Supplier<Integer>> lambdas = new ArrayList<>();
    static long[] humongous = new long[3_000_000];
    static volatile Object sink;

    static class Order { int id; long price; Item[] items; Order(int i) { id = i; items = new Item[i % 4]; for (int k = 0; k < items.length; k++) items[k] = new Item(i); } }
    static class Item { byte a; short b; char c; String name; Item(int i) { name = "item " + i; } }
    static class Sub extends Item { Object more; boolean d; Sub(int i) { super(i); more = new Object(); } }
    static class Node { Node next; int v; Node(Node n) { next = n; } }
    static class Weakly { byte[] b = new byte[100]; }
    static class Softly { byte[] b = new byte[200]; }
    static class Lost { Lost other; Object held = new int[5]; }
    static class Held { Object what = new double[20_000]; }
    static class Finalized { @Override protected void finalize() {} }
    enum Colour { RED, GREEN }

    static void busy() {
        for (;;) {
            List<Object> l = new LinkedList<>();
            for (int i = 0; i < 1000; i++) l.add(new Sub(i));
            sink = l;
            try { Thread.sleep(1); } catch (InterruptedException e) { return; }
        }
    }

    static void hold(Held held) throws Exception {
        System.out.println("ready");
        System.in.read();
        System.out.println(held);
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 5000; i++) CACHE.put("key " + i, new Order(i));
        CACHE.get("key 77").items = new Item[1_000_000];
        for (int i = 0; i < 3000; i++) chain = new Node(chain);
        for (int i = 0; i < table.length; i++) { table[i] = new Object[i]; if (i > 3) table[i][3] = new TreeMap<>(Map.of("k", i)); }
        soft = new SoftReference<>(new Softly());
        for (int i = 0; i < 10; i++) { int k = i; lambdas.add(() -> k); }
        Finalized[] f = new Finalized[50];
        for (int i = 0; i < f.length; i++) f[i] = new Finalized();
        System.gc();
        weak = new WeakReference<>(new Weakly());
        for (int i = 0; i < 700; i++) { Lost a = new Lost(), b = new Lost(); a.other = b; b.other = a; }
        Class<?>[] primitives = {int.class, void.class, int[].class, Order[][].class};
        long pid = ManagementFactory.getRuntimeMXBean().getPid();
        if (args.length > 0) for (int i = 0; i < Integer.parseInt(args[0]); i++) { Thread t = new Thread(Heap::busy, "busy " + i); t.setDaemon(true); t.start(); }
        hold(new Held());
        System.out.println(pid + " " + primitives.length + f.length);
    }
}
