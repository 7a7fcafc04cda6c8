package Unbounded is
   procedure Start;
   pragma Export (C, Start, "ada_start");
end Unbounded;
