-- ioplan's language server in Neovim 0.7 or newer, with layout on save.
-- Change `options` before the first plan is opened.

local M = {}

M.options = {
  command = { "ioplan", "lsp" },
  profile = "full",
  layout_on_save = true,
}

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
end

local client_id = nil

function M.attach(buffer)
  local file = vim.api.nvim_buf_get_name(buffer)
  local config = {
    name = "ioplan",
    cmd = M.options.command,
    root_dir = vim.fn.fnamemodify(file, ":h"),
    init_options = { profile = M.options.profile },
    on_attach = on_attach,
  }
  if vim.lsp.start then
    vim.lsp.start(config, { bufnr = buffer })
    return
  end
  client_id = client_id or vim.lsp.start_client(config)
  vim.lsp.buf_attach_client(buffer, client_id)
end

return M
