%% A small program that dies while processes wait for one another, and others keep values, of which it writes what Erlang writes: erl -noshell -s small main.
-module(small).
-export([main/0, die/1, keeps/1, init/1, handle_call/3, handle_cast/2]).
-behaviour(gen_server).

main() ->
    ok = erlang:load_nif("./die", 0),
    Values = values(),
    {ok, F} = file:open("said", [raw, write]),
    [begin
         Name = list_to_atom("v" ++ integer_to_list(N)),
         register(Name, spawn(?MODULE, keeps, [V])),
         ok = file:write(F, unicode:characters_to_binary(io_lib:format("~s\t~0tp~n", [Name, V])))
     end || {N, V} <- lists:zip(lists:seq(1, length(Values)), Values)],
    ok = file:close(F),
    {ok, A} = gen_server:start({local, first}, ?MODULE, 1, []),
    {ok, B} = gen_server:start({local, second}, ?MODULE, 2, []),
    gen_server:cast(A, {ask, B}),
    gen_server:cast(B, {ask, A}),
    register(late, spawn(fun() -> receive go -> ok after 1000000 -> late end, again end)),
    late ! no, late ! none,
    timer:sleep(100),
    R = shop(3, #{price => 7}),
    {R, A, B}.

%% Replaced by a function of C.
die(_) -> erlang:nif_error(none).

shop(N, Item) ->
    R = [begin X = pay(I, Item), {X, I} end || I <- [N]],
    {R, N}.

pay(I, #{price := P} = Item) ->
    F = fun(Y) -> R = die({Y, P}), [R, Y] end,
    R = lists:map(F, [I, 2]),
    {R, Item}.

keeps(V) ->
    receive go -> ok end,
    V.

values() ->
    Big = list_to_binary(lists:seq(1, 255)),
    Text = binary:copy(<<"text ">>, 30),
    <<_:3, Odd:21/bitstring, _/bitstring>> = <<1, 2, 3, 255>>,
    <<_:5/binary, Part:10/binary, _/binary>> = Text,
    K = 7,
    [0, -1, 1 bsl 58, -(1 bsl 59), 1 bsl 59, 1 bsl 200, -(1 bsl 64),
     0.0, 1.5, -1.0e-7, 1.0e22, 123456789.125,
     atom, 'An atom', 'it\'s', '', true, undefined, 'receive', a@b_1, list_to_atom([252]),
     [], [1, 2, 3], "a text", "two\nlines \"quoted\"", [a | b], [1, [2, [3]]], [65, 256],
     {}, {1}, {a, "b", <<"c">>}, {{}, [[]]},
     <<>>, <<"bytes">>, <<0, 1, 2>>, <<1:3>>, <<255, 5:7>>, Odd, Part, <<"gr\303\274n">>,
     binary:part(Big, 200, 5),
     #{}, #{a => 1}, #{1 => one, "k" => [v]}, {more, #{x => #{y => z}}},
     fun lists:map/2, {fun(X) -> X + K end, same},
     self(), hd(erlang:ports()), make_ref()].

init(State) -> {ok, State}.

handle_call(_, _From, State) -> {reply, ok, State}.

handle_cast({ask, Other}, State) ->
    timer:sleep(20),
    ok = gen_server:call(Other, question, infinity),
    {noreply, State}.
