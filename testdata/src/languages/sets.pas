{ What values of Free Pascal look like: sets, calls in calls. }
program sets;
procedure cabort; cdecl; external 'c' name 'abort';
type
  TColour = (red, green, blue);
procedure look(n: integer);
var
  some: set of TColour;
  letters: set of char;
  procedure inner(z: integer);
  begin
    if z > n then cabort;
  end;
begin
  some := [red, blue];
  letters := ['a'..'c', 'z'];
  inner(n + 1);
  if red in some then letters := [];
end;
begin
  look(4);
end.
