--  Two tasks wait for each other: each calls the other's protected object from within its own.
procedure Protect is
   procedure C_Abort;
   pragma Import (C, C_Abort, "abort");
   protected A is
      procedure Outer;
      procedure Inner;
   private
      N : Integer := 0;
   end A;
   protected B is
      procedure Outer;
      procedure Inner;
   private
      N : Integer := 0;
   end B;
   protected body A is
      procedure Outer is
      begin
         N := 1;
         delay 0.2;
         B.Inner;
      end Outer;
      procedure Inner is
      begin
         N := 2;
      end Inner;
   end A;
   protected body B is
      procedure Outer is
      begin
         N := 1;
         delay 0.2;
         A.Inner;
      end Outer;
      procedure Inner is
      begin
         N := 2;
      end Inner;
   end B;
   task One;
   task body One is
   begin
      A.Outer;
   end One;
   task Two;
   task body Two is
   begin
      B.Outer;
   end Two;
begin
   delay 0.6;
   C_Abort;
end Protect;
