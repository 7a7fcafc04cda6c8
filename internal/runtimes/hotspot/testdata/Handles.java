// Handles LIB MODE: a native method ends the process while an exception is being handled: in a catch, a finally, a
// synchronized block that an exception leaves, deeper calls of them. See MODE's methods.
import java.util.function.IntSupplier;

public class Handles {
    static class PayException extends IllegalStateException { PayException(String m, Throwable c) { super(m, c); } }
    static native void end();
    static boolean now;
    static int sink;

    static void finish() { if (now) end(); sink++; }

    static void bank(int n) throws java.io.IOException {
        throw new java.io.IOException("bank " + n + " is closed");
    }

    static int inCatch(int n) {
        try {
            bank(n);
        } catch (java.io.IOException e) {
            finish();
            sink += e.hashCode();
        }
        return n;
    }

    static int inFinally(int n) {
        try {
            bank(n);
        } catch (java.io.IOException e) {
            throw new PayException("no money", e);
        } finally {
            finish();
        }
        return n;
    }

    // Caught before, and forgotten: the code behind a catch handles nothing.
    static int behind(int n) {
        try {
            bank(n);
        } catch (java.io.IOException e) {
            sink++;
        }
        finish();
        return n;
    }

    // The slot of the first exception is used again in its own catch.
    static int again(int n) {
        for (int i = 0; i < 3; i++) {
            try {
                bank(n + i);
            } catch (java.io.IOException e) {
                try {
                    throw new PayException("inner " + i, e);
                } catch (PayException p) {
                    if (i == 2) finish();
                    sink += p.hashCode();
                }
                sink += e.hashCode();
            }
        }
        return n;
    }

    static class Door implements AutoCloseable {
        public void close() { finish(); }
    }

    static int resource(int n) throws Exception {
        try (Door d = new Door()) {
            bank(n);
        }
        return n;
    }

    static int deeper(int n) {
        try {
            bank(n);
        } catch (java.io.IOException e) {
            IntSupplier s = () -> { switch (n % 5) { case 0: finish(); break; case 1: sink++; break; case 3: sink--; break; default: finish(); } return n; };
            sink += s.getAsInt() + e.hashCode();
        }
        return n;
    }

    static int run(String mode, int n) {
        try {
            switch (mode) {
                case "catch": return inCatch(n);
                case "finally": return inFinally(n);
                case "behind": return behind(n);
                case "again": return again(n);
                case "resource": return resource(n);
                default: return deeper(n);
            }
        } catch (PayException | java.io.IOException e) {
            return n;
        } catch (Exception e) {
            throw new RuntimeException(e);
        }
    }

    public static void main(String[] args) {
        System.load(args[0]);
        int rounds = Integer.parseInt(args[2]);
        for (int i = 0; i < rounds; i++) run(args[1], i);
        now = true;
        run(args[1], rounds);
    }
}
