// Full: fills the heap.
import java.util.*;

public class Full {
    static final List<byte[]> kept = new ArrayList<>();

    static void fill() {
        for (;;) kept.add(new byte[1 << 20]);
    }

    public static void main(String[] args) {
        fill();
    }
}
