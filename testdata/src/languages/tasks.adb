--  Tasks that wait in each way that the run-time library tells.
procedure Tasks is
   procedure C_Abort;
   pragma Import (C, C_Abort, "abort");
   task type Worker (Id : Integer) is
      entry Go;
      entry Finish;
   end Worker;
   task body Worker is
   begin
      accept Go;
      accept Finish;
   end Worker;
   type Ref is access Worker;
   protected Store is
      entry Get;
   private
      Full : Boolean := False;
   end Store;
   protected body Store is
      entry Get when Full is
      begin
         null;
      end Get;
   end Store;
   task Reader;
   task body Reader is
   begin
      Store.Get;
   end Reader;
   task Sleeper;
   task body Sleeper is
   begin
      delay 300.0;
   end Sleeper;
   task Parent;
   task body Parent is
      task Child;
      task body Child is
      begin
         delay 300.0;
      end Child;
   begin
      null;
   end Parent;
   Many : array (1 .. 2) of Worker (7);
   One : constant Ref := new Worker (2);
begin
   Many (1).Go;
   One.Go;
   delay 0.3;
   C_Abort;
end Tasks;
