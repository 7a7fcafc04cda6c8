-- Neovim drives corewalk dap: it opens a core, goes to a frame, shows its source with the cursor on the line, and asks for a
-- value. What it got is written as JSON to the file of the environment's OUT.
local uv = vim.loop
local stdin, stdout = uv.new_pipe(false), uv.new_pipe(false)
local handle = uv.spawn(vim.env.COREWALK, { args = { "dap" }, stdio = { stdin, stdout, nil } }, function() end)
local buffer, seq, waiting, events = "", 0, {}, {}

local function received(message)
  if message.type == "response" then
    waiting[message.request_seq] = message
  elseif message.type == "event" then
    events[message.event] = message
  end
end

stdout:read_start(vim.schedule_wrap(function(_, data)
  buffer = buffer .. (data or "")
  while true do
    local head, size = buffer:match("^(Content%-Length: (%d+)\r\n\r\n)")
    if not head or #buffer < #head + tonumber(size) then
      return
    end
    local body = buffer:sub(#head + 1, #head + tonumber(size))
    buffer = buffer:sub(#head + tonumber(size) + 1)
    received(vim.fn.json_decode(body))
  end
end))

local function request(command, arguments)
  seq = seq + 1
  local own = seq
  local body = vim.fn.json_encode({ seq = own, type = "request", command = command, arguments = arguments or vim.empty_dict() })
  stdin:write("Content-Length: " .. #body .. "\r\n\r\n" .. body)
  if not vim.wait(30000, function() return waiting[own] ~= nil end, 5) then
    error("no response to " .. command)
  end
  if not waiting[own].success then
    error(command .. ": " .. waiting[own].message)
  end
  return waiting[own].body
end

local ok, result = pcall(function()
  request("initialize", { adapterID = "corewalk" })
  request("launch", { core = vim.env.CORE, binary = vim.env.BINARY, sysroot = vim.env.SYSROOT, sourceMap = { [vim.env.FROM] = vim.env.TO } })
  request("configurationDone")
  vim.wait(30000, function() return events.stopped ~= nil end, 5)
  local thread = events.stopped.body.threadId
  local frames = request("stackTrace", { threadId = thread, levels = 4 }).stackFrames
  local frame = frames[3]
  vim.cmd("edit " .. vim.fn.fnameescape(frame.source.path))
  vim.api.nvim_win_set_cursor(0, { frame.line, 0 })
  local value = request("evaluate", { expression = "here.next->weight.whole", frameId = frame.id, context = "watch" })
  local names = {}
  for _, f in ipairs(frames) do
    table.insert(names, f.name)
  end
  request("disconnect")
  return { reason = events.stopped.body.reason, frames = names, line = vim.api.nvim_get_current_line(), value = value.result }
end)
local out = io.open(vim.env.OUT, "w")
out:write(vim.fn.json_encode(ok and result or { error = tostring(result) }))
out:close()
handle:kill(9)
vim.cmd("qall!")
