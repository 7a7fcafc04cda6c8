public class Throws {
    static class PayException extends IllegalStateException { PayException(String m, Throwable c) { super(m, c); } }
    static native void die(Throwable t);
    public static void main(String[] a) {
        System.load(a[0]);
        die(new PayException("no money: \u20ac 12", new java.io.IOException("bank is closed")));
    }
}
