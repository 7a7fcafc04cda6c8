// Locks: threads that wait for each other in all ways. Prints what the virtual machine knows of each, then dies.
import java.lang.management.*;
import java.lang.reflect.Field;
import java.util.concurrent.*;
import java.util.concurrent.locks.*;

public class Locks {
    static class Named {}
    static final Object A = new Object();
    static final Named B = new Named();
    static final ReentrantLock LA = new ReentrantLock(), LB = new ReentrantLock(true);
    static final Object MIXED = new Object();
    static final ReentrantLock MIXLOCK = new ReentrantLock();
    static final ReentrantReadWriteLock RW = new ReentrantReadWriteLock();

    interface Body { void run() throws Exception; }

    static Thread start(String name, Body b) {
        Thread t = new Thread(() -> { try { b.run(); } catch (Exception e) { } }, name);
        t.setDaemon(true);
        t.start();
        return t;
    }

    static synchronized void holdsClass() throws Exception { Thread.sleep(1000000); }
    static synchronized void wantsClass() { }

    static class Held {
        static int hot(int n, Object o, long time) throws Exception {
            synchronized (o) { return within(n, time) + o.hashCode(); }
        }
        static int within(int n, long time) throws Exception {
            synchronized (Held.class) { pause(time); return n; }
        }
        static void pause(long time) throws Exception { if (time > 0) Thread.sleep(time); }
    }

    public static void main(String[] args) throws Exception {
        CyclicBarrier two = new CyclicBarrier(2), locks = new CyclicBarrier(2), mixed = new CyclicBarrier(2);
        start("monitor-1", () -> { synchronized (A) { two.await(); synchronized (B) { } } });
        start("monitor-2", () -> { synchronized (B) { two.await(); synchronized (A) { } } });
        start("lock-1", () -> { LA.lock(); locks.await(); LB.lock(); });
        start("lock-2", () -> { LB.lock(); locks.await(); LA.lock(); });
        start("mixed-1", () -> { synchronized (MIXED) { mixed.await(); MIXLOCK.lock(); } });
        start("mixed-2", () -> { MIXLOCK.lock(); mixed.await(); synchronized (MIXED) { } });
        start("holds-class", () -> holdsClass());
        Thread.sleep(100);
        start("wants-class", () -> wantsClass());
        start("twice", () -> { synchronized (new Named()) { synchronized (new int[2]) { Thread.sleep(1000000); } } });
        for (int i = 0; i < 20000; i++) Held.hot(i, new Named(), 0);
        start("compiled", () -> Held.hot(1, new Named(), 1000000));
        start("waits", () -> { Object o = new Named(); synchronized (o) { o.wait(); } });
        start("waits-timed", () -> { Object o = new Object(); synchronized (o) { o.wait(1000000); } });
        Thread sleeper = start("sleeps", () -> Thread.sleep(1000000));
        start("joins", () -> sleeper.join());
        start("parks", () -> LockSupport.park());
        start("parks-timed", () -> LockSupport.parkNanos(A, 1000000000000L));
        start("latch", () -> new CountDownLatch(1).await());
        start("semaphore", () -> new Semaphore(0).acquire());
        start("future", () -> new CompletableFuture<String>().get());
        start("task", () -> new FutureTask<String>(() -> "x").get());
        start("queue", () -> new LinkedBlockingQueue<String>().take());
        start("exchange", () -> new SynchronousQueue<String>().put("x"));
        ReentrantLock c = new ReentrantLock();
        Condition condition = c.newCondition();
        start("condition", () -> { c.lock(); condition.await(); });
        start("writes", () -> { RW.writeLock().lock(); Thread.sleep(1000000); });
        Thread.sleep(100);
        start("reads", () -> RW.readLock().lock());
        start("tries", () -> RW.readLock().tryLock(1000, TimeUnit.SECONDS));
        Thread.sleep(500);
        ThreadMXBean bean = ManagementFactory.getThreadMXBean();
        for (ThreadInfo t : bean.dumpAllThreads(true, true)) {
            LockInfo l = t.getLockInfo();
            System.out.println("thread\t" + t.getThreadName() + "\t" + t.getThreadState() + "\t" + (l == null ? "" : l.getClassName()) + "\t"
                + (t.getLockOwnerName() == null ? "" : t.getLockOwnerName()));
            for (MonitorInfo m : t.getLockedMonitors())
                System.out.println("locked\t" + t.getThreadName() + "\t" + m.getClassName() + "\t" + m.getLockedStackFrame().getClassName() + "." + m.getLockedStackFrame().getMethodName());
        }
        for (long id : bean.findDeadlockedThreads()) System.out.println("deadlock\t" + bean.getThreadInfo(id).getThreadName());
        System.out.flush();
        Field f = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        f.setAccessible(true);
        ((sun.misc.Unsafe) f.get(null)).getInt(8L);
    }
}
