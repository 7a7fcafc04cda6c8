--  Arrays of Ada: packed to bits, with bounds that are variables or members of the same record.
--  It dies of SIGABRT in stop_here_, which work calls: ada_start, work, stop_here_, abort.
package body Packing is
   type Flags is array (0 .. 9) of Boolean;
   pragma Pack (Flags);
   type Nib is mod 16;
   type Nibs is array (1 .. 5) of Nib;
   pragma Pack (Nibs);
   type Small is range -4 .. 3;
   type Smalls is array (1 .. 4) of Small;
   pragma Pack (Smalls);
   type Grid is array (1 .. 2, 1 .. 3) of Nib;
   pragma Pack (Grid);
   type Inner is array (0 .. 5) of Boolean;
   pragma Pack (Inner);
   type Mixed is record
      Head : Nib;
      Bits : Inner;
      Tail : Nib;
   end record;
   pragma Pack (Mixed);
   type Rec (Len : Natural) is record
      First : Integer;
      Text  : String (1 .. Len);
   end record;
   type Level is (Low, Medium, High);
   type Levels is array (1 .. 3) of Level;
   pragma Pack (Levels);
   subtype Few is Positive range 1 .. 100;

   procedure Stop_Here (A, B, C, D : Integer);
   pragma Import (C, Stop_Here, "stop_here_");

   procedure Work (N : Few; S : String) is
      F : Flags := (1 | 3 | 9 => True, others => False);
      B : Nibs := (1, 2, 3, 15, 7);
      M : Smalls := (-4, 3, -1, 0);
      G : Grid := ((1, 2, 3), (4, 5, 6));
      X : Mixed := (Head => 9, Bits => (True, False, True, True, False, True), Tail => 6);
      L : Levels := (High, Low, Medium);
      Dyn : array (1 .. N) of Integer := (others => 7);
      R : Rec (N);
   begin
      R.First := 11;
      for I in 1 .. N loop
         R.Text (I) := S (I);
      end loop;
      F (4) := B (1) = 1 and M (1) = -4 and G (1, 1) = 1 and X.Tail = 6 and L (1) = High and Dyn (1) = 7;
      Stop_Here (Boolean'Pos (F (1)), Dyn (N), R.First, 0);
   end Work;

   procedure Start is
   begin
      Work (3, "abcdef");
   end Start;
end Packing;
