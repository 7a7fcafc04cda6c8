(* OCaml 4: a function in a module that calls itself ends in C. Stack: abort, crash_stub, caml_c_call, Shop.find three times, Shop.+++, ... *)
external crash : int -> unit = "crash_stub"

module Stock = struct
  let count = ref 0

  let rec find depth name acc =
    incr count;
    if depth = 0 then (crash 3; acc) else 1 + find (depth - 1) (name ^ "x") (acc + 1)

  module Inner = struct
    let ( +++ ) a b = let r = find 2 "inner" (a + b) in r + 1
  end
end

class shape n = object
  val mutable id = n
  method area x = Stock.Inner.( +++ ) x id + 1
end

let () =
  let s = new shape 7 in
  let l = List.map (fun v -> v + s#area 3) [1; 2] in
  exit (List.length l)
