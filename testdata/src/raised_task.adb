--  The same in a task.
with Ada.Command_Line;
with Raising;
procedure Raised_Task is
   task Worker;
   task body Worker is
   begin
      Raising.Work (Ada.Command_Line.Argument (1));
   end Worker;
begin
   delay 30.0;
end Raised_Task;
