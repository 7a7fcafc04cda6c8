with Ada.Exceptions; use Ada.Exceptions;
with GNAT.Exception_Actions; use GNAT.Exception_Actions;
with System;
package body Raising is
   type Vector is array (Positive range <>) of Integer;
   type Number is access all Integer;

   procedure C_Signal (Signal : Integer; Handler : System.Address);
   pragma Import (C, C_Signal, "signal");
   procedure C_Abort;
   pragma Import (C, C_Abort, "abort");
   procedure C_Assert_Fail (Expression, File : System.Address; Line : Integer; Func : System.Address);
   pragma Import (C, C_Assert_Fail, "__assert_fail");

   --  GNAT's library handles SIGABRT by raising an exception.
   procedure Give_Up is
   begin
      C_Signal (6, System.Null_Address);
      C_Abort;
   end Give_Up;
   pragma No_Inline (Give_Up);

   procedure Dump (E : Exception_Occurrence) is
   begin
      Core_Dump (E);
   end Dump;

   procedure Stop (E : Exception_Occurrence) is
      pragma Unreferenced (E);
   begin
      Give_Up;
   end Stop;

   function Element (V : Vector; I : Integer) return Integer is
   begin
      return V (I);
   end Element;
   pragma No_Inline (Element);

   function Sum (V : Vector; I : Integer) return Integer is
   begin
      return Element (V, I) + Element (V, I + 1);
   end Sum;
   pragma No_Inline (Sum);

   function Quotient (A, B : Integer) return Integer is
      pragma Suppress (Division_Check);
   begin
      return A / B;
   end Quotient;
   pragma No_Inline (Quotient);

   function Value (N : Number) return Integer is
      pragma Suppress (Access_Check);
   begin
      return N.all;
   end Value;
   pragma No_Inline (Value);

   V    : constant Vector (1 .. 5) := (others => 1);
   Last : Integer := 5;
   Zero : Integer := 0;
   pragma Volatile (Last);
   pragma Volatile (Zero);

   --  As a library in C whose assertion fails.
   procedure Assert is
      Expression : constant String := "count > 0" & ASCII.NUL;
      File       : constant String := "store.c" & ASCII.NUL;
      Func       : constant String := "store" & ASCII.NUL;
   begin
      C_Assert_Fail (Expression'Address, File'Address, 7, Func'Address);
   end Assert;
   pragma No_Inline (Assert);

   --  Recovers from one exception, during which there is a second one.
   procedure Recover (Way : String) is
      X : Integer;
   begin
      X := Sum (V, Last);
      Last := X;
   exception
      when E : Constraint_Error =>
         begin
            if Way = "handler" then
               Give_Up;
            elsif Way = "again" then
               Reraise_Occurrence (E);
            elsif Way = "asserted" then
               Assert;
            end if;
            raise Broken with "while recovering";
         exception
            when Broken =>
               if Way = "nested" then
                  Give_Up;
               end if;
               raise;
         end;
   end Recover;

   --  GNAT's library makes an exception of SIGABRT, for which this is called again.
   procedure Abort_Again (E : Exception_Occurrence) is
      pragma Unreferenced (E);
   begin
      C_Abort;
   end Abort_Again;

   procedure Work (Way : String) is
   begin
      if Way = "any" or Way = "task" then
         Register_Global_Action (Stop'Access);
      elsif Way = "full" then
         Register_Global_Unhandled_Action (Abort_Again'Access);
      else
         Register_Global_Unhandled_Action (Dump'Access);
      end if;
      if Way = "index" or Way = "full" or Way = "any" or Way = "task" then
         Last := Sum (V, Last);
      elsif Way = "null" then
         Last := Value (null);
      elsif Way = "divide" then
         Last := Quotient (Last, Zero);
      elsif Way = "long" then
         raise Broken with (1 .. 230 => 'x');
      elsif Way = "latin" then
         raise Broken with "caf" & Character'Val (16#E9#);
      elsif Way = "assert" then
         Assert;
      else
         Recover (Way);
      end if;
   end Work;
end Raising;
