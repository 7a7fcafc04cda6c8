{ Free Pascal: a method that calls itself writes to nil. Stack: TCircle.Crash twice, $main, SYSTEM.SYSENTRY, SI_PRC._FPC_PROC_START. }
{$mode objfpc}{$H+}
program shop;
uses baseunix;
type
  TColour = (red, green, blue);
  TName = string[20];
  TPoint = record x, y: double; end;
  TFun = function(x: longint): longint;
  TShape = class
    FId: longint;
    FName: string;
    function Area: double; virtual;
  end;
  TCircle = class(TShape)
    FRadius: double;
    Centre: TPoint;
    function Area: double; override;
    procedure Crash(depth: longint; var total: longint);
  end;
  TVariant = record
    case kind: TColour of
      red: (a: longint);
      green: (b: double);
  end;
  PNode = ^TNode;
  TNode = record value: longint; next: PNode; end;
  TMeth = procedure(depth: longint; var total: longint) of object;
var
  gcount: longint = 42;
  gname: string;
  gmat: array[1..2, 3..5] of longint;
  circle: TCircle;
  t: longint;

function TShape.Area: double;
begin
  result := 0;
end;

function TCircle.Area: double;
begin
  result := 3.0 * FRadius * FRadius;
end;

function twice(x: longint): longint;
begin
  twice := 2 * x;
end;

procedure TCircle.Crash(depth: longint; var total: longint);
var
  s: string;
  short: TName;
  p: pchar;
  u: unicodestring;
  dyn: array of longint;
  open: array of string;
  fixed: array[-1..2] of word;
  node: PNode;
  v: TVariant;
  days: set of 1..7;
  c: char;
  b: boolean;
  e: TColour;
  f: TFun;
  m: TMeth;
  none: TFun;
  cur: currency;
  wb: longbool;
  i64: int64;
begin
  s := 'hello ' + chr(48 + depth);
  short := 'short';
  p := pchar(s);
  u := 'uni';
  setlength(dyn, 3);
  dyn[0] := 7; dyn[1] := 8; dyn[2] := 9;
  setlength(open, 2);
  open[0] := 'zero'; open[1] := 'one';
  fixed[-1] := 1; fixed[0] := 2; fixed[1] := 3; fixed[2] := 4;
  new(node);
  node^.value := 5;
  new(node^.next);
  node^.next^.value := 6;
  node^.next^.next := nil;
  v.kind := green;
  v.b := 2.5;
  days := [1, 3, 7];
  c := 'x'; b := true; e := blue;
  f := @twice;
  m := @self.Crash;
  none := nil;
  cur := 12.34;
  wb := true;
  i64 := -1234567890123;
  if depth > 0 then begin
    total := total + f(1);
    Crash(depth - 1, total);
  end else begin
    node^.next^.next^.value := ord(assigned(m)) + ord(assigned(none));
  end;
  if (p^ = c) and b and wb and (e = blue) and (i64 > cur) then total := length(s) + length(u) + dyn[0] + length(open[0]) + fixed[0] + length(short) + ord(3 in days);
end;

begin
  fpsignal(SIGSEGV, SignalHandler(SIG_DFL));
  gname := 'global name';
  gmat[1, 3] := 13;
  gmat[2, 5] := 25;
  circle := TCircle.Create;
  circle.FId := 7;
  circle.FName := 'round';
  circle.FRadius := 1.5;
  circle.Centre.x := 1;
  circle.Centre.y := 2;
  t := 0;
  circle.Crash(1, t);
end.
