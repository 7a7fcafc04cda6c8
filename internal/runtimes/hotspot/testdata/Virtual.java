// Virtual: virtual threads that wait in all ways, and one that reads address 8, which ends the virtual machine. Prints
// the stack of each.
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.locks.*;

public class Virtual {
    static final List<Thread> all = new ArrayList<>();
    static final ReentrantLock LOCK = new ReentrantLock();
    static final Object MONITOR = new Object();
    interface Body { void run() throws Exception; }

    static void start(String name, Body b) {
        all.add(Thread.ofVirtual().name(name).start(() -> { try { b.run(); } catch (Exception e) { } }));
    }

    static void print(Thread t) {
        System.out.println("thread " + t.threadId() + " " + t.getName() + " " + t.getState());
        for (StackTraceElement e : t.getStackTrace())
            System.out.println("  " + e.getClassName() + "." + e.getMethodName() + " " + e.getFileName() + ":" + e.getLineNumber());
    }

    static void deep(int n, Body b) throws Exception { if (n == 0) { b.run(); return; } deep(n - 1, b); }

    // Called often, so that its frames are compiled.
    static int hot(int n, Semaphore s) throws Exception { if (n == 0) { s.acquire(); return 1; } return hot(n - 1, s) + 1; }

    public static void main(String[] args) throws Exception {
        Semaphore never = new Semaphore(0), free = new Semaphore(1 << 30);
        for (int i = 0; i < 20000; i++) hot(5, free);
        LOCK.lock();
        start("parks", () -> LockSupport.park());
        start("sleeps", () -> Thread.sleep(1000000));
        start("lock", () -> LOCK.lock());
        start("deep", () -> deep(200, () -> new CountDownLatch(1).await()));
        start("hot", () -> hot(30, never));
        start("queue", () -> new LinkedBlockingQueue<String>().take());
        start("pinned", () -> { synchronized (new Object()) { Thread.sleep(1000000); } });
        ExecutorService pool = Executors.newVirtualThreadPerTaskExecutor();
        pool.submit(() -> { synchronized (all) { all.add(Thread.currentThread()); } never.acquire(); return 1; });
        Semaphore back = new Semaphore(0);
        // Has come back from a wait deep below: part of its stack is still where it was kept.
        start("returns", () -> { deep(50, () -> back.acquire()); });
        Thread.sleep(800);
        for (int i = 0; i < 3; i++) System.gc();
        java.lang.reflect.Field f = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        f.setAccessible(true);
        sun.misc.Unsafe unsafe = (sun.misc.Unsafe) f.get(null);
        start("dies", () -> deep(60, () -> {
            LockSupport.parkNanos(1000000);
            for (Thread t : all) if (t != Thread.currentThread()) print(t);
            print(Thread.currentThread());
            System.out.flush();
            unsafe.getInt(8L);
        }));
        Thread.sleep(100000);
    }
}
