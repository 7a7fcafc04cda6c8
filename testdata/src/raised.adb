--  A program that ends itself because of an exception. The argument says how.
with Ada.Command_Line;
with Raising;
procedure Raised is
begin
   Raising.Work (Ada.Command_Line.Argument (1));
end Raised;
