--  A program of one procedure, which is of no package, calls abort in the handler of an exception of its own.
procedure Handled is
   Closed : exception;
   procedure Give_Up; pragma Import (C, Give_Up, "abort");
   procedure Sell (N : Natural) is
   begin
      if N > 2 then
         raise Closed with "no stock for" & N'Image;
      end if;
   end Sell;
begin
   Sell (7);
exception
   when Closed => Give_Up;
end Handled;
