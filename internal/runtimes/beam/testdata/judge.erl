%% Writes what Erlang says of the calls of all processes, and dies in C: erl -noshell -s judge main CASE.
-module(judge).
-export([main/1, die/0, die_cpu/0, die_io/0, bad/0, bad_list/0, nap/1, init/1, handle_call/3, handle_cast/2]).
-behaviour(gen_server).

main([Case]) ->
    erlang:system_flag(backtrace_depth, 64),
    ok = erlang:load_nif("./die", 0),
    run(Case).

%% Replaced by the functions of C.
die() -> erlang:nif_error(none).
die_cpu() -> erlang:nif_error(none).
die_io() -> erlang:nif_error(none).
bad() -> erlang:nif_error(none).
bad_list() -> erlang:nif_error(none).
nap(_) -> erlang:nif_error(none).

%% dies writes what is known, and ends the process of the system.
dies(Charge) ->
    say(),
    R = die(),
    {R, Charge}.

say() ->
    timer:sleep(50), % others go on until they wait
    Self = self(),
    Said = [tell(P, Self) || P <- erlang:processes()],
    ok = file:write_file("said", Said, [raw]).

tell(P, Self) ->
    Items = [registered_name, status, message_queue_len, current_stacktrace],
    case process_info(P, Items) of
        undefined -> "";
        [{_, Name}, {_, Status}, {_, Len}, {_, Stack}] ->
            N = case Name of [] -> ""; _ -> atom_to_list(Name) end,
            S = case P of Self -> "self"; _ -> atom_to_list(Status) end,
            [io_lib:format("process ~p\t~ts\t~s\t~p~n", [P, N, S, Len]) | [io_lib:format("~s~n", [where(W)]) || W <- Stack]]
    end.

where({M, Name, A, Info}) ->
    io_lib:format("~w:~w/~w\t~s\t~w", [M, Name, A, proplists:get_value(file, Info, ""), proplists:get_value(line, Info, 0)]).

%% run(Case) is each case.
run(plain) ->
    K = charge(#{price => 7, name => <<"tea">>}, [1, two, {3, 4.5}]),
    {done, K};
run(deep) ->
    deep(900, self());
run(alternate) ->
    even(300);
run('fun') ->
    lists:foreach(fun(X) -> F = fun(Y) -> R = dies({X, Y}), [R] end, {X, F(X + 1)} end, [1, 2]);
run(comprehension) ->
    [begin R = dies(X), {X, R} end || X <- [1, 2, 3], X > 1] ++ [last];
run(sort) ->
    lists:sort(fun(A, B) -> R = dies({A, B}), A < R end, [3, 1, 2]);
run(fold) ->
    maps:fold(fun(K, V, Acc) -> R = dies({K, V}), [R | Acc] end, [], #{a => 1, b => 2});
run(exception) ->
    try
        deeper(3)
    catch
        error:{trouble, N} ->
            R = dies(N),
            {handled, R}
    end;
run('after') ->
    try deeper(2)
    after
        R = dies(cleanup), put(r, R)
    end;
run(apply) ->
    R = apply(?MODULE, list_to_atom("in" ++ "it"), [{dies, 4}]),
    {ok, R};
run(server) ->
    {ok, A} = gen_server:start({local, shop}, ?MODULE, shop, []),
    {ok, B} = gen_server:start({local, bank}, ?MODULE, bank, []),
    register(client, spawn(fun() -> R = gen_server:call(A, {ask, B}, infinity), {got, R} end)),
    register(impatient, spawn(fun() -> R = gen_server:call(bank, never), {got, R} end)),
    idle(server);
run(selective) ->
    P = spawn(fun() -> selective(key) end),
    [P ! {other, N} || N <- lists:seq(1, 5)],
    register(timed, spawn(fun() -> receive go -> ok after 100000 -> late end, again end)),
    register(suspended, Q = spawn(fun() -> receive go -> ok end, again end)),
    erlang:suspend_process(Q),
    idle(selective);
run(many) ->
    [spawn(fun() -> worker(N) end) || N <- lists:seq(1, 1000)],
    idle(many);
run(busy) ->
    [spawn(fun() -> spin(N) end) || N <- lists:seq(1, 20)],
    idle(busy);
run(dirtycpu) ->
    register(napping, spawn(fun() -> R = naps(1), {R, dirty} end)),
    say(),
    R = die_cpu(),
    {R, dirty};
run(dirtyio) ->
    say(),
    R = die_io(),
    {R, dirty};
run(gc) ->
    say(),
    B = bad(),
    R = erlang:garbage_collect(),
    {R, B};
run(dirtygc) -> % of so much that a dirty scheduler does it
    L = lists:seq(1, 1000000),
    say(),
    B = bad(),
    R = erlang:garbage_collect(),
    {R, B, L};
run(length) ->
    say(),
    B = bad_list(),
    R = length(B),
    {R, B};
run(halt) ->
    say(),
    R = erlang:halt(abort, []),
    {R, halt};
run(growing) ->
    R = grow(0),
    {R, grown};
run(loop) ->
    ok = file:write_file("said", ""),
    spin(1).

idle(X) -> R = dies(X), {idle, R}.

naps(N) -> R = nap({N, "two"}), {N, R}.

grow(N) ->
    say(),
    B = bad(),
    R = grown(lists:seq(1, 10), N),
    {R, B}.

grown(L, N) -> R = grown([N | L] ++ L, N + 1), [R, L].

charge(Item, List) ->
    #{price := P} = Item,
    T = total(List, P),
    {T, Item}.

total(List, P) ->
    Bin = binary:copy(<<"x">>, 100),
    <<_:8, Part/binary>> = Bin,
    R = dies({length(List), P, Part}),
    {R, Bin, P, Part}.

deep(0, P) -> R = dies(P), {R, bottom};
deep(N, P) -> R = deep(N - 1, P), [R, N].

even(0) -> R = dies(even), {R, 0};
even(N) -> R = odd(N - 1), {R, N}.

odd(N) -> R = even(N), [R, N].

deeper(0) -> error({trouble, 7});
deeper(N) -> R = deeper(N - 1), {R, N}.

selective(Key) ->
    Ref = make_ref(),
    receive
        {Key, Ref} -> ok
    end,
    done.

worker(N) ->
    receive
        {stop, N} -> ok
    end,
    worker(N + 1).

spin(N) -> R = spun(N, 100000), spin(R + N).

spun(N, 0) -> N;
spun(N, K) -> spun(N bxor K, K - 1).

init({dies, N}) -> R = dies(N), {R, N};
init(State) -> {ok, State}.

handle_call({ask, Other}, _From, State) ->
    R = gen_server:call(Other, {ask, self()}, infinity),
    {reply, R, State};
handle_call(never, _From, State) -> {noreply, State}.

handle_cast(_, State) -> {noreply, State}.
