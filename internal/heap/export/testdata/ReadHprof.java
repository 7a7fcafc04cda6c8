import java.io.File;
import java.util.*;
import org.graalvm.visualvm.lib.jfluid.heap.*;

/** Prints what VisualVM's library finds in an hprof file: classes with the number of their instances, and who points at whom. */
public class ReadHprof {
  public static void main(String[] args) throws Exception {
    Heap heap = HeapFactory.createHeap(new File(args[0]));
    List<String> lines = new ArrayList<>();
    for (Object o : heap.getAllClasses()) {
      JavaClass c = (JavaClass) o;
      if (c.getInstancesCount() == 0) continue;
      lines.add("class " + c.getName() + " " + c.getInstancesCount());
      for (Object p : c.getInstances()) {
        Instance i = (Instance) p;
        StringBuilder s = new StringBuilder("0x" + Long.toHexString(i.getInstanceId()) + " " + c.getName());
        if (i instanceof ObjectArrayInstance) {
          List<?> values = ((ObjectArrayInstance) i).getValues();
          s.append("[" + values.size() + "]");
          for (int k = 0; k < values.size(); k++)
            if (values.get(k) != null) s.append(" " + k + "=0x" + Long.toHexString(((Instance) values.get(k)).getInstanceId()));
        } else if (i instanceof PrimitiveArrayInstance) {
          s.append("[" + ((PrimitiveArrayInstance) i).getLength() + "]");
        } else {
          for (Object f : i.getFieldValues()) {
            FieldValue v = (FieldValue) f;
            Instance to = v instanceof ObjectFieldValue ? ((ObjectFieldValue) v).getInstance() : null;
            s.append(" " + v.getField().getName() + "=" + (to == null ? "null" : "0x" + Long.toHexString(to.getInstanceId())));
          }
        }
        lines.add(s + (i.isGCRoot() ? " root" : ""));
      }
    }
    Collections.sort(lines);
    for (String l : lines) System.out.println(l);
  }
}
