-- What judge.lua does, for LuaJIT: jitjudge.lua CASE. Cases in compiled code say their stack a moment before, from the same place.
local ffi = require("ffi")
ffi.cdef([[
int getpid(void);
int kill(int pid, int signal);
void *memset(void *to, int with, size_t n);
void qsort(void *base, size_t n, size_t size, int (*compare)(const int *, const int *));
]])

local function say(level, ...)
	local f = io.open("said", "w")
	for _, co in ipairs({ "self", ... }) do
		while true do
			local text = co == "self" and debug.traceback("", level) or co ~= "self" and debug.traceback(co, "", level)
			local line = text:match("^\nstack traceback:\n\t([^\n]*)")
			if not line then break end
			if line == "..." then
				local i = debug.getinfo(level, "Snl")
				line = i.short_src .. ":" .. i.currentline .. ": in function '" .. tostring(i.name) .. "'"
			end
			f:write(line, "\n")
			level = level + 1
		end
		level = 0
	end
	f:close()
end

-- dies is called by most cases; further threads are those that resumed the running one.
function dies(how, ...)
	local a, b = "text", { 1, 2.5, x = { y = true }, 10LL }
	say(3, ...)
	if how == "null" then
		ffi.cast("int *", 0)[0] = 7
	end
	ffi.C.kill(ffi.C.getpid(), 6)
	return a, b
end

local cases = {}

cases["deep"] = function()
	local function down(n, ...)
		if n == 0 then
			dies()
		end
		local r = down(n - 1, ...)
		return r
	end
	down(900, nil, 2)
end

cases["null"] = function()
	local t = { 1, 2, { n = 3 } }
	pcall(dies, "null")
	return t
end

cases["warm"] = function()
	local function leaf(i, x)
		if i == 400 then
			dies()
		end
		return x + i
	end
	local function middle(i, x)
		local y = leaf(i, x)
		return y + 1
	end
	local sum = 0
	for i = 1, 400 do
		sum = middle(i, sum)
	end
	return sum
end

cases["callbacks"] = function()
	local outer
	local function order(n)
		table.sort({ 3, 1, 2, n }, function(a, b)
			string.gsub("abc", "b", function(m)
				local co = coroutine.wrap(function(x)
					if x == 200 then
						local ok, e = pcall(function()
							dies("", outer)
						end)
					end
				end)
				co(n)
			end)
			return a < b
		end)
	end
	outer = coroutine.create(function()
		for i = 1, 200 do
			order(i)
		end
	end)
	coroutine.resume(outer)
end

cases["metamethods"] = function()
	local n = 0
	local V = {}
	V.__index = function(t, k)
		n = n + 1
		if n == 300 then
			dies()
		end
		return n
	end
	V.__add = function(a, b)
		local x = a.missing
		return x + b
	end
	V.__lt = function(a, b)
		return (a + 1) < 2
	end
	V.__concat = function(a, b)
		local less = a < b
		return less
	end
	V.__call = function(self, x)
		local s = self .. self
		return s
	end
	local v = setmetatable({}, V)
	for i = 1, 400 do
		v(i)
	end
end

cases["handler"] = function()
	for i = 1, 100 do
		xpcall(function(a, ...)
			local x = nil
			local y = x.field
			return y
		end, function(m)
			if i == 100 then
				dies()
			end
			return m
		end, 1, 2)
	end
end

cases["qsort"] = function()
	local a = ffi.new("int[4]", { 4, 2, 3, 1 })
	ffi.C.qsort(a, 4, 4, function(x, y)
		local d = x[0] - y[0]
		dies()
		return d
	end)
end

cases["builtin"] = function()
	table.foreach({ 1, 2 }, function(k, v)
		if k == 2 then
			dies()
		end
	end)
end

cases["varargs"] = function()
	local function last(...)
		local n = select("#", ...)
		if n == 5 then
			dies()
		end
		return ...
	end
	local function tail(...)
		return last(...)
	end
	for i = 1, 100 do
		local t = {}
		for k = 1, i == 100 and 5 or 3 do
			t[k] = k
		end
		local r = tail(unpack(t))
	end
end

cases["finalizer"] = function()
	local p = newproxy(true)
	getmetatable(p).__gc = function()
		dies()
	end
	p = nil
	collectgarbage()
end

cases["chunks"] = function()
	local lines = { "local t = {}" }
	for i = 1, 400 do
		lines[#lines + 1] = "t[" .. i .. "] = { " .. i .. " }" .. string.rep("\n", i % 7 == 0 and 150 or 1)
	end
	lines[#lines + 1] = "local f = function() dies() end f()\nreturn t"
	loadstring(table.concat(lines, "\n"), "@long.lua")()
end

cases["huge"] = function()
	loadstring("local t = {}\n" .. string.rep("\n", 70000) .. "local f = function()\n local x = 1 dies() return x end f()\nreturn t", "@huge.lua")()
end

-- The compiled code itself fails.
local target = ffi.new("int[4]")
local pointers = ffi.new("int *[401]")
for i = 0, 400 do
	pointers[i] = target
end
pointers[399] = ffi.cast("int *", 16)

cases["trace-loop"] = function()
	local sum = 0
	for i = 1, 400 do
		if i == 1 then say(2) end pointers[i][0] = sum
	end
	return sum
end

cases["trace-leaf"] = function()
	local function leaf(i, x)
		if i == 1 then say(2) end pointers[i][0] = x
		return x + 1
	end
	local function middle(i, x)
		local y = leaf(i, x)
		return y + 1
	end
	local sum = 0
	for i = 1, 400 do
		sum = middle(i, sum)
	end
	return sum
end

cases["trace-metamethod"] = function()
	local V = {}
	function V.__add(a, i)
		if i == 1 then say(2) end pointers[i][0] = i
		return a
	end
	function V:__index(i)
		return self + i
	end
	local v = setmetatable({}, V)
	local function each(i)
		local x = v[i]
		return x
	end
	for i = 1, 400 do
		each(i)
	end
end

cases["trace-called"] = function()
	local function leaf(n)
		if n == 1 then say(2) end pointers[n][0] = 3
		return n
	end
	local function middle(...)
		local x = leaf(...)
		return x
	end
	local function each(i)
		local r = middle(i)
		return r
	end
	local i = 0
	while true do
		i = i + 1
		local ok, e = pcall(each, i)
	end
end

cases["trace-recursion"] = function()
	local function down(n, i)
		if n == 0 then
			if i == 1 then say(2) end pointers[i][0] = 5
			return 1
		end
		local r = down(n - 1, i)
		return r + 1
	end
	local total = 0
	for i = 1, 400 do
		total = total + down(12, i)
	end
	return total
end

-- A function of C that compiled code calls fails.
cases["trace-native"] = function()
	local function leaf(i)
		if i == 1 then say(2) end ffi.C.memset(pointers[i], 1, 4)
		return i
	end
	local sum = 0
	for i = 1, 400 do
		sum = sum + leaf(i)
	end
	return sum
end

cases["values"] = function()
	local n, huge, small, negative, none = 7, 1e100, 0.1, -3, nil
	local data, foreign, thread, light = io.stdout, 10LL, coroutine.create(function() end), ffi.cast("void *", 5)
	local list, map = { 1, "two", { three = 3 } }, { [1] = "a", [10] = "b", [2.5] = "c", [true] = 0, key = print }
	local circle = {}
	circle.circle = circle
	local text = "a\0b\n" .. string.rep("x", 300)
	dies()
	return n, huge, small, negative, none, data, foreign, thread, light, list, map, circle, text
end

local ok, e = pcall(function()
	cases[arg[1]]()
end)
io.stderr:write(tostring(e))
