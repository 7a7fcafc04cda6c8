// Fatal LIB HOW WHERE: calls in many ways, then writes to address 0: HOW is native (a library's function does it), unsafe
// (Unsafe.putAddress does), or back (a library's function calls Java, which does it); WHERE is plain or virtual, the thread.
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntUnaryOperator;

public class Fatal {
    static sun.misc.Unsafe unsafe;
    static String how;
    static int rounds, sink;
    static final Object lock = new Object();

    static native int poke(int n, boolean now);
    static native int back(int n, boolean now);
    static synchronized native int held(int n, boolean now, long a, double b, float c, Object d, long e, double f, int g, int h);

    // What ends the process, in the round that comes last.
    static int end(int n, boolean now) {
        if (how.equals("native")) return poke(n, now);
        if (how.equals("held")) return held(n, now, 1L, 2.0, 3f, lock, 4L, 5.0, 6, 7);
        if (how.equals("back")) return back(n, now);
        if (now) {
            unsafe.putAddress(0L, n);
        }
        return n + 1;
    }

    // Called by the library.
    static int called(int n, boolean now) {
        int k = n ^ 3;
        if (now) unsafe.putAddress(0L, k);
        return k;
    }

    static int small(int n, boolean now) { return end(n, now) + 1; }
    static int middle(int n, boolean now) { return small(n * 3, now) - n; }

    static int guarded(int n, boolean now) {
        try {
            synchronized (lock) {
                return middle(n, now);
            }
        } finally {
            sink++;
        }
    }

    interface Step { int go(int n, boolean now); }
    static class One implements Step { public int go(int n, boolean now) { return guarded(n, now) + 1; } }
    static class Two implements Step {
        final Step to;
        Two(Step to) { this.to = to; }
        public int go(int n, boolean now) {
            long wide = n * 5L;
            int r = to.go(n, now);
            return (int) (wide + r);
        }
    }
    static final Step[] steps = {new One(), new Two(new One()), new Two(new Two(new One()))};

    static int lambdas(int n, boolean now) {
        IntUnaryOperator f = k -> steps[k % 3].go(k, now);
        return f.applyAsInt(n);
    }

    static int recursive(int depth, int n, boolean now) {
        if (depth == 0) return lambdas(n, now);
        return recursive(depth - 1, n + 1, now) + 1;
    }

    static final MethodHandle handle;
    static {
        try {
            handle = MethodHandles.lookup().findStatic(Fatal.class, "recursive", MethodType.methodType(int.class, int.class, int.class, boolean.class));
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    static int handles(int n, boolean now) {
        try {
            return (int) handle.invokeExact(3, n, now);
        } catch (Throwable t) {
            throw new IllegalStateException(t);
        }
    }

    static Method reflected;
    static int reflects(int n, boolean now) {
        try {
            return (Integer) reflected.invoke(null, n, now);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    static int many(int n, boolean now, long a, long b, double c, double d, Object e, Object f, int g, int h, int i) {
        return reflects(n, now) + (int) (a + b + c + d) + g + h + i + (e == f ? 1 : 0);
    }

    // Compiled while it runs.
    static int loop() {
        int sum = 0;
        for (int i = 0; i <= rounds; i++) {
            sum += many(i & 1023, i == rounds, i, 2, 3, 4, lock, how, 5, 6, 7);
        }
        return sum;
    }

    static class Late { // its initialiser is called by the virtual machine
        static int value = loop();
    }

    static void begin() { sink += Late.value; }

    public static void main(String[] args) throws Exception {
        System.load(args[0]);
        how = args[1];
        rounds = Integer.parseInt(args[3]);
        Field f = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        f.setAccessible(true);
        unsafe = (sun.misc.Unsafe) f.get(null);
        reflected = Fatal.class.getDeclaredMethod("handles", int.class, boolean.class);
        if (args[2].equals("virtual")) {
            Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
            ((Thread) start.invoke(null, (Runnable) Fatal::begin)).join();
            return;
        }
        List<Integer> once = Arrays.asList(1);
        once.forEach(x -> begin());
    }
}
