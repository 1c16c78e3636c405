-- Sends each call of a file once, in order: a line is a path, a tab, and the body. Prints how many
-- failed once all are answered.
local calls, sent, answered, failed = {}, 0, 0, 0

function init(args)
  for line in io.lines(args[1]) do
    local path, body = line:match("^(%S+)\t(.*)$")
    local headers = {["Content-Type"] = "application/json"}
    -- llama.cpp closes after a stream without a word; the next request would be lost.
    if body:find('"stream": true', 1, true) then headers["Connection"] = "close" end
    calls[#calls + 1] = wrk.format("POST", path, headers, body)
  end
end

function request()
  sent = sent + 1
  return calls[math.min(sent, #calls)]
end

function response(status)
  answered = answered + 1
  if status ~= 200 then failed = failed + 1 end
  if answered == #calls then
    -- wrk itself goes on until its time is up.
    print(failed)
    io.flush()
    wrk.thread:stop()
  end
end
