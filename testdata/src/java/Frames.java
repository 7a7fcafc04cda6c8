// Frames MODE: prints the stacks of its threads as Java knows them, then reads address 8, which ends
// the virtual machine. Without MODE the crash is at the end of all of its chains of calls.
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;

public class Frames {
    static sun.misc.Unsafe unsafe;
    static boolean crash;
    static int sink;

    // Prints and dies in one line, so that both have the same stack.
    static int die(int n) { if (crash) { print(Thread.currentThread(), new Throwable().getStackTrace(), 0); others(); return unsafe.getInt(8L); } return n + 1; }

    static void print(Thread t, StackTraceElement[] stack, int skip) {
        StringBuilder b = new StringBuilder();
        b.append("thread ").append(t.getName()).append('\n');
        for (int i = skip; i < stack.length; i++) {
            StackTraceElement e = stack[i];
            b.append("  ").append(e.getClassName()).append('.').append(e.getMethodName()).append(' ').append(e.getFileName()).append(':').append(e.getLineNumber()).append('\n');
        }
        System.out.print(b);
        System.out.flush();
    }

    static void others() {
        for (Map.Entry<Thread, StackTraceElement[]> e : Thread.getAllStackTraces().entrySet()) {
            if (e.getKey().getName().startsWith("waits-")) {
                print(e.getKey(), e.getValue(), 0);
            }
        }
    }

    interface Step { int go(int n); }

    static class Base<T extends Number> { int take(T t) { return next(t.intValue()); } int next(int n) { return n; } }
    static class Derived extends Base<Integer> { // with a bridge
        @Override int take(Integer t) {
            return super.take(t) * 3;
        }
        @Override int next(int n) { return new Inner(n).value; }
        class Inner {
            final int value;
            Inner(int n) {
                value = lambdas(n);
            }
        }
    }

    static int lambdas(int n) {
        Step s = k -> {
            IntUnaryOperator twice = q -> many(q, 7) * 2;
            return twice.applyAsInt(k);
        };
        return s.go(n);
    }

    static int many(int n, int which) {
        int a = n, b = n * 2, c = 0;
        long d = n;
        double e = n / 3.0;
        switch (which) {
            case 1: c = a + b; break;
            case 2: c = a - b; break;
            case 3: c = a * b; break;
            case 7:
                // A comment makes the next line far away.
                //
                //
                //
                //
                //
                //
                //
                //
                //
                //
                //
                c = caught(a);
                break;
            default: c = b;
        }
        return c + (int) d + (int) e;
    }

    static int caught(int n) {
        try {
            if (n >= 0) throw new IllegalStateException("on purpose");
            return n;
        } catch (IllegalStateException e) {
            return recurse(n, 40);
        } finally {
            sink++;
        }
    }

    static int recurse(int n, int depth) {
        if (depth == 0)
            return synchronised(n);
        return recurse(n, depth - 1) + 1;
    }

    static synchronized int synchronised(int n) {
        synchronized (Frames.class) {
            return small(n);
        }
    }

    // Small enough to be inlined into each other.
    static int small(int n) { return smaller(n) + 1; }
    static int smaller(int n) {
        return smallest(n) + 1;
    }
    static int smallest(int n) { return die(n) + 1; }

    static int reflected(int n) throws Throwable {
        return (Integer) Frames.class.getDeclaredMethod("handled", int.class).invoke(null, n);
    }

    static final MethodHandle HANDLE;
    static {
        try {
            HANDLE = MethodHandles.lookup().findStatic(Frames.class, "streamed", MethodType.methodType(int.class, int.class));
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    static int handled(int n) throws Throwable { return (int) HANDLE.invokeExact(n); }

    static int streamed(int n) {
        return IntStream.range(0, 1).map(i -> new Derived().take(n)).sum();
    }

    static class Initialised {
        static int value = init();
        static int init() { try { return reflected(1); } catch (Throwable t) { throw new RuntimeException(t); } }
    }

    // depth calls of a loop that was compiled while it ran.
    static long hot(int n) {
        long s = 0;
        for (int i = 0; i < n; i++) s += small(i) ^ s;
        return s;
    }

    static void start(String name, CountDownLatch ready, Runnable r) {
        Thread t = new Thread(() -> { ready.countDown(); r.run(); }, "waits-" + name);
        t.setDaemon(true);
        t.start();
    }

    static final Object MONITOR = new Object();
    static final ReentrantLock LOCK = new ReentrantLock();

    static void deep(int n, Runnable r) { if (n == 0) { r.run(); return; } deep(n - 1, r); }

    // spin runs all kinds of code without end, in two threads.
    static void spin() throws Throwable {
        System.out.println("ready");
        System.out.flush();
        Thread t = new Thread(() -> { for (int i = 0; ; i++) spinOnce(i); }, "spins");
        t.setDaemon(true);
        t.start();
        for (int i = 0; ; i++) spinOnce(i);
    }

    static Object kept;

    static void spinOnce(int i) {
        sink += (int) hot(50) + recurse(i, i % 20) + new Derived().take(i);
        kept = java.util.Arrays.copyOf(new int[100 + i % 50], 300);
        kept = "text " + i + kept.hashCode();
        List<Integer> list = new java.util.ArrayList<>();
        for (int k = 0; k < 20; k++) list.add((i * 31 + k * 17) % 23);
        java.util.Collections.sort(list);
        sink += list.stream().mapToInt(k -> k * 2).sum() + (int) System.nanoTime();
        sink += many(i, i % 9);
        Map<String, Integer> map = new java.util.HashMap<>();
        for (int k = 0; k < 10; k++) map.merge("k" + k % 3, k, Integer::sum);
        sink += map.size() + (int) Math.sin(i) + String.format("%d", i).length();
        if (i % 100 == 0) System.gc();
    }

    public static void main(String[] args) throws Throwable {
        String mode = args.length > 0 ? args[0] : "all";
        Field f = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        f.setAccessible(true);
        unsafe = (sun.misc.Unsafe) f.get(null);
        if (mode.equals("hot")) {
            for (int i = 0; i < 300; i++) sink += (int) hot(2000) + recurse(i, 3) + new Derived().take(i);
        }
        if (mode.equals("spin")) {
            spin();
            return;
        }
        CountDownLatch ready = new CountDownLatch(7);
        LOCK.lock();
        start("sleep", ready, () -> { try { Thread.sleep(1000000); } catch (InterruptedException e) { } });
        start("monitor", ready, () -> { synchronized (MONITOR) { try { MONITOR.wait(); } catch (InterruptedException e) { } } });
        start("enter", ready, () -> { synchronized (Frames.class) { sink++; } });
        start("park", ready, () -> LockSupport.park());
        start("lock", ready, () -> { LOCK.lock(); });
        start("deep", ready, () -> deep(900, () -> LockSupport.park()));
        start("stream", ready, () -> java.util.Arrays.asList(3, 1, 2).stream().sorted().forEach(i -> LockSupport.park()));
        synchronized (Frames.class) {
            ready.await();
            Thread.sleep(300);
            crash = true;
            if (mode.equals("all")) sink = Initialised.value;
            else if (mode.equals("hot")) sink = (int) hot(3) + new Derived().take(4);
            else sink = die(1);
        }
        System.out.println("did not die");
    }
}
