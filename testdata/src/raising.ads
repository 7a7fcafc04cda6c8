--  What raises exceptions of Ada, see raised.adb.
package Raising is
   Broken : exception;
   procedure Work (Way : String);
end Raising;
