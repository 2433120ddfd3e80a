-- ioplan's language server in Neovim 0.7 or newer, with layout on save and rehearsals.
-- Change `options` before the first plan is opened.

local M = {}

M.options = {
  command = { "ioplan", "lsp" },
  profile = "full",
  capacity = "1TB",
  layout_on_save = true,
}

-- A rehearsal's table, in a window of its own.
local function show(error, result)
  local text = error and error.message or result
  if type(text) ~= "string" then
    return
  end
  vim.cmd("botright new")
  vim.bo.buftype, vim.bo.bufhidden, vim.bo.swapfile = "nofile", "wipe", false
  vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(text, "\n"))
end

local function rehearse(command, context)
  local client = vim.lsp.get_client_by_id(context.client_id)
  client.request("workspace/executeCommand", {
    command = command.command,
    arguments = command.arguments,
  }, show)
end

local function layout(buffer)
  if vim.lsp.buf.format then
    vim.lsp.buf.format({ bufnr = buffer })
  else
    vim.lsp.buf.formatting_sync(nil, 2000)
  end
end

local function on_attach(_, buffer)
  vim.bo[buffer].omnifunc = "v:lua.vim.lsp.omnifunc"
  if M.options.layout_on_save then
    vim.api.nvim_create_autocmd("BufWritePre", {
      buffer = buffer,
      callback = function()
        layout(buffer)
      end,
    })
  end
  if vim.lsp.inlay_hint and vim.lsp.inlay_hint.enable then
    vim.lsp.inlay_hint.enable(true, { bufnr = buffer })
  end
end

local client_id = nil

function M.attach(buffer)
  if vim.treesitter.start then
    pcall(vim.treesitter.start, buffer, "ioplan") -- where the parser is installed
  end
  local file = vim.api.nvim_buf_get_name(buffer)
  local config = {
    name = "ioplan",
    cmd = M.options.command,
    root_dir = vim.fn.fnamemodify(file, ":h"),
    init_options = {
      profile = M.options.profile,
      capacity = M.options.capacity,
      showsTables = true,
    },
    on_attach = on_attach,
    commands = { ["ioplan.rehearse"] = rehearse },
  }
  if vim.lsp.start then
    vim.lsp.start(config, { bufnr = buffer })
    return
  end
  client_id = client_id or vim.lsp.start_client(config)
  vim.lsp.buf_attach_client(buffer, client_id)
end

return M
