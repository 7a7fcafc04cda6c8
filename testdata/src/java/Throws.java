// Throws LIB MODE: native code gets an exception and ends the process; with MODE uncaught, because nobody caught it.
public class Throws {
    static class PayException extends IllegalStateException { PayException(String m, Throwable c) { super(m, c); } }
    static native void die(Throwable t);
    static native void end();
    static void bank() throws java.io.IOException {
        throw new java.io.IOException("bank is closed");
    }
    static void pay(int amount) {
        try {
            bank();
        } catch (java.io.IOException e) {
            throw new PayException("no money: \u20ac " + amount, e);
        }
    }
    public static void main(String[] a) throws Exception {
        System.load(a[0]);
        if (a.length == 1) {
            try { pay(12); } catch (PayException e) { die(e); }
        }
        Thread.setDefaultUncaughtExceptionHandler((t, e) -> { if (a[1].equals("traced")) e.getStackTrace(); end(); });
        Thread t = new Thread(() -> pay(12), "pays");
        t.start();
        t.join();
    }
}
