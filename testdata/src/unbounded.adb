--  Arrays of Ada whose bounds are not part of their types: parameters, and what access types point to.
--  It dies of SIGABRT in stop_here_, which look calls: ada_start, work, look, stop_here_, abort.
package body Unbounded is
   type Bits is array (Positive range <>) of Boolean;
   pragma Pack (Bits);
   type Grid is array (Integer range <>, Integer range <>) of Integer;
   type Day is (Mon, Tue, Wed, Thu);
   type By_Day is array (Day range <>) of Float;
   type Text is access constant String;
   type Grid_Access is access all Grid;
   type Texts is array (Positive range <>) of Text;
   type Wide is access constant Wide_Wide_String;
   type Both is record
      T : Text;
      G : Grid_Access;
   end record;

   procedure Stop_Here (A, B, C, D : Integer);
   pragma Import (C, Stop_Here, "stop_here_");

   One   : aliased constant String := "one";
   Long  : aliased constant Wide_Wide_String := "wide";
   Cells : aliased Grid := (-1 => (1, 2, 3), 0 => (4, 5, 6));

   procedure Look (S : String; B : Bits; G : Grid; D : By_Day; E : String; T : Texts; R : Both; M : String) is
      Null_Text : Text := null;
      W         : Wide := Long'Access;
      Last      : Grid_Access := R.G;
   begin
      if Null_Text = null and W /= null and Last /= null then
         Stop_Here (S'Length + B'Length + G'Length (2), D'Length, E'Length + T'Length, M'Length);
      end if;
   end Look;

   procedure Work (N : Natural) is
      Made : String (N .. N + 2) := (others => '+');
   begin
      Look ("hello", (True, False, True), Cells, (Tue => 1.5, Wed => 2.5), Made (N .. N - 1), (One'Access, null), (One'Access, Cells'Access), Made);
   end Work;

   procedure Start is
   begin
      Work (40);
   end Start;
end Unbounded;
