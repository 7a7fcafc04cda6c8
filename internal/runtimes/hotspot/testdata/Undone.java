import java.lang.reflect.Field;

// Undone dies in a method of compiled code that the virtual machine undoes: the way that it takes had never been taken.
public class Undone {
    static class Bill {
        String customer = "Miller";
        long cents = 1250;
    }

    static sun.misc.Unsafe memory;
    static final int LAST = 2_000_000;

    static long add(Bill bill, int month, long before) {
        long sum = before + bill.cents;
        sum += late(bill.customer, month);
        return sum + 1;
    }

    static int late(String customer, int month) {
        if (month == LAST)
            memory.putAddress(16L, customer.length());
        return month & 3;
    }

    public static void main(String[] args) throws Exception {
        Field f = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        f.setAccessible(true);
        memory = (sun.misc.Unsafe) f.get(null);
        Bill bill = new Bill();
        long sum = 0;
        for (int month = 1; month <= LAST; month++)
            sum = add(bill, month, sum);
        System.out.println(sum);
    }
}
