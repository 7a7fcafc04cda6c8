--  What values of Ada look like: fixed point, records with variants, enumerations of packages.
procedure Shapes is
   type Colour is (Red, Green, Blue);
   type Fine is delta 0.125 range -100.0 .. 100.0;
   type Money is delta 0.01 digits 9;
   type Kind is (Circle, Square, Label);
   type Shape (K : Kind := Circle) is record
      Id : Integer;
      case K is
         when Circle => Radius : Float;
         when Square => Side : Integer; Diagonal : Float;
         when Label => Text : String (1 .. 4);
      end case;
   end record;
   type Sized (N : Integer) is record
      Name : String (1 .. N);
      case N is
         when 0 => null;
         when 1 .. 5 => Short : Integer;
         when others => Long : Long_Integer;
      end case;
   end record;
   type Row is array (1 .. 3) of Colour;
   type Packed is record A : Boolean; C : Colour; R : Row; end record;
   pragma Pack (Packed);
   function C_Raise (Signal : Integer) return Integer;
   pragma Import (C, C_Raise, "raise");
   procedure Draw (S : in out Shape; T : Sized) is
      C : Colour := Green;
      F : Fine := -2.5;
      M : Money := 12.34;
      D : Duration := 1.5;
      S1 : Shape := (K => Square, Id => 1, Side => 4, Diagonal => 5.5);
      P : Packed := (A => True, C => Blue, R => (Red, Blue, Green));
      S2 : Shape (Label) := (K => Label, Id => 2, Text => "abcd");
   begin
      if C_Raise (3) = 0 then
         S.Id := S1.Id + S2.Id + T.N + Integer (F) + Integer (M) + Integer (D);
         C := P.C;
      end if;
      S.Id := Colour'Pos (C);
   end Draw;
   Given : Shape := (K => Circle, Id => 9, Radius => 1.5);
begin
   Draw (Given, (N => 3, Name => "var", Short => 5));
end Shapes;
