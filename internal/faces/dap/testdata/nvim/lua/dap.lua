-- A stand-in for nvim-dap with what the plugin uses of it: adapters, configurations, listeners, run and session. It speaks the
-- protocol with one adapter.
local uv = vim.loop
local M = { adapters = {}, configurations = {}, listeners = { after = { event_stopped = {} } } }
local current

local Session = {}
Session.__index = Session

function Session:request(command, arguments, callback)
  self.seq = self.seq + 1
  self.waiting[self.seq] = callback
  local body = vim.fn.json_encode({ seq = self.seq, type = "request", command = command, arguments = arguments or vim.empty_dict() })
  self.stdin:write("Content-Length: " .. #body .. "\r\n\r\n" .. body)
end

function Session:received(message)
  if message.type == "response" then
    local callback = self.waiting[message.request_seq]
    if callback then
      callback(not message.success and { message = message.message } or nil, message.body)
    end
  elseif message.event == "stopped" then
    self.stopped_thread_id = message.body.threadId
    for _, listener in pairs(M.listeners.after.event_stopped) do
      listener(self, message.body)
    end
  end
end

function M.session()
  return current
end

function M.run(config)
  local adapter = M.adapters[config.type]
  local self = setmetatable({ config = config, seq = 0, waiting = {}, stdin = uv.new_pipe(false) }, Session)
  local stdout, buffer = uv.new_pipe(false), ""
  current, self.handle = self, uv.spawn(adapter.command, { args = adapter.args, stdio = { self.stdin, stdout, nil } }, function() end)
  stdout:read_start(vim.schedule_wrap(function(_, data)
    buffer = buffer .. (data or "")
    while true do
      local head, size = buffer:match("^(Content%-Length: (%d+)\r\n\r\n)")
      if not head or #buffer < #head + tonumber(size) then
        return
      end
      local body = buffer:sub(#head + 1, #head + tonumber(size))
      buffer = buffer:sub(#head + tonumber(size) + 1)
      self:received(vim.fn.json_decode(body))
    end
  end))
  self:request("initialize", { adapterID = config.type })
  self:request("launch", config)
  self:request("configurationDone")
end

return M
