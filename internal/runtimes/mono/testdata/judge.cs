// Programs that die in a function of C that Mono's code has called. Mono's own report has the calls of the thread then.
using System;
using System.Collections.Generic;
using System.Reflection.Emit;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;

namespace Shop {
  public delegate int Visitor(IntPtr a, IntPtr b);

  public static class C {
    [DllImport("libc")] public static extern UIntPtr strlen(IntPtr p);
    [DllImport("libc")] public static extern void qsort(int[] a, UIntPtr n, UIntPtr w, Cmp c);
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)] public delegate int Cmp(IntPtr a, IntPtr b);
    public static int Dies(int n) { return n + (int)strlen((IntPtr)16); }
    public static int Sorts(Func<int> then) {
      int got = 0;
      qsort(new[] {3, 1, 2}, (UIntPtr)3, (UIntPtr)4, (a, b) => got = then());
      return got;
    }
  }

  public class Order<T> {
    public T Item;
    public class Line {
      public int N;
      public int Total(List<T> all, ref int x) { return C.Dies(N + x + all.Count); }
    }
    public int Sum<U>(Func<U, int> f, U u) { return f(u); }
  }

  public struct Price {
    public int Cents;
    public int Of(object o) { int x = 3; return new Order<string>.Line {N = 4}.Total(new List<string>(), ref x); }
    public override string ToString() { return "" + C.Dies(Cents); }
  }

  public interface IShop { int Open(); }
  public abstract class Base : IShop {
    public abstract int Deeper();
    public virtual int Open() { try { return Deeper(); } finally { GC.KeepAlive(this); } }
    int this[int i] { get { return C.Dies(i); } set { C.Dies(value); } }
    public int Indexed() { this[3] = 4; return 0; }
    public static int operator +(Base a, int b) { return C.Dies(b); }
  }
  public class Corner : Base {
    public override int Deeper() { return base.ToString().Length + Indexed(); }
  }
  public static class Lazily { public static int X = C.Dies(1); public static int Get() { return X; } }
  public class Last { ~Last() { C.Dies(9); } }

  public class Far : MarshalByRefObject {
    public int Call(int n) { return C.Dies(n); }
  }

  public static class Program {
    static int Rec(int n, Func<int> f) { return n == 0 ? f() : Rec(n - 1, f) + 1; }
    static IEnumerable<int> Numbers() { yield return 1; yield return C.Dies(2); }
    static async Task<int> Later() { await Task.Yield(); return C.Dies(5); }
    static void Caught() {
      try { throw new InvalidOperationException("none left"); }
      catch (InvalidOperationException e) { C.Dies(e.Message.Length); }
    }
    static int Dynamic() {
      var m = new DynamicMethod("made", typeof(int), new[] {typeof(int)}, typeof(Program).Module);
      var il = m.GetILGenerator();
      il.Emit(OpCodes.Ldarg_0);
      il.Emit(OpCodes.Call, typeof(C).GetMethod("Dies"));
      il.Emit(OpCodes.Ret);
      return ((Func<int, int>)m.CreateDelegate(typeof(Func<int, int>)))(7);
    }
    static void InDomain() { C.Dies(6); }
    static void Lost() { new Last(); }

    static readonly Dictionary<string, Action> cases = new Dictionary<string, Action> {
      {"plain", () => C.Dies(1)},
      {"generic", () => new Order<long>().Sum<Price>(p => p.Of(null), new Price())},
      {"three-callbacks", () => C.Sorts(() => C.Sorts(() => C.Sorts(() => C.Dies(2))))},
      {"deep", () => Rec(900, () => C.Dies(3))},
      {"virtual", () => ((IShop)new Corner()).Open()},
      {"operator", () => Console.WriteLine(new Corner() + 4)},
      {"boxed", () => string.Format("{0}", new Price {Cents = 3})},
      {"static-constructor", () => Lazily.Get()},
      {"iterator", () => { foreach (var n in Numbers()) GC.KeepAlive(n); }},
      {"async", () => Later().Wait()},
      {"catch", Caught},
      {"dynamic", () => Dynamic()},
      {"reflection", () => typeof(C).GetMethod("Dies").Invoke(null, new object[] {4})},
      {"thread", () => { var t = new Thread(() => Rec(5, () => C.Dies(8))); t.Start(); t.Join(); }},
      {"pool", () => Task.Run(() => C.Dies(8)).Wait()},
      {"finalizer", () => { for (int i = 0; i < 100; i++) { Lost(); GC.Collect(); GC.WaitForPendingFinalizers(); } }},
      {"domain", () => AppDomain.CreateDomain("second").DoCallBack(InDomain)},
      {"far", () => ((Far)AppDomain.CreateDomain("third").CreateInstanceAndUnwrap(typeof(Far).Assembly.FullName, typeof(Far).FullName)).Call(3)},
    };

    public static void Main(string[] args) { cases[args[0]](); }
  }
}
