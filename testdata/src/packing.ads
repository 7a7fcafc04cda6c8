package Packing is
   procedure Start;
   pragma Export (C, Start, "ada_start");
end Packing;
